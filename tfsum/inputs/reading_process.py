"""The process that reads files for others (`tfsum.inputs.apart`), one after another.

Of each file its standard input has a line of JSON and the content; it answers with a line,
{"documents": ...} or {"error": ...}.
"""

import contextlib
import ctypes
import dataclasses
import json
import math
import os
import signal
import sys
import time

from tfsum.errors import DataError
from tfsum.inputs import sources

NICE = 10  # the process computes when others have nothing to do
PR_SET_PDEATHSIG = 1  # of prctl(2): the signal when the parent ends


def main() -> None:
    """Answers for one file after another."""
    with contextlib.suppress(AttributeError):  # where the system does not have it
        os.nice(NICE)
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    while head := sys.stdin.buffer.readline():
        asked = json.loads(head)
        data = sys.stdin.buffer.read(asked.pop("size"))
        with contextlib.redirect_stdout(sys.stderr):  # what a library prints is no answer
            answer = _read(data, **asked)
        sys.stdout.buffer.write(answer + b"\n")
        sys.stdout.buffer.flush()


def _read(
    data: bytes, name: str, seconds: float, limit: int, memory: int, encoding: str | None
) -> bytes:
    """The answer for a file."""
    _limit(seconds, memory)
    sources.UNPACKED = limit  # nothing else runs in this process
    try:
        documents = sources.read_content(data, name, encoding=encoding)
        answer: dict[str, object] = {"documents": [*map(dataclasses.asdict, documents)]}
    except DataError as error:
        answer = {"error": str(error)}
    except MemoryError:
        answer = {"error": f"{name}: needs more than {memory >> 30} GB of memory to be read"}

    output = json.dumps(answer, ensure_ascii=False).encode("utf-8", "surrogatepass")
    if len(output) > limit:
        return json.dumps({"error": f"{name}: has more than {limit} bytes of text"}).encode()
    return output


def _limit(seconds: float, memory: int) -> None:
    """Limits the memory of the process, and what it computes from now on."""
    with contextlib.suppress(ImportError):  # where the system does not have it
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time() + seconds), hard))


if __name__ == "__main__":
    main()
