"""Writes files that `torch.load` reads, without torch: numpy arrays and plain values."""

import math
import pathlib
import struct
import zipfile
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from tfsum.atomic_files import atomic_path

ROOT = "archive"
STORAGES = {
    "f4": "FloatStorage",
    "f2": "HalfStorage",
    "f8": "DoubleStorage",
    "u1": "ByteStorage",
    "i8": "LongStorage",
    "i4": "IntStorage",
}
# The bytes below are instructions of pickle (Lib/pickletools.py); nothing here reads or runs one.
ALIGNMENT = 64  # of the storages, so that torch can map them
HEADER, EXTRA = 30, 4  # bytes before a record's name, and before the padding of its extra field


def write_torch_file(
    path: str | pathlib.Path, tensors: Mapping[str, np.ndarray], options: Mapping[str, Any]
) -> None:
    """Writes `{"model": OrderedDict of tensors, "opt": argparse.Namespace}` as a zip archive.

    The format is that of torch 1.6 and later. Two names of one array share a storage, as tied
    weights do. The file is written atomically.

    Args:
        path: File to write.
        tensors: Arrays by name, in order.
        options: Attributes of the namespace: numbers, strings, lists and None.

    Raises:
        OSError: The file cannot be written.

    Source: torch/serialization.py, `_save`.

    Example:
        >>> import tempfile
        >>> from tfsum.formats.torch_file import read_torch_file
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = f"{folder}/model.pt"
        ...     write_torch_file(path, {"bias": np.ones(2, np.float32)}, {"heads": 8})
        ...     content = read_torch_file(path)
        ...     content["model"]["bias"].tolist(), content["opt"].heads
        ([1.0, 1.0], 8)
    """
    storages: dict[int, tuple[str, np.ndarray]] = {}  # by the address of the data
    for array in tensors.values():
        storages.setdefault(_address(array), (str(len(storages)), np.ascontiguousarray(array)))

    items = [
        (name, _tensor(array, storages[_address(array)][0])) for name, array in tensors.items()
    ]
    content = _dictionary(items, _call("collections", "OrderedDict"))
    namespace = _call("argparse", "Namespace") + _plain(dict(options)) + b"b"
    whole = _dictionary((("model", content), ("opt", namespace)), b"}")

    with atomic_path(path) as part, zipfile.ZipFile(part, "w", zipfile.ZIP_STORED) as archive:
        _write(archive, "data.pkl", b"\x80\2" + whole + b".")
        _write(archive, "byteorder", b"little")
        for key, array in storages.values():
            little = array.astype(array.dtype.newbyteorder("<"), copy=False)
            _write(archive, f"data/{key}", little.reshape(-1).view(np.uint8).data)
        _write(archive, "version", b"3\n")


def _write(archive: zipfile.ZipFile, name: str, content: bytes | memoryview) -> None:
    """Writes a record whose bytes begin at a multiple of `ALIGNMENT`, as torch does."""
    info = zipfile.ZipInfo(f"{ROOT}/{name}")
    begin = archive.fp.tell() + HEADER + len(info.filename) + EXTRA  # type: ignore[union-attr]
    fill = -begin % ALIGNMENT
    info.extra = struct.pack("<2sH", b"FB", fill) + b"Z" * fill
    with archive.open(info, "w", force_zip64=False) as record:
        record.write(content)


def _address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def _tensor(array: np.ndarray, key: str) -> bytes:
    """`torch._utils._rebuild_tensor_v2(storage, 0, size, stride, False, OrderedDict())`."""
    strides = tuple(math.prod(array.shape[i + 1 :]) for i in range(array.ndim))
    kind = _global("torch", STORAGES[array.dtype.str[1:]])
    place = _plain(key) + _plain("cpu") + _plain(array.size)
    storage = b"(" + _plain("storage") + kind + place + b"tQ"
    arguments = storage + b"".join(map(_plain, (0, tuple(array.shape), strides, False)))
    hooks = _call("collections", "OrderedDict")
    return _global("torch._utils", "_rebuild_tensor_v2") + b"(" + arguments + hooks + b"tR"


def _plain(value: Any) -> bytes:
    """The instructions that push a plain value."""
    match value:
        case None | True | False:
            return {None: b"N", True: b"\x88", False: b"\x89"}[value]
        # not the instruction INT, which torch.load(weights_only=True) does not read
        case int() if -(2**31) <= value < 2**31:
            return b"J" + struct.pack("<i", value)
        case int():
            content = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
            return b"\x8a" + bytes([len(content)]) + content
        case float():
            return b"G" + struct.pack(">d", value)
        case str():
            return b"X" + struct.pack("<I", len(value.encode())) + value.encode()
        case tuple():
            return b"(" + b"".join(map(_plain, value)) + b"t"
        case list():
            return b"](" + b"".join(map(_plain, value)) + b"e"
    return _dictionary(((key, _plain(item)) for key, item in value.items()), b"}")


def _global(module: str, name: str) -> bytes:
    return f"c{module}\n{name}\n".encode()


def _call(module: str, name: str) -> bytes:
    return _global(module, name) + b")R"


def _dictionary(items: Iterable[tuple[str, bytes]], empty: bytes) -> bytes:
    return empty + b"(" + b"".join(_plain(key) + value for key, value in items) + b"u"
