"""The effect of compact weight storage: bytes, scores and ROUGE of two exports of one model folder.

The model is exported twice, with float32 weights and with `--storage`. Both exports score every
sentence of a corpus and return their default summaries. The exit status is 1 if a score differs by
more than 5e-3, or a mean ROUGE F by more than 0.05 points.

    python benchmarks/storage.py runs/news/best CORPUS.jsonl.gz
    python benchmarks/storage.py runs/news/best CORPUS.jsonl.gz --documents 100 --storage float16
"""

import argparse
import dataclasses
import itertools
import json
import os
import pathlib
import platform
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

from tfsum.data.readers import read_corpus
from tfsum.evaluation.batched import batched
from tfsum.evaluation.rouge import METRICS
from tfsum.inference.eager_model import load_model
from tfsum.inference.saved_model import read_description
from tfsum.tasks.bert_sum_ext.export import export_model
from tfsum.tasks.bert_sum_ext.report import score_systems

PLAIN = "float32"
SCORE_LIMIT, ROUGE_LIMIT = 5e-3, 0.05  # probability; points of 100


@dataclasses.dataclass(frozen=True)
class Answers:
    """The results of an export for the documents: all scores in one array, and the sentences of
    each summary."""

    scores: np.ndarray
    summaries: list[list[str]]
    size: int


def answer(model_folder: str, storage: str, texts: list[str]) -> Answers:
    """Exports a model folder to a temporary folder and runs it."""
    with tempfile.TemporaryDirectory() as place:
        folder = export_model(model_folder, pathlib.Path(place) / storage / "1", storage=storage)
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        model = load_model(folder, read_description(folder))
        scores, summaries = [], []
        for group in batched(texts):
            given = tf.constant([text.encode() for text in group])
            every, short = (
                model.signatures["score"](text=given),
                model.signatures["serving_default"](text=given),
            )
            scores.append(tf.boolean_mask(every["score"], tf.sequence_mask(every["count"])).numpy())
            summaries += sentences_of(short)
    return Answers(np.concatenate(scores), summaries, size)


def sentences_of(answers: dict) -> list[list[str]]:
    rows = zip(answers["sentences"].numpy().tolist(), answers["count"].numpy().tolist())
    return [[sentence.decode() for sentence in row[:count]] for row, count in rows]


def compare(plain: Answers, small: Answers, storage: str, references: list[str]) -> bool:
    """Prints one line per export and one with the differences; returns whether these are within the
    limits."""
    systems = {PLAIN: plain.summaries, storage: small.summaries}
    table = score_systems(systems, references, baseline=PLAIN).systems
    for name, answers in ((PLAIN, plain), (storage, small)):
        rouge = {metric: round(table[name][metric]["f"], 3) for metric in METRICS}
        print(json.dumps({"storage": name, "bytes": answers.size, **rouge}))
    gap = float(np.abs(plain.scores - small.scores).max(initial=0.0))
    rouge = {metric: table[storage][metric]["difference"] for metric in METRICS}
    changed = sum(map(list.__ne__, plain.summaries, small.summaries))
    within = gap <= SCORE_LIMIT and all(abs(points) <= ROUGE_LIMIT for points in rouge.values())
    print(
        json.dumps(
            {
                "documents": len(references),
                "sentences": len(plain.scores),
                "largest_score_difference": gap,
                "mean_score_difference": float(np.abs(plain.scores - small.scores).mean()),
                "summaries_changed": changed,
                "rouge_difference": {metric: round(points, 4) for metric, points in rouge.items()},
                "bytes_ratio": round(small.size / plain.size, 3),
                "within_limits": within,
            }
        )
    )
    return within


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", help="a model folder, such as `best` of a training run")
    parser.add_argument("corpus", help="documents with summaries, in a format of `tfsum evaluate`")
    parser.add_argument("--documents", type=int, help="use only the first N documents")
    parser.add_argument(
        "--storage",
        choices=("float16", "small"),
        default="small",
        help="to compare (default small)",
    )
    options = parser.parse_args()
    documents = list(itertools.islice(read_corpus(options.corpus), options.documents))
    texts = [document["text"] for document in documents]
    print(
        json.dumps(
            {
                "machine": platform.machine(),
                "processors": os.cpu_count(),
                "tensorflow": tf.__version__,
            }
        )
    )
    plain, small = (answer(options.model, storage, texts) for storage in (PLAIN, options.storage))
    return (
        0
        if compare(plain, small, options.storage, [document["summary"] for document in documents])
        else 1
    )


if __name__ == "__main__":
    sys.exit(main())
