"""The pickles of torch checkpoints, read by an interpreter that calls only functions of its own.

`pickle.Unpickler.find_class` alone is not safe: a stream can still set attributes of the allowed
classes. Here the stream holds only `Global` tokens, and cannot reach any function or class of this
process.
"""

import argparse
import collections
import pickletools
import reprlib
from collections.abc import Callable
from typing import Any, BinaryIO

from tfsum.errors import CheckpointError, require

# What a stream nests can be doubled by each byte of it: messages show two levels, and few items.
_short = reprlib.Repr()
_short.maxlevel = 2
brief = _short.repr


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
        return f"<{self.class_name} with {brief(sorted(self.attributes))}>"


def read_pickle(
    stream: BinaryIO,
    find_global: Callable[[str], Global],
    load_persistent: Callable[[object], Any],
) -> Any:
    """Reads one pickle, up to its end in the stream.

    Args:
        stream: Seekable binary stream at the first byte of the pickle.
        find_global: Function that returns the token of an allowed `module.name` and raises
            CheckpointError for any other name.
        load_persistent: Function that turns a persistent id into an object, or rejects it likewise.

    Returns:
        Plain containers, numbers, strings, `Opaque` objects and results of the functions.

    Raises:
        CheckpointError: The stream has an instruction or a name that is not allowed.
        IndexError, KeyError, TypeError, ValueError: The stream is malformed.

    Example:
        >>> import io, pickle
        >>> read_pickle(io.BytesIO(pickle.dumps({"steps": 3})), Global, str)
        {'steps': 3}
    """
    machine = _Machine(find_global, load_persistent)
    for instruction, argument, _ in pickletools.genops(stream):
        name = instruction.name
        if name == "STOP":
            return machine.stack.pop()
        if name in _VALUES:
            machine.stack.append(argument)
        elif name in _NEW:
            machine.stack.append(_NEW[name]())
        elif name in _ACTIONS:
            _ACTIONS[name](machine, argument)
        else:
            raise CheckpointError(
                f"the pickle instruction {name} is not one that torch.save writes"
            )
    raise ValueError("no STOP")


class _Machine:
    """Stack, marks and memo of one pickle."""

    def __init__(
        self, find_global: Callable[[str], Global], load_persistent: Callable[[object], Any]
    ) -> None:
        self.find_global, self.load_persistent = find_global, load_persistent
        self.stack: list[Any] = []
        self.marks: list[list[Any]] = []
        self.memo: dict[int, Any] = {}

    def since_mark(self) -> list[Any]:
        items, self.stack = self.stack, self.marks.pop()
        return items

    def collect(self, kind: Callable[[list[Any]], Any]) -> None:
        items = self.since_mark()
        self.stack.append(kind(items))

    def mark(self, _: object) -> None:
        self.marks.append(self.stack)
        self.stack = []

    def remember(self, index: int | None) -> None:
        self.memo[len(self.memo) if index is None else index] = self.stack[-1]

    def tuple_of(self, count: int) -> None:
        self.stack[-count:] = [tuple(self.stack[-count:])]

    def extend(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) is list:
            target.extend(items)
        elif type(target) is set:
            target.update(map(hashable, items))
        else:
            raise CheckpointError(f"items are added to {_kind(target)}, not to a list or set")

    def update(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) not in (dict, collections.OrderedDict):
            raise CheckpointError(f"pairs are set on {_kind(target)}, not on a dictionary")
        for key, value in zip(items[::2], items[1::2], strict=True):
            target[hashable(key)] = value

    def name_from_stack(self, _: object) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        self.stack.append(self.find_global(" ".join((module, name))))

    def call(self, _: object) -> None:
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

    def set_state(self, _: object) -> None:
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
                f"the stream sets attributes of {_kind(target)}: {brief(sorted(state))}"
            )


def _kind(value: object) -> str:
    if isinstance(value, Global | Opaque):
        return repr(value)
    return f"an object of type {type(value).__name__}"


def hashable(key: object) -> object:
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
    require(
        not any(isinstance(item, tuple | frozenset) for item in items),
        "a dictionary key or set item is a nested container",
        CheckpointError,
    )
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
    "BINPUT": _Machine.remember,
    "LONG_BINPUT": _Machine.remember,
    "MEMOIZE": _Machine.remember,
    "BINGET": lambda machine, index: machine.stack.append(machine.memo[index]),
    "LONG_BINGET": lambda machine, index: machine.stack.append(machine.memo[index]),
    "TUPLE": lambda machine, _: machine.collect(tuple),
    "TUPLE1": lambda machine, _: machine.tuple_of(1),
    "TUPLE2": lambda machine, _: machine.tuple_of(2),
    "TUPLE3": lambda machine, _: machine.tuple_of(3),
    "LIST": lambda machine, _: machine.collect(list),
    "FROZENSET": lambda machine, _: machine.collect(lambda items: frozenset(map(hashable, items))),
    "APPEND": lambda machine, _: machine.extend([machine.stack.pop()]),
    "APPENDS": lambda machine, _: machine.extend(machine.since_mark()),
    "SETITEM": lambda machine, _: machine.update([machine.stack.pop(), machine.stack.pop()][::-1]),
    "SETITEMS": lambda machine, _: machine.update(machine.since_mark()),
    "ADDITEMS": lambda machine, _: machine.extend(machine.since_mark()),
    "GLOBAL": lambda machine, name: machine.stack.append(machine.find_global(name)),
    "STACK_GLOBAL": _Machine.name_from_stack,
    "REDUCE": _Machine.call,
    "NEWOBJ": _Machine.call,
    "BUILD": _Machine.set_state,
    "BINPERSID": lambda machine, _: machine.stack.append(
        machine.load_persistent(machine.stack.pop())
    ),
}
