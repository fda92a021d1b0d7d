"""Reads a file that a stranger sent, in a process of its own: what a damaged or hostile document
does to the library that reads it, such as taking all memory or never ending, ends with it."""

import asyncio
import contextlib
import ctypes
import json
import math
import os
import signal
import sys

from tfsum.errors import DataError
from tfsum.inputs import sources

MEMORY = 1 << 30  # bytes of addresses of the process, where the system can limit them
NICE = 10  # the process computes when others have nothing to do
PR_SET_PDEATHSIG = 1  # of prctl(2): the signal when the parent ends


async def text_apart(data: bytes, name: str, seconds: float, limit: int) -> str:
    """The text of a file, of any kind that `tfsum summarize` reads but rows.

    The process ends with this coroutine, when it is cancelled too, and with this process.

    Args:
        data: Content of the file.
        name: Name of the file, in messages.
        seconds: Time in which it must be read.
        limit: Bytes that its text may have.

    Raises:
        DataError: It cannot be read, is no text, or takes too much time or memory.

    Example:
        >>> asyncio.run(text_apart(b"It rained.", "a.txt", seconds=60, limit=1000))
        'It rained.'
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "tfsum.inputs.apart"),  # -P: nothing of this folder is run
        *(name, str(math.ceil(seconds)), str(limit)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(seconds):
            output, _ = await process.communicate(data)
        answer = json.loads(output)
    except TimeoutError:
        raise DataError(f"{name}: was not read in {seconds:g} s, the limit for a file") from None
    except ValueError:  # the process was ended, or the library printed and failed
        raise DataError(
            f"{name}: cannot be read; it seems to be damaged, or is too large"
        ) from None
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()

    if "error" in answer:
        raise DataError(answer["error"])
    return answer["text"]


def main() -> None:
    """Reads the content from standard input, and prints {"text": ...} or {"error": ...}."""
    name, seconds, limit = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with contextlib.suppress(ImportError, AttributeError):  # where the system does not have it
        import resource

        os.nice(NICE)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    sources.UNPACKED = limit  # nothing else runs in this process
    try:
        documents = sources.read_content(sys.stdin.buffer.read(), name)
        answer = {"text": "\n\n".join(document.text for document in documents)}
    except DataError as error:
        answer = {"error": str(error)}
    except MemoryError:
        answer = {"error": f"{name}: needs more than {MEMORY >> 30} GB of memory to be read"}

    output = json.dumps(answer, ensure_ascii=False).encode("utf-8", "surrogatepass")
    if len(output) > limit:
        output = json.dumps({"error": f"{name}: has more than {limit} bytes of text"}).encode()
    sys.stdout.buffer.write(output)


if __name__ == "__main__":
    main()
