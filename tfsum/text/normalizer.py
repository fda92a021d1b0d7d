"""BERT's text normalization as a table of code points, and as the model of FastBertNormalize."""

import functools
import pathlib
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

TABLES = pathlib.Path(__file__).with_name("normalizer_tables.npz")
_SELF = -1  # in the file: "the code point itself"
LIGATURES = dict(enumerate(["ff", "fi", "fl", "ffi", "ffl", "st", "st"], start=0xFB00))
"""Letters that printers join, and their plain letters: PDF files and copies of them hold them."""


@functools.cache
def load_code_point_map(lowercase: bool = True, strip_accents: bool = True) -> dict[int, str]:
    """Loads the map of Hugging Face's BertNormalizer, followed by its BertPreTokenizer.

    Beside it, words with `LIGATURES` are those with plain letters.

    Args:
        lowercase: Whether letters are lowered, each on its own (a final sigma stays a plain one).
        strip_accents: Whether text is decomposed (NFD, Hangul too) and its nonspacing marks are
            dropped.

    Returns:
        What each changed code point turns into; all others stay as they are. Words
        are surrounded by U+0020, the only space left.

    Example:
        >>> load_code_point_map(lowercase=True, strip_accents=True)[ord("É")]
        'e'
    """
    name = {
        (True, True): "uncased",
        (True, False): "uncased_keep_accents",
        (False, True): "cased_strip_accents",
        (False, False): "cased",
    }[bool(lowercase), bool(strip_accents)]
    with np.load(TABLES) as tables:
        points = np.cumsum(tables[f"{name}_steps"])
        lengths = tables[f"{name}_lengths"].astype(int)
        values = tables[f"{name}_values"]

    values = np.where(values == _SELF, np.repeat(points, lengths), values)
    text = values.astype("<u4").tobytes().decode("utf-32-le")
    spans = zip(points.tolist(), np.cumsum(lengths).tolist(), lengths.tolist())
    return {point: text[end - length : end] for point, end, length in spans} | LIGATURES


def pooled(
    texts: Iterable[str], encode: Callable[[str], Sequence[int]]
) -> tuple[list[int], dict[str, int]]:
    """Encodes texts end to end, equal ones once.

    Args:
        texts: Texts.
        encode: Function from a text to at most 63 numbers, such as its bytes.

    Returns:
        The numbers of all texts, and for each text its offset there times 64 plus its length.

    Example:
        >>> pooled(["ab", "c", "ab"], str.encode)
        ([97, 98, 99], {'ab': 2, 'c': 129})
    """
    pool: list[int] = []
    spans: dict[str, int] = {}
    for text in texts:
        if text not in spans:
            numbers = encode(text)
            spans[text] = len(pool) << 6 | len(numbers) if numbers else 0
            pool.extend(numbers)
    return pool, spans


def equal_pages(table: np.ndarray, size: int = 256) -> tuple[np.ndarray, np.ndarray]:
    """Cuts a table into pages, of which equal ones are stored once.

    Args:
        table: Numbers, (N,).
        size: Numbers of a page; N is a multiple of it.

    Returns:
        The P different pages end to end, (P * size,), and the page of each `size` numbers of the
        table, (N / size,) int32.

    Example:
        >>> pages, page_of = equal_pages(np.array([7, 8, 9, 9, 7, 8]), size=2)
        >>> pages.tolist(), page_of.tolist()
        ([7, 8, 9, 9], [0, 1, 0])
    """
    # as bytes, since np.unique over rows takes a hundred times as long
    rows = [row.tobytes() for row in table.reshape(-1, size)]
    numbers = {page: number for number, page in enumerate(dict.fromkeys(rows))}
    pages = np.frombuffer(b"".join(numbers), table.dtype)
    return pages, np.array([numbers[row] for row in rows], np.int32)


def replacement_pages(
    replaced: Mapping[int, str], entries: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Makes the tables by which a graph replaces code points.

    Args:
        replaced: Code point -> what it becomes.
        entries: Entries of the others, (0x110000,) int32 below 0; those of `replaced` are written
            into it: the offset in the pool times 64, plus the length.

    Returns:
        The page of c // 256 for a code point c, the pages end to end, and the pool of code points
        that are written, all int32.

    Example:
        >>> table = replacement_pages({0xDF: "ss"}, np.full(0x110000, -1, np.int32))
        >>> [part.size for part in table], table[2].tolist()
        ([4352, 512, 2], [115, 115])
    """
    pool, spans = pooled(replaced.values(), lambda text: [ord(character) for character in text])
    entries[list(replaced)] = [spans[text] for text in replaced.values()]
    pages, page_of = equal_pages(entries)
    return page_of, pages, np.array(pool, np.int32)


@functools.cache
def fast_bert_model(lowercase: bool = True, strip_accents: bool = True) -> np.ndarray:
    """Builds the flatbuffer that TF Text's FastBertNormalize op reads.

    It holds our own map: TF Text's builder only makes two, which differ from BERT's on 4,000 code
    points.

    Args:
        lowercase: Whether letters are lowered.
        strip_accents: Whether accents are dropped.

    Returns:
        (bytes,) uint8, some 1.4 MB.

    Example:
        >>> fast_bert_model().dtype
        dtype('uint8')
    """
    import flatbuffers  # comes with TensorFlow

    # a value: bit 30 "differs", bits 6-29 the offset in the pool, bits 0-5 the length in bytes
    mapping = load_code_point_map(lowercase, strip_accents)
    pool, spans = pooled(mapping.values(), str.encode)
    values = np.zeros(0x110000, np.int64)
    values[list(mapping)] = [1 << 30 | spans[text] for text in mapping.values()]
    nul, values[0] = int(values[0]), 0  # U+0000 has a field of its own: a zero byte ends a key

    # the fields of TF Text's fast_bert_normalizer_model.fbs: flag, trie, value of U+0000, pool
    builder = flatbuffers.Builder(1 << 21)
    trie = builder.CreateNumpyVector(_double_array(values))
    text = builder.CreateNumpyVector(np.array(pool, np.uint8))
    builder.StartObject(4)
    builder.PrependBoolSlot(0, True, False)
    builder.PrependUOffsetTRelativeSlot(1, trie, 0)
    builder.PrependInt32Slot(2, nul, 0)
    builder.PrependUOffsetTRelativeSlot(3, text, 0)
    builder.Finish(builder.EndObject())
    return np.frombuffer(bytes(builder.Output()), np.uint8)


def _double_array(values: np.ndarray) -> np.ndarray:
    """A double-array trie over UTF-8 in the layout of darts-clone, of values (0x110000,), 0: none.

    The child of a unit is at position ^ offset ^ byte. A unit holds its byte (bits 0-7), whether a
    leaf hangs below it (bit 8) and the offset (from bit 10). A leaf has the top bit set and holds a
    value. Code points are folded into pages of 64, the children of one byte, once for each byte
    after the first. Equal pages are stored once: the 137,468 private-use points cost one.
    """

    def units_at(position: np.ndarray, child: np.ndarray, byte: np.ndarray) -> np.ndarray:
        return np.where(child > 0, (position ^ child) << 10 | leaf_below | byte, 0)

    # the root, its children at 256 + byte, and the leaves; then pages, each at a multiple of 64
    leaves, leaf_of = np.unique(values, return_inverse=True)
    units = np.concatenate([np.zeros(512, np.int64), leaves | 1 << 31])
    units = np.pad(units, (0, -len(units) % 64))
    units[0] = 256 << 10
    child, leaf_below = np.where(values > 0, 512 + leaf_of, 0), 0x100

    for first_byte, number in ((0x00, 0x80), (0xC0, 32), (0xE0, 16), (0xF0, 5)):
        if first_byte:
            pages, page_of = equal_pages(np.pad(child, (0, -len(child) % 64)), 64)
            position = len(units) + np.arange(len(pages))
            base = np.where(pages.reshape(-1, 64).any(1), position[::64] ^ 0x80, 0)
            units = np.append(units, units_at(position, pages, 0x80 | position & 0x3F))
            child, leaf_below = base[page_of], 0
        byte = first_byte + np.arange(number)
        units[256 + byte] = units_at(256 + byte, child[:number], byte)

    return units.astype(np.uint32)
