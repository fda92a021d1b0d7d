"""Throughput of exported models in documents per second, from raw text to summary, at several batch
sizes.

If torch and transformers are installed, a BertModel of the same size is also measured in torch, on
the same windows of tokens, grouped as in the export. It is a reference for the cost of the encoder
in another library, not a summarizer: it has random weights and no head, and does no splitting,
tokenization or selection. All are measured alternately.

    python benchmarks/summarizing.py --corpus CORPUS.jsonl.gz
    python benchmarks/summarizing.py core/NAME/1 text/NAME/1 --corpus CORPUS.jsonl.gz --batches 1 8
    32
"""

import argparse
import importlib.metadata
import importlib.util
import itertools
import json
import os
import platform
import statistics
import time
from collections.abc import Callable

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np

import tfsum
from tfsum.data.readers import read_corpus
from tfsum.inference.shipped import shipped_model
from tfsum.tasks.bert_sum_ext.reading import WINDOWS_AT_ONCE
from tfsum.tasks.bert_sum_ext.summarizer import Summarizer
from tfsum.text.packing import pack_windows
from tfsum.text.sentence_splitter import SentenceSplitter
from tfsum.text.word_piece import WordPiece

YARDSTICK = "yardstick: BertModel of transformers in torch, encoder alone"
TORCH = ("torch", "transformers")

Contestant = Callable[[slice], object]  # does the work of the documents of a slice


def windows_of(summarizer: Summarizer, texts: list[str]) -> list[np.ndarray]:
    """The windows of each text as in the model: int32 (W, T) each, padded with 0."""
    settings = summarizer.description["text"]
    split = SentenceSplitter(settings["newline"]).split(texts)["sentences"]
    word_piece = WordPiece.from_file(
        str(summarizer.path / "assets" / "vocab.txt"),
        lowercase=settings["lowercase"],
        strip_accents=settings["strip_accents"],
        ops="core",
    )
    packed = pack_windows(
        word_piece.tokenize(split.flat_values),
        split.row_lengths(),
        settings["window_length"],
        word_piece.cls_id,
        word_piece.sep_id,
    )
    return np.split(packed["token_ids"].numpy(), np.cumsum(packed["windows_per_document"])[:-1])


def torch_encoder(config: dict, windows: list[np.ndarray]) -> Contestant:
    """transformers' BertModel on the windows of documents: by length, `WINDOWS_AT_ONCE`
    together."""
    import torch
    import transformers

    config = {
        name: value for name, value in config.items() if name not in ("model_type", "bert_sum_ext")
    }
    model = transformers.BertModel(
        transformers.BertConfig(**config), add_pooling_layer=False
    ).eval()
    torch.set_num_threads(os.cpu_count())

    def encode(documents: slice) -> None:
        ids = np.concatenate(windows[documents])
        lengths = np.count_nonzero(ids, axis=1)
        order = np.argsort(lengths, kind="stable")
        for rows in np.split(order, range(WINDOWS_AT_ONCE, len(order), WINDOWS_AT_ONCE)):
            given = torch.from_numpy(ids[rows, : lengths[rows].max()]).long()
            with torch.inference_mode():
                model(input_ids=given, attention_mask=(given != 0).long())

    return encode


def contestants(
    summarizers: list[Summarizer], texts: list[str], windows: list[np.ndarray]
) -> dict[str, Contestant]:
    """Name -> function to measure; prints why the reference is skipped, if it is."""
    made = {
        f"{'/'.join(model.path.parts[-2:])}, ops={model.description['ops']}": (
            lambda documents, model=model: model(texts[documents])
        )
        for model in summarizers
    }
    missing = [name for name in TORCH if importlib.util.find_spec(name) is None]
    if missing:
        reason = f"not installed: {', '.join(missing)}; pip install -e '.[reference]' brings them"
        print(json.dumps({"skipped": YARDSTICK, "reason": reason}))
    else:
        made[YARDSTICK] = torch_encoder(summarizers[0].description["config"], windows)
    return made


def measure(
    made: dict[str, Contestant], documents: int, sizes: list[int], runs: int
) -> dict[tuple, list[float]]:
    """Seconds of (name, batch size) for all documents in each run, measured alternately after a
    warm-up batch."""
    seconds = {(name, size): [] for name in made for size in sizes}
    for name, size in seconds:
        made[name](slice(0, size))
    for _ in range(runs):
        for name, size in seconds:
            start = time.perf_counter()
            for first in range(0, documents, size):
                made[name](slice(first, first + size))
            seconds[name, size].append(time.perf_counter() - start)
    return seconds


def report(seconds: dict[tuple, list[float]], documents: int, tokens: int) -> None:
    """Prints one line per candidate and batch size."""
    for (name, size), values in seconds.items():
        speeds = [documents / value for value in values]
        median = statistics.median(speeds)
        print(
            json.dumps(
                {
                    "who": name,
                    "batch": size,
                    "documents_a_second": round(median, 2),
                    "range": [round(min(speeds), 2), round(max(speeds), 2)],
                    "tokens_a_second": round(median * tokens / documents),
                }
            )
        )


def machine() -> dict:
    """The machine of the measurement; a load above 0 before the start means that it was shared with
    other work."""
    there = [name for name in ("tensorflow", *TORCH) if importlib.util.find_spec(name)]
    versions = {name: importlib.metadata.version(name) for name in there}
    load = round(os.getloadavg()[0], 2)
    return {
        "machine": platform.machine(),
        "processors": os.cpu_count(),
        "load": load,
        "tfsum": tfsum.__version__,
        **versions,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "models", nargs="*", help="exports NAME/VERSION of one model; default: the included model"
    )
    parser.add_argument(
        "--corpus", required=True, help="documents to summarize, in a format of `tfsum prepare`"
    )
    parser.add_argument(
        "--documents", type=int, default=64, help="number of documents (default 64)"
    )
    parser.add_argument(
        "--batches", type=int, nargs="+", default=[1, 8, 32], help="batch sizes (default 1 8 32)"
    )
    parser.add_argument("--runs", type=int, default=5, help="measured rounds (default 5)")
    options = parser.parse_args()
    facts = machine()
    summarizers = [tfsum.load(path) for path in options.models or [shipped_model()]]
    texts = [
        row["text"] for row in itertools.islice(read_corpus(options.corpus), options.documents)
    ]
    windows = windows_of(summarizers[0], texts)
    tokens = sum(map(np.count_nonzero, windows))
    print(
        json.dumps(
            {
                **facts,
                "documents": len(texts),
                "tokens_a_document": round(tokens / len(texts), 1),
                "windows_a_document": round(sum(map(len, windows)) / len(texts), 2),
                "runs": options.runs,
            }
        )
    )
    made = contestants(summarizers, texts, windows)
    report(measure(made, len(texts), options.batches, options.runs), len(texts), tokens)


if __name__ == "__main__":
    main()
