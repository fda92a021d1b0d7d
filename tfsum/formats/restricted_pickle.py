"""An interpreter of pickle's instructions that calls only the functions given to it.

`pickle.Unpickler.find_class` alone is not safe: a stream can still set attributes of the allowed classes.
Here the stream holds only `Global` tokens, and cannot reach any function or class of this process.
"""

import argparse
import collections
import pickletools
from collections.abc import Callable
from typing import Any, BinaryIO

from tfsum.errors import CheckpointError


class Global:
    """The name of a function or class in the stream, and what a call of it does.

    Args:
        name: module and name, such as `collections.OrderedDict`.
        call: what a call of it does; None if it must not be called.

    Example:
        >>> Global("torch.FloatStorage")
        <torch.FloatStorage>
    """

    def __init__(self, name: str, call: Callable | None = None) -> None:
        self.name, self.call = name, call

    def __repr__(self) -> str:
        return f"<{self.name}>"


class Opaque:
    """An object of the program that wrote the file: its class' name and its attributes, without its code.

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
        return f"<{self.class_name} with {sorted(self.attributes)}>"


def read_pickle(
    stream: BinaryIO,
    find_global: Callable[[str], Global],
    load_persistent: Callable[[Any], Any] | None = None,
) -> Any:
    """Reads one pickle, up to its end in the stream.

    Args:
        stream: A seekable binary stream at the first byte of the pickle.
        find_global: Returns the token of an allowed `module.name`; raises CheckpointError for any other.
        load_persistent: Turns a persistent id into an object; without it there may be none.

    Returns:
        The object: plain containers, numbers and strings, `Opaque` and the results of the callables.

    Raises:
        CheckpointError: An instruction or a name that is not allowed. A malformed stream raises what Python
            raises for it (IndexError, KeyError, TypeError, ValueError); the caller says which file it was.

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

    def pop(self, _: Any) -> None:
        self.stack.pop()

    def duplicate(self, _: Any) -> None:
        self.stack.append(self.stack[-1])

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
                f"the stream sets attributes of {_kind(target)}: {sorted(state)[:5]}"
            )

    def persistent(self, _: Any) -> None:
        if self.load_persistent is None:
            raise CheckpointError("a persistent id where torch.save writes none")
        self.stack.append(self.load_persistent(self.stack.pop()))


def _kind(thing: Any) -> str:
    return (
        repr(thing)
        if isinstance(thing, Global | Opaque)
        else f"an object of type {type(thing).__name__}"
    )


def hashable(key: Any) -> Any:
    """Checks a key or set item: the hash of a deeply nested one could overflow the stack.

    Args:
        key: Any object of the stream.

    Returns:
        The same object.

    Raises:
        CheckpointError: A container within a container.

    Example:
        >>> hashable(("a", 1))
        ('a', 1)
    """
    items = key if type(key) is tuple else (key,)
    if any(isinstance(item, tuple | frozenset) for item in items):
        raise CheckpointError("a dictionary key or set item is a nested container")
    return key


_NUMBERS = {"INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"}
_STRINGS = {"STRING", "BINSTRING", "SHORT_BINSTRING", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8"}
_VALUES = _NUMBERS | _STRINGS | {"UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"}
_NEW: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_TUPLE": tuple,
    "EMPTY_LIST": list,
    "EMPTY_DICT": dict,
    "EMPTY_SET": set,
}


def _dict_since_mark(machine: _Machine, _: Any) -> None:
    items = machine.since_mark()
    machine.stack.append({})
    machine.update(items)


def _drop_since_mark(machine: _Machine, _: Any) -> None:
    machine.since_mark()


def _nothing(machine: _Machine, _: Any) -> None:
    """PROTO and FRAME: numbers that are not needed here."""


_ACTIONS: dict[str, Callable[[_Machine, Any], None]] = {
    "PROTO": _nothing,
    "FRAME": _nothing,
    "MARK": _Machine.mark,
    "POP": _Machine.pop,
    "POP_MARK": _drop_since_mark,
    "DUP": _Machine.duplicate,
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
    "DICT": _dict_since_mark,
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
