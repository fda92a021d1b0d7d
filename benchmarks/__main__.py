"""Starts a benchmark: `python -m benchmarks NAME ...`."""

import importlib
import sys

# Name -> its module and what it measures.
BENCHMARKS = {
    "code": ("code.metrics", "files, statements, long functions and more of source code"),
    "walks": ("code.walks", "how much of tfsum/ a command, a request and a training row run"),
}


def main(argv: list[str]) -> None:
    if not argv or argv[0] not in BENCHMARKS:
        names = "\n".join(f"  {name:<12}{what}" for name, (_, what) in BENCHMARKS.items())
        sys.exit(f"usage: python -m benchmarks NAME ...\n\n{names}\n\n`NAME --help` has more.")
    module, _ = BENCHMARKS[argv[0]]
    sys.exit(importlib.import_module(f"benchmarks.{module}").main(argv[1:]))


if __name__ == "__main__":
    main(sys.argv[1:])
