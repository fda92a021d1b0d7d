"""Bytes to text: UTF-8, encodings with a mark, and those recognized by their letters."""

import codecs

from charset_normalizer import from_bytes

from tfsum.errors import DataError
from tfsum.inputs.kinds import utf_16

MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Encodings of a byte a letter for the languages of Europe, and the letters and marks of those of
# the West.
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
        data: Bytes of the text.
        name: Name of the text in messages.
        encoding: Python's name of its encoding; None recognizes it.

    Returns:
        The text, and notes for its reader: another encoding than UTF-8, broken places.

    Raises:
        DataError: The text is not of that encoding, or there is no such encoding.

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
                f"encoding {encoding!r} is unknown; expected a name of Python's, such as utf-8,"
                " utf-16, latin-1, cp1252, euc-kr or shift_jis"
            ) from None
        except UnicodeDecodeError as error:
            raise DataError(
                f"{name}: is not {encoding} ({error.reason} at byte {error.start}); leave"
                " --encoding out to have it recognized"
            ) from None

    for mark, marked in MARKS:
        if data.startswith(mark):  # Python drops the marks of UTF-16 and UTF-32
            return _replaced(data.removeprefix(codecs.BOM_UTF8), marked)
    if order := utf_16(data):
        return _replaced(data, order)

    text = data.decode("utf-8", errors="replace")
    broken = text.count("\ufffd") - data.count("\ufffd".encode())
    is_utf_8 = broken <= FEW * len(data) and any(c > "\x7f" and c != "\ufffd" for c in text)
    if not broken or is_utf_8:  # its other letters are UTF-8
        return _replaced(data, "utf-8")

    best = from_bytes(data).best()
    # few letters do not tell the languages of the West apart
    western = all(c < "\x80" or c in WESTERN for c in data.decode("cp1252", errors="replace"))
    if best is None or (western and best.encoding.startswith(SINGLE)):
        return _replaced(data, "cp1252")
    return _replaced(data, best.encoding)


def _replaced(data: bytes, encoding: str) -> tuple[str, list[str]]:
    """The text, with U+FFFD for what cannot be decoded, and the notes."""
    text, notes = data.decode(encoding, errors="replace"), []
    if encoding != "utf-8":
        notes.append(f"read as {encoding.replace('_', '-')}; --encoding names another")

    broken = text.count("\ufffd")
    if encoding.startswith("utf"):  # which can write U+FFFD
        broken -= data.count("\ufffd".encode(encoding))
    if broken > 0:
        notes.append(f"{broken} place(s) were not {encoding.upper()}, read as U+FFFD")
    return text, notes
