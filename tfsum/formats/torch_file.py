"""Files of torch.save, read and written without torch and without running code in them.

Both formats are read: the zip archive (torch >= 1.6), and the older stream of pickles, which the
published BertSum and PreSumm checkpoints have (torch/serialization.py, `_load`, `_legacy_load`).
"""

import functools
import io
import math
import mmap
import os
import pathlib
import struct
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from typing import Any, BinaryIO, NoReturn, cast

import numpy as np

from tfsum.atomic_files import atomic_path
from tfsum.errors import CheckpointError, require
from tfsum.formats.torch_pickle import brief, read_pickle
from tfsum.formats.torch_tensors import ELEMENTS, StorageId, read_object

LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
LEGACY_PROTOCOL = 1001
# the pickle of the magic number
LEGACY_BEGIN = b"\x80\x02\x8a\x0a" + LEGACY_MAGIC.to_bytes(10, "little")
ZIP = b"PK\3\4"
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


def read_torch_file(path: str | os.PathLike) -> dict:
    """Reads a dictionary that `torch.save` wrote.

    The file is mapped into memory: arrays are read-only views of it, and an unused tensor costs no
    memory. The file must not change while the arrays are used. bfloat16 becomes float32. Objects of
    the training program become `Opaque`, and the `opt` of BertSum an argparse.Namespace.

    Args:
        path: File of torch.save, such as `model_step_18000.pt`.

    Returns:
        The dictionary, with numpy arrays instead of tensors.

    Raises:
        CheckpointError: The file is missing, broken or not of torch, or it would construct an
            object that is not in `torch_tensors.ALLOWED`.

    Source: torch/serialization.py, `_load` and `_legacy_load`.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_torch_file(f"{folder}/model.pt", {"bias": np.zeros(2, np.float32)}, {})
        ...     sorted(read_torch_file(f"{folder}/model.pt"))
        ['model', 'opt']
    """
    value = _read(path)
    require(
        isinstance(value, dict),
        f"{path}: holds {type(value).__name__}, expected a dictionary of weights",
        CheckpointError,
    )
    return value


def read_torch_examples(path: str | os.PathLike) -> list[dict]:
    """Reads a shard of examples that the preprocessing of BertSum or PreSumm wrote.

    Args:
        path: File of torch.save, such as `cnndm.train.0.bert.pt`.

    Returns:
        Dictionaries of integers, strings and lists of them, with the keys `src`, `clss`, `segs`,
        `src_sent_labels`, `src_txt`, `tgt` and `tgt_txt`.

    Raises:
        CheckpointError: As `read_torch_file`, or the file holds something else.

    Source: nlpyang/PreSumm, prepro/data_builder.py, `_format_to_bert`.

    Example:
        >>> read_torch_examples("no_such_file.pt")
        Traceback (most recent call last):
        tfsum.errors.CheckpointError: no_such_file.pt: cannot be read (No such file or directory)
    """
    value = _read(path)
    require(
        type(value) is list and all(type(example) is dict for example in value),
        f"{path}: holds a {type(value).__name__}, expected a list of dictionaries, the examples"
        " of a shard",
        CheckpointError,
    )
    return value


def is_torch_file(begin: bytes) -> bool:
    """Whether a file is of torch.save or another zip archive.

    Args:
        begin: First bytes of the file, at least 16.

    Example:
        >>> is_torch_file(b'{"text": "It rained."}')
        False
    """
    return begin.startswith((ZIP, LEGACY_BEGIN))


def _read(path: str | os.PathLike) -> Any:
    try:
        with open(path, "rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return _read_zip(content) if content[:4] == ZIP else _read_legacy(content)
    except CheckpointError as error:
        raise CheckpointError(f"{path}: {error}") from error
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read ({error.strerror or error})") from error
    except Exception as error:  # a broken file can break any step, with any error
        raise CheckpointError(
            f"{path}: truncated or corrupt ({type(error).__name__}: {str(error)[:200]}); fetch or"
            " save the file again"
        ) from error


def _read_zip(content: mmap.mmap) -> Any:
    with zipfile.ZipFile(cast(BinaryIO, content)) as archive:  # a mmap is a seekable stream
        records = {info.filename: info for info in archive.infolist()}

    pickles = [name for name in records if name == "data.pkl" or name.endswith("/data.pkl")]
    require(
        len(pickles) == 1,
        f"a zip archive with {len(pickles)} records data.pkl, expected one of torch.save's",
        CheckpointError,
    )
    root = pickles[0].removesuffix("data.pkl")
    if f"{root}byteorder" in records:
        _check_byte_order(bytes(_record(content, records[f"{root}byteorder"])) == b"little")

    @functools.cache
    def load(storage: StorageId) -> np.ndarray:
        name = f"{root}data/{storage.key}"
        require(
            name in records,
            f"the archive has no record {name} for a storage that its tensors need",
            CheckpointError,
        )
        data = _record(content, records[name])
        require(
            len(data) == storage.byte_count(),
            f"the storage {storage.key} has {len(data)} bytes, expected"
            f" {storage.byte_count()} for {storage.count} elements of {storage.kind}",
            CheckpointError,
        )
        return np.frombuffer(data, ELEMENTS[storage.kind])

    return read_object(io.BytesIO(_record(content, records[pickles[0]])), load, len(content))


def _record(content: mmap.mmap, info: zipfile.ZipInfo) -> memoryview:
    """The bytes of one record, checked and not copied."""
    require(
        info.compress_type == zipfile.ZIP_STORED and not info.flag_bits & 1,
        f"the record {info.filename} is compressed or encrypted, as torch.save's never are",
        CheckpointError,
    )

    header = content[info.header_offset : info.header_offset + 30]
    name_length, extra_length = struct.unpack("<HH", header[26:30])
    start = info.header_offset + 30 + name_length + extra_length
    data = memoryview(content)[start : start + info.file_size]
    require(
        header[:4] == ZIP and len(data) == info.file_size and zlib.crc32(data) == info.CRC,
        f"the record {info.filename} is damaged (its checksum or its place is wrong)",
        CheckpointError,
    )
    return data


def _read_legacy(content: mmap.mmap) -> Any:
    require(
        _header(content, "magic number") == LEGACY_MAGIC,
        "neither a zip archive nor a stream of torch.save: not a torch checkpoint",
        CheckpointError,
    )
    protocol, system = _header(content, "protocol"), _header(content, "system")
    require(
        protocol == LEGACY_PROTOCOL and isinstance(system, dict),
        f"protocol {brief(protocol)} of torch.save, expected {LEGACY_PROTOCOL}",
        CheckpointError,
    )
    _check_byte_order(system.get("little_endian", True) is True)

    # The elements follow the pickle that has their types: read it once for the types, with a zero
    # in the place of all elements, and again for the tensors.
    storages: dict[str, StorageId] = {}

    def zeros(storage: StorageId) -> np.ndarray:
        require(
            storages.setdefault(storage.key, storage) == storage,
            f"the storage {storage.key} is described twice, and differently",
            CheckpointError,
        )
        return np.broadcast_to(np.zeros((), ELEMENTS[storage.kind]), storage.count)

    start, stream = content.tell(), cast(BinaryIO, content)  # a mmap is one
    value = read_object(stream, zeros, len(content))
    data = _legacy_storages(content, storages)
    if not data:  # a shard of examples has no tensor, and millions of numbers to read twice
        return value
    content.seek(start)
    return read_object(stream, lambda storage: data[storage.key], len(content))


def _header(content: mmap.mmap, what: str) -> Any:
    """Reads one pickle of the header, which holds numbers and strings only."""
    try:
        return read_pickle(cast(BinaryIO, content), _refused, _refused)
    except Exception as error:
        raise CheckpointError(
            f"no torch checkpoint, or a broken one: no {what} at its beginning"
        ) from error


def _refused(found: object) -> NoReturn:
    raise CheckpointError(
        f"the header holds the Python object {brief(found)}; expected numbers and strings alone:"
        " fetch or save the file again"
    )


def _legacy_storages(content: mmap.mmap, storages: dict[str, StorageId]) -> dict[str, np.ndarray]:
    """The elements of each storage: a list of keys, then the number of each and its elements."""
    keys = read_pickle(cast(BinaryIO, content), _refused, _refused)
    require(
        type(keys) is list and sorted(keys) == sorted(storages),
        "the list of storages is not that of the storages which the tensors need",
        CheckpointError,
    )

    data, whole = {}, memoryview(content)
    end = content.tell()
    for key in keys:
        (count,) = struct.unpack("<q", whole[end : end + 8])
        begin = end + 8
        end = begin + storages[key].byte_count()
        require(
            count == storages[key].count and end <= len(whole),
            f"truncated or corrupt: storage {key} is not of {storages[key].count} elements",
            CheckpointError,
        )
        data[key] = np.frombuffer(whole[begin:end], ELEMENTS[storages[key].kind])

    require(
        end == len(whole),
        f"corrupt: {len(whole) - end} bytes behind the last storage",
        CheckpointError,
    )
    return data


def _check_byte_order(little: bool) -> None:
    require(
        little,
        "written on a big-endian machine; save it again on a little-endian one",
        CheckpointError,
    )


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
        (name, _pushed_tensor(array, storages[_address(array)][0]))
        for name, array in tensors.items()
    ]
    content = _dictionary(items, _call("collections", "OrderedDict"))
    namespace = _call("argparse", "Namespace") + _pushed(dict(options)) + b"b"
    whole = _dictionary((("model", content), ("opt", namespace)), b"}")

    with atomic_path(path) as part, zipfile.ZipFile(part, "w", zipfile.ZIP_STORED) as archive:
        _write_record(archive, "data.pkl", b"\x80\2" + whole + b".")
        _write_record(archive, "byteorder", b"little")
        for key, array in storages.values():
            little = array.astype(array.dtype.newbyteorder("<"), copy=False)
            _write_record(archive, f"data/{key}", little.reshape(-1).view(np.uint8).data)
        _write_record(archive, "version", b"3\n")


def _write_record(archive: zipfile.ZipFile, name: str, content: bytes | memoryview) -> None:
    """Writes a record whose bytes begin at a multiple of `ALIGNMENT`, as torch does."""
    info = zipfile.ZipInfo(f"{ROOT}/{name}")
    begin = archive.fp.tell() + HEADER + len(info.filename) + EXTRA  # type: ignore[union-attr]
    fill = -begin % ALIGNMENT
    info.extra = struct.pack("<2sH", b"FB", fill) + b"Z" * fill
    with archive.open(info, "w", force_zip64=False) as record:
        record.write(content)


def _address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def _pushed_tensor(array: np.ndarray, key: str) -> bytes:
    """`torch._utils._rebuild_tensor_v2(storage, 0, size, stride, False, OrderedDict())`."""
    strides = tuple(math.prod(array.shape[i + 1 :]) for i in range(array.ndim))
    kind = _global("torch", STORAGES[array.dtype.str[1:]])
    place = _pushed(key) + _pushed("cpu") + _pushed(array.size)
    storage = b"(" + _pushed("storage") + kind + place + b"tQ"
    arguments = storage + b"".join(map(_pushed, (0, tuple(array.shape), strides, False)))
    hooks = _call("collections", "OrderedDict")
    return _global("torch._utils", "_rebuild_tensor_v2") + b"(" + arguments + hooks + b"tR"


def _pushed(value: Any) -> bytes:
    """The instructions that push a plain value."""
    match value:
        case None | True | False:
            return {None: b"N", True: b"\x88", False: b"\x89"}[value]
        # not the instruction INT, which torch.load(weights_only=True) does not read
        case int():
            content = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
            return b"\x8a" + bytes([len(content)]) + content
        case float():
            return b"G" + struct.pack(">d", value)
        case str():
            return b"X" + struct.pack("<I", len(value.encode())) + value.encode()
        case tuple():
            return b"(" + b"".join(map(_pushed, value)) + b"t"
        case list():
            return b"](" + b"".join(map(_pushed, value)) + b"e"
    return _dictionary(((key, _pushed(item)) for key, item in value.items()), b"}")


def _global(module: str, name: str) -> bytes:
    return f"c{module}\n{name}\n".encode()


def _call(module: str, name: str) -> bytes:
    return _global(module, name) + b")R"


def _dictionary(items: Iterable[tuple[str, bytes]], empty: bytes) -> bytes:
    return empty + b"(" + b"".join(_pushed(key) + value for key, value in items) + b"u"
