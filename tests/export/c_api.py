"""A client of an exported model that knows only TensorFlow's C library: no tensorflow, keras, numpy or tfsum.

    python c_api.py MODEL [--library OP_LIBRARY.so]... < request.json

The request is `{"signature": "serving_default", "inputs": {"text": ["..."]}}`, or a list of such; the answer is
JSON of the same kind. Bytes that are not UTF-8 stand as surrogate escapes. What it does, any language with a
foreign function interface can do.
"""

import argparse
import ctypes
import importlib.util
import json
import os
import struct
import sys

FLOAT, INT32, STRING, BOOL = 1, 3, 7, 10
LAYOUT = {FLOAT: "f", INT32: "i", BOOL: "?"}
STRING_SIZE = 24  # of a TF_TString


class Place(ctypes.Structure):
    """TF_Output: one output of an operation."""

    _fields_ = [("operation", ctypes.c_void_p), ("index", ctypes.c_int)]


class Buffer(ctypes.Structure):
    """TF_Buffer."""

    _fields_ = [("data", ctypes.c_void_p), ("length", ctypes.c_size_t), ("free", ctypes.c_void_p)]


def fields(data: bytes):
    """Reads the wire format of a protocol buffer: (number, value) of each field."""
    at = 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = number()
        if key & 7 == 0:
            yield key >> 3, number()
            continue
        size = {1: 8, 5: 4}.get(key & 7) or number()
        yield key >> 3, data[at : at + size]
        at += size


def entries(data: bytes, field: int) -> dict[str, bytes]:
    """A map field: key -> value, both as bytes on the wire."""
    pairs = [dict(fields(value)) for number, value in fields(data) if number == field]
    return {pair[1].decode(): pair.get(2, b"") for pair in pairs}


def signatures(meta_graph: bytes) -> dict[str, tuple[dict, dict]]:
    """The signatures of a MetaGraphDef: name -> inputs, outputs; each name -> (tensor, type)."""

    def tensors(data: bytes, field: int) -> dict[str, tuple[str, int]]:
        infos = {name: dict(fields(info)) for name, info in entries(data, field).items()}
        return {name: (info[1].decode(), info[2]) for name, info in infos.items()}

    # those with __ are TensorFlow's own: the operation that initializes
    found = {name: data for name, data in entries(meta_graph, 5).items() if not name.startswith("__")}
    return {name: (tensors(data, 1), tensors(data, 2)) for name, data in found.items()}


def load_library():
    """TensorFlow's C API out of the installed package, which is found but not imported."""
    folder = os.path.dirname(importlib.util.find_spec("tensorflow").origin)
    ctypes.CDLL(os.path.join(folder, "libtensorflow_framework.so.2"), ctypes.RTLD_GLOBAL)
    library = ctypes.CDLL(os.path.join(folder, "libtensorflow_cc.so.2"), ctypes.RTLD_GLOBAL)
    pointers = (
        "NewStatus NewSessionOptions NewGraph NewBuffer LoadLibrary LoadSessionFromSavedModel AllocateTensor "
        "TensorData GraphOperationByName StringGetDataPointer"
    )
    for name in pointers.split():
        getattr(library, "TF_" + name).restype = ctypes.c_void_p
    library.TF_Message.restype = ctypes.c_char_p
    library.TF_Dim.restype = ctypes.c_int64
    library.TF_StringGetSize.restype = ctypes.c_size_t
    return library


class Model:
    """A SavedModel in a session of the C library.

    Args:
        folder: the model's folder.
        op_libraries: files of operations to load before.
    """

    def __init__(self, folder: str, op_libraries=()):
        self.c = load_library()
        self.status = ctypes.c_void_p(self.c.TF_NewStatus())
        for path in op_libraries:
            self.c.TF_LoadLibrary(os.fsencode(path), self.status)
            self._check()
        self.graph = ctypes.c_void_p(self.c.TF_NewGraph())
        meta_graph = ctypes.cast(ctypes.c_void_p(self.c.TF_NewBuffer()), ctypes.POINTER(Buffer))
        tags = (ctypes.c_char_p * 1)(b"serve")
        options = ctypes.c_void_p(self.c.TF_NewSessionOptions())
        self.session = ctypes.c_void_p(
            self.c.TF_LoadSessionFromSavedModel(
                options, None, os.fsencode(folder), tags, 1, self.graph, meta_graph, self.status
            )
        )
        self._check()
        self.signatures = signatures(ctypes.string_at(meta_graph.contents.data, meta_graph.contents.length))

    def _check(self) -> None:
        if self.c.TF_GetCode(self.status):
            raise RuntimeError(self.c.TF_Message(self.status).decode(errors="replace"))

    def run(self, signature: str, inputs: dict) -> dict:
        """Calls a signature: name -> nested list, and so the answer; strings are bytes."""
        takes, gives = self.signatures[signature]
        fed = [self._tensor(inputs[name], kind) for name, (_, kind) in takes.items()]
        values = (ctypes.c_void_p * len(fed))(*fed)
        answers = (ctypes.c_void_p * len(gives))()
        self.c.TF_SessionRun(
            self.session,
            None,
            self._places(takes),
            values,
            len(fed),
            self._places(gives),
            answers,
            len(gives),
            None,
            0,
            None,
            self.status,
        )
        for tensor in fed:
            self.c.TF_DeleteTensor(ctypes.c_void_p(tensor))
        self._check()
        return {name: self._value(ctypes.c_void_p(tensor)) for name, tensor in zip(gives, answers)}

    def _places(self, tensors: dict):
        places = []
        for name, _ in tensors.values():
            operation, _, index = name.partition(":")
            places.append(Place(self.c.TF_GraphOperationByName(self.graph, operation.encode()), int(index)))
        return (Place * len(places))(*places)

    def _tensor(self, value: list, kind: int) -> int:
        shape, flat = [], value
        while isinstance(flat, list):
            shape.append(len(flat))
            flat = flat[0] if flat else None
        flat = value
        for _ in shape[1:]:
            flat = [item for row in flat for item in row]
        size = STRING_SIZE if kind == STRING else struct.calcsize(LAYOUT[kind])
        dims = (ctypes.c_int64 * len(shape))(*shape)
        tensor = self.c.TF_AllocateTensor(kind, dims, len(shape), ctypes.c_size_t(size * len(flat)))
        data = self.c.TF_TensorData(ctypes.c_void_p(tensor))
        if kind == STRING:
            for i, item in enumerate(flat):
                place = ctypes.c_void_p(data + STRING_SIZE * i)
                self.c.TF_StringInit(place)
                self.c.TF_StringCopy(place, ctypes.c_char_p(item), ctypes.c_size_t(len(item)))
        elif flat:
            ctypes.memmove(data, struct.pack(f"={len(flat)}{LAYOUT[kind]}", *flat), size * len(flat))
        return tensor

    def _value(self, tensor) -> list:
        kind = self.c.TF_TensorType(tensor)
        shape = [self.c.TF_Dim(tensor, i) for i in range(self.c.TF_NumDims(tensor))]
        size = 1
        for length in shape:
            size *= length
        data = self.c.TF_TensorData(tensor) if size else None
        if kind == STRING:
            flat = [self._string(data + STRING_SIZE * i) for i in range(size)]
        else:
            layout = f"={size}{LAYOUT[kind]}"
            flat = list(
                struct.unpack(layout, ctypes.string_at(data, struct.calcsize(layout)) if size else b"")
            )
        self.c.TF_DeleteTensor(tensor)
        return nested(flat, shape)

    def _string(self, address: int) -> bytes:
        place = ctypes.c_void_p(address)
        length = self.c.TF_StringGetSize(place)
        return ctypes.string_at(self.c.TF_StringGetDataPointer(place), length) if length else b""


def nested(flat: list, shape: list[int]) -> list:
    """Gives a flat list its shape."""
    if len(shape) < 2:
        return flat
    step = len(flat) // shape[0] if shape[0] else 0
    return [nested(flat[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])]


def convert(value, kind, function):
    """Applies `function` to every item of a type in a nested list."""
    if isinstance(value, list):
        return [convert(item, kind, function) for item in value]
    return function(value) if isinstance(value, kind) else value


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("--library", action="append", default=[])
    arguments = parser.parse_args()
    model = Model(arguments.model, arguments.library)
    requests = json.load(sys.stdin)
    for request in requests if isinstance(requests, list) else [requests]:
        inputs = {
            k: convert(v, str, lambda s: s.encode("utf-8", "surrogateescape"))
            for k, v in request["inputs"].items()
        }
        answer = model.run(request["signature"], inputs)
        print(
            json.dumps(
                {
                    k: convert(v, bytes, lambda b: b.decode("utf-8", "surrogateescape"))
                    for k, v in answer.items()
                }
            )
        )
    loaded = {"tensorflow", "keras", "numpy", "tfsum", "tensorflow_text"} & sys.modules.keys()
    assert not loaded, f"this client must do without {loaded}"


if __name__ == "__main__":
    main()
