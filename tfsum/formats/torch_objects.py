"""The objects of a torch checkpoint, rebuilt with numpy: storages, tensors, parameters, containers."""

import argparse
import collections
import math
from collections.abc import Callable
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from tfsum.errors import CheckpointError
from tfsum.formats.restricted_pickle import Global, Opaque, hashable, read_pickle

LARGEST_REPEAT = 2**27
"""Elements that a view with repeated elements (stride 0) may have; more cannot be a weight."""

ELEMENTS = {
    "DoubleStorage": "<f8",
    "FloatStorage": "<f4",
    "HalfStorage": "<f2",
    "BFloat16Storage": "<u2",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ShortStorage": "<i2",
    "CharStorage": "i1",
    "ByteStorage": "u1",
    "BoolStorage": "u1",
    "ComplexFloatStorage": "<c8",
    "ComplexDoubleStorage": "<c16",
}
ALLOWED = (
    "argparse.Namespace, collections.OrderedDict, collections.defaultdict, dict, list, tuple, set, "
    "frozenset, torch.Size, torch._utils._rebuild_tensor_v2, torch._utils._rebuild_parameter, "
    "torch.<type>Storage, and as names without code models.optimizers.Optimizer and torch.optim.*"
)


class Parameter(np.ndarray):
    """An array that can be a dictionary key, as the parameters in the state of torch's Adam are.

    Example:
        >>> parameter = np.zeros(2).view(Parameter)
        >>> {parameter: "momentum"}[parameter]
        'momentum'
    """

    __hash__ = object.__hash__  # type: ignore[assignment]  # numpy's own is None


class StorageId(NamedTuple):
    """The description of a storage in a pickle: class, name in the file, elements, and the part used.

    Example:
        >>> StorageId("FloatStorage", "0", 3, slice(0, 3)).byte_count()
        12
    """

    kind: str
    key: str
    count: int  # type: ignore[assignment]  # tuple.count is not needed
    part: slice

    def byte_count(self) -> int:
        """Bytes that the whole storage takes in the file."""
        return self.count * np.dtype(ELEMENTS[self.kind]).itemsize


class Storage(NamedTuple):
    """The elements of one storage, or None while they have not been found in the file.

    Example:
        >>> Storage("FloatStorage", None).elements is None
        True
    """

    kind: str
    elements: np.ndarray | None


def read_object(stream: BinaryIO, load: Callable[[StorageId], memoryview | None]) -> Any:
    """Reads the pickle of a checkpoint, up to its end in the stream.

    Args:
        stream: A seekable binary stream at the first byte of the pickle.
        load: Returns the bytes of a whole storage, or None in a first pass that only collects the storages
            (every tensor is then None).

    Returns:
        What was saved, with numpy arrays instead of tensors.

    Raises:
        CheckpointError: An object beyond `ALLOWED`, a storage of wrong size, a tensor outside its storage.

    Source: torch/serialization.py and torch/_utils.py.

    Example:
        >>> import io, pickle
        >>> read_object(io.BytesIO(pickle.dumps({"step": 1})), lambda asked: None)
        {'step': 1}
    """

    def persistent(identity: Any) -> Storage:
        asked = _storage_id(identity)
        data = load(asked)
        if data is None:
            return Storage(asked.kind, None)
        if len(data) != asked.byte_count():
            expected = f"{asked.byte_count()} for {asked.count} elements of {asked.kind}"
            raise CheckpointError(
                f"the storage {asked.key} has {len(data)} bytes, expected {expected}"
            )
        return Storage(asked.kind, np.frombuffer(data, ELEMENTS[asked.kind])[asked.part])

    return read_pickle(stream, _find_global, persistent)


def _storage_id(identity: Any) -> StorageId:
    """Checks `("storage", class, key, device, elements)`; old files may add a part of the storage."""
    match identity:
        case ("storage", Global(name=name), str(key), str(), int(count), *rest):
            first, size = _part(rest, count)
            kind = name.removeprefix("torch.")
            if kind in ELEMENTS and 0 <= first <= first + size <= count:
                return StorageId(kind, key, count, slice(first, first + size))
    raise CheckpointError(
        "a malformed persistent id: expected ('storage', class, key, device, element count)"
    )


def _part(rest: list[Any], count: int) -> tuple[int, int]:
    match rest:
        case [] | [None]:
            return 0, count
        case [(str(), int(first), int(size))]:
            return first, size
    return -1, 0


def _tensor(storage: Any, offset: Any, size: Any, stride: Any, *_: Any) -> Any:
    """`torch._utils._rebuild_tensor_v2`: a strided view of a storage, in elements."""
    numbers = (offset, *size, *stride)
    sound = (
        isinstance(storage, Storage)
        and len(size) == len(stride)
        and all(type(n) is int for n in numbers)
    )
    if not sound or min(numbers) < 0:
        raise CheckpointError(f"a malformed tensor: offset {offset}, size {size}, stride {stride}")
    if storage.elements is None:
        return None
    count, available = math.prod(size), len(storage.elements)
    last = (
        offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
        if count
        else offset - 1
    )
    if last >= available or count > max(available, LARGEST_REPEAT):
        found = f"offset {offset}, size {tuple(size)}, stride {tuple(stride)}"
        raise CheckpointError(
            f"a tensor points outside its storage of {available} elements: {found}"
        )
    steps = [step * storage.elements.itemsize for step in stride]
    view = np.lib.stride_tricks.as_strided(storage.elements[offset:], size, steps, writeable=False)
    if storage.kind == "BFloat16Storage":
        return (view.astype(np.uint32) << 16).view(np.float32)
    return view != 0 if storage.kind == "BoolStorage" else view


def _parameter(data: Any, *_: Any) -> np.ndarray | None:
    """`torch._utils._rebuild_parameter`: the same tensor, fit to be a key of the optimizer's state."""
    if data is not None and type(data) is not np.ndarray:
        raise CheckpointError(f"a parameter made of {type(data).__name__}, expected a tensor")
    return None if data is None else data.view(Parameter)


def _dictionary(kind: type) -> Callable:
    return lambda pairs=(): kind((hashable(key), value) for key, value in pairs)


def _items(kind: type) -> Callable:
    return lambda items=(): kind(map(hashable, items))


def _default_dict(*_: Any) -> dict:
    return {}  # a plain one: looking for a key must not make it


_CALLS: dict[str, Callable] = {
    "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_parameter": _parameter,
    "torch.Size": tuple,
    "argparse.Namespace": lambda: argparse.Namespace(),
    "collections.OrderedDict": _dictionary(collections.OrderedDict),
    "collections.defaultdict": _default_dict,
    "builtins.dict": _dictionary(dict),
    "builtins.list": list,
    "builtins.tuple": tuple,
    "builtins.set": _items(set),
    "builtins.frozenset": _items(frozenset),
}


def _find_global(asked: str) -> Global:
    name = asked.replace(" ", ".", 1).replace("__builtin__.", "builtins.", 1)
    if name in _CALLS:
        return Global(name, _CALLS[name])
    if name.removeprefix("torch.") in ELEMENTS:
        return Global(name)
    if name == "models.optimizers.Optimizer" or name.startswith("torch.optim."):
        return Global(name, lambda: Opaque(name))
    asks = f"asks for the Python object {name[:200]}, and tfsum runs no code out of a checkpoint"
    raise CheckpointError(f"{asks}; allowed are {ALLOWED}")
