"""What the model selects from twenty texts that are not news, to be looked at.

    python benchmarks/kinds_of_text.py                      # this package
    PYTHONPATH=../before python benchmarks/kinds_of_text.py   # another one, with its own shipped
    model

Prints for each text its kind, the three sentences and the warnings. The texts are short and ours,
but two: the licence of this package and the help of one of its commands.
"""

import contextlib
import io
import os
import pathlib
import re

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tfsum

HERE = pathlib.Path(__file__).resolve().parent


def texts() -> dict[str, str]:
    """The texts by kind."""
    parts = re.split(
        r"^== (.*)\n", (HERE / "kinds_of_text.txt").read_text(encoding="utf-8"), flags=re.MULTILINE
    )[1:]
    return {
        **dict(zip(parts[::2], parts[1::2])),
        "help of a command": help_page(),
        "legal, numbered": (HERE.parent / "LICENSE").read_text(encoding="utf-8")[:6000],
    }


def help_page() -> str:
    from tfsum.cli.main import main as run

    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        run(["evaluate", "--help"])
    return out.getvalue()


def main() -> None:
    summarize = tfsum.load()
    for kind, text in texts().items():
        answer = summarize(text)
        print(f"== {kind}")
        for sentence in answer.sentences:
            print("  -", " ".join(sentence.split()))
        for warning in answer.warnings:
            print("  warning:", warning)


if __name__ == "__main__":
    main()
