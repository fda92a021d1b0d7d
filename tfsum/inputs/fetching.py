"""Pages of the web, fetched whole, within one deadline and without a way to inner addresses."""

import http.client
import ipaddress
import socket
import threading
import urllib.error
import urllib.parse
import urllib.request
import zlib
from typing import IO

from tfsum.errors import DataError, install_extra

MAX_REASON = 200  # characters of an error; a server may send anything
SECONDS, BYTES = 30, 100 << 20  # limits of a page


def fetch(address: str) -> bytes:
    """The content of an address.

    Args:
        address: Address that begins with `http://` or `https://`.

    Raises:
        DataError: It is no address, cannot be had within `SECONDS`, is cut off or larger than
            `BYTES`, or leads to an address of this machine or network.

    Example:
        >>> fetch("http://[::1/page")
        Traceback (most recent call last):
        tfsum.errors.DataError: http://[::1/page: cannot be fetched (Invalid IPv6 URL)
    """
    # The time-out of a socket is for each read: a page that comes in drips would never reach it.
    found: list[bytes | DataError] = []
    thread = threading.Thread(target=lambda: found.append(_fetch(address)), daemon=True)
    thread.start()
    thread.join(SECONDS)
    page = found[0] if found else DataError(f"{address}: did not come within {SECONDS} s")
    if isinstance(page, DataError):
        raise page
    return page


def _fetch(address: str) -> bytes | DataError:
    try:
        request = urllib.request.Request(address, headers={"User-Agent": "tfsum"})
        opener = urllib.request.build_opener(_Redirects(_is_inner(address)))
        with opener.open(request, timeout=SECONDS) as page:
            data, missing = page.read(BYTES + 1), page.length
            coding = page.headers.get("Content-Encoding", "identity").strip().lower()
    except (OSError, ValueError, http.client.HTTPException) as error:
        words = str(getattr(error, "reason", None) or error).split()
        reason = " ".join(words)[:MAX_REASON] or type(error).__name__
        return DataError(f"{address}: cannot be fetched ({reason})")

    if len(data) > BYTES:
        return _too_large(address)
    if missing:
        return DataError(
            f"{address}: the page is cut off, {len(data)} of {len(data) + missing} bytes came; try"
            " again"
        )
    return _decoded(data, coding, address)


def _decoded(data: bytes, coding: str, address: str) -> bytes | DataError:
    """The content of a page that a server has compressed, though nobody asked for it."""
    try:
        if coding in ("gzip", "x-gzip", "deflate"):
            # of `deflate` there are two kinds: with a head of zlib's, as it should, and without
            bits = 47 if data[:1] in (b"\x1f", b"x") else -15
            decompressor = zlib.decompressobj(bits)
            data = decompressor.decompress(data, BYTES + 1)
            if not decompressor.eof and len(data) <= BYTES:
                raise zlib.error("it is cut")
        elif coding == "br":
            import brotli

            data = brotli.decompress(data)
        elif coding not in ("", "identity"):
            return DataError(
                f"{address}: is compressed as {coding!r}; download it and decompress it"
            )
    except ImportError:
        return DataError(
            f"{address}: is compressed by Brotli, which is read with the extra `documents`:"
            f" {install_extra('documents')}"
        )
    except Exception as error:  # zlib's and Brotli's own
        return DataError(f"{address}: cannot be decompressed ({error}); try again")
    if len(data) > BYTES:
        return _too_large(address)
    return data


def _too_large(address: str) -> DataError:
    return DataError(
        f"{address}: is larger than {BYTES >> 20} MB, the limit for an address; download it and"
        " give the file"
    )


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows no page of the web to an address of this machine or network.

    Args:
        inner: Whether the user named such an address.
    """

    def __init__(self, inner: bool) -> None:
        self._inner = inner

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        if not self._inner and _is_inner(newurl):
            raise urllib.error.URLError(f"it leads to {newurl}, an inner address")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _is_inner(address: str) -> bool:
    """Whether an address is of this machine or of a network that the web does not reach."""
    host = urllib.parse.urlsplit(address).hostname or ""
    try:
        found = socket.getaddrinfo(host, None)
    except OSError:  # its proxy may know it
        return False
    return not all(ipaddress.ip_address(one[4][0]).is_global for one in found)
