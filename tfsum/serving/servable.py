"""A version of a model that is loaded: its signatures, and the call of one."""

import pathlib

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import types_pb2
from tensorflow.core.protobuf import meta_graph_pb2

from tfsum.errors import Error, ExportError
from tfsum.export.verification import verify_export
from tfsum.inference.allowed_operations import read_graphs
from tfsum.inference.c_session import CallError, CSession, can_open
from tfsum.inference.eager_model import BROKEN, load_model
from tfsum.inference.saved_model import read_description
from tfsum.serving.request_error import CODES, RequestError, invalid
from tfsum.serving.signature import Signature, TensorInfo
from tfsum.serving.tensor_proto import from_proto
from tfsum.tasks import task_of_export
from tfsum.tensorflow_messages import message

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
        >>> from tfsum.inference.shipped import shipped_model
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
        self._model = load_model(path, self.description)
        self._session: CSession | None = None
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
        if name not in self.signatures:
            names = ", ".join(sorted(self.signatures)) or "none for :predict"
            raise invalid(
                f'Serving signature name: "{name}" not found in signature def; found {names}'
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
        if self._session is not None:
            try:
                return self._session.call(signature, inputs)
            except CallError as error:
                code = CODE_OF_NUMBER.get(error.number, "UNKNOWN")
                raise RequestError(code, error.reason) from None

        tensors = {name: tf.constant(array) for name, array in inputs.items()}
        try:
            outputs = self._model.signatures[signature](**tensors)
            return {name: value.numpy() for name, value in outputs.items()}
        except tf.errors.OpError as error:
            # TensorFlow wraps the reason between a graph location and a node stack.
            reason = error.message.split("\n\t [[")[0].strip().rpartition("\n")[2]
            raise RequestError(CODE_OF_NUMBER.get(error.error_code, "UNKNOWN"), reason) from None

    def verify(self) -> None:
        """Compares the answers with those of the day of export, if tfsum exported the model.

        Raises:
            ExportError: An answer differs.
        """
        task = task_of_export(self.description)
        if task is None:
            return

        try:
            verify_export(self.path, self.description, task.part("golden"), self._model)
        except BROKEN as error:
            raise ExportError(f"{self.path}: cannot be verified ({error})") from error

    def compute_in(self, compute: str) -> None:
        """Computes in another type from now on, where the model can: it has core operations.

        Args:
            compute: "float32" or "bfloat16".

        Raises:
            ExportError: The model cannot be loaded.
        """
        if compute != "float32" and can_open(self.description):
            self._session = CSession(self.path, self.description, compute)
            self._model = None  # frees its weights

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
            for record in tf.data.TFRecordDataset(str(file)).as_numpy_iterator():
                request = message("PredictionLog").FromString(record).predict_log.request
                inputs = {name: from_proto(tensor) for name, tensor in request.inputs.items()}
                self.run(request.model_spec.signature_name or "serving_default", inputs)
                count += 1
        except (*BROKEN, Error) as error:
            raise ExportError(
                f"{file}: request {count} fails ({error}); export the model again"
            ) from error


def read_definitions(path: pathlib.Path) -> dict[str, meta_graph_pb2.SignatureDef]:
    """The signatures of a SavedModel, as its file has them.

    Args:
        path: Folder of the SavedModel.

    Returns:
        Name -> SignatureDef.

    Raises:
        ExportError: The file cannot be read.

    Example:
        >>> from tfsum.inference.shipped import shipped_model
        >>> sorted(read_definitions(shipped_model()))
        ['__saved_model_init_op', 'score', 'score_ids', 'serving_default', 'summarize']
    """
    for graph in read_graphs(path):
        if "serve" in graph.meta_info_def.tags:
            # TensorFlow's own messages, which know the names of types
            read = meta_graph_pb2.SignatureDef.FromString
            return {k: read(v.SerializeToString()) for k, v in graph.signature_def.items()}
    raise ExportError(f"{path}: has no graph to serve (tag 'serve'); export it again")


def _info(tensor: meta_graph_pb2.TensorInfo) -> TensorInfo:
    dtype = types_pb2.DataType.Name(tensor.dtype).removeprefix("DT_").lower()
    sizes = tuple(None if dim.size < 0 else dim.size for dim in tensor.tensor_shape.dim)
    return TensorInfo(dtype, None if tensor.tensor_shape.unknown_rank else sizes)
