"""The storages and tensors in the pickle of a torch checkpoint, as arrays of numpy."""

import argparse
import collections
from collections.abc import Callable
from typing import Any, BinaryIO, NamedTuple

import ml_dtypes
import numpy as np
from numpy.typing import DTypeLike

from tfsum.errors import CheckpointError, require
from tfsum.formats.shapes import MAX_ELEMENTS, MAX_RANK
from tfsum.formats.torch_pickle import Global, Opaque, brief, hashable, read_pickle

ELEMENTS: dict[str, DTypeLike] = {
    "DoubleStorage": "<f8",
    "FloatStorage": "<f4",
    "HalfStorage": "<f2",
    "BFloat16Storage": ml_dtypes.bfloat16,
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ShortStorage": "<i2",
    "CharStorage": "i1",
    "ByteStorage": "u1",
    "BoolStorage": "?",
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
    """The description of a storage in a pickle.

    Attributes:
        kind: Class, such as "FloatStorage".
        key: Name in the file.
        count: Number of elements.

    Example:
        >>> StorageId("FloatStorage", "0", 3).byte_count()
        12
    """

    kind: str
    key: str
    count: int  # type: ignore[assignment]  # tuple.count is not needed

    def byte_count(self) -> int:
        """Number of bytes of the whole storage in the file."""
        return self.count * np.dtype(ELEMENTS[self.kind]).itemsize


class Storage(np.ndarray):
    """The elements of one storage: its class tells them from a tensor's.

    Example:
        >>> np.zeros(3).view(Storage).size
        3
    """


def read_object(stream: BinaryIO, load: Callable[[StorageId], np.ndarray], file_size: int) -> Any:
    """Reads the pickle of a checkpoint, up to its end in the stream.

    Args:
        stream: Seekable binary stream at the first byte of the pickle.
        load: Function that returns the elements of a whole storage.
        file_size: Bytes of the file, which bound the elements of all tensors together, since a view
            can name its elements again and again (stride 0).

    Returns:
        The saved object, with numpy arrays instead of tensors.

    Raises:
        CheckpointError: An object is not in `ALLOWED`, a tensor points outside its storage, or they
            have far more elements than the file.

    Source: torch/serialization.py and torch/_utils.py.

    Example:
        >>> import io, pickle
        >>> read_object(io.BytesIO(pickle.dumps({"step": 1})), lambda storage: np.zeros(0), 0)
        {'step': 1}
    """
    left = elements = 4 * file_size + (1 << 22)  # tensors may share storages

    def tensor(storage: Storage, offset: Any, size: Any, stride: Any, *_: object) -> np.ndarray:
        """`torch._utils._rebuild_tensor_v2`: a strided view of a storage, in elements."""
        nonlocal left
        numbers = (offset, *size, *stride)
        sound = (
            isinstance(storage, Storage)
            and len(size) == len(stride)
            and all(type(n) is int and 0 <= n < MAX_ELEMENTS for n in numbers)
        )
        require(
            sound and len(size) <= MAX_RANK,
            f"a malformed tensor: offset {brief(offset)}, size {brief(size)}, stride"
            f" {brief(stride)}",
            CheckpointError,
        )

        span = sum((n - 1) * step for n, step in zip(size, stride, strict=True))
        last = offset - 1 if 0 in size else offset + span
        require(
            last < len(storage),
            f"a tensor points outside its storage of {len(storage)} elements: offset"
            f" {brief(offset)}, size {brief(tuple(size))}, stride {brief(tuple(stride))}",
            CheckpointError,
        )

        strides = [step * storage.strides[0] for step in stride]
        view = np.lib.stride_tricks.as_strided(storage[offset:], size, strides, writeable=False)
        left -= view.size
        require(
            left >= 0,
            f"its tensors have more than {elements} elements together, which is many times what"
            " the file holds: they are views that repeat elements",
            CheckpointError,
        )
        return view.astype(np.float32) if view.dtype == ml_dtypes.bfloat16 else view

    calls = {"torch._utils._rebuild_tensor_v2": tensor, **_CALLS}
    return read_pickle(
        stream,
        lambda name: _find_global(name, calls),
        lambda identity: load(_storage_id(identity)).view(Storage),
    )


def _storage_id(identity: object) -> StorageId:
    """Checks `("storage", class, key, device, count)`, to which the older format adds None."""
    match identity:
        case ("storage", Global(name=name), str(key), str(), int(count), *rest):
            kind = name.removeprefix("torch.")
            if kind in ELEMENTS and count >= 0 and rest in ([], [None]):
                return StorageId(kind, key, count)
    raise CheckpointError(
        "a malformed persistent id: expected ('storage', class, key, device, element count)"
    )


def _parameter(data: object, *_: object) -> np.ndarray:
    """`torch._utils._rebuild_parameter`: a tensor that can be a key of the optimizer's state."""
    if type(data) is not np.ndarray:
        raise CheckpointError(f"a parameter made of {type(data).__name__}, expected a tensor")
    return data.view(Parameter)


_CALLS: dict[str, Callable] = {
    "torch._utils._rebuild_parameter": _parameter,
    "torch.Size": tuple,
    "argparse.Namespace": lambda: argparse.Namespace(),  # without arguments
    "collections.OrderedDict": lambda pairs=(): collections.OrderedDict(
        (hashable(key), value) for key, value in pairs
    ),
    "collections.defaultdict": lambda *_: {},  # a plain one: a lookup must not add a key
    "builtins.dict": lambda pairs=(): {hashable(key): value for key, value in pairs},
    "builtins.list": list,
    "builtins.tuple": tuple,
    "builtins.set": lambda items=(): set(map(hashable, items)),
    "builtins.frozenset": lambda items=(): frozenset(map(hashable, items)),
}


def _find_global(name: str, calls: dict[str, Callable]) -> Global:
    name = name.replace(" ", ".", 1).replace("__builtin__.", "builtins.", 1)
    if name in calls:
        return Global(name, calls[name])
    if name.removeprefix("torch.") in ELEMENTS:
        return Global(name)
    if name == "models.optimizers.Optimizer" or name.startswith("torch.optim."):
        return Global(name, lambda: Opaque(name))
    raise CheckpointError(
        f"asks for the Python object {name[:200]}, and tfsum runs no code out of a checkpoint;"
        f" allowed are {ALLOWED}"
    )
