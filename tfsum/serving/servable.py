"""A version of a model that is loaded: its signatures, and the call of one."""

import pathlib
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2

from tfsum.errors import Error, ExportError
from tfsum.export.verification import verify_export
from tfsum.inference.saved_model import BROKEN, load_model, read_description
from tfsum.serving.request_error import CODES, RequestError
from tfsum.serving.signature import PREDICT, Signature, TensorInfo
from tfsum.tasks import task_of_export

CODE_OF_NUMBER = {number: code for code, (number, _) in CODES.items()}


class Servable:
    """A SavedModel, loaded.

    Args:
        name: of the model.
        version: of it.
        path: its folder `.../NAME/VERSION`.

    Attributes:
        name, version, path: as given.
        description: the content of assets.extra/tfsum.json; empty where another program wrote the SavedModel.
        signatures: name -> `Signature`, those that a request may ask.
        definitions: name -> SignatureDef, as the metadata gives them.

    Raises:
        ExportError: it cannot be loaded.

    Example:
        >>> from tfsum.inference.shipped import shipped_model
        >>> servable = Servable("news", 1, shipped_model())
        >>> answer = servable.run("serving_default", {"text": np.array([b"It rained."], object)})
        >>> answer["summary"].tolist(), answer["count"].tolist()
        ([b'It rained.'], [1])
    """

    def __init__(self, name: str, version: int, path: pathlib.Path) -> None:
        self.name, self.version, self.path = name, version, path
        written_by_us = (path / "assets.extra" / "tfsum.json").is_file()
        self.description: dict = read_description(path) if written_by_us else {}
        self.definitions = read_definitions(path)
        self._model = load_model(path, self.description)
        self.signatures = {
            key: _signature(key, found)
            for key, found in self.definitions.items()
            if key in self._model.signatures and found.inputs
        }

    def signature(self, name: str) -> Signature:
        """The signature of a name; "" is serving_default.

        Raises:
            RequestError: there is none.
        """
        name = name or "serving_default"
        if name not in self.signatures:
            raise RequestError(
                "INVALID_ARGUMENT",
                f'Serving signature name: "{name}" not found in signature def; '
                f"found {', '.join(sorted(self.signatures))}",
            )
        return self.signatures[name]

    def run(self, signature: str, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Calls a signature, from any thread.

        Args:
            signature: its name.
            inputs: name -> array.

        Returns:
            Name -> array.

        Raises:
            RequestError: the graph refuses the inputs, or fails.
        """
        infos = self.signatures[signature].inputs
        try:
            tensors = {
                name: tf.constant(
                    array, getattr(tf, NAMES.get(infos[name].dtype, infos[name].dtype))
                )
                for name, array in inputs.items()
            }
            return {
                name: value.numpy()
                for name, value in self._model.signatures[signature](**tensors).items()
            }
        except tf.errors.OpError as error:
            # Before the reason stands where in the graph it was found, and after it the nodes on the way.
            reason = error.message.split("\n\t [[")[0].strip().rpartition("\n")[2]
            raise RequestError(CODE_OF_NUMBER.get(error.error_code, "UNKNOWN"), reason) from None

    def verify(self) -> None:
        """Compares the answers with those of the day of export, where tfsum exported the model.

        Raises:
            ExportError: one differs.
        """
        task = task_of_export(self.description)
        if task is None:
            return
        try:
            verify_export(self.path, self.description, task.part("golden"), self._model)
        except BROKEN as error:
            raise ExportError(f"{self.path}: cannot be verified ({error})") from error

    def warm_up(self) -> int:
        """Runs the requests of assets.extra/tf_serving_warmup_requests.

        Returns:
            How many.

        Raises:
            ExportError: the file cannot be read, or a request fails.
        """
        file = self.path / "assets.extra" / "tf_serving_warmup_requests"
        if not file.is_file():
            return 0
        from tfsum.serving.protocol import message
        from tfsum.serving.tensor_proto import from_proto

        count = 0
        try:
            for record in tf.data.TFRecordDataset(str(file)).as_numpy_iterator():
                request = message("PredictionLog").FromString(record).predict_log.request
                self.run(
                    request.model_spec.signature_name or "serving_default",
                    {name: from_proto(tensor) for name, tensor in request.inputs.items()},
                )
                count += 1
        except (*BROKEN, Error) as error:
            raise ExportError(
                f"{file}: request {count} fails ({error}); export the model again"
            ) from error
        return count


NAMES = {"float": "float32", "double": "float64", "half": "float16"}


def read_definitions(path: pathlib.Path) -> dict[str, meta_graph_pb2.SignatureDef]:
    """The signatures of a SavedModel by name, as its file has them.

    Raises:
        ExportError: the file cannot be read.

    Example:
        >>> from tfsum.inference.shipped import shipped_model
        >>> sorted(read_definitions(shipped_model()))
        ['__saved_model_init_op', 'score', 'score_ids', 'serving_default', 'summarize']
    """
    try:
        saved = saved_model_pb2.SavedModel.FromString((path / "saved_model.pb").read_bytes())
    except BROKEN as error:
        raise ExportError(
            f"{path / 'saved_model.pb'}: cannot be read ({error}); copy or export it again"
        ) from error
    serving = next(
        (graph for graph in saved.meta_graphs if "serve" in graph.meta_info_def.tags), None
    )
    if serving is None:
        raise ExportError(
            f"{path / 'saved_model.pb'}: has no graph to serve (tag 'serve'); export it again"
        )
    return dict(serving.signature_def)


def _signature(name: str, found: Any) -> Signature:
    infos = [
        {
            key: TensorInfo(_type(info.dtype), _shape(info.tensor_shape))
            for key, info in side.items()
        }
        for side in (found.inputs, found.outputs)
    ]
    return Signature(name, infos[0], infos[1], found.method_name or PREDICT)


def _type(number: int) -> str:
    name = tf.as_dtype(number).name
    return {kept: given for given, kept in NAMES.items()}.get(name, name)


def _shape(shape: Any) -> tuple[int | None, ...] | None:
    return (
        None
        if shape.unknown_rank
        else tuple(None if dim.size < 0 else dim.size for dim in shape.dim)
    )
