"""A version of a model that is loaded: what its signatures take and return, and the call of one;
without TensorFlow's Python where the C library can open the model."""

import dataclasses
import itertools
import json
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tfsum import errors
from tfsum.inference.allowed_operations import read_definitions
from tfsum.inference.c_session import CallError
from tfsum.inference.exported_model import OpenedModel, open_model
from tfsum.inference.openvino_model import OWN
from tfsum.inference.saved_model import read_description
from tfsum.inference.texts import as_bytes
from tfsum.serving.request_error import CODES, RequestError, require
from tfsum.tasks.bert_sum_ext.answering import Defaults, defaults_of
from tfsum.tensorflow_messages import Fields, data_type_name

Arrays = dict[str, np.ndarray]  # name -> array, the rows first

# What an export does where a request leaves it open is said beside the metadata of a model, in a
# header of HTTP or in the metadata of gRPC, which TensorFlow Serving does not have.
HEADER = "tfsum-defaults"
CODE_OF_NUMBER = {number: code for code, (number, _) in CODES.items()}

NUMBERS = itertools.count()
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
    def mergeable(self) -> bool:
        """Whether the rows of several requests can be computed together and taken apart again.

        The first dimension of each input and output is that of the batch then. An output with a
        second dimension of any size is as wide as the widest row of the batch.
        """
        return (
            bool(self.inputs)
            and all(info.batched for info in (*self.inputs.values(), *self.outputs.values()))
            and all(info.shape and None not in info.shape[1:] for info in self.outputs.values())
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
        for place, name in enumerate(names):
            require(
                name in self.outputs,
                f"output tensor alias not found in signature: {name} Outputs expected to be in the"
                f" set {{{','.join(sorted(self.outputs))}}}.",
            )
            require(name not in names[:place], f"duplicate output tensor alias: {name}")
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


class Servable:
    """A SavedModel, loaded.

    Args:
        name: Name of the model.
        version: Number of the version.
        path: Folder `.../NAME/VERSION`.

    Attributes:
        name, version, path: The arguments.
        number: A number that no other one loaded has.
        model: The model as it was opened.
        description: Content of assets.extra/tfsum.json; empty where another program wrote the
            SavedModel.
        words: Words of its vocabulary; empty where it has none.
        signatures: Name -> `Signature` of those that a request can name.
        definitions: Name -> SignatureDef of all.

    Raises:
        ExportError: The model cannot be loaded.

    Example:
        >>> from tfsum.inference.saved_model import shipped_model
        >>> servable = Servable("news", 1, shipped_model())
        >>> answer = servable.run("serving_default", {"text": np.array([b"It rained."], object)})
        >>> answer["summary"].tolist(), answer["count"].tolist()
        ([b'It rained.'], [1])
        >>> b"rain" in servable.words
        True
    """

    def __init__(self, name: str, version: int, path: pathlib.Path) -> None:
        self.name, self.version, self.path = name, version, path
        self.number = next(NUMBERS)
        self.description: dict = {}
        if (path / "assets.extra" / "tfsum.json").is_file():
            self.description = read_description(path)
        vocabulary = path / "assets" / "vocab.txt"
        self.words = frozenset(vocabulary.read_bytes().split() if vocabulary.is_file() else ())
        self.definitions = read_definitions(path)
        self.model = open_model(path, self.description)
        self.signatures = {
            key: Signature(
                key,
                {name: _info(tensor) for name, tensor in definition.inputs.items()},
                {name: _info(tensor) for name, tensor in definition.outputs.items()},
            )
            for key, definition in self.definitions.items()
            if key in self.model.signatures
            and not key.endswith(OWN)  # what they take is the model's own, and not checked
            and definition.inputs
            and definition.method_name in ("", "tensorflow/serving/predict")
        }

    @property
    def takes_texts(self) -> bool:
        """Whether tfsum exported the model, and its default signature takes texts."""
        signature = self.signatures.get("serving_default")
        return bool(self.description) and signature is not None and "text" in signature.inputs

    @property
    def summarizes(self) -> bool:
        """Whether its answers are summaries: not labels, and not translations, which are measured
        by BLEU."""
        metric = self.description.get("recipe", {}).get("evaluate", {}).get("metric")
        return self.description.get("kind") != "classifier" and metric != "bleu"

    def signature(self, name: str) -> Signature:
        """The signature with a name.

        Args:
            name: Name of the signature; "" is serving_default.

        Raises:
            RequestError: There is none.
        """
        name = name or "serving_default"
        found = ", ".join(sorted(self.signatures)) or "none for :predict"
        require(
            name in self.signatures,
            f'Serving signature name: "{name}" not found in signature def; found {found}',
        )
        return self.signatures[name]

    def run(self, signature: str, inputs: Arrays, model: OpenedModel | None = None) -> Arrays:
        """Calls a signature, from any thread.

        Args:
            signature: Name of the signature.
            inputs: Name -> array.
            model: The same model in another session; its own where None.

        Returns:
            Name -> array.

        Raises:
            RequestError: The graph rejects the inputs, or fails.
        """
        try:
            return (model or self.model).call(signature, inputs)
        except CallError as error:
            raise RequestError(CODE_OF_NUMBER[error.number], error.reason) from None


def byte_count(arrays: Arrays) -> int:
    """The bytes of arrays, with those of their texts.

    Args:
        arrays: Name -> array.

    Example:
        >>> byte_count({"count": np.zeros(2, np.int32), "summary": np.array([b"It"], object)})
        18
    """
    texts = (array.flat for array in arrays.values() if array.dtype == object)
    return sum(array.nbytes for array in arrays.values()) + sum(
        sum(map(len, text)) for text in texts
    )


def headers_of(servable: Servable) -> dict[str, str]:
    """The header of a model's metadata; none for a model that is not extractive.

    Args:
        servable: Loaded model.
    """
    if servable.description.get("kind") != "extractive":
        return {}
    return {HEADER: json.dumps(dataclasses.asdict(defaults_of(servable.description)))}


def read_defaults(headers: Mapping[str, str]) -> Defaults | None:
    """The defaults of a model by the headers of its metadata; None where they say nothing.

    Args:
        headers: Name -> value.

    Example:
        >>> read_defaults({"tfsum-defaults": '{"sentences": 2}'}).sentences
        2
    """
    if HEADER not in headers:
        return None
    return Defaults(**json.loads(headers[HEADER]))


def _info(tensor: Fields) -> TensorInfo:
    sizes = tuple(None if dim.size < 0 else dim.size for dim in tensor.tensor_shape.dim)
    return TensorInfo(
        data_type_name(tensor.dtype), None if tensor.tensor_shape.unknown_rank else sizes
    )


def as_array(name: str, values: Any) -> np.ndarray:
    """Converts the values of an input to an array; texts become bytes."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise errors.Error(
            f"the rows of input {name} differ in their lengths; expected rows of one length: pad"
            " the shorter ones, or send them in requests of their own"
        ) from None
    if array.dtype.kind not in "USO":
        return array

    texts = np.array(values, object)  # as they are: numpy converts numbers beside texts
    for index, text in enumerate(texts.flat):
        errors.require(
            isinstance(text, str | bytes),
            f"row {index} of input {name} is {type(text).__name__}; expected a text, as the other"
            " rows",
        )
        texts.flat[index] = as_bytes(text)
    return texts


def join_rows(arrays: list[np.ndarray]) -> np.ndarray:
    """Joins the rows of several answers; narrower ones are filled up as exports do."""
    width = np.max([array.shape[1:] for array in arrays], axis=0)
    fill: Any = FILLS.get(arrays[0].dtype.kind, 0)
    missing = [[(0, 0), *((0, size) for size in width - array.shape[1:])] for array in arrays]
    return np.concatenate(
        [np.pad(array, sizes, constant_values=fill) for array, sizes in zip(arrays, missing)]
    )
