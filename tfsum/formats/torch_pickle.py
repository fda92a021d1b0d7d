"""The pickles of torch checkpoints, read by an interpreter that calls only functions of its own.

`pickle.Unpickler.find_class` alone is not safe: a stream can still set attributes of the allowed
classes. Here the stream holds only `Global` tokens, and cannot reach any function or class of this
process. Storages and tensors become arrays of numpy.
"""

import argparse
import collections
import math
import pickletools
import reprlib
from collections.abc import Callable
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from tfsum.errors import CheckpointError

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


# What a stream nests can be doubled by each byte of it: messages show two levels, and few items.
_short = reprlib.Repr()
_short.maxlevel = 2
_brief = _short.repr


class Global:
    """The name of a function or class in the stream, and the function that replaces it.

    Args:
        name: Module and name, such as `collections.OrderedDict`.
        call: Function to call in its place; None if the stream must not call it.

    Example:
        >>> Global("torch.FloatStorage")
        <torch.FloatStorage>
    """

    def __init__(self, name: str, call: Callable | None = None) -> None:
        self.name, self.call = name, call

    def __repr__(self) -> str:
        return f"<{self.name}>"


class Opaque:
    """An object of the program that wrote the file: its class name and its attributes.

    Args:
        class_name: Module and class, such as `torch.optim.adam.Adam`.

    Example:
        >>> Opaque("torch.optim.adam.Adam")
        <torch.optim.adam.Adam with []>
    """

    def __init__(self, class_name: str) -> None:
        self.class_name = class_name
        self.attributes: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"<{self.class_name} with {_brief(sorted(self.attributes))}>"


def read_pickle(
    stream: BinaryIO,
    find_global: Callable[[str], Global],
    load_persistent: Callable[[Any], Any] | None = None,
) -> Any:
    """Reads one pickle, up to its end in the stream.

    Args:
        stream: Seekable binary stream at the first byte of the pickle.
        find_global: Function that returns the token of an allowed `module.name` and raises
            CheckpointError for any other name.
        load_persistent: Function that turns a persistent id into an object; None rejects such ids.

    Returns:
        Plain containers, numbers, strings, `Opaque` objects and results of the functions.

    Raises:
        CheckpointError: The stream has an instruction or a name that is not allowed.
        IndexError, KeyError, TypeError, ValueError: The stream is malformed.

    Example:
        >>> import io, pickle
        >>> read_pickle(io.BytesIO(pickle.dumps({"steps": 3})), Global)
        {'steps': 3}
    """
    return _Machine(find_global, load_persistent).run(stream)


class _Machine:
    """Stack, marks and memo of one pickle."""

    def __init__(
        self, find_global: Callable[[str], Global], load_persistent: Callable[[Any], Any] | None
    ) -> None:
        self.find_global, self.load_persistent = find_global, load_persistent
        self.stack: list[Any] = []
        self.marks: list[list[Any]] = []
        self.memo: dict[int, Any] = {}

    def run(self, stream: BinaryIO) -> Any:
        for instruction, argument, _ in pickletools.genops(stream):
            name = instruction.name
            if name == "STOP":
                return self.stack.pop()
            if name in _VALUES:
                self.stack.append(argument)
            elif name in _NEW:
                self.stack.append(_NEW[name]())
            elif name in _ACTIONS:
                _ACTIONS[name](self, argument)
            else:
                raise CheckpointError(
                    f"the pickle instruction {name} is not one that torch.save writes"
                )
        raise ValueError("no STOP")

    def since_mark(self) -> list[Any]:
        items, self.stack = self.stack, self.marks.pop()
        return items

    def collect(self, kind: Callable[[list[Any]], Any]) -> None:
        items = self.since_mark()
        self.stack.append(kind(items))

    def mark(self, _: Any) -> None:
        self.marks.append(self.stack)
        self.stack = []

    def remember(self, index: int | None) -> None:
        self.memo[len(self.memo) if index is None else index] = self.stack[-1]

    def recall(self, index: int) -> None:
        self.stack.append(self.memo[index])

    def tuple_of(self, count: int) -> None:
        items = tuple(self.stack[-count:])
        if len(items) != count:
            raise IndexError("stack underflow")
        self.stack[-count:] = [items]

    def extend(self, items: list[Any]) -> None:
        if type(self.stack[-1]) is not list:
            raise CheckpointError(f"items are appended to {_kind(self.stack[-1])}, not to a list")
        self.stack[-1].extend(items)

    def update(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) not in (dict, collections.OrderedDict) or len(items) % 2:
            raise CheckpointError(f"pairs are set on {_kind(target)}, not on a dictionary")
        for key, value in zip(items[::2], items[1::2], strict=True):
            target[hashable(key)] = value

    def add(self, items: list[Any]) -> None:
        if type(self.stack[-1]) is not set:
            raise CheckpointError(f"items are added to {_kind(self.stack[-1])}, not to a set")
        self.stack[-1].update(map(hashable, items))

    def name_global(self, name: str) -> None:
        self.stack.append(self.find_global(name))

    def name_from_stack(self, _: Any) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        if type(module) is not str or type(name) is not str:
            raise TypeError("a global's name is not text")
        self.name_global(f"{module} {name}")

    def call(self, _: Any) -> None:
        arguments, function = self.stack.pop(), self.stack.pop()
        if (
            not isinstance(function, Global)
            or function.call is None
            or type(arguments) is not tuple
        ):
            raise CheckpointError(
                f"the stream calls {_kind(function)}, which no checkpoint may call"
            )
        self.stack.append(function.call(*arguments))

    def set_state(self, _: Any) -> None:
        state, target = self.stack.pop(), self.stack[-1]
        if type(state) is not dict or not all(type(key) is str for key in state):
            raise CheckpointError(
                f"the state of {_kind(target)} is {_kind(state)}, not named attributes"
            )
        if type(target) is Opaque:
            target.attributes.update(state)
        elif type(target) is argparse.Namespace:
            vars(target).update(state)
        elif type(target) is not collections.OrderedDict or set(state) != {"_metadata"}:
            # The `_metadata` of a torch state_dict holds version numbers of modules: left out.
            raise CheckpointError(
                f"the stream sets attributes of {_kind(target)}: {_brief(sorted(state))}"
            )

    def new_dict(self, _: Any) -> None:
        items = self.since_mark()
        self.stack.append({})
        self.update(items)

    def persistent(self, _: Any) -> None:
        if self.load_persistent is None:
            raise CheckpointError("a persistent id where torch.save writes none")
        self.stack.append(self.load_persistent(self.stack.pop()))


def _kind(value: Any) -> str:
    if isinstance(value, Global | Opaque):
        return repr(value)
    return f"an object of type {type(value).__name__}"


def hashable(key: Any) -> Any:
    """Checks a dictionary key or set item; hashing a deeply nested one could overflow the stack.

    Args:
        key: Any object of the stream.

    Returns:
        The same object.

    Raises:
        CheckpointError: The key is a container within a container.

    Example:
        >>> hashable(("a", 1))
        ('a', 1)
    """
    items = key if type(key) is tuple else (key,)
    if any(isinstance(item, tuple | frozenset) for item in items):
        raise CheckpointError("a dictionary key or set item is a nested container")
    return key


# numbers, bytes and texts
_VALUES = {
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
    *("STRING", "BINSTRING", "SHORT_BINSTRING", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8"),
    *("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"),
}
_NEW: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_TUPLE": tuple,
    "EMPTY_LIST": list,
    "EMPTY_DICT": dict,
    "EMPTY_SET": set,
}
_ACTIONS: dict[str, Callable[[_Machine, Any], Any]] = {
    "PROTO": lambda machine, _: None,  # the version
    "FRAME": lambda machine, _: None,  # the number of bytes that follow
    "MARK": _Machine.mark,
    "POP": lambda machine, _: machine.stack.pop(),
    "POP_MARK": lambda machine, _: machine.since_mark(),
    "DUP": lambda machine, _: machine.stack.append(machine.stack[-1]),
    "PUT": _Machine.remember,
    "BINPUT": _Machine.remember,
    "LONG_BINPUT": _Machine.remember,
    "MEMOIZE": _Machine.remember,
    "GET": _Machine.recall,
    "BINGET": _Machine.recall,
    "LONG_BINGET": _Machine.recall,
    "TUPLE": lambda machine, _: machine.collect(tuple),
    "TUPLE1": lambda machine, _: machine.tuple_of(1),
    "TUPLE2": lambda machine, _: machine.tuple_of(2),
    "TUPLE3": lambda machine, _: machine.tuple_of(3),
    "LIST": lambda machine, _: machine.collect(list),
    "DICT": _Machine.new_dict,
    "FROZENSET": lambda machine, _: machine.collect(lambda items: frozenset(map(hashable, items))),
    "APPEND": lambda machine, _: machine.extend([machine.stack.pop()]),
    "APPENDS": lambda machine, _: machine.extend(machine.since_mark()),
    "SETITEM": lambda machine, _: machine.update([machine.stack.pop(), machine.stack.pop()][::-1]),
    "SETITEMS": lambda machine, _: machine.update(machine.since_mark()),
    "ADDITEMS": lambda machine, _: machine.add(machine.since_mark()),
    "GLOBAL": _Machine.name_global,
    "STACK_GLOBAL": _Machine.name_from_stack,
    "REDUCE": _Machine.call,
    "NEWOBJ": _Machine.call,
    "BUILD": _Machine.set_state,
    "BINPERSID": _Machine.persistent,
}


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
        part: Elements that the tensors use.

    Example:
        >>> StorageId("FloatStorage", "0", 3, slice(0, 3)).byte_count()
        12
    """

    kind: str
    key: str
    count: int  # type: ignore[assignment]  # tuple.count is not needed
    part: slice

    def byte_count(self) -> int:
        """Number of bytes of the whole storage in the file."""
        return self.count * np.dtype(ELEMENTS[self.kind]).itemsize


class Storage(NamedTuple):
    """The elements of one storage, or None before they are read.

    Example:
        >>> Storage("FloatStorage", None).elements is None
        True
    """

    kind: str
    elements: np.ndarray | None


def read_object(
    stream: BinaryIO, load: Callable[[StorageId], memoryview | None], elements: int
) -> Any:
    """Reads the pickle of a checkpoint, up to its end in the stream.

    Args:
        stream: Seekable binary stream at the first byte of the pickle.
        load: Function that returns the bytes of a whole storage, or None in a first pass that only
            collects the storages (every tensor is then None).
        elements: Largest number of elements of all tensors together, since a view can name its
            elements again and again (stride 0).

    Returns:
        The saved object, with numpy arrays instead of tensors.

    Raises:
        CheckpointError: An object is not in `ALLOWED`, a storage has a wrong size, a tensor
            points outside its storage, or they have more than `elements`.

    Source: torch/serialization.py and torch/_utils.py.

    Example:
        >>> import io, pickle
        >>> read_object(io.BytesIO(pickle.dumps({"step": 1})), lambda storage: None, 0)
        {'step': 1}
    """
    left = elements

    def persistent(identity: Any) -> Storage:
        storage = _storage_id(identity)
        data = load(storage)
        if data is None:
            return Storage(storage.kind, None)
        if len(data) != storage.byte_count():
            raise CheckpointError(
                f"the storage {storage.key} has {len(data)} bytes, expected"
                f" {storage.byte_count()} for {storage.count} elements of {storage.kind}"
            )
        return Storage(storage.kind, np.frombuffer(data, ELEMENTS[storage.kind])[storage.part])

    def tensor(storage: Any, offset: Any, size: Any, stride: Any, *_: Any) -> Any:
        nonlocal left
        view = _tensor(storage, offset, size, stride)
        left -= 0 if view is None else view.size
        if left < 0:
            raise CheckpointError(
                f"its tensors have more than {elements} elements together, which is many times what"
                " the file holds: they are views that repeat elements"
            )
        return _converted(view, storage.kind)

    def find_global(name: str) -> Global:
        found = _find_global(name)
        return Global(found.name, tensor) if found.call is _tensor else found

    return read_pickle(stream, find_global, persistent)


def _storage_id(identity: Any) -> StorageId:
    """Checks `("storage", class, key, device, count)`; old files may add a part of the storage."""
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


def _tensor(storage: Any, offset: Any, size: Any, stride: Any) -> Any:
    """`torch._utils._rebuild_tensor_v2`: a strided view of a storage, in elements."""
    numbers = (offset, *size, *stride)
    sound = (
        isinstance(storage, Storage)
        and len(size) == len(stride)
        and all(type(n) is int for n in numbers)
    )
    if not sound or min(numbers) < 0:
        raise CheckpointError(
            f"a malformed tensor: offset {_brief(offset)}, size {_brief(size)}, stride"
            f" {_brief(stride)}"
        )
    if storage.elements is None:
        return None

    count, available = math.prod(size), len(storage.elements)
    last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    if count == 0:
        last = offset - 1
    if last >= available:
        raise CheckpointError(
            f"a tensor points outside its storage of {available} elements: offset {_brief(offset)},"
            f" size {_brief(tuple(size))}, stride {_brief(tuple(stride))}"
        )

    steps = [step * storage.elements.itemsize for step in stride]
    return np.lib.stride_tricks.as_strided(storage.elements[offset:], size, steps, writeable=False)


def _converted(view: Any, kind: str) -> Any:
    """The array of a view of a storage whose elements numpy has no type for."""
    if view is not None and kind == "BFloat16Storage":
        return (view.astype(np.uint32) << 16).view(np.float32)
    if view is not None and kind == "BoolStorage":
        return view != 0
    return view


def _parameter(data: Any, *_: Any) -> np.ndarray | None:
    """`torch._utils._rebuild_parameter`: a tensor that can be a key of the optimizer's state."""
    if data is None:
        return None
    if type(data) is not np.ndarray:
        raise CheckpointError(f"a parameter made of {type(data).__name__}, expected a tensor")
    return data.view(Parameter)


def _dictionary(kind: type) -> Callable:
    return lambda pairs=(): kind((hashable(key), value) for key, value in pairs)


def _items(kind: type) -> Callable:
    return lambda items=(): kind(map(hashable, items))


_CALLS: dict[str, Callable] = {
    "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_parameter": _parameter,
    "torch.Size": tuple,
    "argparse.Namespace": lambda: argparse.Namespace(),  # without arguments
    "collections.OrderedDict": _dictionary(collections.OrderedDict),
    "collections.defaultdict": lambda *_: {},  # a plain one: a lookup must not add a key
    "builtins.dict": _dictionary(dict),
    "builtins.list": list,
    "builtins.tuple": tuple,
    "builtins.set": _items(set),
    "builtins.frozenset": _items(frozenset),
}


def _find_global(name: str) -> Global:
    name = name.replace(" ", ".", 1).replace("__builtin__.", "builtins.", 1)
    if name in _CALLS:
        return Global(name, _CALLS[name])
    if name.removeprefix("torch.") in ELEMENTS:
        return Global(name)
    if name == "models.optimizers.Optimizer" or name.startswith("torch.optim."):
        return Global(name, lambda: Opaque(name))
    raise CheckpointError(
        f"asks for the Python object {name[:200]}, and tfsum runs no code out of a checkpoint;"
        f" allowed are {ALLOWED}"
    )
