"""Warm-up requests: requests that TensorFlow Serving runs before it serves a model.

The file is a TFRecord of `PredictionLog` messages. Their few fields are declared here, so that no package of
TensorFlow Serving is needed (numbers from tensorflow_serving/apis: prediction_log.proto, predict.proto, model.proto).
"""

import functools
import pathlib
from collections.abc import Iterable
from typing import Any

import tensorflow as tf
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

PACKAGE = "tensorflow.serving"
STRING, MESSAGE = (
    descriptor_pb2.FieldDescriptorProto.TYPE_STRING,
    descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE,
)
# Message -> (field, number, type of message or None for a string).
FIELDS: dict[str, list[tuple[str, int, str | None]]] = {
    "ModelSpec": [("name", 1, None), ("signature_name", 3, None)],
    "PredictRequest": [("model_spec", 1, "ModelSpec"), ("inputs", 2, "PredictRequest.InputsEntry")],
    "PredictLog": [("request", 1, "PredictRequest")],
    "PredictionLog": [("predict_log", 6, "PredictLog")],
}


@functools.cache
def prediction_log() -> type:
    """The class of `tensorflow.serving.PredictionLog`, with only the fields that warm-up needs.

    Example:
        >>> prediction_log().DESCRIPTOR.full_name
        'tensorflow.serving.PredictionLog'
    """
    pool = (
        descriptor_pool.DescriptorPool()
    )  # one of our own: the real messages may be in the default one
    tensor = tf.make_tensor_proto(0).DESCRIPTOR.file
    for file in _with_dependencies(tensor):
        pool.Add(_proto_of(file))
    ours = descriptor_pb2.FileDescriptorProto(
        name="tfsum/warmup.proto", package=PACKAGE, syntax="proto3", dependency=[tensor.name]
    )
    for message, fields in FIELDS.items():
        declared = ours.message_type.add(name=message)
        for name, number, kind in fields:
            _declare(declared, name, number, f".{PACKAGE}.{kind}" if kind else None)
        if message == "PredictRequest":
            entry = declared.nested_type.add(name="InputsEntry")
            entry.options.map_entry = True
            _declare(entry, "key", 1, None)
            _declare(entry, "value", 2, ".tensorflow.TensorProto")
            declared.field[-1].label = descriptor_pb2.FieldDescriptorProto.LABEL_REPEATED
    pool.Add(ours)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.PredictionLog"))


def _declare(message: Any, name: str, number: int, kind: str | None) -> None:
    message.field.add(
        name=name,
        number=number,
        type=MESSAGE if kind else STRING,
        type_name=kind,
        label=descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL,
    )


def _proto_of(file: Any) -> descriptor_pb2.FileDescriptorProto:
    proto = descriptor_pb2.FileDescriptorProto()
    file.CopyToProto(proto)
    return proto


def _with_dependencies(file: Any) -> list:
    found: dict[str, Any] = {}
    for needed in file.dependencies:
        found.update({f.name: f for f in _with_dependencies(needed)})
    return list({**found, file.name: file}.values())


def request(name: str, signature: str, inputs: dict) -> bytes:
    """One serialized `PredictionLog`.

    Args:
        name: the model's name on the server.
        signature: which signature to call.
        inputs: name -> array, the batch as dimension 0.

    Returns:
        The bytes of the message.

    Example:
        >>> log = prediction_log().FromString(request("news", "score", {"text": ["It rained."]}))
        >>> log.predict_log.request.model_spec.signature_name
        'score'
    """
    log = prediction_log()()
    log.predict_log.request.model_spec.name = name
    log.predict_log.request.model_spec.signature_name = signature
    for key, value in inputs.items():
        proto = tf.make_tensor_proto(value)
        log.predict_log.request.inputs[key].ParseFromString(proto.SerializeToString())
    return log.SerializeToString()


def write_requests(path: pathlib.Path, name: str, requests: Iterable[tuple[str, dict]]) -> None:
    """Writes the warm-up file.

    Args:
        path: of the file.
        name: the model's name on the server.
        requests: (signature, inputs) of each request.

    Source: tensorflow_serving/servables/tensorflow/saved_model_warmup.cc.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_requests(
        ...         pathlib.Path(folder, "requests"), "news", [("score", {"text": ["It rained."]})]
        ...     )
        ...     len(list(tf.data.TFRecordDataset(f"{folder}/requests")))
        1
    """
    with tf.io.TFRecordWriter(str(path)) as file:
        for signature, inputs in requests:
            file.write(request(name, signature, inputs))
