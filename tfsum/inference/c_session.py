"""An exported model in a session of TensorFlow's C library, which starts sooner than TensorFlow's
Python.

The text work is in the graph, so that there is nothing else to do here.

Source: tensorflow/c/c_api.h, tf_tensor.h and tf_tstring.h.
"""

import contextlib
import ctypes
import itertools
import math
import os
import pathlib
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from numpy.typing import ArrayLike

from tfsum.errors import Error, ExportError
from tfsum.inference.allowed_operations import check_operations, read_graphs
from tfsum.inference.c_library import library_files, tf
from tfsum.inference.session_graph import BFLOAT16, FLOAT, GraphParts, convert_kernels
from tfsum.loading import quiet
from tfsum.tensorflow_messages import Fields, message

THREADS = pathlib.Path("/proc/self/task")
RUNNING = pathlib.Path("/proc/loadavg")
CALLERS = "tf_Compute"  # the threads that run operations, and hand products to the others
STRING = 7
# TensorFlow's number of a type -> numpy's
TYPES: dict[int, type] = {
    1: np.float32,
    2: np.float64,
    3: np.int32,
    6: np.int8,
    STRING: np.object_,
    9: np.int64,
    10: np.bool_,
    19: np.float16,
}
STRING_SIZE = 24  # bytes of a TF_TString
# The passes of TensorFlow's optimizer. Each takes as long as a document: in float32 those that are
# left out take 1.3 s of the first answer and give 5 % of 20 kB back, in bfloat16 a tenth of it.
INLINED = ("pruning", "function")
PASSES = {
    "float32": INLINED,
    "openvino": INLINED,
    "bfloat16": (
        *INLINED,
        "constfold",
        "auto_mixed_precision_onednn_bfloat16",
        "arithmetic",
        "remap",
    ),
}
KERNELS = {"float32": FLOAT, "bfloat16": BFLOAT16}  # TensorFlow's numbers of their types


class CallError(Error):
    """A call failed.

    Args:
        what: What failed, such as the folder of the model.
        number: TensorFlow's number of the kind of failure.
        message: TensorFlow's message.

    Attributes:
        number: The argument.
        reason: The reason alone, which TensorFlow wraps in a place of the graph and a stack.

    Example:
        >>> CallError("news/1", 3, "at line 1\\nindices[0] = 7 is not in [0, 5)\\n\\t [[A]]").reason
        'indices[0] = 7 is not in [0, 5)'
    """

    def __init__(self, what: str, number: int, message: str) -> None:
        super().__init__(what, number, message)  # so that it can be pickled
        self.number = number
        self.reason = message.split("\n\t [[")[0].strip().rpartition("\n")[2]

    def __str__(self) -> str:
        return f"{self.args[0]}: {self.reason}"


class ProductThreads:
    """The pool of TensorFlow's threads for products, one of them for each processor.

    After a pause Linux wakes both threads of two processors on one of them, and leaves them there
    for as long as a short text takes (benchmarks/README.md). So each is kept on a processor of its
    own while nothing else runs; beside other work, which would then wait for one processor while
    another is idle, they are free. Other systems are left alone.

    Example:
        >>> pool = ProductThreads()
        >>> with pool.found():
        ...     pass  # makes the process's first session
        >>> pool.place()
    """

    def __init__(self) -> None:
        self._threads, self._are_apart = list[int](), False

    @contextlib.contextmanager
    def found(self) -> Iterator[None]:
        """Takes the threads that the block makes as the pool, if it makes one for each processor
        besides those of Python and those that run operations."""
        before = _threads()
        yield
        made = _threads() - before - {thread.native_id for thread in threading.enumerate()}
        with contextlib.suppress(OSError):
            made = {
                thread
                for thread in made
                if (THREADS / str(thread) / "comm").read_text().strip() != CALLERS
            }
            if made and len(made) == len(os.sched_getaffinity(0)):
                self._threads = sorted(made)

    def place(self) -> None:
        """Keeps the threads apart, or sets them free."""
        if not self._threads:
            return
        with contextlib.suppress(OSError):
            running, _ = RUNNING.read_text().split()[3].split("/")
            are_apart = running == "1"  # who asks
            if are_apart != self._are_apart:
                processors = sorted(os.sched_getaffinity(0))
                for thread, processor in zip(self._threads, itertools.cycle(processors)):
                    os.sched_setaffinity(thread, {processor} if are_apart else processors)
                self._are_apart = are_apart


def _threads() -> set[int]:
    """The ids of the process's threads; none where the system has no such list."""
    return {int(path.name) for path in THREADS.iterdir()} if THREADS.is_dir() else set()


POOL = ProductThreads()  # which all sessions of a process share


class CSession:
    """An exported model that is called by the C library.

    Args:
        folder: Directory `.../NAME/VERSION`.
        description: Content of its assets.extra/tfsum.json.
        compute: "float32", "bfloat16", or "openvino", which leaves all weights as they are stored.

    Attributes:
        signatures: Name of a signature -> the names of its inputs.
        outputs: Name of a signature -> the names of its outputs.

    Raises:
        ExportError: The model cannot be loaded, or an operation is not allowed.

    Example:
        >>> from tfsum.inference.saved_model import shipped_model
        >>> model = CSession(shipped_model(), {"ops": "core"})
        >>> model.call("serving_default", {"text": [b"It rained."]})["count"].tolist()
        [1]
    """

    def __init__(self, folder: pathlib.Path, description: dict, compute: str = "float32") -> None:
        check_operations(folder, description["ops"])
        (graph,) = read_graphs(folder)
        self._definitions = graph.signature_def
        self.signatures = {
            name: frozenset(definition.inputs) for name, definition in self._definitions.items()
        }
        self.outputs = {
            name: frozenset(definition.outputs) for name, definition in self._definitions.items()
        }
        self._folder, self._description, self._compute = folder, description, compute
        self._called: set[str] = set()  # signatures whose parts the session has
        with quiet():
            try:
                if compute in KERNELS:
                    convert_kernels(graph, KERNELS[compute])
                self._parts, self._lock = GraphParts(graph.graph_def), threading.Lock()
                self._session = _new_session(_config(compute))
                weakref.finalize(self, _close, self._session)
                self._restore(graph.saver_def)
            except (CallError, LookupError) as error:
                reason = getattr(error, "reason", error)
                raise ExportError(f"{folder}: cannot be loaded ({reason}); {BROKEN}") from None

    def _restore(self, saver: Fields) -> None:
        """Reads the weights, and makes the tables of them."""
        definition = message("SignatureDef")()
        definition.inputs["file"].name = saver.filename_tensor_name
        definition.inputs["file"].dtype = STRING
        file = bytes(self._folder / "variables" / "variables")
        self._run(definition, "variables", {"file": file}, saver.restore_op_name)

        for operation in self._definitions["__saved_model_init_op"].outputs.values():
            self._run(message("SignatureDef")(), "tables", {}, operation.name)

    def call(self, signature: str, inputs: Mapping[str, ArrayLike]) -> dict[str, np.ndarray]:
        """Calls a signature, from any thread.

        Args:
            signature: Name of the signature.
            inputs: Name -> array, or list of bytes.

        Returns:
            Name -> array.

        Raises:
            CallError: The graph rejects the inputs, or fails.
        """
        return self._run(self._definitions[signature], signature, inputs)

    def variables(self, names: Iterable[str]) -> dict[str, np.ndarray]:
        """Reads weights, of a session for "openvino".

        Args:
            names: Names of variables.

        Returns:
            Name -> array.
        """
        definition = message("SignatureDef")()
        for name in names:
            definition.outputs[name].name = f"{name}/Read/ReadVariableOp:0"
        return self._run(definition, "variables", {})

    def _run(
        self, definition: Fields, signature: str, inputs: Mapping[str, ArrayLike], *operations: str
    ) -> dict[str, np.ndarray]:
        """The outputs of a signature that has this definition; runs these operations, too."""
        if signature not in self._called:
            self._extend(definition, signature, operations)
        given = (ctypes.c_void_p * len(inputs))()
        found = (ctypes.c_void_p * len(definition.outputs))()
        fed = _texts(definition.inputs[name].name for name in inputs)
        fetched = _texts(info.name for info in definition.outputs.values())

        try:
            for i, (name, value) in enumerate(inputs.items()):
                given[i] = _tensor(value, definition.inputs[name].dtype)
            POOL.place()
            with _status(f"{self._folder}: {signature}") as status:
                tf.TF_Run(
                    *(self._session, None),
                    *(fed, given, len(given)),
                    *(fetched, found, len(found)),
                    *(_texts(operations), len(operations), None, status),
                )
            return {name: _array(tensor) for name, tensor in zip(definition.outputs, found)}
        finally:
            for tensor in filter(None, given):
                _delete(tensor)
            for tensor in filter(None, found):
                tf.TF_DeleteTensor(tensor)

    def _extend(self, definition: Fields, signature: str, operations: Iterable[str]) -> None:
        """Adds what a call needs to the graph of the session, which is empty at first."""
        infos = (*definition.inputs.values(), *definition.outputs.values())
        with self._lock:
            part = self._parts.take([*operations, *(info.name for info in infos)])
            if part.node:
                data = part.SerializeToString()
                with _status(f"{self._folder}: {signature}") as status:
                    tf.TF_ExtendGraph(self._session, data, len(data), status)
            self._called |= {signature} & self._definitions.keys()

    def again(self) -> "CSession":
        """The same model in a session of its own."""
        return CSession(self._folder, self._description, self._compute)

    def interrupt(self) -> None:
        """Ends the calls that are computed, within a few windows of text; there can be no more."""
        with contextlib.suppress(CallError), _status("") as status:
            tf.TF_CloseDeprecatedSession(self._session, status)


BROKEN = "a file is broken or missing: fetch or export it again"


def can_open(description: dict) -> bool:
    """Whether the C library can open a model: it has no operations of TF Text.

    Args:
        description: Content of the model's assets.extra/tfsum.json.

    Example:
        >>> can_open({"ops": "core"}), can_open({"ops": "text"})
        (True, False)
    """
    return description.get("ops") == "core" and len(library_files()) == 2


def _config(compute: str) -> bytes:
    """The settings of a session."""
    config = message("ConfigProto")()
    settings = config.graph_options.rewrite_options
    settings.optimizers.extend(PASSES[compute])
    settings.disable_tfg_optimizer = True  # it copies the graph and changes nothing
    settings.meta_optimizer_iterations = 1  # `ONE`
    return config.SerializeToString()


@contextlib.contextmanager
def _status(what: str) -> Iterator[int]:
    """A `TF_Status`; if it is an error at the end of the block, it is raised as a `CallError`."""
    status = tf.TF_NewStatus()
    try:
        yield status
        if number := tf.TF_GetCode(status):
            raise CallError(what, number, tf.TF_Message(status).decode(errors="replace"))
    finally:
        tf.TF_DeleteStatus(status)


def _new_session(config: bytes) -> int:
    """A session without a graph.

    It is of the kind that takes a `GraphDef`. The other kind keeps the graph a second time, with
    the shape of each tensor, which takes longer than to read the weights.
    """
    options = tf.TF_NewSessionOptions()
    try:
        with _status("") as status, POOL.found():
            tf.TF_SetConfig(options, config, len(config), status)
            return tf.TF_NewDeprecatedSession(options, status)
    finally:
        tf.TF_DeleteSessionOptions(options)


def _close(session: int) -> None:
    with contextlib.suppress(CallError), _status("") as status:
        tf.TF_CloseDeprecatedSession(session, status)
        tf.TF_DeleteDeprecatedSession(session, status)


def _texts(texts: Iterable[str]) -> ctypes.Array:
    """An array of texts in C."""
    encoded = [text.encode() for text in texts]
    return (ctypes.c_char_p * len(encoded))(*encoded)


def _tensor(value: ArrayLike, number: int) -> int:
    """A new `TF_Tensor`."""
    array: np.ndarray = np.asarray(value, TYPES[number], order="C")
    size = {STRING: STRING_SIZE}.get(number, array.itemsize)
    shape = (ctypes.c_int64 * array.ndim)(*array.shape)
    tensor = tf.TF_AllocateTensor(number, shape, array.ndim, size * array.size)

    if number == STRING:
        for place, text in zip(_places_of_strings(tensor), array.flat):
            tf.TF_StringInit(place)
            tf.TF_StringCopy(place, text, len(text))
    elif array.size:
        ctypes.memmove(tf.TF_TensorData(tensor), array.ctypes.data, array.nbytes)

    return tensor


def _array(tensor: int) -> np.ndarray:
    """A copy of the values of a `TF_Tensor`."""
    number = tf.TF_TensorType(tensor)
    array: np.ndarray = np.empty(_shape(tensor), TYPES[number])

    if number == STRING:
        for i, place in enumerate(_places_of_strings(tensor)):
            array.flat[i] = ctypes.string_at(
                tf.TF_StringGetDataPointer(place), tf.TF_StringGetSize(place)
            )
    elif array.size:
        ctypes.memmove(array.ctypes.data, tf.TF_TensorData(tensor), array.nbytes)

    return array


def _delete(tensor: int) -> None:
    """Deletes a tensor that `_tensor` made, with its texts."""
    if tf.TF_TensorType(tensor) == STRING:
        for place in _places_of_strings(tensor):
            tf.TF_StringDealloc(place)
    tf.TF_DeleteTensor(tensor)


def _shape(tensor: int) -> list[int]:
    return [tf.TF_Dim(tensor, i) for i in range(tf.TF_NumDims(tensor))]


def _places_of_strings(tensor: int) -> range:
    """The addresses of the `TF_TString`s of a tensor."""
    begin, count = tf.TF_TensorData(tensor) or 0, math.prod(_shape(tensor))
    return range(begin, begin + count * STRING_SIZE, STRING_SIZE)
