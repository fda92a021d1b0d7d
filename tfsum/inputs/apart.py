"""Reads files in a process of its own (`tfsum.inputs.reading_process`): what a damaged or hostile
document does to the library that reads it, such as taking all memory or never ending, ends with it.
"""

import asyncio
import contextlib
import json
import subprocess
import sys
import threading
import time
from typing import Any

from tfsum.errors import DataError

Fields = dict[str, Any]  # the attributes of a `tfsum.inputs.documents.Document`

MEMORY = 1 << 30  # bytes of addresses of the process, where the system can limit them
# Limits of the command line, whose user has chosen the file.
OWN_SECONDS, OWN_MEMORY = 600, 4 << 30


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
        *_command(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(seconds):
            head = _head(data, name, seconds, limit, MEMORY)
            line, _ = await process.communicate(head + data)
    except TimeoutError:
        raise _late(name, seconds) from None
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    return "\n\n".join(document["text"] for document in _documents(_parsed(line, name)))


class ApartReader:
    """Reads the files of the command line, all in one process; after a file that ends it, in
    another.

    Example:
        >>> [fields["text"] for fields in ApartReader()(b"It rained.", "a.txt", 1000)]
        ['It rained.']
    """

    _process: subprocess.Popen[bytes] | None = None

    def __call__(
        self, data: bytes, name: str, limit: int, encoding: str | None = None
    ) -> list[Fields]:
        """The attributes of each `Document` of a file, of any kind that is read but rows.

        Args:
            data: Content of the file.
            name: Name of the file.
            limit: Bytes that its text may have.
            encoding: Python's name of the encoding; None recognizes it.

        Raises:
            DataError: It cannot be read, is no text, or takes too much time or memory.
        """
        self._process = process = self._process or subprocess.Popen(
            _command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert process.stdin is not None and process.stdout is not None
        deadline, begin = threading.Timer(OWN_SECONDS, process.kill), time.monotonic()
        deadline.start()

        answer, line = None, b""
        try:
            with contextlib.suppress(BrokenPipeError):
                head = _head(data, name, OWN_SECONDS, limit, OWN_MEMORY, encoding)
                process.stdin.write(head)
                process.stdin.write(data)
                process.stdin.flush()
                line = process.stdout.readline()
            if not line and time.monotonic() - begin >= OWN_SECONDS:
                raise _late(name, OWN_SECONDS)
            answer = _parsed(line, name)
        finally:
            deadline.cancel()
            if answer is None:  # it has ended, or reads for nobody
                process.kill()
                process.communicate()
                self._process = None
        return _documents(answer)


read_apart = ApartReader()


def _command() -> list[str]:
    # -P: nothing of this folder is run
    return [sys.executable, "-P", "-m", "tfsum.inputs.reading_process"]


def _head(
    data: bytes,
    name: str,
    seconds: float,
    limit: int,
    memory: int,
    encoding: str | None = None,
) -> bytes:
    """The line before a file's content: its size, and how it is read."""
    how = {"name": name, "seconds": seconds, "limit": limit, "memory": memory, "encoding": encoding}
    return json.dumps({"size": len(data), **how}).encode() + b"\n"


def _late(name: str, seconds: float) -> DataError:
    return DataError(f"{name}: was not read in {seconds:g} s, the limit for a file")


def _parsed(line: bytes, name: str) -> dict:
    try:
        return json.loads(line)
    except ValueError:  # the process was ended
        raise DataError(
            f"{name}: cannot be read; it seems to be damaged, or is too large"
        ) from None


def _documents(answer: dict) -> list[Fields]:
    if "error" in answer:
        raise DataError(answer["error"])
    return answer["documents"]
