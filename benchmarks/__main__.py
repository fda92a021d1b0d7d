"""Starts a benchmark: `python -m benchmarks NAME ...`."""

import argparse
import importlib
import os
import sys
from types import ModuleType

# Name -> its module and what it prints.
BENCHMARKS = {
    "summarizing": ("speed.summarizing", "milliseconds of documents, beside torch and others"),
    "profile": ("speed.profile", "where the milliseconds of a call go, by kind of work"),
    "reading": ("speed.reading", "what a first and a further question about a text cost"),
    "training": ("speed.training", "tokens a second on a GPU or CPU, beside torch and KerasHub"),
    "step": ("speed.step", "what the exact step costs beside Keras's own"),
    "decoding": ("speed.decoding", "tokens a second of writers, beside CTranslate2 and others"),
    "asked": ("quality.asked", "lengths, keywords, queries and meetings, beside other programs"),
    "writing": ("quality.writing", "what an abstractive model writes, and from where"),
    "languages": ("quality.languages", "extractive models in many languages, beside lead"),
    "meaning": ("quality.meaning", "whether embeddings find the text that means the same"),
    "pretraining": ("quality.pretraining", "a BERT pretrained on a GPU under JAX"),
    "load": ("serving.load", "rates, latencies and faults of `tfsum serve`"),
    "page": ("serving.page", "how long the page of `tfsum serve` lets people wait"),
    "fuzz": ("serving.fuzz", "random and mutated requests to `tfsum serve`"),
    "versions": ("parity.versions", "whether two checkouts give the same bytes, and how fast"),
    "export_again": ("parity.export_again", "a model exported again from its export"),
    "code": ("code.metrics", "files, statements, long functions and more of source code"),
    "walks": (
        "code.walks",
        "how much of tfsum/ a command, a request, a training and its rows execute",
    ),
}


def parse(argv: list[str]) -> tuple[ModuleType, argparse.Namespace]:
    """The module of a benchmark and its options."""
    if not argv or argv[0] not in BENCHMARKS:
        names = "\n".join(f"  {name:<14}{what}" for name, (_, what) in BENCHMARKS.items())
        sys.exit(f"usage: python -m benchmarks NAME ...\n\n{names}\n\n`NAME --help` has more.")
    benchmark = importlib.import_module(f"benchmarks.{BENCHMARKS[argv[0]][0]}")
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks {argv[0]}",
        description=benchmark.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for name, details in benchmark.OPTIONS.items():
        parser.add_argument(name, **details)
    return benchmark, parser.parse_args(argv[1:])


def main(argv: list[str] | None = None) -> int | None:
    """Runs a benchmark; its exit status, if it has an aim."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    benchmark, options = parse(sys.argv[1:] if argv is None else argv)
    return benchmark.run(options)


if __name__ == "__main__":
    sys.exit(main())
