"""What a first question about a text costs, what a further one, and what is kept of the text.

    python -m benchmarks reading
    python -m benchmarks reading --kilobytes 50 --rounds 5 --model bert_sum_ext_multilingual

Each question asks for 100 words. With the first the text is read, which is what takes time; the
further ones are asked of what was kept. Seconds of the processor, in all threads, and of the clock:
the median, the least in parentheses. A short text is asked before, which opens what opens late.
Kept are megabytes, with the text, and bytes for each byte of the text, without it. The texts are
examples/article.txt, again and again.
"""

import argparse
import time

import numpy as np

import tfsum
from benchmarks import corpora, results

WORDS = 100
FIRST = "Why will the crossing end?"
FURTHER = ("Who pays for it until autumn?", "섬에는 몇 명이 사는가?", "What happened in 1903?")


def now() -> np.ndarray:
    """Seconds of the processor and of the clock."""
    return np.array([time.process_time(), time.perf_counter()])


def asked(model: tfsum.Summarizer, kilobytes: int, rounds: int) -> results.Row:
    """The cells of a text."""
    text = corpora.article(kilobytes)
    first, further = [], []
    for _ in range(rounds):
        begin = now()
        reading = model.read(text)
        reading(words=WORDS, query=FIRST)
        first.append(now() - begin)
        for question in FURTHER:
            begin = now()
            reading(words=WORDS, query=question)
            further.append(now() - begin)

    cells = {"sentences": str(len(reading(all=True).sentences))}
    for name, taken in (("first", first), ("further", further)):
        for clock, median, least in zip(("", ", clock"), np.median(taken, 0), np.min(taken, 0)):
            cells[f"{name}, s{clock}"] = f"{median:.3f} ({least:.3f})"
    size = len(text.encode())
    kept = f"{(size + reading.nbytes) / 1e6:.2f}, {reading.nbytes / size:.1f} a byte"
    return cells | {"kept, MB": kept}


OPTIONS = {
    "--kilobytes": {"type": int, "nargs": "+", "default": [50, 500]},
    "--rounds": {"type": int, "default": 3, "help": "how often a text is read (default: 3)"},
    "--model": {"default": "bert_sum_ext_multilingual", "help": "an extractive export"},
}


def run(options: argparse.Namespace) -> None:
    print(results.machine())
    model = tfsum.load(options.model)
    asked(model, 1, 1)
    results.show({f"{n} kB": asked(model, n, options.rounds) for n in options.kilobytes})
