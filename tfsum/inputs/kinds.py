"""What a file is, told from its content: its kind, and the encoding of a text."""

import codecs
import io
import json
import re
import zipfile

from tfsum.data.rows import PARQUET
from tfsum.errors import DataError

JSON = "a JSON document"  # that is no row a line
PLACES = {b"ftyp": 4, b"ustar": 257}  # of the bytes below that are not the first
# The first bytes of what is no text, and its name.
SIGNATURES = (
    (b"ftyp", "an MP4 or QuickTime video"),
    (b"ustar", "a tar archive"),
    (b"\x7fELF", "an ELF program"),
    (b"MZ", "a Windows program"),
    (b"\xcf\xfa\xed\xfe", "a Mach-O program"),
    (b"\xca\xfe\xba\xbe", "a Java class"),
    (b"\0asm", "a WebAssembly program"),
    (b"\x1f\x8b", "gzip-compressed"),
    (b"BZh", "bzip2-compressed"),
    (b"\xfd7zXZ\0", "xz-compressed"),
    (b"\x28\xb5\x2f\xfd", "zstd-compressed"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"\x89PNG\r\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"II*\0", "a TIFF image"),
    (b"MM\0*", "a TIFF image"),
    (b"RIFF", "a RIFF file (WAV, AVI or WebP)"),
    (b"ID3", "MP3 audio"),
    (b"OggS", "Ogg audio or video"),
    (b"fLaC", "FLAC audio"),
    (b"\x1aE\xdf\xa3", "Matroska video"),
    (b"SQLite format 3\0", "an SQLite database"),
    (PARQUET, "rows"),
    (b"ARROW1", "an Arrow table"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\x89HDF\r\n", "an HDF5 file"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office document (.doc, .xls)"),
    (b"{\\rtf", "rtf"),
    (b"%!PS", "a PostScript document"),
    (b"\x80\x02", "a pickle"),
    (b"\x80\x03", "a pickle"),
    (b"\x80\x04", "a pickle"),
    (b"\x80\x05", "a pickle"),
    (b"-----BEGIN PGP", "PGP data"),
)
ARCHIVES = (
    ("word/document.xml", "docx"),
    ("xl/workbook.xml", "an Excel workbook"),
    ("ppt/presentation.xml", "a PowerPoint presentation"),
    ("META-INF/container.xml", "epub"),
    ("content.xml", "an OpenDocument file"),
    ("word/document2.xml", "docx"),
    ("classes.dex", "an Android package"),
)
OPEN_TEXT = b"application/vnd.oasis.opendocument.text"
_LOCKED = "EncryptedPackage".encode("utf-16-le")  # a part of Office files with a password
FORMATS = {
    "html": ("HTML", "tfsum.inputs.html_text:page_content"),
    "pdf": ("a PDF file", "tfsum.inputs.pdf:pdf_content"),
    "docx": ("a Word document", "tfsum.inputs.word_processors:word_content"),
    "epub": ("an EPUB book", "tfsum.inputs.word_processors:epub_content"),
    "odt": ("an OpenDocument text", "tfsum.inputs.word_processors:odt_content"),
    "rtf": ("an RTF document", "tfsum.inputs.word_processors:rtf_content"),
    "mail": ("mail", "tfsum.inputs.mail:mailbox_contents"),
    "markdown": ("Markdown", "tfsum.inputs.marked_up:markdown_content"),
    "latex": ("LaTeX", "tfsum.inputs.marked_up:latex_content"),
    "notebook": ("a Jupyter notebook", "tfsum.inputs.marked_up:notebook_content"),
}
"""Kinds of documents -> what a message calls them, and the reader, which is imported where a file
needs it."""
READ = ("text", "rows", *FORMATS)
"""The kinds that are read; any other is refused by the name that `kind_of` gives it."""

_HTML = re.compile(
    rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*+<(?:!doctype\s+html|html|head|body)\b", re.I | re.S
)
_XML = re.compile(rb"\s*<\?xml\b", re.I)
_ROWS = re.compile(rb"\s*\{\s*\"")
_NOTEBOOK = re.compile(rb"\s*\{.*\"nbformat\"\s*:\s*4\b", re.S)
_ARRAY = re.compile(rb"\s*\[\s*\{\s*[\"}]")
_JSON = re.compile(rb"\s*(?:\[\s*[\[{\"\d\-tfn\]]|\{\s*(?:\}|\"[^\"]*\"\s*:\s*[\[{]?\s*\n))")
_LATEX = re.compile(
    rb"^[^%\n]*\\(?:documentclass|begin\{document\}|(?:chapter|(?:sub)*section)\*?\{)", re.M
)
_MARKDOWN = re.compile(rb"^(?:#{1,6} \S|```|~~~|\[!\[|- \[[ x]\] )", re.M)
_FIELD = re.compile(rb"[A-Za-z][A-Za-z0-9-]{0,60}:[ \t]")
_MAIL = re.compile(
    rb"^(?:From|To|Cc|Subject|Date|Sent|Received|Message-ID|Return-Path):[ \t]", re.I | re.M
)
# All but white space, escape sequences of a terminal's log, and what else occurs in texts.
_CONTROLS = bytes(sorted(set(range(32)) - set(b"\t\n\x0b\f\r\x1b\x08"))) + b"\x7f"
_TEXT = re.compile(rb"[\t\n\x0b\f\r\x1b\x08 -~]*")  # ASCII without those
STRAY = 3  # control characters that any text may hold
BINARY = 0.002  # share of control characters from which data are no text

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


def kind_of(data: bytes, name: str = "") -> str:
    """Names the kind of a file.

    Args:
        data: Content of the file.
        name: Name of the file, which decides only what the content leaves open: `.csv` and `.tsv`
            are rows, `.html` is HTML without a head.

    Returns:
        One of `READ`, or a phrase for another kind, such as "a PNG image".

    Example:
        >>> kind_of(b"%PDF-1.7 ..."), kind_of(b"It rained."), kind_of(b"\\x7fELF\\x02")
        ('pdf', 'text', 'an ELF program')
    """
    if b"%PDF-" in data[:1024]:
        return "pdf"
    if data.startswith(b"PK\x03\x04"):
        return _archive(data)
    if data.startswith(b"\xd0\xcf\x11\xe0") and _LOCKED in data:
        return "an Office document that a password protects"
    for start, what in SIGNATURES:  # a mark of two letters may begin a text
        begins = data.startswith(start, PLACES.get(start, 0))
        if begins and (len(start) > 2 or not _TEXT.fullmatch(data[:64])):
            return what

    start = data.removeprefix(b"\xef\xbb\xbf")[:4096]
    name = name.lower().removesuffix(".gz")
    if _ARRAY.match(start):  # which may be cut
        return JSON
    if _JSON.match(start) and _is_json(data):
        return "notebook" if _NOTEBOOK.match(data) else JSON
    found = {
        "html": _HTML.match(start) or (name.endswith((".html", ".htm")) and _is_text(data)),
        "XML": _XML.match(start),
        "rows": _ROWS.match(start) or name.endswith((".jsonl", ".csv", ".tsv")),
        "mail": name.endswith(".eml") or _is_mail(start),
        "latex": (name.endswith(".tex") or _LATEX.search(start)) and _is_text(data),
        "markdown": (name.endswith((".md", ".markdown")) or len(_MARKDOWN.findall(start)) > 2)
        and _is_text(data),
        "text": _is_text(data),
    }
    return next((kind for kind, is_it in found.items() if is_it), "binary data")


def _archive(data: bytes) -> str:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = set(archive.namelist())
            if "mimetype" in names:
                with archive.open("mimetype") as member:  # which may be any size
                    if member.read(len(OPEN_TEXT)) == OPEN_TEXT:
                        return "odt"
    except zipfile.BadZipFile:
        return "a damaged ZIP archive"
    return next((what for member, what in ARCHIVES if member in names), "a ZIP archive")


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True


def _is_mail(start: bytes) -> bool:
    """Whether it begins with a header of fields, at least two of which only mail has."""
    box = re.match(rb"From \S+ .*\d\d:\d\d.*\n", start)  # the first line of a mailbox
    header = re.split(rb"\r?\n\r?\n", start[box.end() if box else 0 :], maxsplit=1)[0]
    fields = {field.lower() for field in _MAIL.findall(header)}
    return bool(_FIELD.match(header)) and len(fields) >= (1 if box else 2)


def _is_text(data: bytes) -> bool:
    """Whether there are hardly any control characters; in UTF-16 and UTF-32, NULs mean nothing."""
    if _marked(data) not in (None, "utf-8") or utf_16(data):
        return True
    controls = len(data) - len(data.translate(None, _CONTROLS))
    return b"\0" not in data and controls <= STRAY + BINARY * len(data)


def _marked(data: bytes) -> str | None:
    """The encoding that the mark at the beginning names."""
    return next((encoding for mark, encoding in MARKS if data.startswith(mark)), None)


def utf_16(data: bytes) -> str | None:
    """The byte order of UTF-16 without a mark.

    Args:
        data: Content of a file.

    Returns:
        "utf-16-le" or "utf-16-be"; None for anything else.

    Example:
        >>> utf_16("It rained all day.".encode("utf-16-le")), utf_16(b"It rained.")
        ('utf-16-le', None)
    """
    if len(data) % 2 or len(data) < 8:
        return None

    half = len(data) // 2
    even, odd = data[0::2], data[1::2]
    for encoding, high, low in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
        # Texts of all scripts hold U+0020 or U+000A, few hold U+AC00 and its like.
        blanks = low.count(b" ") + low.count(b"\n")
        zeros, low_zeros = high.count(b"\0"), low.count(b"\0")
        if blanks and zeros >= 0.02 * half and zeros > low_zeros <= 0.05 * half + 1:
            text = data.decode(encoding, errors="replace")
            start = text[:10_000]
            strange = sum(not (c.isprintable() or c.isspace()) for c in start)
            if "\ufffd" not in text and strange <= 1 + BINARY * len(start):
                return encoding
    return None


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

    if wide := _marked(data) or utf_16(data):  # Python drops the marks of UTF-16 and UTF-32
        return _replaced(data.removeprefix(codecs.BOM_UTF8), wide)

    text = data.decode("utf-8", errors="replace")
    broken = text.count("\ufffd") - data.count("\ufffd".encode())
    is_utf_8 = broken <= FEW * len(data) and any(c > "\x7f" and c != "\ufffd" for c in text)
    if not broken or is_utf_8:  # its other letters are UTF-8
        return _replaced(data, "utf-8")

    from charset_normalizer import from_bytes  # which few files need

    best = from_bytes(data).best()
    # few letters do not tell the languages of the West apart
    western = all(c < "\x80" or c in WESTERN for c in data.decode("cp1252", errors="replace"))
    if best is None or (western and best.encoding.startswith(SINGLE)):
        return _replaced(data, "cp1252")
    return _replaced(data, best.encoding)


def _replaced(data: bytes, encoding: str) -> tuple[str, list[str]]:
    """The text, with U+FFFD for what cannot be decoded, and the notes."""
    text = data.decode(encoding, errors="replace")
    broken = text.count("\ufffd")
    if encoding.startswith("utf"):  # which can write U+FFFD
        broken -= data.count("\ufffd".encode(encoding))
    notes = {
        f"read as {encoding.replace('_', '-')}; --encoding names another": encoding != "utf-8",
        f"{broken} place(s) were not {encoding.upper()}, read as U+FFFD": broken > 0,
    }
    return text, [note for note, applies in notes.items() if applies]
