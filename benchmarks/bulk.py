"""Many files, and one large one: seconds, memory, what the terminal shows, Ctrl-C, and the second
run of the command.

    python benchmarks/bulk.py --corpus ../shared/data/news/validation.jsonl.gz --files 2000
    --megabytes 5

Writes the texts of the corpus as files (again from the first where it has fewer), summarizes the
folder on a terminal (`tfsum summarize -r FOLDER -o OUTPUT`), interrupts that once by Ctrl-C and
starts it again, and summarizes one file of many texts. Prints a JSON line for each: seconds, the
largest memory of the process, exit status, the answers that are there, and the last lines of the
terminal.
"""

import argparse
import fcntl
import itertools
import json
import os
import pathlib
import pty
import struct
import sys
import tempfile
import termios
import time

from tfsum.data.readers import read_corpus

COMMAND = "import sys; from tfsum.cli.main import main; sys.exit(main())"


def on_terminal(words: list[str], interrupt: float | None = None) -> dict:
    """Runs `tfsum` with these words on a terminal of its own; Ctrl-C is pressed after `interrupt`
    seconds."""
    begin = time.monotonic()
    process, terminal = pty.fork()
    if not process:
        os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
        os.execv(sys.executable, [sys.executable, "-c", COMMAND, *words])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", 24, 100, 0, 0))  # rows and columns
    shown, pressed = b"", None
    os.set_blocking(terminal, False)
    while True:
        if interrupt is not None and pressed is None and time.monotonic() - begin >= interrupt:
            os.write(terminal, b"\x03")
            pressed = time.monotonic()
        try:
            if not (block := os.read(terminal, 65536)):
                break
            shown += block
        except BlockingIOError:
            time.sleep(0.02)
        except OSError:  # the process has closed it
            break
    _, status, usage = os.wait4(process, 0)
    end = time.monotonic()
    lines = [
        line
        for line in shown.decode(errors="replace").replace("\r", "\n").split("\n")
        if line.strip()
    ]
    return {
        "exit_status": os.waitstatus_to_exitcode(status),
        "seconds": round(end - begin, 1),
        "gigabytes": round(usage.ru_maxrss / 2**20, 2),
        **({"seconds_after_ctrl_c": round(end - pressed, 2)} if pressed else {}),
        "lines_shown": len(lines),
        "shown": [line[:120] for line in (*lines[len(lines) // 2 :][:1], *lines[-2:])],
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--megabytes", type=float, default=5.0)
    parser.add_argument(
        "--interrupt", type=float, default=60.0, help="seconds after which Ctrl-C is pressed"
    )
    options = parser.parse_args()
    texts = [document["text"] for document in read_corpus(options.corpus)]
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        if options.files:
            (place / "texts").mkdir()
            for number, text in enumerate(itertools.islice(itertools.cycle(texts), options.files)):
                (place / "texts" / f"{number:05}.txt").write_text(text, encoding="utf-8")
            words = ["summarize", "-r", str(place / "texts"), "-o", str(place / "out")]
            for what, interrupt in (
                ("interrupted", options.interrupt),
                ("resumed", None),
                ("again", None),
            ):
                row = {"what": what, "files": options.files, **on_terminal(words, interrupt)}
                print(
                    json.dumps(
                        {**row, "answers": len(list(place.glob("out/*")))}, ensure_ascii=False
                    ),
                    flush=True,
                )
        if options.megabytes:
            size, large = 0, []
            for text in itertools.cycle(texts):
                if size >= options.megabytes * 1e6:
                    break
                large.append(text)
                size += len(text.encode())
            (place / "large.txt").write_text("\n\n".join(large), encoding="utf-8")
            for what, interrupt in (("one file", None), ("one file, interrupted", 30.0)):
                row = {"what": what, "megabytes": round(size / 1e6, 2)}
                print(
                    json.dumps(
                        {**row, **on_terminal(["summarize", str(place / "large.txt")], interrupt)},
                        ensure_ascii=False,
                    ),
                    flush=True,
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
