"""Checks that an exported model's result for a document does not depend on its batch, and that no
input breaks it.

(a) Documents of a corpus are sent alone, in one batch, in another order, and together with very
long and empty texts (which changes the padding, the windows in a group, and the rows of every
matrix product). (b) Adversarial texts are sent alone, then in one batch with each other and with
ordinary documents. Every request calls `score` and `summarize`, and the printed seconds are for
both. The exit status is 1 if a result is invalid, if a selected sentence differs, or if a score
differs by more than 1e-5.

    python benchmarks/robustness.py --corpus CORPUS.jsonl.gz
    python benchmarks/robustness.py saved_models/NAME/1 --documents 32 --sentences 100000
"""

import argparse
import dataclasses
import itertools
import json
import os
import pathlib
import platform
import random
import resource
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

from tfsum.data.readers import read_corpus
from tfsum.export import golden
from tfsum.inference.eager_model import load_model
from tfsum.inference.saved_model import read_description
from tfsum.inference.shipped import shipped_model

TOLERANCE = 1e-5
CHOOSE = 3  # sentences of a summary


@dataclasses.dataclass(frozen=True)
class Answer:
    """A model's result for one text: scores of all sentences, and the selected ones."""

    scores: np.ndarray
    chosen: list[tuple[int, int]]
    summary: bytes
    coverage: float
    known: float

    def differs(self, other: "Answer") -> bool:
        """Whether the selected sentences differ, or a score differs by too much."""
        return (self.chosen, self.summary) != (other.chosen, other.summary) or not gap(
            self, other
        ) <= TOLERANCE


def gap(one: Answer, other: Answer) -> float:
    """The largest difference of a score or share; infinite if the numbers of sentences differ."""
    if one.scores.shape != other.scores.shape:
        return float("inf")
    shares = abs(one.coverage - other.coverage), abs(one.known - other.known)
    return float(max(*shares, np.abs(one.scores - other.scores).max(initial=0.0)))


def ask(model, texts: list[bytes]) -> list[Answer]:
    """One request to each of the signatures `score` and `summarize`."""
    given, rows = tf.constant(texts, tf.string), len(texts)
    every = model.signatures["score"](text=given)
    short = model.signatures["summarize"](
        text=given, max_sentences=tf.fill([rows], CHOOSE), block_trigrams=tf.fill([rows], True)
    )
    every, short = ({k: v.numpy() for k, v in answer.items()} for answer in (every, short))
    return [answer_of(every, short, i) for i in range(rows)]


def answer_of(every: dict, short: dict, i: int) -> Answer:
    total, count = every["count"][i], short["count"][i]
    chosen = list(zip(short["start"][i, :count].tolist(), short["end"][i, :count].tolist()))
    share = float(short["coverage"][i]), float(short["known"][i])
    return Answer(every["score"][i, :total].copy(), chosen, short["summary"][i], *share)


def read_documents(corpus: str | None, count: int) -> list[bytes]:
    """The first documents of a corpus; without a corpus, texts of the golden requests, truncated at
    many positions."""
    if corpus:
        return [row["text"].encode() for row in itertools.islice(read_corpus(corpus), count)]
    cuts = (
        (text, place) for place in range(0, 1000, 7) for text in golden.TEXTS if place < len(text)
    )
    return [text[place:].encode() for text, place in itertools.islice(cuts, count)]


def compare(name: str, alone: list[Answer], found: list[Answer], **more) -> bool:
    """Prints one line with the difference to the results for single texts; returns whether they are
    equal."""
    changed = [i for i, (one, other) in enumerate(zip(alone, found)) if one.chosen != other.chosen]
    worst = max(map(gap, alone, found), default=0.0)
    same = not any(map(Answer.differs, alone, found))
    line = {
        "documents": len(alone),
        "largest_score_difference": worst,
        "summaries_changed": len(changed),
    }
    print(json.dumps({"asked": name, **line, **more, "same": same}), flush=True)
    return same


def in_batches(model, documents: list[bytes], alone: list[Answer], batch: int) -> list[bool]:
    """Check (a): the same documents in four kinds of batches."""
    groups = [range(i, min(i + batch, len(documents))) for i in range(0, len(documents), batch)]
    together = [answer for rows in groups for answer in ask(model, [documents[i] for i in rows])]
    results = [compare(f"in batches of {batch}", alone, together)]
    order = list(range(len(documents)))
    random.Random(0).shuffle(order)
    shuffled = dict(
        zip(
            order,
            itertools.chain.from_iterable(
                ask(model, [documents[i] for i in order[rows.start : rows.stop]]) for rows in groups
            ),
        )
    )
    results.append(compare("in another order", alone, [shuffled[i] for i in range(len(documents))]))
    long = b" ".join(documents[:20])
    beside = ask(model, [b"", long, *documents[:8], b" \n", b"One more.", long[: len(long) // 2]])
    return [
        *results,
        compare("beside long and empty ones", alone[:8], beside[2:10], long_bytes=len(long)),
    ]


def hostile_texts(sentences: int) -> dict[str, bytes]:
    """Name -> an adversarial text; the most expensive ones last, so that peak memory shows the cost
    of each."""
    few = sentences // 10
    return {
        "empty": b"",
        "white space": " \n\t\r\u00a0\u3000 ".encode(),
        "one character": b"x",
        "invalid UTF-8": b"\xff\xfe The end\xc3. \xed\xa0\x80 Next\x80 one. \xf0\x9f",
        "emoji": "😀👩‍👩‍👧 🇰🇷. ❤️! Rain fell 😀.".encode(),
        "right to left": "שלום עולם. מרحبا بالعالم؟ نعم. \u202eThe end\u202c.".encode(),
        "control characters": b"\x00\x01\x02 a.\x00 B\x03.",
        "1 MB without a space": b"a" * 1_000_000,
        "1 MB of Korean without a space": "가나다라".encode() * 83_333,
        "1 MB of words without an end": b"word " * 200_000,
        f"{few} sentences": b"Hi. " * few,
        f"{few} sentences of the same trigrams": b"It rained on Monday. " * few,
        f"{sentences} sentences": b"Hi. " * sentences,
    }


def among_hostile(model, ordinary: list[bytes], alone: list[Answer], sentences: int) -> list[bool]:
    """Check (b): each adversarial text alone, then all of them and the ordinary documents in one
    batch."""
    hostile = hostile_texts(sentences)
    answers = [ask_hostile(model, name, text) for name, text in hostile.items()]
    start = time.perf_counter()
    found = ask(model, [*hostile.values(), *ordinary])
    cost = {"seconds": round(time.perf_counter() - start, 1), "peak_mb": peak_mb()}
    sound = all(valid(text, answer)["valid"] for text, answer in zip(hostile.values(), answers))
    return [
        sound,
        compare("hostile ones in one batch", answers, found[: len(hostile)], **cost),
        compare("beside hostile ones", alone, found[len(hostile) :]),
    ]


def ask_hostile(model, name: str, text: bytes) -> Answer:
    """Sends one text alone and prints the result, the time and the memory."""
    start = time.perf_counter()
    answer = ask(model, [text])[0]
    cost = {"seconds": round(time.perf_counter() - start, 1), "peak_mb": peak_mb()}
    line = {"text": name, "bytes": len(text), **valid(text, answer), **cost}
    print(json.dumps(line, ensure_ascii=False), flush=True)
    return answer


def valid(text: bytes, answer: Answer) -> dict:
    """The result, and whether it is valid: finite scores, and sentences that are byte ranges of the
    text, in order."""
    sentences = [text[start:end] for start, end in answer.chosen]
    sound = (
        np.isfinite(answer.scores).all() and 0 <= answer.coverage <= 1 and 0 <= answer.known <= 1
    )
    sound &= answer.chosen == sorted(answer.chosen) and b" ".join(sentences) == answer.summary
    numbers = {"coverage": round(answer.coverage, 4), "known": round(answer.known, 4)}
    return {
        "sentences": len(answer.scores),
        "chosen": len(sentences),
        **numbers,
        "valid": bool(sound),
    }


def peak_mb() -> int:
    """Peak resident memory of this process (Linux counts in KiB, macOS in bytes)."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak * (1 if sys.platform == "darwin" else 1024) / 1e6)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "model", nargs="?", help="exported model NAME/VERSION; default: the included one"
    )
    parser.add_argument(
        "--corpus", help="documents, in a format of `tfsum prepare`; default: a few built-in texts"
    )
    parser.add_argument(
        "--documents", type=int, default=32, help="number of documents (default 32)"
    )
    parser.add_argument("--batch", type=int, default=32, help="documents in a batch (default 32)")
    parser.add_argument(
        "--sentences",
        type=int,
        default=100_000,
        help="sentences of the longest text (default 100000)",
    )
    options = parser.parse_args()
    folder = pathlib.Path(options.model) if options.model else shipped_model()
    description = read_description(folder)
    model, documents = (
        load_model(folder, description),
        read_documents(options.corpus, options.documents),
    )
    print(
        json.dumps(
            {
                "model": "/".join(folder.parts[-2:]),
                "ops": description["ops"],
                "tensorflow": tf.__version__,
                "machine": platform.machine(),
                "processors": os.cpu_count(),
                "peak_mb": peak_mb(),
            }
        )
    )
    alone = [ask(model, [text])[0] for text in documents]
    results = in_batches(model, documents, alone, options.batch)
    results += among_hostile(model, documents[:4], alone[:4], options.sentences)
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
