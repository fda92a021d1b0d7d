"""The messages of TensorFlow and TensorFlow Serving: a SavedModel, the settings of a session, gRPC
services, the file of warm-up requests.

They are in a descriptor pool of their own: they have the names of TensorFlow's messages and of
those of `tensorflow-serving-api`, can be used beside them in one process, and need neither. Fields
that tfsum does not use are kept unread.

Sources of the numbers: tensorflow/serving, apis/*.proto and config/*.proto; tensorflow,
core/framework/*.proto and core/protobuf/*.proto.
"""

from typing import TYPE_CHECKING, Any, cast

from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, message_factory, wrappers_pb2
from google.protobuf.message import Message

FIELD = descriptor_pb2.FieldDescriptorProto
SCALARS = {
    "string": FIELD.TYPE_STRING,
    "bytes": FIELD.TYPE_BYTES,
    "int32": FIELD.TYPE_INT32,
    "int64": FIELD.TYPE_INT64,
    "uint32": FIELD.TYPE_UINT32,
    "uint64": FIELD.TYPE_UINT64,
    "bool": FIELD.TYPE_BOOL,
    "float": FIELD.TYPE_FLOAT,
    "double": FIELD.TYPE_DOUBLE,
}
# TensorFlow's names of types, by their numbers.
DATA_TYPES = (
    "INVALID FLOAT DOUBLE INT32 UINT8 INT16 INT8 STRING COMPLEX64 INT64 BOOL QINT8 QUINT8 QINT32"
    " BFLOAT16 QINT16 QUINT16 UINT16 COMPLEX128 HALF RESOURCE VARIANT UINT32 UINT64"
).split()
# Names of types that are no messages of `MESSAGES`.
TYPE_NAMES = {
    "Any": ".google.protobuf.Any",
    "Int64Value": ".google.protobuf.Int64Value",
    "DataType": ".tensorflow.DataType",
}

# Package -> message -> its fields: number, name, type; a type in [] is repeated, one in {} the
# values of a map from strings. Other enums than `DataType` are int32, and a message that is only
# passed on is bytes: on the wire they are the same.
MESSAGES: dict[str, dict[str, str]] = {
    "tensorflow": {
        "TensorShapeDim": "1 size int64, 2 name string",
        "TensorShapeProto": "2 dim [TensorShapeDim], 3 unknown_rank bool",
        "TensorProto": (
            "1 dtype int32, 2 tensor_shape TensorShapeProto, 4 tensor_content bytes, 5 float_val"
            " [float], 6 double_val [double], 7 int_val [int32], 8 string_val [bytes], 10 int64_val"
            " [int64], 11 bool_val [bool], 13 half_val [int32], 16 uint32_val [uint32], 17"
            " uint64_val [uint64]"
        ),
        "TensorInfo": "1 name string, 2 dtype DataType, 3 tensor_shape TensorShapeProto",
        "SignatureDef": (
            "1 inputs {TensorInfo}, 2 outputs {TensorInfo}, 3 method_name string, 4 defaults"
            " {TensorProto}"
        ),
        "SavedModel": "2 meta_graphs [MetaGraphDef]",
        "MetaGraphDef": (
            "1 meta_info_def MetaInfoDef, 2 graph_def GraphDef, 3 saver_def SaverDef, 5"
            " signature_def {SignatureDef}, 7 object_graph_def SavedObjectGraph"
        ),
        "MetaInfoDef": "4 tags [string]",
        "GraphDef": "1 node [NodeDef], 2 library FunctionDefLibrary, 4 versions bytes",
        "NodeDef": "1 name string, 2 op string, 3 input [string], 5 attr {AttrValue}",
        "AttrValue": "1 list ListValue, 6 type int32, 8 tensor TensorProto, 10 func NameAttrList",
        "ListValue": "9 func [NameAttrList]",
        "NameAttrList": "1 name string, 2 attr {AttrValue}",
        "FunctionDefLibrary": "1 function [FunctionDef]",
        "FunctionDef": "1 signature OpDef, 3 node_def [NodeDef], 4 ret {string}",
        "OpDef": "1 name string, 2 input_arg [ArgDef]",
        "ArgDef": "1 name string",
        "SaverDef": (
            "1 filename_tensor_name string, 2 save_tensor_name string, 3 restore_op_name string"
        ),
        "SavedObjectGraph": "1 nodes [SavedObject], 2 concrete_functions {bytes}",
        "SavedObject": "6 function SavedFunction, 8 bare_concrete_function SavedBareFunction",
        "SavedFunction": "1 concrete_functions [string]",
        "SavedBareFunction": "1 concrete_function_name string",
        "ConfigProto": "10 graph_options GraphOptions",
        "GraphOptions": "10 rewrite_options RewriterConfig",
        "RewriterConfig": (
            "12 meta_optimizer_iterations int32, 32 disable_tfg_optimizer bool, 100 optimizers"
            " [string]"
        ),
    },
    "tensorflow.serving": {
        "ModelSpec": (
            "1 name string, 2 version Int64Value, 3 signature_name string, 4 version_label string"
        ),
        "PredictRequest": (
            "1 model_spec ModelSpec, 2 inputs {TensorProto}, 3 output_filter [string]"
        ),
        "PredictResponse": "1 outputs {TensorProto}, 2 model_spec ModelSpec",
        "PredictLog": "1 request PredictRequest, 2 response PredictResponse",
        "PredictionLog": "6 predict_log PredictLog",
        "SignatureDefMap": "1 signature_def {SignatureDef}",
        "GetModelMetadataRequest": "1 model_spec ModelSpec, 2 metadata_field [string]",
        "GetModelMetadataResponse": "1 model_spec ModelSpec, 2 metadata {Any}",
        "StatusProto": "1 error_code int32, 2 error_message string",
        "GetModelStatusRequest": "1 model_spec ModelSpec",
        "ModelVersionStatus": "1 version int64, 2 state int32, 3 status StatusProto",
        "GetModelStatusResponse": "1 model_version_status [ModelVersionStatus]",
    },
}


class Fields(Message):
    """A message as a checker of types sees it: its fields, listed in `MESSAGES`, are attributes."""

    if TYPE_CHECKING:

        def __init__(self, **fields: object) -> None: ...
        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: object) -> None: ...


def message(name: str) -> type[Fields]:
    """The class of a message.

    Args:
        name: Name of the message, such as "PredictRequest".

    Example:
        >>> request = message("PredictRequest")()
        >>> request.model_spec.name = "news"
        >>> message("PredictRequest").FromString(request.SerializeToString()).model_spec.name
        'news'
    """
    declared = POOL.FindMessageTypeByName(f"{_package(name)}.{name}")
    return cast(type[Fields], message_factory.GetMessageClass(declared))


def data_type_name(number: int) -> str:
    """TensorFlow's name of a type in lower case.

    Args:
        number: Number of the type, as messages have it.

    Example:
        >>> data_type_name(7), data_type_name(99)
        ('string', 'type 99')
    """
    return DATA_TYPES[number].lower() if 0 <= number < len(DATA_TYPES) else f"type {number}"


def _pool() -> descriptor_pool.DescriptorPool:
    pool = descriptor_pool.DescriptorPool()
    dependencies = []
    for file in (any_pb2.DESCRIPTOR, wrappers_pb2.DESCRIPTOR):
        pool.AddSerializedFile(file.serialized_pb)
        dependencies.append(file.name)

    for package, messages in MESSAGES.items():
        file = descriptor_pb2.FileDescriptorProto(
            name=f"tfsum/{package}.proto", package=package, syntax="proto3", dependency=dependencies
        )
        if package == "tensorflow":
            enum = file.enum_type.add(name="DataType")
            for number, name in enumerate(DATA_TYPES):
                enum.value.add(name=f"DT_{name}", number=number)
        for name, fields in messages.items():
            declaration = file.message_type.add(name=name)
            for field in fields.split(", "):
                _declare(declaration, package, *field.split())
        pool.Add(file)
        dependencies.append(file.name)
    return pool


def _declare(declaration: Any, package: str, number: str, name: str, kind: str) -> None:
    """Adds a field to the declaration of a message."""
    field = declaration.field.add(name=name, number=int(number), label=FIELD.LABEL_OPTIONAL)
    if kind[0] in "[{":
        field.label = FIELD.LABEL_REPEATED

    kind = kind.strip("[]")
    if kind[0] == "{":  # a map is a list of entries
        entry = declaration.nested_type.add(name=name.title().replace("_", "") + "Entry")
        entry.options.map_entry = True
        _declare(entry, package, "1", "key", "string")
        _declare(entry, package, "2", "value", kind[1:-1])
        field.type_name = f".{package}.{declaration.name}.{entry.name}"
    elif kind in SCALARS:
        field.type = SCALARS[kind]
    else:  # an enum or a message, which the pool finds out
        field.type_name = TYPE_NAMES.get(kind) or f".{_package(kind)}.{kind}"


def _package(name: str) -> str:
    """The package of a message."""
    return next(package for package, messages in MESSAGES.items() if name in messages)


POOL = _pool()  # made once, also where several threads ask for messages first
