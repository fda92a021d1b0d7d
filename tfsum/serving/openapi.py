"""The OpenAPI document of a server, from the signatures of the models that are loaded."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter

import tfsum
from tfsum.generation.generator import Generated
from tfsum.request import AnswerRecord
from tfsum.serving.chat_bodies import ChatBody, ResponsesBody
from tfsum.serving.json_tensor import FLOATS, INTEGERS
from tfsum.serving.model_versions import STATES
from tfsum.serving.servable import Servable, Signature, TensorInfo
from tfsum.serving.summarize_api import SummarizeBody

ERRORS = {
    "400": "the request is wrong; the error has a body that is correct",
    "401": "the server needs its token",
    "404": "there is no such model or version",
    "408": "the body arrived too slowly",
    "413": "the request is too large",
    "415": "the body has another Content-Encoding than gzip",
    "429": "the queue is full",
    "500": "the model failed",
    "503": "models are being loaded, or the server stops",
    "504": "the answer took too long",
}
BASE64 = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}(==)?|[A-Za-z0-9+/]{3}=?)?$"

Document = dict[str, Any]


def openapi_document(models: Mapping[str, Sequence[Servable]], token: bool) -> Document:
    """Describes the API of a server.

    Args:
        models: Name -> loaded versions of each model.
        token: Whether requests need a token.

    Returns:
        The document, to be written as JSON.

    Example:
        >>> sorted(openapi_document({}, token=False)["paths"])[-3:]
        ['/v1/chat/completions', '/v1/models', '/v1/responses']
    """
    paths = {**PATHS}
    for name, servables in models.items():
        paths |= {path.format(name=name): item for path, item in PATHS_OF_MODEL.items()}
        path = f"/v1/models/{name}"
        versions = {f"{path}/versions/{servable.version}": servable for servable in servables}
        paths |= {
            f"{prefix}:predict": _predict(servable)
            for prefix, servable in {path: servables[-1], **versions}.items()
            if servable.signatures
        }

    document: Document = {
        "openapi": "3.1.0",
        "info": {
            "title": "tfsum serve",
            "version": tfsum.__version__,
            "description": "Models in plain JSON, over TensorFlow Serving's REST API, and over the"
            " Open Inference Protocol.",
        },
        "paths": paths,
        "components": {"schemas": SCHEMAS},
    }
    if token:
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}]
    return document


def _get(summary: str, schema: Document, media_type: str = "application/json") -> Document:
    success = {"description": summary, "content": {media_type: {"schema": schema}}}
    return {"get": {"summary": summary, "responses": {"200": success, **_errors("401", "503")}}}


def _predict(servable: Servable) -> Document:
    """The path `:predict` of a version: a request and an answer of any of its signatures."""
    signatures = servable.signatures.values()
    bodies = [
        *map(_rows, signatures),
        # A schema cannot say that several columns have the same length.
        *(_column(signature) for signature in signatures if len(signature.inputs) == 1),
    ]
    return _post(
        f"asks {servable.name}",
        {"anyOf": bodies},
        {"anyOf": [answer for signature in signatures for answer in _answers(signature)]},
        "Instead of `instances`, a list of rows, `inputs` may have a list for each input, and the"
        " answer has the form of the request. Rows of a request have the same length, and ids are"
        " those of the vocabulary, which a schema cannot say: others get 400.",
    )


def _post(summary: str, asked: Document, answer: Document, description: str = "") -> Document:
    success = {"description": "the answer", "content": {"application/json": {"schema": answer}}}
    return {
        "post": {
            "summary": summary,
            **({"description": description} if description else {}),
            "requestBody": {"required": True, "content": {"application/json": {"schema": asked}}},
            "responses": {"200": success, **_errors(*ERRORS)},
        }
    }


def _errors(*statuses: str) -> Document:
    content = {
        "application/json": {"schema": {"$ref": "#/components/schemas/Error"}},
        "text/plain": {"schema": STRING},
    }
    return {status: {"description": ERRORS[status], "content": content} for status in statuses}


def _rows(signature: Signature) -> Document:
    """A request in row form: a list of objects, or of the values of the only input."""
    row = _tensors(signature.inputs, 1)
    forms: list[Document] = [{**_object(row), "additionalProperties": False}]
    if len(row) == 1:
        forms += row.values()
    return _body(
        signature,
        "instances",
        "inputs",
        [{"type": "array", "minItems": 1, "items": form} for form in forms],
    )


def _column(signature: Signature) -> Document:
    """A request in column form: the values of the only input, with its name or without."""
    columns = _tensors(signature.inputs, 0)
    return _body(signature, "inputs", "instances", [_object(columns), *columns.values()])


def _body(signature: Signature, key: str, other: str, schemas: list[Document]) -> Document:
    """A body with one key, and without the one of the other form."""
    required = [key] if signature.name == "serving_default" else [key, "signature_name"]
    properties = {"signature_name": {"const": signature.name}, key: {"anyOf": schemas}}
    return {**_object(properties, required), "not": {"required": [other]}}


def _answers(signature: Signature) -> list[Document]:
    """The answers in row form and in column form; an output that is alone has no name."""
    row, column = (_tensors(signature.outputs, skipped) for skipped in (1, 0))
    schemas = [_object(row), _object(column)]
    if len(row) == 1:
        schemas = [*row.values(), *column.values()]
    return [
        _object({"predictions": {"type": "array", "items": schemas[0]}}),
        _object({"outputs": schemas[1]}),
    ]


def _object(properties: Document, required: Collection[str] = ()) -> Document:
    """An object with these properties, all of them required where none are named."""
    return {
        "type": "object",
        "properties": properties,
        "required": sorted(required or properties),
    }


def _tensors(infos: Mapping[str, TensorInfo], skipped: int) -> Document:
    """Name -> schema of each tensor, without its first `skipped` dimensions."""
    return {name: _tensor(info, skipped) for name, info in sorted(infos.items())}


def _tensor(info: TensorInfo, skipped: int) -> Document:
    if info.shape is None:
        return {}

    schema: Document = ELEMENTS.get(info.dtype, {})
    for size in reversed(info.shape[skipped:]):
        schema = {"type": "array", "items": schema}
        if size is not None:
            schema |= {"minItems": size, "maxItems": size}
    return schema


STRING: Document = {"type": "string"}
INTEGER: Document = {"type": "integer"}
TEXT: Document = {
    "anyOf": [
        STRING,
        {
            **_object({"b64": {**STRING, "contentEncoding": "base64", "pattern": BASE64}}),
            "additionalProperties": False,
        },
    ]
}
# Type of a tensor -> schema of an element.
ELEMENTS: dict[str, Document] = {
    "string": TEXT,
    "bool": {"type": "boolean"},
    **{name: {"type": "number"} for name in FLOATS},
    **{
        name: {"type": "integer", "minimum": numbers[0], "maximum": numbers[-1]}
        for name, numbers in INTEGERS.items()
    },
}
# The Open Inference Protocol
TENSOR = {"name": STRING, "datatype": STRING, "shape": {"type": "array", "items": INTEGER}}
DESCRIBED = {"type": "array", "items": _object(TENSOR)}
FILLED = {"type": "array", "items": _object({**TENSOR, "data": {"type": "array"}})}
# Name -> schema to which others refer
ERROR = {"anyOf": [STRING, {"type": "object"}]}  # an object, as OpenAI's API has it, to a chat
SCHEMAS: Document = {"Error": {**_object({"error": ERROR}), "additionalProperties": False}}


def _described(kind: type) -> Document:
    """The schema of a type of Python; what it refers to is added to `SCHEMAS`."""
    schema = TypeAdapter(kind).json_schema(ref_template="#/components/schemas/{model}")
    SCHEMAS.update(schema.pop("$defs", {}))
    return schema


ASKED = (
    "The messages ask for a summary, and may say how long; anything else gets 400. With `stream`,"
    " the answer is events."
)
# Path -> what it answers, whatever the models are
PATHS = {
    "/healthz": _get("whether the server runs", STRING, "text/plain"),
    "/readyz": _get("whether every model answers", STRING, "text/plain"),
    "/monitoring/prometheus/metrics": _get("the metrics", STRING, "text/plain"),
    "/models": _get(
        "the models that take texts",
        _object(
            {
                "models": {
                    "type": "array",
                    "items": _object(
                        {
                            "name": STRING,
                            "version": INTEGER,
                            "kind": STRING,
                            "summarizes": {"type": "boolean"},
                            "max_sentences": INTEGER,
                            "signatures": {"type": "array", "items": STRING},
                        }
                    ),
                }
            }
        ),
    ),
    "/summarize": _post(
        "the summary of a text",
        _described(SummarizeBody),
        {
            "allOf": [
                _object({"model": STRING, "version": INTEGER}),
                {"anyOf": [_described(AnswerRecord), _described(Generated)]},
            ]
        },
    ),
    "/v1/models": _get(
        "the models that summarize, as OpenAI's API lists them",
        _object({"object": STRING, "data": {"type": "array", "items": {"type": "object"}}}),
    ),
    "/v1/chat/completions": _post(
        "the summary of the text of a chat's last message, as OpenAI's API answers",
        _described(ChatBody),
        {"type": "object"},
        ASKED,
    ),
    "/v1/responses": _post(
        "the same, as a model response of OpenAI's API",
        _described(ResponsesBody),
        {"type": "object"},
        ASKED,
    ),
}
# Path -> what it answers for a model of any kind
PATHS_OF_MODEL = {
    "/v1/models/{name}": _get(
        "the states of the versions",
        _object(
            {
                "model_version_status": {
                    "type": "array",
                    "items": _object(
                        {
                            "version": STRING,
                            "state": {"enum": [*STATES]},
                            "status": _object({"error_code": STRING, "error_message": STRING}),
                        }
                    ),
                }
            }
        ),
    ),
    "/v1/models/{name}/metadata": _get(
        "the signatures",
        _object({"model_spec": {"type": "object"}, "metadata": {"type": "object"}}),
    ),
    "/v2/models/{name}": _get(
        "the tensors",
        _object(
            {
                "name": STRING,
                "versions": {"type": "array", "items": STRING},
                "platform": STRING,
                "inputs": DESCRIBED,
                "outputs": DESCRIBED,
            }
        ),
    ),
    "/v2/models/{name}/infer": _post(
        "the outputs of a signature",
        _object({"id": STRING, "parameters": {"type": "object"}, "inputs": FILLED}, ["inputs"]),
        _object(
            {"model_name": STRING, "model_version": STRING, "id": STRING, "outputs": FILLED},
            ["model_name", "model_version", "outputs"],
        ),
    ),
}
