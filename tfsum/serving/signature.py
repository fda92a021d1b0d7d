"""What a signature of a SavedModel takes and gives, without TensorFlow."""

import dataclasses
import json
from collections.abc import Mapping

PREDICT, CLASSIFY, REGRESS = (
    f"tensorflow/serving/{method}" for method in ("predict", "classify", "regress")
)

# TensorFlow's name of a type -> numpy's; a string is an object array of bytes.
NUMPY = {
    "string": "object",
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "bool": "bool",
    **{
        name: name
        for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
    },
}

SAMPLES = {"string": "a text", "bool": True, "float": 0.5, "double": 0.5, "half": 0.5}


@dataclasses.dataclass(frozen=True)
class TensorInfo:
    """One input or output.

    Attributes:
        dtype: TensorFlow's name of the type: "string", "float", "int32", ...
        shape: the dimensions, None for those of any size; None where any shape is taken.

    Example:
        >>> TensorInfo("string", (None,)).sample()
        'a text'
    """

    dtype: str
    shape: tuple[int | None, ...] | None

    def holds(self, shape: tuple[int, ...]) -> bool:
        """Whether a tensor of this shape may be given.

        Example:
            >>> (
            ...     TensorInfo("string", (None, 2)).holds((7, 2)),
            ...     TensorInfo("string", (None,)).holds(()),
            ... )
            (True, False)
        """
        return self.shape is None or (
            len(shape) == len(self.shape)
            and all(size is None or size == given for size, given in zip(self.shape, shape))
        )

    @property
    def batched(self) -> bool:
        """Whether the first dimension is of any size: that of the batch."""
        return self.shape is None or (len(self.shape) > 0 and self.shape[0] is None)

    def sample(self) -> object:
        """One row that is a correct one."""
        value: object = SAMPLES.get(self.dtype, 1)
        for size in reversed((self.shape or (None,))[1:]):
            value = [value] * (size or 1)
        return value


@dataclasses.dataclass(frozen=True)
class Signature:
    """One signature.

    Attributes:
        name: such as "serving_default".
        inputs: name -> what is taken.
        outputs: name -> what is given.
        method: `PREDICT`, `CLASSIFY` or `REGRESS`.

    Example:
        >>> text = TensorInfo("string", (None,))
        >>> Signature("serving_default", {"text": text}, {"summary": text}).sample_body()
        '{"instances": ["a text"]}'
    """

    name: str
    inputs: Mapping[str, TensorInfo]
    outputs: Mapping[str, TensorInfo]
    method: str = PREDICT

    @property
    def batched(self) -> bool:
        """Whether requests may be put together: all that goes in and out has the batch first."""
        return bool(self.inputs) and all(
            info.batched for info in (*self.inputs.values(), *self.outputs.values())
        )

    def sample_body(self) -> str:
        """The body of a request that is a correct one, for messages and documents."""
        body = {"signature_name": self.name} if self.name != "serving_default" else {}
        if self.method != PREDICT:
            return json.dumps({**body, "examples": [{"FEATURE": 0.5}]})
        rows = {name: info.sample() for name, info in sorted(self.inputs.items())}
        row = next(iter(rows.values())) if len(rows) == 1 else rows
        return json.dumps({**body, "instances": [row]})

    def correct_body(self) -> str:
        """What the message of an error says of it: the features of an example are not known from a signature.

        Example:
            >>> Signature("serving_default", {}, {}, CLASSIFY).correct_body()
            'a body of :classify has the form {"examples": [{"FEATURE": 0.5}]}'
        """
        if self.method != PREDICT:
            return f"a body of :{self.method.rpartition('/')[2]} has the form {self.sample_body()}"
        return f"a correct body is {self.sample_body()}"
