"""A version of a model that is loaded: its signatures, and the call of one; without TensorFlow's
Python where the C library can open the model."""

import dataclasses
import json
import pathlib
from collections.abc import Iterator, Mapping

import numpy as np
from google.protobuf.message import DecodeError

from tfsum.errors import Error, ExportError
from tfsum.export.golden import check_answers
from tfsum.inference.allowed_operations import read_definitions
from tfsum.inference.c_session import CallError, can_open
from tfsum.inference.exported_model import open_model
from tfsum.inference.saved_model import read_description
from tfsum.serving.request_error import CODES, RequestError, require
from tfsum.serving.signature import Signature, TensorInfo
from tfsum.serving.tensor_proto import from_proto
from tfsum.tasks import task_of_export
from tfsum.tasks.bert_sum_ext.answering import Defaults, defaults_of
from tfsum.tensorflow_messages import Fields, data_type_name, message

LENGTH, CHECKSUM = 8, 4  # bytes: of the length of a record, and after it and the record
# What an export does where a request leaves it open is said beside the metadata of a model, in a
# header of HTTP or in the metadata of gRPC, which TensorFlow Serving does not have.
HEADER = "tfsum-defaults"
CODE_OF_NUMBER = {number: code for code, (number, _) in CODES.items()}


class Servable:
    """A SavedModel, loaded.

    Args:
        name: Name of the model.
        version: Number of the version.
        path: Folder `.../NAME/VERSION`.

    Attributes:
        name, version, path: The arguments.
        description: Content of assets.extra/tfsum.json; empty where another program wrote the
            SavedModel.
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
    """

    def __init__(self, name: str, version: int, path: pathlib.Path) -> None:
        self.name, self.version, self.path = name, version, path
        from_tfsum = (path / "assets.extra" / "tfsum.json").is_file()
        self.description: dict = read_description(path) if from_tfsum else {}

        self.definitions = read_definitions(path)
        self._model = open_model(path, self.description)
        self.signatures = {
            key: Signature(
                key,
                {name: _info(tensor) for name, tensor in definition.inputs.items()},
                {name: _info(tensor) for name, tensor in definition.outputs.items()},
            )
            for key, definition in self.definitions.items()
            if key in self._model.signatures
            and definition.inputs
            and definition.method_name in ("", "tensorflow/serving/predict")
        }

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

    def run(self, signature: str, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Calls a signature, from any thread.

        Args:
            signature: Name of the signature.
            inputs: Name -> array.

        Returns:
            Name -> array.

        Raises:
            RequestError: The graph rejects the inputs, or fails.
        """
        try:
            return self._model.call(signature, inputs)
        except CallError as error:
            code = CODE_OF_NUMBER.get(error.number, "UNKNOWN")
            raise RequestError(code, error.reason) from None

    def verify(self) -> None:
        """Compares the answers with those of the day of export, if tfsum exported the model.

        Wrong weights show in them; `tfsum verify` also reads the list of the weights.

        Raises:
            ExportError: An answer differs.
        """
        task = task_of_export(self.description)
        if task is None or task.golden is None:
            return

        try:
            check_answers(self.path, self.description, task.golden(), self._model)
        except (ValueError, LookupError, CallError) as error:
            raise ExportError(f"{self.path}: cannot be verified ({error})") from error

    def compute_in(self, compute: str) -> None:
        """Computes in another type from now on, where the model can: it has core operations.

        Args:
            compute: "float32" or "bfloat16".

        Raises:
            ExportError: The model cannot be loaded.
        """
        if compute != "float32" and can_open(self.description):
            del self._model  # frees its weights
            self._model = open_model(self.path, self.description, compute)

    def warm_up(self) -> None:
        """Runs the requests of assets.extra/tf_serving_warmup_requests.

        Raises:
            ExportError: The file cannot be read, or a request fails.
        """
        file = self.path / "assets.extra" / "tf_serving_warmup_requests"
        if not file.is_file():
            return

        count = 0
        try:
            for record in read_records(file):
                request = message("PredictionLog").FromString(record).predict_log.request
                inputs = {name: from_proto(tensor) for name, tensor in request.inputs.items()}
                self.run(request.model_spec.signature_name or "serving_default", inputs)
                count += 1
        except (OSError, ValueError, LookupError, DecodeError, Error) as error:
            raise ExportError(
                f"{file}: request {count} fails ({error}); export the model again"
            ) from error


def read_records(file: pathlib.Path) -> Iterator[bytes]:
    """Reads the records of a small TFRecord file, without a look at their checksums.

    Args:
        file: Path of the file.

    Yields:
        Bytes of a record.

    Raises:
        ValueError: The file ends within a record.

    Source: tensorflow/core/lib/io/record_writer.h.

    Example:
        >>> from tfsum.inference.saved_model import shipped_model
        >>> file = shipped_model() / "assets.extra" / "tf_serving_warmup_requests"
        >>> len([*read_records(file)])
        10
    """
    content, end = file.read_bytes(), 0
    while end < len(content):
        begin = end + LENGTH + CHECKSUM
        size = int.from_bytes(content[end : end + LENGTH], "little")
        end = begin + size + CHECKSUM
        if end > len(content):
            raise ValueError("truncated record")
        yield content[begin : begin + size]


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
