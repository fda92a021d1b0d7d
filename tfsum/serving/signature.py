"""What a signature of a SavedModel takes and returns, and what rows cost, without TensorFlow."""

import dataclasses
import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tfsum.errors import Error
from tfsum.inference.texts import as_bytes
from tfsum.serving.request_error import require

Arrays = dict[str, np.ndarray]  # name -> array, the rows first

# TensorFlow's name of a type -> numpy's; a string is an object array of bytes.
NUMPY = {
    "string": "object",
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "bool": "bool",
    "int8": "int8",
    "int16": "int16",
    "int32": "int32",
    "int64": "int64",
    "uint8": "uint8",
    "uint16": "uint16",
    "uint32": "uint32",
    "uint64": "uint64",
}

ROW_COST = 256  # characters; what a row costs, however short it is
NUMBER_COST = 4  # characters; a token has about four
# A text has a token for each word and mark, and each sentence three more than these.
ENDS = b".!?\n"
MARKS = bytes(byte for byte in range(128) if not chr(byte).isalnum() and byte not in ENDS)
END_TOKENS = 3

FILLS = {"O": b"", "i": -1}  # kind of an array -> what fills up narrower rows; 0 in others
SAMPLES = {"string": "a text", "bool": True, "float": 0.5, "double": 0.5, "half": 0.5}


@dataclasses.dataclass(frozen=True)
class TensorInfo:
    """Type and shape of one input or output.

    Attributes:
        dtype: TensorFlow's name of the type: "string", "float", "int32", ...
        shape: Sizes of the dimensions, None for one of any size; None for a tensor of any shape.

    Example:
        >>> TensorInfo("string", (None,)).sample()
        'a text'
    """

    dtype: str
    shape: tuple[int | None, ...] | None

    def accepts(self, shape: tuple[int, ...]) -> bool:
        """Whether a tensor of this shape fits.

        Args:
            shape: Sizes of the dimensions of the tensor.

        Example:
            >>> pairs = TensorInfo("string", (None, 2))
            >>> pairs.accepts((7, 2)), pairs.accepts((7,))
            (True, False)
        """
        return self.shape is None or (
            len(shape) == len(self.shape)
            and all(expected in (None, size) for expected, size in zip(self.shape, shape))
        )

    @property
    def batched(self) -> bool:
        """Whether the first dimension is of any size: that of the batch."""
        return self.shape is None or self.shape[:1] == (None,)

    def sample(self) -> object:
        """One row that the signature accepts."""
        value: object = SAMPLES.get(self.dtype, 1)
        for size in reversed((self.shape or (None,))[1:]):
            value = [value] * (size or 1)
        return value


@dataclasses.dataclass(frozen=True)
class Signature:
    """One signature of a model.

    Attributes:
        name: Name, such as "serving_default".
        inputs: Name -> type and shape of each input.
        outputs: Name -> type and shape of each output.

    Example:
        >>> text = TensorInfo("string", (None,))
        >>> Signature("serving_default", {"text": text}, {"summary": text}).sample_body()
        '{"instances": ["a text"]}'
    """

    name: str
    inputs: Mapping[str, TensorInfo]
    outputs: Mapping[str, TensorInfo]

    @property
    def batched(self) -> bool:
        """Whether the first dimension of each input and output is that of the batch."""
        return bool(self.inputs) and all(
            info.batched for info in (*self.inputs.values(), *self.outputs.values())
        )

    @property
    def mergeable(self) -> bool:
        """Whether the rows of several requests can be computed together and taken apart again.

        An output with a second dimension of any size is as wide as the widest row of the batch.
        """
        return self.batched and all(
            info.shape is not None and None not in info.shape[1:] for info in self.outputs.values()
        )

    def check_inputs(self, inputs: Arrays) -> None:
        """Checks that arrays have the shapes of the inputs, and the same number of rows.

        Args:
            inputs: Name -> array.

        Raises:
            RequestError: The shape or the number of rows of an array is wrong.

        Example:
            >>> signature = Signature("s", {"text": TensorInfo("string", (None,))}, {})
            >>> signature.check_inputs({"text": np.array(b"x", object)})
            Traceback (most recent call last):
            tfsum.serving.request_error.RequestError: input text has the shape [], expected [-1]
        """
        sizes = {}
        for name, array in sorted(inputs.items()):
            info = self.inputs[name]
            require(
                info.accepts(array.shape),
                f"input {name} has the shape {written(array.shape)}, expected"
                f" {written(info.shape or ())}",
            )
            if info.batched and array.ndim:
                sizes[name] = len(array)

        counts = ", ".join(f"{name} has {size}" for name, size in sizes.items())
        require(
            len(set(sizes.values())) < 2,
            f"inputs differ in their number of rows: {counts}; expected a value of each for every"
            " row",
        )

    def wanted_outputs(self, names: Sequence[str]) -> list[str]:
        """The outputs of an answer: those that a request names, or all.

        Args:
            names: Names of outputs; all where there are none.

        Raises:
            RequestError: There is no such output, or a name stands there twice.

        Example:
            >>> Signature("s", {}, {"summary": TensorInfo("string", (None,))}).wanted_outputs([])
            ['summary']
        """
        for name in names:
            require(
                name in self.outputs,
                f"output tensor alias not found in signature: {name} Outputs expected to be in the"
                f" set {{{','.join(sorted(self.outputs))}}}.",
            )
            require(names.count(name) == 1, f"duplicate output tensor alias: {name}")
        return [*names] or sorted(self.outputs)

    def sample_body(self) -> str:
        """The body of a correct request in JSON, for error messages."""
        rows = {name: info.sample() for name, info in sorted(self.inputs.items())}
        name = {} if self.name == "serving_default" else {"signature_name": self.name}
        instances = [*rows.values()] if len(rows) == 1 else [rows]
        return json.dumps({**name, "instances": instances})


def written(shape: Sequence[int | None]) -> str:
    """A shape as TensorFlow Serving writes it, -1 for a dimension of any size.

    Args:
        shape: Sizes of the dimensions, None for one of any size.

    Example:
        >>> written((None, 2))
        '[-1,2]'
    """
    return str(sizes_of(shape)).replace(" ", "")


def sizes_of(shape: Sequence[int | None]) -> list[int]:
    """The sizes of the dimensions of a shape, -1 for one of any size.

    Args:
        shape: Sizes of the dimensions, None for one of any size.

    Example:
        >>> sizes_of((None, 2))
        [-1, 2]
    """
    return [-1 if size is None else size for size in shape]


def row_sizes(inputs: Arrays) -> list[int]:
    """The cost of each row of a request, in characters.

    Args:
        inputs: Name -> array; an array without rows, or with fewer than another, costs nothing.

    Example:
        >>> row_sizes({"text": np.array([b"It rained.", b"", b"a\\nb\\nc\\n"], object)})
        [272, 256, 292]
    """
    rows = max((len(array) for array in inputs.values() if array.ndim), default=1)
    sizes = np.full(rows, ROW_COST)
    for array in inputs.values():
        if array.ndim and len(array) == rows:
            costs = np.full(array.shape, NUMBER_COST)
            if array.dtype == object:
                costs = np.vectorize(_text_cost, otypes=[int])(array)
            sizes += costs.sum(axis=tuple(range(1, array.ndim)))

    return sizes.tolist()


def _text_cost(text: bytes) -> int:
    """The cost of a text: its bytes, or more where its words or sentences are very short."""
    ends = len(text) - len(text.translate(None, ENDS))
    marks = len(text) - len(text.translate(None, MARKS))
    return max(len(text), NUMBER_COST * (END_TOKENS * ends + marks))


def divide_rows(sizes: list[int], max_size: int, max_rows: int | None = None) -> list[slice]:
    """Divides the rows of a request into parts; a row that is too large is a part alone.

    Args:
        sizes: Cost of each row, in characters.
        max_size: Cost of a part, in characters.
        max_rows: Rows of a part; any number where None.

    Returns:
        Rows of each part.

    Example:
        >>> divide_rows([300, 300, 900, 300], 700)
        [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    starts, total = [0], 0
    for row, size in enumerate(sizes):
        full = total + size > max_size or row - starts[-1] == max_rows
        if full and row > starts[-1]:
            starts.append(row)
            total = 0
        total += size
    return [slice(start, end) for start, end in itertools.pairwise([*starts, len(sizes)])]


def as_array(name: str, values: Any) -> np.ndarray:
    """Converts the values of an input to an array; texts become bytes."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise Error(
            f"the rows of input {name} differ in their lengths; expected rows of one length: pad"
            " the shorter ones, or send them in requests of their own"
        ) from None
    if array.dtype.kind not in "USO":
        return array

    texts = np.array(values, object)  # as they are: numpy converts numbers beside texts
    for index, text in enumerate(texts.flat):
        if not isinstance(text, str | bytes):
            raise Error(
                f"row {index} of input {name} is {type(text).__name__}; expected a text, as the"
                " other rows"
            )
        texts.flat[index] = text if isinstance(text, bytes) else as_bytes(text)
    return texts


def join_rows(arrays: list[np.ndarray]) -> np.ndarray:
    """Joins the rows of several answers; narrower ones are filled up as exports do."""
    width = np.max([array.shape[1:] for array in arrays], axis=0)
    fill: Any = FILLS.get(arrays[0].dtype.kind, 0)
    missing = [[(0, 0), *((0, size) for size in width - array.shape[1:])] for array in arrays]
    return np.concatenate(
        [np.pad(array, sizes, constant_values=fill) for array, sizes in zip(arrays, missing)]
    )
