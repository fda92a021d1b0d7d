"""BERT's text normalization as a committed table of code points, and the model FastBertNormalize reads."""

import functools
import pathlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfsum.errors import Error

TABLES = pathlib.Path(__file__).with_name("normalizer_tables.npz")
_SELF = -1  # in the file: "the code point itself"


@dataclass(frozen=True, eq=False)  # one object a setting: what is made of it is cached by it
class CodePointMap:
    """What each changed code point turns into; all others stay as they are.

    Attributes:
        points: (M,) int32, the changed code points in rising order.
        lengths: (M,) int32, the number of code points of each value; 0 deletes.
        values: (sum of lengths,) int32, the values end to end. Words are surrounded by U+0020, the only
            space left.

    Example:
        >>> mapping = CodePointMap(np.array([65]), np.array([1]), np.array([97]))  # "A" becomes "a"
        >>> mapping.strings
        {65: 'a'}
    """

    points: np.ndarray
    lengths: np.ndarray
    values: np.ndarray

    @functools.cached_property
    def strings(self) -> dict[int, str]:
        """The map as {code point: string}."""
        text = self.values.astype("<u4").tobytes().decode("utf-32-le")
        ends = np.cumsum(self.lengths)
        spans = zip(self.points.tolist(), (ends - self.lengths).tolist(), ends.tolist())
        return {point: text[start:end] for point, start, end in spans}


@functools.cache
def load_code_point_map(lowercase: bool = True, strip_accents: bool = True) -> CodePointMap:
    """Loads the committed map of one setting of Hugging Face's BertNormalizer followed by BertPreTokenizer.

    Args:
        lowercase: Whether letters are lowered, each on its own (a final sigma stays a plain one).
        strip_accents: Whether text is decomposed (NFD, Hangul too) and its nonspacing marks are dropped.

    Returns:
        The map of all Unicode code points.

    Raises:
        tfsum.Error: The tables are not beside this file.

    Example:
        >>> load_code_point_map(lowercase=True, strip_accents=True).strings[ord("É")]
        'e'
    """
    if not TABLES.is_file():
        raise Error(
            f"{TABLES}: the normalizer tables are missing; install tfsum again, or make them with "
            f"`python tests/fixtures/make_normalizer_tables.py` in a checkout"
        )
    name = "uncased" if lowercase else "cased"
    if bool(lowercase) != bool(strip_accents):
        name += "_strip_accents" if strip_accents else "_keep_accents"
    with np.load(TABLES) as tables:
        points = np.cumsum(tables[f"{name}_steps"], dtype=np.int32)
        lengths = tables[f"{name}_lengths"].astype(np.int32)
        values = tables[f"{name}_values"]
    return CodePointMap(
        points, lengths, np.where(values == _SELF, np.repeat(points, lengths), values)
    )


@functools.cache
def fast_bert_model(lowercase: bool = True, strip_accents: bool = True) -> np.ndarray:
    """Builds the flatbuffer that TF Text's FastBertNormalize op reads.

    It holds our own map: TF Text's builder only makes two, which differ from BERT's on 4,000 code points.

    Args:
        lowercase: Whether letters are lowered.
        strip_accents: Whether accents are dropped.

    Returns:
        (bytes,) uint8, some 1.4 MB.

    Example:
        >>> fast_bert_model().dtype
        dtype('uint8')
    """
    trie = _Trie(load_code_point_map(lowercase, strip_accents).strings)
    return _flatbuffer(trie.units, trie.pool, trie.nul)


class _Trie:
    """A double-array trie over UTF-8 in the layout of darts-clone: child = position ^ offset ^ byte.

    A unit holds its byte (bits 0-7), whether a leaf hangs below it (bit 8) and the offset (from bit 10,
    shifted by 8 more when bit 9 is set). A leaf has the top bit set and holds a value: bit 30 "differs",
    bits 6-29 the offset in the pool, bits 0-5 the length in bytes. Equal subtrees share one block: the
    137,468 private-use points cost one.
    """

    def __init__(self, mapping: dict[int, str]):
        self.units, self.pool = [0] * 512, bytearray()  # units 256..511: the root's children
        self._where: dict[bytes, int] = {}
        self._leaf_at: dict[int, int] = {}
        self._bases: dict[tuple, int] = {}
        self._leaves: list[int] = []
        self._quarters: list[int] = []
        tree: dict[int, Any] = {}
        for point, text in mapping.items():
            node, key = tree, chr(point).encode()
            for byte in key[:-1]:
                node = node.setdefault(byte, {})
            node[key[-1]] = self._value(text)
        self.nul = tree.pop(0, 0)  # U+0000 has a field of its own: a zero byte ends a key
        self.units[0] = self._link(0, 256)
        self._place(self._frozen(tree), 256)

    def _block(self) -> int:
        self.units.extend([0] * 256)
        return len(self.units) - 256

    def _value(self, text: str) -> int:
        data = text.encode()
        if data not in self._where:
            self._where[data] = len(self.pool)
            self.pool.extend(data)
        return 1 << 30 | (self._where[data] << 6 | len(data) if data else 0)

    def _leaf(self, value: int) -> int:
        if value not in self._leaf_at:
            if not self._leaves:
                start = self._block()
                self._leaves.extend(range(start, start + 256))
            self._leaf_at[value] = self._leaves.pop()
            self.units[self._leaf_at[value]] = value | 1 << 31
        return self._leaf_at[value]

    def _link(self, position: int, target: int) -> int:
        offset = position ^ target
        assert offset < 1 << 21 or offset & 255 == 0
        return offset << 10 if offset < 1 << 21 else (offset >> 8) << 10 | 0x200

    def _place(self, node: tuple, base: int | None = None) -> int:
        if base is None:
            if node in self._bases:
                return self._bases[node]
            if not self._quarters:
                start = self._block()
                self._quarters.extend(start | quarter for quarter in (0, 0x40, 0x80, 0xC0))
            base = self._bases[node] = (
                self._quarters.pop() ^ 0x80
            )  # continuation bytes are 0x80..0xBF
        for byte, child in node:
            at = base ^ byte
            below = self._link(at, self._leaf(child)) | 0x100 if isinstance(child, int) else None
            self.units[at] = (self._link(at, self._place(child)) if below is None else below) | byte
        return base

    def _frozen(self, node: dict[int, Any]) -> tuple:
        return tuple(
            (byte, child if isinstance(child, int) else self._frozen(child))
            for byte, child in sorted(node.items())
        )


def _flatbuffer(units: list[int], pool: bytearray, nul: int) -> np.ndarray:
    """The fields of TF Text's fast_bert_normalizer_model.fbs: flag, trie, value of U+0000, pool."""
    import flatbuffers  # comes with TensorFlow

    builder = flatbuffers.Builder(1 << 21)
    array = builder.CreateNumpyVector(np.array(units, np.uint32))
    text = builder.CreateNumpyVector(np.frombuffer(bytes(pool), np.uint8))
    builder.StartObject(4)
    builder.PrependBoolSlot(0, True, False)
    builder.PrependUOffsetTRelativeSlot(1, array, 0)
    builder.PrependInt32Slot(2, nul, 0)
    builder.PrependUOffsetTRelativeSlot(3, text, 0)
    builder.Finish(builder.EndObject())
    return np.frombuffer(bytes(builder.Output()), np.uint8)
