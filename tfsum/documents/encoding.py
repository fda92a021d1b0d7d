"""Bytes to text: UTF-8, what says that it is something else, and what is recognized by its letters."""

import codecs

from charset_normalizer import from_bytes

from tfsum.documents.kinds import utf_16
from tfsum.errors import DataError

MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Encodings of a byte a letter for the languages of Europe, and the letters and marks of those of the West.
SINGLE = (
    "cp125",
    "cp77",
    "cp85",
    "cp86",
    "cp437",
    "iso8859",
    "latin",
    "hp_roman",
    "mac_",
    "cp1006",
)
WESTERN = frozenset(
    "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝŸŒßàáâãäåæçèéêëìíîïñòóôõöøùúûüýÿœ¡¿«»‹›‘’‚“”„–—…•°§€£©®·½²\xa0"
)
FEW = 0.001  # share of bytes that may be broken in what is UTF-8 otherwise


def decode(data: bytes, name: str, encoding: str | None = None) -> tuple[str, list[str]]:
    """Decodes a text.

    Args:
        data: its bytes.
        name: what messages call it.
        encoding: as Python names it; None recognizes it.

    Returns:
        The text, and notes on what a reader should know: another encoding than UTF-8, broken places.

    Raises:
        DataError: the text is not of the encoding that was given, or there is no such encoding.

    Example:
        >>> decode("Das Wetter wird schöner, sagen die Leute.".encode("latin-1"), "a.txt")[0]
        'Das Wetter wird schöner, sagen die Leute.'
    """
    if encoding is not None:
        try:
            codecs.lookup(encoding)
            return data.decode(encoding), []
        except LookupError:
            raise DataError(
                f"encoding {encoding!r} is unknown; expected a name of Python's, such as utf-8, utf-16, "
                "latin-1, cp1252, euc-kr or shift_jis"
            ) from None
        except UnicodeDecodeError as error:
            raise DataError(
                f"{name}: is not {encoding} ({error.reason} at byte {error.start}); leave --encoding out "
                "to have it recognized"
            ) from None
    for mark, found in MARKS:
        if data.startswith(mark):
            return _replaced(data.removeprefix(mark) if found == "utf-8" else data, found)
    if order := utf_16(data):
        return _replaced(data, order)
    try:
        return data.decode("utf-8"), []
    except UnicodeDecodeError:
        pass
    text = data.decode("utf-8", errors="replace")
    broken = text.count("\ufffd") - data.count("\ufffd".encode())
    if broken <= FEW * len(data) and any(c > "\x7f" and c != "\ufffd" for c in text):
        return _replaced(data, "utf-8")  # its other letters are UTF-8
    best = from_bytes(data).best()
    found = best.encoding if best else "cp1252"
    return _replaced(data, "cp1252" if found.startswith(SINGLE) and _is_western(data) else found)


def _is_western(data: bytes) -> bool:
    """Whether all of it are letters and marks of Western Europe, which the shapes of few letters do not tell."""
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        return False
    return all(c < "\x80" or c in WESTERN for c in text)


def _replaced(data: bytes, encoding: str) -> tuple[str, list[str]]:
    """The text, what cannot be decoded as U+FFFD, and the notes."""
    text = data.decode(encoding, errors="replace")
    notes = (
        []
        if encoding == "utf-8"
        else [f"read as {encoding.replace('_', '-')}; --encoding names another"]
    )
    broken = text.count("\ufffd") - (
        data.count("\ufffd".encode(encoding)) if encoding.startswith("utf") else 0
    )
    if broken > 0:
        notes.append(f"{broken} place(s) were not {encoding.upper()}, read as U+FFFD")
    return text, notes
