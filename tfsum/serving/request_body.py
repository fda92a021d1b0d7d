"""The body of a request: read within a limit of size and time, and unpacked."""

import asyncio
import zlib
from collections.abc import AsyncIterator

from tfsum.serving.request_error import RequestError


async def read_body(
    chunks: AsyncIterator[bytes], encoding: str, limit: int, seconds: float
) -> bytes:
    """Reads a body.

    Args:
        chunks: of it, as they come.
        encoding: Content-Encoding of the request: "", "identity" or "gzip".
        limit: bytes that it may have, unpacked.
        seconds: in which it comes.

    Raises:
        RequestError: it is too large (413), too slow (408), or not in gzip's format (400).

    Example:
        >>> import gzip
        >>> async def chunks():
        ...     yield gzip.compress(b"It rained.")
        >>> asyncio.run(read_body(chunks(), "gzip", 100, 1.0))
        b'It rained.'
    """
    encoding = encoding.strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip"):
        raise RequestError(
            "INVALID_ARGUMENT",
            f"Content-Encoding is {encoding!r}; expected gzip or none",
            http_status=415,
        )
    unpack = zlib.decompressobj(31) if "gzip" in encoding else None
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for chunk in chunks:
                body += chunk if unpack is None else unpack.decompress(chunk, limit + 1 - len(body))
                if len(body) > limit:
                    raise RequestError(
                        "INVALID_ARGUMENT",
                        f"the body has more than {limit} bytes; send fewer "
                        "documents, or start the server with a larger --max-body",
                        http_status=413,
                    )
    except TimeoutError:
        raise RequestError(
            "DEADLINE_EXCEEDED", f"the body did not come in {seconds:g} s", http_status=408
        ) from None
    except zlib.error as error:
        raise RequestError(
            "INVALID_ARGUMENT", f"the body is not in gzip's format ({error})"
        ) from None
    if unpack is not None and not unpack.eof:
        raise RequestError("INVALID_ARGUMENT", "the body in gzip's format is cut off")
    return bytes(body)
