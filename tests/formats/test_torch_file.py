"""Files of torch.save: against what torch itself wrote and read, and against hostile and broken
ones."""

import json
import os
import pathlib
import pickle
import random
import struct
import zipfile

import numpy as np
import pytest

from tfsum.errors import CheckpointError
from tfsum.formats.torch_file import read_torch_file
from tfsum.formats.torch_pickle import Opaque

WRITTEN_BY_TORCH = pathlib.Path(__file__).parents[1] / "fixtures" / "torch_files"
BERTSUM = ["bertsum_ext_classifier", "bertsum_ext_transformer", "bertsum_ext_rnn"]
PRESUMM = ["presumm_ext_transformer", "presumm_ext_baseline"]


def zip_file(
    path: pathlib.Path, pickled: bytes, storages: dict[str, bytes] | None = None, **more: bytes
) -> pathlib.Path:
    """A zip checkpoint made of a pickle and its storages."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/data.pkl", pickled)
        for key, data in (storages or {}).items():
            archive.writestr(f"a/data/{key}", data)
        for name, data in more.items():
            archive.writestr(f"a/{name}", data)
    return path


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def number(value: int) -> bytes:
    return pickle.dumps(value, 2)[2:-1]


def storage(kind: str = "FloatStorage", key: str = "0", count: int = 4) -> bytes:
    """The instructions that push a storage: MARK, five items, TUPLE, BINPERSID."""
    identity = (
        text("storage")
        + b"ctorch\n"
        + kind.encode()
        + b"\n"
        + text(key)
        + text("cpu")
        + number(count)
    )
    return b"(" + identity + b"tQ"


DOUBLED = b")" + 40 * b"2\x86"  # an empty tuple, and forty times the tuple of the last one twice


def tensor(stored: bytes, offset: int | bytes, size: tuple, stride: tuple) -> bytes:
    """The instructions that call _rebuild_tensor_v2 on a storage."""
    # without its header and its STOP
    shape = pickle.dumps(size, 2)[2:-1] + pickle.dumps(stride, 2)[2:-1]
    begin = offset if isinstance(offset, bytes) else number(offset)
    return b"ctorch._utils\n_rebuild_tensor_v2\n(" + stored + begin + shape + b"\x89NtR"


def weights(value: bytes) -> bytes:
    """The pickle of {"w": value}."""
    return b"\x80\x02}" + text("w") + value + b"s."


FOUR = np.arange(4, dtype="<f4").tobytes()


@pytest.mark.parametrize("name", ["zip", "legacy"])
def test_reads_what_torch_wrote(name):
    expected = np.load(WRITTEN_BY_TORCH / "expected.npz")
    read = read_torch_file(WRITTEN_BY_TORCH / f"{name}.pt")
    found = dict(read["model"]) | {f"layer.{key}": value for key, value in read["layer"].items()}
    found["exp_avg"] = read["moments"][read["parameter"]]["exp_avg"]
    assert sorted(found) == sorted(expected.files)
    for key, array in found.items():
        assert (array.dtype, array.shape) == (expected[key].dtype, expected[key].shape), key
        np.testing.assert_array_equal(array, expected[key], err_msg=key)
    assert vars(read["opt"]) == {
        "heads": 8,
        "lr": 2e-3,
        "accum": [1, 2],
        "name": "tiny",
        "size": (2, 3),
    }
    assert read["names"] == {"a", "b"}
    assert isinstance(read["optim"], Opaque) and read["optim"].class_name == "torch.optim.adam.Adam"
    assert read["optim"].attributes["param_groups"][0]["lr"] == 0.1


@pytest.mark.parametrize("name", ["zip", "legacy"])
def test_views_share_their_storage_and_nobody_writes_to_it(name):
    model = read_torch_file(WRITTEN_BY_TORCH / f"{name}.pt")["model"]
    for view in ("transposed", "column", "steps", "repeated"):
        assert np.shares_memory(model["base"], model[view]), view
    assert not model["base"].flags.writeable


@pytest.mark.reference
@pytest.mark.parametrize("model", BERTSUM + PRESUMM)
def test_reads_the_checkpoints_of_the_papers_code(shared, model):
    read = read_torch_file(shared / "parity" / f"{model}_step0.pt")
    assert sorted(read) == ["model", "opt", "optim"]
    (path,) = shared.glob(f"parity/{model}_grads*.npz")
    gradients, every = np.load(path), 4 if "every4" in path.name else 1
    for key in gradients.files:
        assert len(read["model"][key].ravel()[::every]) == gradients[key].size, key
        assert every == 4 or read["model"][key].shape == gradients[key].shape, key
    assert all(array.dtype == np.float32 for array in read["model"].values())


@pytest.mark.reference
@pytest.mark.parametrize(
    "model",
    [
        "bertsum_ext_classifier",
        "bertsum_ext_transformer",
        "bertsum_ext_rnn",
        "presumm_abs",
        "presumm_ext",
    ],
)
def test_the_keys_are_those_of_the_base_models_but_for_their_depth(shared, model):
    base = json.loads((shared / f"parity/keys_{model}_base.json").read_text())
    name = "presumm_ext_transformer" if model == "presumm_ext" else model
    read = read_torch_file(shared / f"parity/{name}_step0.pt")
    assert set(read["model"]) <= set(base["model"])
    for key, array in read["model"].items():
        shape, dtype = base["model"][key]
        assert (len(shape), dtype.removeprefix("torch.")) == (array.ndim, str(array.dtype)), key


@pytest.mark.reference
def test_reads_the_legacy_checkpoint_after_three_steps(shared):
    read = read_torch_file(shared / "parity/bertsum_ext_classifier_step3_legacy.pt")
    expected = np.load(shared / "parity/bertsum_ext_classifier_step3_every4.npz")
    for key in expected.files:
        np.testing.assert_array_equal(read["model"][key].ravel()[::4], expected[key], err_msg=key)
    optimizer = read["optim"].attributes
    assert optimizer["_step"] == 3
    state = optimizer["optimizer"].attributes["state"]
    shapes = {key: parameter.shape for key, parameter in read["model"].items()}
    assert sorted(moments["exp_avg"].shape for moments in state.values()) == sorted(
        shape for key, shape in shapes.items() if "pooler" not in key
    )
    assert {int(moments["step"]) for moments in state.values()} == {3}


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("DoubleStorage", "f8"),
        ("HalfStorage", "f2"),
        ("LongStorage", "i8"),
        ("CharStorage", "i1"),
        ("ByteStorage", "u1"),
    ],
)
def test_reads_a_file_made_by_hand(tmp_path, kind, code):
    data = np.arange(6, dtype=code)
    pickled = weights(tensor(storage(kind, count=6), 1, (2, 2), (3, 1)))
    found = read_torch_file(zip_file(tmp_path / "a.pt", pickled, {"0": data.tobytes()}))["w"]
    np.testing.assert_array_equal(found, [[1, 2], [4, 5]])
    assert found.dtype == data.dtype


def legacy(pickled: bytes, storages: dict[str, bytes], little: bool = True) -> bytes:
    """A legacy stream of float32 storages."""
    head = [
        0x1950A86A20F9469CFC6C,
        1001,
        {"protocol_version": 1001, "little_endian": little, "type_sizes": {}},
    ]
    ends = [struct.pack("<q", len(data) // 4) + data for data in storages.values()]
    parts = [pickle.dumps(item, 2) for item in head] + [
        pickled,
        pickle.dumps(list(storages), 2),
        *ends,
    ]
    return b"".join(parts)


class Calls:
    """Pickles as a call of a function."""

    def __init__(self, function, *arguments):
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call


HOSTILE = {
    "os.system": (pickle.dumps({"w": Calls(os.system, "touch hacked")}, 2), "system"),
    "eval": (pickle.dumps({"w": Calls(eval, "open('hacked', 'w')")}, 4), "builtins.eval"),
    "getattr": (
        weights(b"cbuiltins\ngetattr\n(cos\n__dict__\n" + text("system") + b"tR"),
        "builtins.getattr",
    ),
    "getattr of an allowed name": (
        weights(b"c__builtin__\ngetattr\n(cbuiltins\ndict\ntR"),
        "builtins.getattr",
    ),
    "nested": (pickle.dumps({"w": Calls(Calls, Calls(open, "hacked", "w"))}, 2), "asks for"),
    "a module below torch": (
        weights(b"ctorch.serialization\nload\n(" + text("hacked") + b"tR"),
        "serialization.load",
    ),
    "a dotted name": (
        weights(text("torch") + text("_utils.os.system") + b"\x93"),
        "torch._utils.os.system",
    ),
    "a call of a result": (weights(b"ccollections\nOrderedDict\n)R" + b")R"), "calls an object"),
    "a call of a storage class": (
        weights(b"ctorch\nFloatStorage\n)R"),
        "calls <torch.FloatStorage>",
    ),
    "state of a class": (
        weights(b"cargparse\nNamespace\n}" + text("__init__") + text("x") + b"sb"),
        "attributes",
    ),
    "state of a function": (
        weights(b"ctorch._utils\n_rebuild_tensor_v2\n}" + text("__code__") + b"Nsb"),
        "attributes",
    ),
    "state with slots": (
        weights(b"cargparse\nNamespace\n)\x81N}" + text("a") + b"Ns\x86b"),
        "named attributes",
    ),
    "state of a dictionary": (
        weights(b"ccollections\nOrderedDict\n)R}" + text("clear") + b"Nsb"),
        "attributes",
    ),
    "INST": (b"\x80\x02(" + text("touch hacked") + b"ios\nsystem\n.", "INST"),
    "OBJ": (b"\x80\x02(cos\nsystem\n" + text("touch hacked") + b"o.", "os.system"),
    "an extension": (b"\x80\x02\x82\x01.", "EXT1"),
    "a text persistent id": (b"\x80\x02Pstorage\n.", "PERSID"),
    "a module of old torch": (
        weights(b"(" + text("module") + text("x") + text("y") + text("z") + b"tQ"),
        "persistent id",
    ),
    "a persistent number": (weights(b"K\x01Q"), "persistent id"),
    "a negative storage": (weights(tensor(storage(count=-1), 0, (1,), (1,))), "persistent id"),
    "an unknown storage": (weights(storage("QInt8Storage")), "QInt8Storage"),
    "a nested key": (b"\x80\x02})" + b"\x85" * 60_000 + b"K\x01s.", "nested"),
    "a nested set item": (b"\x80\x02cbuiltins\nset\n])" + b"\x85" * 60_000 + b"a\x85R.", "nested"),
    "whole models": (
        weights(b"cmodels.model_builder\nSummarizer\n)\x81"),
        "models.model_builder.Summarizer",
    ),
    "a list": (b"\x80\x02].", "holds list"),
    "beyond its storage": (weights(tensor(storage(), 1, (4,), (1,))), "outside its storage"),
    "strides beyond": (weights(tensor(storage(), 0, (2, 2), (3, 1))), "outside its storage"),
    "a negative stride": (weights(tensor(storage(), 3, (4,), (-1,))), "malformed tensor"),
    "a negative offset": (weights(tensor(storage(), -1, (2,), (1,))), "malformed tensor"),
    "a huge view": (weights(tensor(storage(), 0, (2**40,), (0,))), "views that repeat elements"),
    "a view to convert": (  # 384 bytes took 1 GB
        weights(tensor(storage("BFloat16Storage", count=8), 0, (2**27,), (0,))),
        "views that repeat elements",
    ),
    "many views": (
        weights(b"(" + tensor(storage(), 0, (2**20,), (0,)) * 9 + b"t"),
        "views that repeat elements",
    ),
    "tuples that double": (weights(tensor(storage(), DOUBLED, (2,), (1,))), "malformed tensor"),
    "large sizes": (weights(tensor(storage(), 0, (1, 2**3000), (1, 2**3000))), "malformed tensor"),
    "many sizes": (weights(tensor(storage(), 0, (1,) * 65, (1,) * 65)), "malformed tensor"),
    "sizes without strides": (weights(tensor(storage(), 0, (2, 2), (1,))), "malformed tensor"),
    "a tensor without a storage": (weights(tensor(number(7), 0, (2,), (1,))), "malformed tensor"),
    "a storage of another size": (
        weights(tensor(storage(count=5), 0, (2,), (1,))),
        "16 bytes, expected 20",
    ),
    "a storage of another type": (
        weights(tensor(storage("DoubleStorage"), 0, (2,), (1,))),
        "16 bytes, expected 32",
    ),
    "a missing storage": (weights(tensor(storage(key="../0"), 0, (2,), (1,))), "no record"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_zip(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    pickled, message = HOSTILE[name]
    path = zip_file(tmp_path / "hostile.pt", pickled, {"0": FOUR})
    with pytest.raises(CheckpointError, match=message) as caught:
        read_torch_file(path)
    assert str(path) in str(caught.value) and len(str(caught.value)) < 1000
    assert os.listdir(tmp_path) == ["hostile.pt"]


@pytest.mark.parametrize(
    "name",
    ["os.system", "eval", "nested", "INST", "OBJ", "beyond its storage", "a negative stride"],
)
def test_hostile_legacy(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    pickled, message = HOSTILE[name]
    (tmp_path / "hostile.pt").write_bytes(legacy(pickled, {"0": FOUR}))
    with pytest.raises(CheckpointError, match=message):
        read_torch_file("hostile.pt")
    assert os.listdir(tmp_path) == ["hostile.pt"]


def test_a_call_in_the_legacy_header_is_not_made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hostile.pt").write_bytes(pickle.dumps(Calls(os.system, "touch hacked"), 2))
    with pytest.raises(CheckpointError, match="no torch checkpoint"):
        read_torch_file("hostile.pt")
    assert os.listdir(tmp_path) == ["hostile.pt"]


def test_a_refusal_names_what_is_allowed(tmp_path):
    path = zip_file(tmp_path / "a.pt", HOSTILE["eval"][0])
    with pytest.raises(
        CheckpointError, match="allowed are argparse.Namespace.*_rebuild_tensor_v2.*torch.optim"
    ):
        read_torch_file(path)


BROKEN = {
    "empty": (b"", "empty"),
    "text": (b"hello, this is no checkpoint\n" * 9, "no torch checkpoint"),
    "json": (b'{"model": {}}', "no torch checkpoint"),
    "a plain pickle": (pickle.dumps({"model": 1}, 2), "not a torch checkpoint"),
    "zeros": (bytes(999), "no torch checkpoint"),
    "another protocol": (
        pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(7, 2) + pickle.dumps({}, 2),
        "protocol 7",
    ),
    "big-endian": (legacy(weights(b"N"), {}, little=False), "big-endian"),
    "bytes behind the end": (legacy(weights(b"N"), {}) + b"x", "1 bytes behind"),
    "a storage too many": (legacy(weights(b"N"), {"0": FOUR}), "list of storages"),
    "a storage too small": (
        legacy(weights(tensor(storage(), 0, (2,), (1,))), {"0": FOUR[:8]}),
        "not of 4 elements",
    ),
    "a storage of two types": (
        legacy(b"\x80\x02(" + storage() + storage("DoubleStorage", count=2) + b"l.", {"0": FOUR}),
        "described twice",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files(tmp_path, name):
    content, message = BROKEN[name]
    (tmp_path / "broken.pt").write_bytes(content)
    with pytest.raises(CheckpointError, match=message):
        read_torch_file(tmp_path / "broken.pt")


def test_no_such_file_and_a_folder(tmp_path):
    for path in (tmp_path / "missing.pt", tmp_path):
        with pytest.raises(CheckpointError, match="cannot be read"):
            read_torch_file(path)


def test_zip_archives_that_torch_did_not_write(tmp_path):
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(CheckpointError, match="0 records data.pkl"):
        read_torch_file(tmp_path / "other.zip")
    with zipfile.ZipFile(tmp_path / "packed.pt", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/data.pkl", weights(b"N"))
    with pytest.raises(CheckpointError, match="compressed"):
        read_torch_file(tmp_path / "packed.pt")
    with pytest.raises(CheckpointError, match="big-endian"):
        read_torch_file(zip_file(tmp_path / "big.pt", weights(b"N"), byteorder=b"big"))


@pytest.mark.parametrize("name", ["zip", "legacy"])
def test_truncated_anywhere(tmp_path, name):
    content = (WRITTEN_BY_TORCH / f"{name}.pt").read_bytes()
    for end in range(1, len(content), 61):
        (tmp_path / "cut.pt").write_bytes(content[:end])
        with pytest.raises(CheckpointError):
            read_torch_file(tmp_path / "cut.pt")


@pytest.mark.parametrize("name", ["zip", "legacy"])
def test_damaged_anywhere_gives_an_answer_or_one_error(tmp_path, name):
    content = (WRITTEN_BY_TORCH / f"{name}.pt").read_bytes()
    chance = random.Random(10)
    errors = 0
    for turn in range(300):
        damaged = bytearray(content)
        damaged[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        (path := tmp_path / f"{turn}.pt").write_bytes(
            damaged
        )  # a mapped file must not change: a new one each time
        try:
            read_torch_file(path)
        except CheckpointError:
            errors += 1
    assert errors > 60


def test_a_damaged_weight_in_a_zip_is_noticed(tmp_path):
    path = zip_file(tmp_path / "a.pt", weights(tensor(storage(), 0, (4,), (1,))), {"0": FOUR})
    content = path.read_bytes()
    (tmp_path / "b.pt").write_bytes(content.replace(FOUR, bytes(16)))
    with pytest.raises(CheckpointError, match="a/data/0 is damaged"):
        read_torch_file(tmp_path / "b.pt")
