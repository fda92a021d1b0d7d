"""Checkpoints that are hostile or damaged: each is refused with a `tfsum.Error` that says why, and
leaves nothing."""

import gzip
import io
import os
import pathlib
import pickle
import struct
import zipfile

import numpy as np
import pytest
from tiny_bert import BERT_BEGINNING

import tfsum
from tfsum.formats.torch_file import read_torch_file, write_torch_file
from tfsum.papers.checkpoint_names import bertsum_tensors
from tfsum.papers.checkpoint_writer import write_bertsum

BERT = {
    "vocab_size": 12,
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 16,
}
PIECES = [*BERT_BEGINNING, "a", "b", "##c", "d"]
QUERY = "bert.model.encoder.layer.1.attention.self.query.weight"
WORDS = "bert.model.embeddings.word_embeddings.weight"
LAYER = "bert.model.encoder.layer.1."


class Calls:
    """An object whose pickle calls a function."""

    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments

    def __reduce__(self):
        return self.function, self.arguments


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """Sound checkpoints by kind: the bytes, and the tensors and options to write others of."""
    folder = tmp_path_factory.mktemp("sound")
    models = {
        "ext": tfsum.BertSumExt(
            BERT, "transformer", head_layers=2, head_num_heads=2, head_feed_forward_width=16
        ),
        "abs": tfsum.BertSumAbs(BERT, num_decoder_layers=2, num_heads=2, feed_forward_width=16),
    }
    found = {}
    for name, model in models.items():
        model.build()
        to = {"ext": "bertsum", "abs": "presumm"}[name]
        # Masks of 5000 x 5000 would make the tests slow: the reader takes shorter ones, as the
        # fixtures have.
        tensors = {
            key: value[:, :20, :20] if key.endswith(".mask") else value
            for key, value in bertsum_tensors(model).items()
        }
        write_bertsum(models["ext"], folder / "ext.pt", "bertsum")
        options = vars(read_torch_file(folder / "ext.pt")["opt"]) | {"dec_heads": 2, "task": "abs"}
        write_torch_file(folder / f"{name}.pt", tensors, options)
        found[name] = ((folder / f"{name}.pt").read_bytes(), tensors, options, to)
    return found


def refused(content: bytes, folder: pathlib.Path, message: str) -> None:
    """Converts a file and expects an error with this text, and nothing else in the folder
    afterwards."""
    file, vocabulary = folder / "model.pt", folder / "vocab.txt"
    file.write_bytes(content)
    vocabulary.write_text("\n".join(PIECES) + "\n")
    with pytest.raises(tfsum.Error, match=message) as caught:
        tfsum.convert(
            file, folder / "out", "tfsum", vocabulary=vocabulary, bert={"num_attention_heads": 2}
        )
    assert str(file) in str(caught.value) and len(str(caught.value)) < 2500
    assert sorted(path.name for path in folder.iterdir()) == ["model.pt", "vocab.txt"]
    assert file.read_bytes() == content


def legacy(content: bytes) -> bytes:
    """The older format of the same checkpoint."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        stored = {name: archive.read(name) for name in archive.namelist()}
    pickled = stored.pop("archive/data.pkl")
    keys = [
        name.removeprefix("archive/data/") for name in stored if name.startswith("archive/data/")
    ]
    header = [
        0x1950A86A20F9469CFC6C,
        1001,
        {"protocol_version": 1001, "little_endian": True, "type_sizes": {}},
    ]
    sizes = {key: 1 if b"ByteStorage\n" + text(key) in pickled else 4 for key in keys}
    data = b"".join(
        struct.pack("<q", len(stored[f"archive/data/{key}"]) // sizes[key])
        + stored[f"archive/data/{key}"]
        for key in keys
    )
    return (
        b"".join(pickle.dumps(part, 2) for part in header) + pickled + pickle.dumps(keys, 2) + data
    )


def rewritten(
    content: bytes, change=lambda pickled: pickled, compression=zipfile.ZIP_STORED, without=""
) -> bytes:
    """The archive with another pickle, compressed, or without a record."""
    target = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as archive,
        zipfile.ZipFile(target, "w", compression) as other,
    ):
        for name in archive.namelist():
            if name != without:
                value = archive.read(name)
                other.writestr(name, change(value) if name.endswith("data.pkl") else value)
    return target.getvalue()


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def with_options(value: bytes):
    """Replaces the `opt` at the end of the pickle by the instructions of another value."""
    return lambda pickled: pickled.split(text("opt"))[0] + text("opt") + value + b"u."


def flipped(content: bytes, place: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 255]) + content[place + 1 :]


def zip_of(**records: bytes) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, value in records.items():
            archive.writestr(f"archive/{name.replace('_pkl', '.pkl')}", value)
    return target.getvalue()


def a_tensor(
    count: bytes = b"I4\n",
    size: bytes = b"(I4\nt",
    stride: bytes = b"(I1\nt",
    offset: bytes = b"I0\n",
) -> bytes:
    """A file with one tensor, whose storage holds four floats."""
    storage = (
        b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text("0") + text("cpu") + count + b"tQ"
    )
    made = b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + offset + size + stride + b"\x89NtR"
    pickled = b"\x80\2}" + text("model") + b"}" + text(WORDS) + made + b"ss."
    return zip_of(data_pkl=pickled, **{"data/0": b"\0" * 16})


BROKEN = "damaged|truncated|corrupt|broken|not a torch checkpoint|zip archive|empty|no torch"


@pytest.mark.parametrize("kind", ["ext", "abs"])
@pytest.mark.parametrize("old", [False, True], ids=["zip", "legacy"])
@pytest.mark.parametrize("part", [0, 1, 3, 100, 0.1, 0.5, 0.9, -1, -9])
def test_truncated(sound, tmp_path, kind, old, part):
    whole = legacy(sound[kind][0]) if old else sound[kind][0]
    refused(whole[: int(part * len(whole)) if isinstance(part, float) else part], tmp_path, BROKEN)


@pytest.mark.parametrize("place", [0, 2, 0.02, 0.3, 0.5, 0.7, -5, -20])
def test_a_flipped_byte(sound, tmp_path, place):
    """Everything in an archive has a checksum; the last bytes are its own directory."""
    whole = sound["ext"][0]
    refused(
        flipped(whole, int(place * len(whole)) if isinstance(place, float) else place % len(whole)),
        tmp_path,
        BROKEN,
    )


@pytest.mark.parametrize("place", [0, 3, 12, 20, 40])
def test_a_flipped_byte_of_the_older_format(sound, tmp_path, place):
    """The older format has no checksums: damage of its header and its pickle is seen, another
    number is a number."""
    refused(flipped(legacy(sound["ext"][0]), place), tmp_path, BROKEN + "|protocol|big-endian")


def test_bytes_behind_the_end_of_the_older_format(sound, tmp_path):
    refused(legacy(sound["ext"][0]) + b"more", tmp_path, "4 bytes behind the last storage")


HOSTILE = {
    "a call": lambda mark: pickle.dumps({"model": Calls(os.system, f"touch {mark}")}, 2),
    "a call in protocol 5": lambda mark: pickle.dumps(
        {"model": Calls(os.system, f"touch {mark}")}, 5
    ),
    "eval": lambda mark: pickle.dumps({"model": Calls(eval, f"open({str(mark)!r}, 'w')")}, 2),
    "open": lambda mark: pickle.dumps({"model": Calls(open, str(mark), "w")}, 2),
    "a class": lambda mark: pickle.dumps({"opt": pathlib.PurePosixPath(mark)}, 2),
    "an old instruction": lambda mark: b"\x80\x02(" + text(f"touch {mark}") + b"ios\nsystem\n.",
    "a state": lambda mark: (
        b"\x80\x02cargparse\nNamespace\n)R}" + text("__class__") + b"cos\nsystem\nsb."
    ),
}


@pytest.mark.parametrize("old", [False, True], ids=["zip", "legacy"])
@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_in_a_file_is_run(tmp_path, tmp_path_factory, name, old):
    mark = tmp_path_factory.mktemp("elsewhere") / "written"
    pickled = HOSTILE[name](mark)
    header = b"".join(
        pickle.dumps(part, 2) for part in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True})
    )
    content = header + pickled + pickle.dumps([], 2) if old else zip_of(data_pkl=pickled)
    refused(
        content,
        tmp_path,
        "asks for the Python object (posix|os|builtins|pathlib|__builtin__|io)|not one that",
    )
    assert not mark.exists()


NO_CHECKPOINTS = {
    "a text": (b"model: no\n" * 50, BROKEN),
    "a page of a web server": (b"<!DOCTYPE html><title>404</title>", BROKEN),
    "gzip": (gzip.compress(b"a" * 9999), BROKEN),
    "an archive of other files": (zip_of(readme=b"hello"), "0 records data.pkl"),
    "a plain pickle": (pickle.dumps({"model": {}}), BROKEN),
    "a list": (zip_of(data_pkl=pickle.dumps([1, 2], 2)), "holds list, expected a dictionary"),
    "an empty dictionary": (zip_of(data_pkl=pickle.dumps({}, 2)), "no model of BertSum"),
    "numbers as names": (zip_of(data_pkl=pickle.dumps({"model": {1: 2}}, 2)), "no state_dict"),
    "a model of a list": (zip_of(data_pkl=pickle.dumps({"model": [1]}, 2)), "no state_dict"),
    "big-endian": (zip_of(data_pkl=pickle.dumps({}, 2), byteorder=b"big"), "big-endian"),
    "more elements than bytes": (
        a_tensor(count=b"I4000000000000\n"),
        "has 16 bytes, expected 16000000000000",
    ),
    "a size of terabytes": (a_tensor(size=b"(I1000000000000\nt"), "points outside its storage"),
    "repeated elements": (
        a_tensor(size=b"(I1000000\nI1000000\nt", stride=b"(I0\nI0\nt"),
        "views that repeat elements",
    ),
    "an offset": (a_tensor(offset=b"I2\n"), "points outside its storage"),
    "a negative stride": (a_tensor(stride=b"(I-1\nt"), "malformed tensor"),
    "a size of text": (a_tensor(size=b"(" + text("4") + b"t"), "malformed tensor"),
    "a storage that is not there": (
        rewritten(a_tensor(), without="archive/data/0"),
        "no record archive/data/0",
    ),
    "one dimension": (a_tensor(), "no model of BertSum|needs the matrix"),
}


@pytest.mark.parametrize("name", NO_CHECKPOINTS)
def test_no_checkpoint(tmp_path, name):
    refused(NO_CHECKPOINTS[name][0], tmp_path, NO_CHECKPOINTS[name][1])


def test_an_archive_that_would_unpack_to_much_more(sound, tmp_path):
    bomb = rewritten(
        sound["ext"][0], lambda pickled: pickled + b"\0" * 50_000_000, zipfile.ZIP_DEFLATED
    )
    assert len(bomb) < 300_000
    refused(bomb, tmp_path, "compressed or encrypted")


def nan(value: np.ndarray, number: float = np.nan) -> np.ndarray:
    changed = value.copy()
    changed.flat[3] = number
    return changed


TENSORS = {  # kind, changes of tensors (None takes one away), message
    "missing": ("ext", {QUERY: None}, f"missing: {QUERY}"),
    "missing head": ("ext", {"encoder.wo.bias": None}, "missing: encoder.wo.bias"),
    "additional": (
        "ext",
        {"encoder.more": np.zeros(2, np.float32)},
        r"unknown: encoder.more \[2\]",
    ),
    "of another shape": (
        "ext",
        {QUERY: np.zeros((8, 9), np.float32)},
        r"is \[8, 9\], the config says \[8, 8\]",
    ),
    "of one dimension": (
        "ext",
        {QUERY: np.zeros(64, np.float32)},
        r"is \[64\], the config says \[8, 8\]",
    ),
    "a scalar": ("ext", {QUERY: np.zeros((), np.float32)}, r"is \[\], the config says \[8, 8\]"),
    "empty": ("ext", {QUERY: np.zeros((0, 8), np.float32)}, r"is \[0, 8\], the config says"),
    "of integers": (
        "ext",
        {QUERY: np.zeros((8, 8), np.int64)},
        "is int64, a weight must be of floats",
    ),
    "of bytes": (
        "ext",
        {QUERY: np.zeros((8, 8), np.uint8)},
        "is uint8, a weight must be of floats",
    ),
    "not a number": (
        "ext",
        {QUERY: nan(np.ones((8, 8), np.float32))},
        "has 1 that are infinite or no number",
    ),
    "infinite": (
        "abs",
        {"generator.0.bias": nan(np.ones(12, np.float32), np.inf)},
        "1 that are infinite",
    ),
    "words of one dimension": ("ext", {WORDS: np.zeros(9, np.float32)}, "needs the matrix"),
    "another vocabulary": (
        "ext",
        {WORDS: np.zeros((11, 8), np.float32)},
        "12 word pieces, and .* has 11 rows",
    ),
    "no BERT": ("ext", "bert.", "no model of BertSum"),
    "no head": ("ext", "encoder.", "no model of BertSum"),
    "two heads": ("ext", {"ext_layer.wo.bias": np.zeros(1, np.float32)}, "no model of BertSum"),
    "another head": ("ext", "encoder.transformer_inter", "tfsum reads the classifier"),
    "no first layer": ("ext", "bert.model.encoder.layer.0.", "no layer 0 of those named"),
    "a layer of a large number": (
        "ext",
        {f"bert.model.encoder.layer.{10**8}.output.dense.bias": np.zeros(8, np.float32)},
        "no layer 2 of those",
    ),
    "positions of another kind": (
        "ext",
        {"encoder.pos_emb.pe": np.zeros((1, 50, 8), np.float32)},
        "sines and cosines",
    ),
    "positions of no width": (
        "ext",
        {"encoder.pos_emb.pe": np.zeros((1, 50, 0), np.float32)},
        "sines and cosines",
    ),
    "positions of two dimensions": (
        "abs",
        {"decoder.pos_emb.pe": np.zeros((50, 8), np.float32)},
        "sines and cosines",
    ),
    "positions that are not numbers": (
        "abs",
        {"decoder.pos_emb.pe": np.full((1, 50, 8), np.nan, np.float32)},
        "sines",
    ),
    "a mask that hides nothing": (
        "abs",
        {"decoder.transformer_layers.0.mask": np.zeros((1, 20, 20), np.uint8)},
        "is not the mask of later tokens",
    ),
    "an output that is not tied": (
        "abs",
        {"generator.0.weight": np.zeros((12, 8), np.float32)},
        "differs from",
    ),
    "no embeddings of the decoder": (
        "abs",
        {"decoder.embeddings.weight": None},
        "missing: decoder.embeddings.weight",
    ),
    "no decoder layers": (
        "abs",
        "decoder.transformer_layers",
        "needs the matrix decoder.transformer_layers.0",
    ),
}


@pytest.mark.parametrize("name", TENSORS)
def test_tensors_that_do_not_fit(sound, tmp_path, tmp_path_factory, name):
    kind, changes, message = TENSORS[name]
    _, tensors, options, _ = sound[kind]
    if isinstance(changes, str):
        changes = {key: None for key in tensors if key.startswith(changes)}
    file = tmp_path_factory.mktemp("changed") / "model.pt"
    changed = {key: value for key, value in (tensors | changes).items() if value is not None}
    write_torch_file(file, changed, options)
    refused(file.read_bytes(), tmp_path, message)


OPTIONS = {
    "heads of text": ("ext", {"heads": "2"}, "heads is '2', expected a whole number above 0"),
    "no heads": ("ext", {"heads": 0}, "heads is 0, expected"),
    "negative heads": ("abs", {"dec_heads": -8}, "dec_heads is -8, expected"),
    "heads that do not divide": ("ext", {"heads": 3}, "3 heads|8 columns|divi"),
    "heads of the decoder that do not divide": ("abs", {"dec_heads": 5}, "5 heads|8 columns|divi"),
    "too many heads": ("ext", {"heads": 10**30}, "heads|divi"),
    "a dropout above 1": ("ext", {"dropout": 1.5}, "dropout is 1.5, expected"),
    "a dropout that is no number": ("ext", {"dropout": float("nan")}, "dropout is nan, expected"),
    "a smoothing of text": (
        "abs",
        {"label_smoothing": "much"},
        "label_smoothing is 'much', expected",
    ),
    "no length": ("abs", {"max_length": 0}, "max_length is 0, expected"),
    "heads of a list": ("ext", {"heads": [2]}, r"heads is \[2\], expected"),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_options_that_no_model_has(sound, tmp_path, tmp_path_factory, name):
    kind, changes, message = OPTIONS[name]
    file = tmp_path_factory.mktemp("changed") / "model.pt"
    write_torch_file(file, sound[kind][1], sound[kind][2] | changes)
    refused(file.read_bytes(), tmp_path, message)


@pytest.mark.parametrize(
    "value", [b"I3\n", b"](I1\ne", text("heads=2"), b"cmodels.optimizers\nOptimizer\n)R"]
)
def test_options_of_another_type(sound, tmp_path, value):
    refused(
        rewritten(sound["ext"][0], with_options(value)),
        tmp_path,
        "'opt' is (int|list|str|Opaque); expected an",
    )


def test_the_sound_files_are_read(sound, tmp_path):
    """What the others are made of is not refused, so that it is the damage that is seen."""
    (tmp_path / "vocab.txt").write_text("\n".join(PIECES) + "\n")
    for name, (content, *_) in sound.items():
        for old in (False, True):
            file = tmp_path / f"{name}{old}.pt"
            file.write_bytes(legacy(content) if old else content)
            tfsum.convert(
                file,
                tmp_path / f"{name}{old}",
                "tfsum",
                vocabulary=tmp_path,
                bert={"num_attention_heads": 2},
            )
        new, was = (
            (tmp_path / f"{name}{old}" / "model.safetensors").read_bytes() for old in (False, True)
        )
        assert new == was
