"""Reads a file that a stranger sent, in a process of its own: what a damaged or hostile document
does to the library that reads it, such as taking all memory or never ending, ends with it."""

import contextlib
import json
import subprocess
import sys

from tfsum.errors import DataError
from tfsum.inputs.sources import read_content

MEMORY = 2 << 30  # bytes of addresses of the process, where the system can limit them


def text_apart(data: bytes, name: str, seconds: float) -> str:
    """The text of a file, of any kind that `tfsum summarize` reads but rows.

    Args:
        data: Content of the file.
        name: Name of the file, in messages.
        seconds: Time in which it must be read.

    Raises:
        DataError: It cannot be read, is no text, or takes too much time or memory.

    Example:
        >>> text_apart(b"It rained.", "a.txt", seconds=60)
        'It rained.'
    """
    command = [sys.executable, "-m", "tfsum.inputs.apart", name]
    try:
        done = subprocess.run(command, input=data, capture_output=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        raise DataError(f"{name}: was not read in {seconds:g} s, the limit for a file") from None
    try:
        answer = json.loads(done.stdout)
    except ValueError:  # the process was ended, or the library printed and failed
        raise DataError(
            f"{name}: cannot be read; it seems to be damaged, or is too large"
        ) from None
    if "error" in answer:
        raise DataError(answer["error"])
    return answer["text"]


def main() -> None:
    """Reads the content from standard input, and prints {"text": ...} or {"error": ...}."""
    with contextlib.suppress(ImportError):  # not on Windows
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    try:
        documents = read_content(sys.stdin.buffer.read(), sys.argv[1])
        answer = {"text": "\n\n".join(document.text for document in documents)}
    except DataError as error:
        answer = {"error": str(error)}
    except MemoryError:
        answer = {"error": f"{sys.argv[1]}: needs more than {MEMORY >> 30} GB of memory to be read"}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
