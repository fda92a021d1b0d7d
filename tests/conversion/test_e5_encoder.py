"""The script that writes e5's encoder, on a small file of its form."""

import importlib.util
import pathlib
import struct

import numpy as np
import pytest

from tfsum.models import Bert
from tfsum.text.word_piece import WordPiece

SCRIPT = pathlib.Path(__file__).parents[2] / "training" / "multilingual" / "encoder.py"
PIECES = [
    "<s>",
    "<pad>",
    "</s>",
    "<unk>",
    "▁rain",
    "ed",
    "s",
    "▁,",
    "港",
    "▁港口",
    "▁a▁b",
    "Ａ",
    "▁비",
]
WIDTH, INNER = 32, 64


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("encoder", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def packed(tmp_path_factory, script):
    """The file, and its tensors as they are meant."""
    random = np.random.default_rng(0)
    shapes = {"emb.word": (len(PIECES), WIDTH), "emb.pos": (16, WIDTH), "emb.type": (2, WIDTH)}
    vectors = dict.fromkeys(("emb.ln.w", "emb.ln.b"), WIDTH)
    widths = {"d": WIDTH, "i": INNER}
    for layer in range(2):
        for short, axes in script.MATRICES.values():
            shape = tuple(widths[axis] for axis in axes.split())
            shapes[f"l{layer}.{short}.w"], vectors[f"l{layer}.{short}.b"] = shape, shape[0]
        for short in script.NORMS.values():
            vectors |= dict.fromkeys((f"l{layer}.{short}.w", f"l{layer}.{short}.b"), WIDTH)

    tensors, data = {}, {}
    for name, size in vectors.items():
        tensors[name] = random.normal(size=size).astype("<f4")
        data[name] = tensors[name].tobytes()
    for name, shape in shapes.items():
        numbers = random.integers(-8, 8, (np.prod(shape) // 32, 32))
        scales = random.random(len(numbers)).astype("<f2")
        tensors[name] = (numbers * scales[:, None].astype(np.float32)).reshape(shape)
        bytes_of = (numbers[:, :16] + 8) | (numbers[:, 16:] + 8) << 4
        data[name] = b"".join(
            scale.tobytes() + row.astype("u1").tobytes() for scale, row in zip(scales, bytes_of)
        )

    text = [piece.encode() for piece in PIECES]
    offsets = np.cumsum([0, *map(len, text)]).astype("<u4")
    head = b"E5S1" + struct.pack("<i7if i", 1, WIDTH, 2, 2, INNER, len(PIECES), 16, 2, 1e-12, 32)
    head += struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, sum(map(len, text))) + offsets.tobytes()
    head += np.arange(len(PIECES), 0, -1).astype("<f4").tobytes() + b"".join(text)
    head += struct.pack("<iI", 0, 0) + struct.pack("<i", len(data))
    place = len(head) + sum(2 + len(name) + 1 + 4 + 16 for name in data)
    for name, content in data.items():
        head += struct.pack("<H", len(name)) + name.encode() + b"\0" + struct.pack("<I", 0)
        head += struct.pack("<QQ", place, len(content))
        place += len(content)
    file = tmp_path_factory.mktemp("e5") / "e5.bin"
    file.write_bytes(head + b"".join(data.values()))
    return file, tensors


def test_tensors_and_pieces(script, packed):
    file, tensors = packed
    encoder = script.PackedEncoder(file)
    assert encoder.pieces == PIECES and encoder.sizes["inner"] == INNER
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(encoder.tensor(name, *tensor.shape), tensor)


def test_a_bert_with_word_pieces(script, packed, tmp_path, monkeypatch):
    """Single characters in both forms, whole and later pieces, none of several words or of another
    form than NFKC."""
    file, tensors = packed
    options = ["encoder.py", str(file), str(tmp_path), "--layers", "1", "--rows", "40"]
    monkeypatch.setattr("sys.argv", options)
    monkeypatch.setattr(script, "MASK", 3)
    script.main()
    word_piece = WordPiece.from_file(tmp_path / "vocab.txt")
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[NFKC]"]
    pieces += ["##s", ",", "港", "비", "s", "##비", "rain", "##ed"]
    assert word_piece.vocabulary == pieces
    found = word_piece.tokenize(["rained, 港비ｓ"]).to_list()
    assert [[pieces[i] for i in row] for row in found] == [["rain", "##ed", ",", "港", "비", "##s"]]

    weights = {weight.path: np.asarray(weight) for weight in Bert.from_pretrained(tmp_path).weights}
    (query,) = (array for path, array in weights.items() if path.endswith("query/kernel"))
    np.testing.assert_array_equal(query.reshape(WIDTH, WIDTH), tensors["l1.q.w"].T)
