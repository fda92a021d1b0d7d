"""The OpenAPI document of a server, from the signatures of the models that are loaded."""

from collections.abc import Mapping, Sequence
from typing import Any

import tfsum
from tfsum.serving.json_tensor import INTEGERS
from tfsum.serving.servable import Servable
from tfsum.serving.signature import CLASSIFY, PREDICT, REGRESS, Signature, TensorInfo

VERSION = "3.1.0"
ERRORS = {
    "400": "the request is wrong; the error has a body that is correct",
    "401": "the server needs its token",
    "404": "there is no such model or version",
    "408": "the body came too slowly",
    "413": "the request is too large",
    "415": "the body has another Content-Encoding than gzip",
    "429": "the queue is full",
    "500": "the model failed",
    "503": "models are being loaded, or the server stops",
    "504": "the answer took too long",
}
BASE64 = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}(==)?|[A-Za-z0-9+/]{3}=?)?$"

Document = dict[str, Any]


def document(models: Mapping[str, Sequence[Servable]], token: bool) -> Document:
    """The document.

    Args:
        models: name -> the loaded versions.
        token: whether requests need a token.

    Returns:
        It, to be written as JSON.

    Example:
        >>> sorted(document({}, token=False)["paths"])
        ['/healthz', '/monitoring/prometheus/metrics', '/readyz']
    """
    paths: Document = {
        "/healthz": {"get": _looked("whether the server runs", "text/plain", {"type": "string"})},
        "/readyz": {
            "get": _looked("whether every model answers", "text/plain", {"type": "string"})
        },
        "/monitoring/prometheus/metrics": {
            "get": _looked("the metrics", "text/plain", {"type": "string"})
        },
    }
    schemas: Document = {
        "Error": {
            "type": "object",
            "properties": {"error": {"type": "string"}},
            "required": ["error"],
            "additionalProperties": False,
        }
    }
    for name, servables in models.items():
        paths[f"/v1/models/{name}"] = {
            "get": _looked("the states of the versions", "application/json", STATUS)
        }
        paths[f"/v1/models/{name}/metadata"] = {
            "get": _looked("the signatures", "application/json", METADATA)
        }
        paths |= _methods(f"/v1/models/{name}", servables[-1])
        for servable in servables:
            paths |= _methods(f"/v1/models/{name}/versions/{servable.version}", servable)
    found: Document = {
        "openapi": VERSION,
        "info": {
            "title": "tfsum serve",
            "version": tfsum.__version__,
            "description": "Models over TensorFlow Serving's REST API.",
        },
        "paths": paths,
        "components": {"schemas": schemas},
    }
    if token:
        found["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        found["security"] = [{"token": []}]
    return found


def _looked(what: str, kind: str, schema: Document) -> Document:
    return {
        "summary": what,
        "responses": {
            "200": {"description": what, "content": {kind: {"schema": schema}}},
            **_errors("401", "503"),
        },
    }


def _methods(path: str, servable: Servable) -> Document:
    """The paths by which a version is asked: `:predict`, `:classify` and `:regress`, where it has such signatures."""
    found: Document = {}
    for method, described in ((PREDICT, _predicted), (CLASSIFY, _examined), (REGRESS, _examined)):
        signatures = [
            signature for signature in servable.signatures.values() if signature.method == method
        ]
        if signatures:
            found[f"{path}:{method.rpartition('/')[2]}"] = {
                "post": described(servable.name, signatures)
            }
    return found


def _predicted(name: str, signatures: Sequence[Signature]) -> Document:
    bodies = [_rows(signature) for signature in signatures] + [
        _columns(signature) for signature in signatures if len(signature.inputs) == 1
    ]
    answers = [answer for signature in signatures for answer in _answers(signature)]
    columns = (
        "Instead of `instances`, a list of rows, `inputs` may have a list for each input. Rows of a request "
        "have the same length, and ids are those of the vocabulary, which a schema cannot say: others get 400."
    )
    return _asked(name, columns, {"anyOf": bodies}, {"anyOf": answers})


def _examined(name: str, signatures: Sequence[Signature]) -> Document:
    """A signature of examples: which features they have is not known from it."""
    features = {"type": "object", "additionalProperties": FEATURE}
    more = {"context": features}
    bodies = [
        _body(signature, "examples", "", {"type": "array", "minItems": 1, "items": features}, more)
        for signature in signatures
    ]
    result: Document = {"type": "number"}
    if signatures[0].method == CLASSIFY:
        pair = {
            "type": "array",
            "prefixItems": [{"type": "string"}, {"type": "number"}],
            "minItems": 2,
            "maxItems": 2,
        }
        result = {"type": "array", "items": pair}
    return _asked(
        name,
        "An example has the features of the model by name; `context` has those of all examples.",
        {"anyOf": bodies},
        _exactly({"results": {"type": "array", "items": result}}),
    )


def _asked(name: str, description: str, body: Document, answer: Document) -> Document:
    request = {"required": True, "content": {"application/json": {"schema": body}}}
    right = {
        "description": "the answer, in the form of the request",
        "content": {"application/json": {"schema": answer}},
    }
    return {
        "summary": f"asks {name}",
        "description": description,
        "requestBody": request,
        "responses": {"200": right, **_errors(*ERRORS)},
    }


def _errors(*statuses: str) -> Document:
    error = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    return {
        status: {
            "description": ERRORS[status],
            "content": {**error, "text/plain": {"schema": {"type": "string"}}},
        }
        for status in statuses
    }


def _rows(signature: Signature) -> Document:
    rows = {name: _value(info, 1) for name, info in sorted(signature.inputs.items())}
    forms: list[Document] = [{**_exactly(rows), "additionalProperties": False}]
    if len(rows) == 1:
        forms.append(next(iter(rows.values())))
    lists = [{"type": "array", "minItems": 1, "items": form} for form in forms]
    return _body(signature, "instances", "inputs", {"anyOf": lists})


def _columns(signature: Signature) -> Document:
    """A schema cannot say that several lists have one length, so that only signatures of one input have this form."""
    columns = {name: _value(info, 0) for name, info in sorted(signature.inputs.items())}
    return _body(
        signature, "inputs", "instances", {"anyOf": [_exactly(columns), *columns.values()]}
    )


def _body(
    signature: Signature, key: str, other: str, schema: Document, more: Document | None = None
) -> Document:
    """A body with a key; without another one, which would be a different form."""
    properties: Document = {
        "signature_name": {"const": signature.name},
        key: schema,
        **(more or {}),
    }
    required = [key] if signature.name == "serving_default" else [key, "signature_name"]
    excluded = {"not": {"required": [other]}} if other else {}
    return {"type": "object", "properties": properties, "required": required, **excluded}


def _answers(signature: Signature) -> list[Document]:
    infos = sorted(signature.outputs.items())
    row = (
        _exactly({name: _value(info, 1) for name, info in infos})
        if len(infos) > 1
        else _value(infos[0][1], 1)
    )
    column = (
        _exactly({name: _value(info, 0) for name, info in infos})
        if len(infos) > 1
        else _value(infos[0][1], 0)
    )
    return [
        _exactly({"predictions": {"type": "array", "items": row}}),
        _exactly({"outputs": column}),
    ]


def _exactly(properties: Document) -> Document:
    return {"type": "object", "properties": properties, "required": sorted(properties)}


def _value(info: TensorInfo, skipped: int) -> Document:
    """The schema of a tensor, without its first dimensions."""
    if info.shape is None:
        return {}
    schema: Document = {"type": "number"}
    if info.dtype == "string":
        schema = TEXT
    elif info.dtype == "bool":
        schema = {"type": "boolean"}
    elif info.dtype in INTEGERS:
        schema = {
            "type": "integer",
            "minimum": int(INTEGERS[info.dtype].min),
            "maximum": int(INTEGERS[info.dtype].max),
        }
    for size in reversed(info.shape[skipped:]):
        schema = {
            "type": "array",
            "items": schema,
            **({} if size is None else {"minItems": size, "maxItems": size}),
        }
    return schema


TEXT: Document = {
    "anyOf": [
        {"type": "string"},
        {
            **_exactly({"b64": {"type": "string", "contentEncoding": "base64", "pattern": BASE64}}),
            "additionalProperties": False,
        },
    ]
}
FEATURE: Document = {
    "anyOf": [
        kind
        for one in ({"type": "number"}, TEXT)
        for kind in (one, {"type": "array", "items": one})
    ]
}
STATUS = _exactly(
    {
        "model_version_status": {
            "type": "array",
            "items": _exactly(
                {
                    "version": {"type": "string"},
                    "state": {"enum": ["START", "LOADING", "AVAILABLE", "UNLOADING", "END"]},
                    "status": _exactly(
                        {"error_code": {"type": "string"}, "error_message": {"type": "string"}}
                    ),
                }
            ),
        }
    }
)
METADATA = _exactly({"model_spec": {"type": "object"}, "metadata": {"type": "object"}})
