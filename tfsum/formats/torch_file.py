"""Files of torch.save, read without torch and without running anything in them.

Both formats: the zip archive (torch >= 1.6) and the older stream of pickles of the published BertSum and
PreSumm checkpoints (torch/serialization.py, `_load` and `_legacy_load`).
"""

import io
import mmap
import os
import pathlib
import struct
import zipfile
import zlib
from typing import Any, BinaryIO, cast

from tfsum.errors import CheckpointError
from tfsum.formats.restricted_pickle import Global, read_pickle
from tfsum.formats.torch_objects import StorageId, read_object

LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
LEGACY_PROTOCOL = 1001
LEGACY_BEGIN = b"\x80\x02\x8a\x0a" + LEGACY_MAGIC.to_bytes(
    10, "little"
)  # the pickle of the magic number
ZIP = b"PK\3\4"


def read_torch_file(path: str | os.PathLike) -> dict:
    """Reads the dictionary that `torch.save` wrote, in either of its formats.

    The file is mapped, not loaded: arrays are read-only views of it, an unused tensor costs no
    memory, and the file must stay as it is while they live. bfloat16 is widened to float32. Objects of the
    training program come as `Opaque`, the `opt` of BertSum as argparse.Namespace.

    Args:
        path: The file, usually `model_step_N.pt`.

    Returns:
        The dictionary, with numpy arrays instead of tensors.

    Raises:
        CheckpointError: No such file, no torch file, a broken one, or one that asks for objects beyond
            `torch_objects.ALLOWED`.

    Source: torch/serialization.py, `_load` and `_legacy_load`.

    Example:
        >>> sorted(read_torch_file("model_step_18000.pt"))  # doctest: +SKIP
        ['model', 'opt', 'optim']
    """
    value = _read(path)
    if not isinstance(value, dict):
        raise CheckpointError(
            f"{path}: holds {type(value).__name__}, expected a dictionary of weights"
        )
    return value


def read_torch_examples(path: str | os.PathLike) -> list[dict]:
    """Reads a shard of examples, the list of dictionaries that the preprocessing of BertSum and PreSumm saved.

    Args:
        path: The file, such as `cnndm.train.0.bert.pt`.

    Returns:
        The dictionaries, as saved: of integers, strings and lists of them.

    Raises:
        CheckpointError: As `read_torch_file`; or the file holds something else.

    Source: nlpyang/PreSumm, prepro/data_builder.py, `_format_to_bert`.

    Example:
        >>> sorted(read_torch_examples("cnndm.train.0.bert.pt")[0])  # doctest: +SKIP
        ['clss', 'segs', 'src', 'src_sent_labels', 'src_txt', 'tgt', 'tgt_txt']
    """
    value = _read(path)
    if type(value) is not list or not all(type(example) is dict for example in value):
        found = "a list of other things" if type(value) is list else f"a {type(value).__name__}"
        raise CheckpointError(
            f"{path}: holds {found}, expected a list of dictionaries, the examples of a shard"
        )
    return value


def is_torch_file(begin: bytes) -> bool:
    """Whether a file was written by torch.save, or is another zip archive.

    Args:
        begin: Its first bytes, at least 16.

    Example:
        >>> is_torch_file(b'{"text": "It rained."}')
        False
    """
    return begin.startswith((ZIP, LEGACY_BEGIN))


def _read(path: str | os.PathLike) -> Any:
    path = pathlib.Path(path)
    content = _map(path)
    try:
        return _read_zip(content) if content[:4] == ZIP else _read_legacy(content)
    except CheckpointError as error:
        raise CheckpointError(f"{path}: {error}") from error
    except Exception as error:  # a broken file may break any step of the reading, in any way
        what = (
            f"truncated or corrupt ({type(error).__name__}: {error}); fetch or save the file again"
        )
        raise CheckpointError(f"{path}: {what}") from error


def _map(path: pathlib.Path) -> mmap.mmap:
    try:
        if path.stat().st_size == 0:
            raise CheckpointError(f"{path}: the file is empty; fetch or save it again")
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read ({error.strerror or error})") from error


def _read_zip(content: mmap.mmap) -> Any:
    with zipfile.ZipFile(cast(BinaryIO, content)) as archive:  # a mmap is a seekable stream
        records = {info.filename: info for info in archive.infolist()}
    pickles = [name for name in records if name == "data.pkl" or name.endswith("/data.pkl")]
    if len(pickles) != 1:
        raise CheckpointError(
            f"a zip archive with {len(pickles)} records data.pkl, expected one of torch.save's"
        )
    root = pickles[0].removesuffix("data.pkl")
    if f"{root}byteorder" in records:
        _check_byte_order(bytes(_record(content, records[f"{root}byteorder"])) == b"little")
    found: dict[str, memoryview] = {}

    def load(asked: StorageId) -> memoryview:
        if asked.key not in found:
            name = f"{root}data/{asked.key}"
            if name not in records:
                raise CheckpointError(
                    f"the archive has no record {name} for a storage that its tensors need"
                )
            found[asked.key] = _record(content, records[name])
        return found[asked.key]

    return read_object(io.BytesIO(_record(content, records[pickles[0]])), load)


def _record(content: mmap.mmap, info: zipfile.ZipInfo) -> memoryview:
    """The bytes of one record, checked and not copied."""
    if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
        raise CheckpointError(
            f"the record {info.filename} is compressed or encrypted, as torch.save's never are"
        )
    header = content[info.header_offset : info.header_offset + 30]
    name_length, extra_length = struct.unpack("<HH", header[26:30])
    start = info.header_offset + 30 + name_length + extra_length
    data = memoryview(content)[start : start + info.file_size]
    if header[:4] != b"PK\3\4" or len(data) != info.file_size or zlib.crc32(data) != info.CRC:
        raise CheckpointError(
            f"the record {info.filename} is damaged (its checksum or its place is wrong)"
        )
    return data


def _read_legacy(content: mmap.mmap) -> Any:
    if _plain(content, "magic number") != LEGACY_MAGIC:
        raise CheckpointError(
            "neither a zip archive nor a stream of torch.save: not a torch checkpoint"
        )
    protocol, system = _plain(content, "protocol"), _plain(content, "system")
    if protocol != LEGACY_PROTOCOL or not isinstance(system, dict):
        raise CheckpointError(f"protocol {protocol} of torch.save, expected {LEGACY_PROTOCOL}")
    _check_byte_order(system.get("little_endian", True) is True)
    start = content.tell()
    asked: dict[str, StorageId] = {}

    # The elements follow the pickle that has their types: read it once for the types, again for the tensors.
    def note(storage: StorageId) -> None:
        first = asked.setdefault(storage.key, storage)
        if (first.kind, first.count) != (storage.kind, storage.count):
            raise CheckpointError(f"the storage {storage.key} is described twice, and differently")

    stream = cast(BinaryIO, content)  # a mmap is one
    value = read_object(stream, note)
    found = _legacy_storages(content, asked)
    if not found:  # a shard of examples has no tensor, and millions of numbers to read twice
        return value
    content.seek(start)
    return read_object(stream, lambda storage: found[storage.key])


def _plain(content: mmap.mmap, what: str) -> Any:
    """One pickle of the header, which holds numbers and strings only."""
    try:
        return read_pickle(cast(BinaryIO, content), _no_global)
    except Exception as error:
        raise CheckpointError(
            f"no torch checkpoint, or a broken one: no {what} at its beginning"
        ) from error


def _no_global(name: str) -> Global:
    raise CheckpointError(f"the object {name} in the header")


def _legacy_storages(content: mmap.mmap, asked: dict[str, StorageId]) -> dict[str, memoryview]:
    keys = read_pickle(cast(BinaryIO, content), _no_global)
    if type(keys) is not list or sorted(map(str, keys)) != sorted(asked):
        raise CheckpointError(
            "the list of storages is not that of the storages which the tensors need"
        )
    found, place, whole = {}, content.tell(), memoryview(content)
    for key in keys:
        (count,) = struct.unpack("<q", whole[place : place + 8])
        place, size = place + 8, asked[key].byte_count()
        if count != asked[key].count or place + size > len(whole):
            raise CheckpointError(
                f"truncated or corrupt: storage {key} is not of {asked[key].count} elements"
            )
        found[key], place = whole[place : place + size], place + size
    if place != len(whole):
        raise CheckpointError(f"corrupt: {len(whole) - place} bytes behind the last storage")
    return found


def _check_byte_order(little: bool) -> None:
    if not little:
        raise CheckpointError(
            "written on a big-endian machine; save it again on a little-endian one"
        )
