"""The OpenAPI document of a server, from the signatures of the models that are loaded."""

from collections.abc import Mapping, Sequence
from typing import Any

import tfsum
from tfsum.serving.servable import Servable
from tfsum.serving.signature import PREDICT, Signature, TensorInfo

VERSION = "3.1.0"
ERRORS = {"400": "the request is wrong; the error has a body that is correct", "401": "the server needs its token",
          "404": "there is no such model or version", "408": "the body came too slowly",
          "413": "the request is too large", "415": "the body has another Content-Encoding than gzip",
          "429": "the queue is full", "500": "the model failed", "503": "models are being loaded, or the server stops",
          "504": "the answer took too long"}
LIMITS = {"int32": (-(1 << 31), (1 << 31) - 1), "int64": (-(1 << 63), (1 << 63) - 1)}
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
        "/readyz": {"get": _looked("whether every model answers", "text/plain", {"type": "string"})},
        "/monitoring/prometheus/metrics": {"get": _looked("the metrics", "text/plain", {"type": "string"})}}
    schemas: Document = {"Error": {"type": "object", "properties": {"error": {"type": "string"}},
                                   "required": ["error"], "additionalProperties": False}}
    for name, servables in models.items():
        newest = servables[-1]
        paths[f"/v1/models/{name}"] = {"get": _looked("the states of the versions", "application/json", STATUS)}
        paths[f"/v1/models/{name}/metadata"] = {"get": _looked("the signatures", "application/json", METADATA)}
        asked = {key: signature for key, signature in newest.signatures.items() if signature.method == PREDICT}
        paths[f"/v1/models/{name}:predict"] = {"post": _asked(name, asked)}
        for servable in servables:
            paths[f"/v1/models/{name}/versions/{servable.version}:predict"] = {"post": _asked(name, {
                key: signature for key, signature in servable.signatures.items() if signature.method == PREDICT})}
    found: Document = {
        "openapi": VERSION, "info": {"title": "tfsum serve", "version": tfsum.__version__, "description":
                                     "Models over TensorFlow Serving's REST API."},
        "paths": paths, "components": {"schemas": schemas}}
    if token:
        found["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        found["security"] = [{"token": []}]
    return found


def _looked(what: str, kind: str, schema: Document) -> Document:
    return {"summary": what, "responses": {"200": {"description": what, "content": {kind: {"schema": schema}}},
                                           **_errors("401", "503")}}


def _asked(name: str, signatures: Mapping[str, Signature]) -> Document:
    bodies = [_rows(signature) for signature in signatures.values()] + [
        _columns(signature) for signature in signatures.values() if len(signature.inputs) == 1]
    answers = [answer for signature in signatures.values() for answer in _answers(signature)]
    columns = "Instead of `instances`, a list of rows, `inputs` may have a list for each input."
    request = {"required": True, "content": {"application/json": {"schema": {"anyOf": bodies}}}}
    right = {"description": "the answer, in the form of the request",
             "content": {"application/json": {"schema": {"anyOf": answers}}}}
    return {"summary": f"asks {name}", "description": columns, "requestBody": request,
            "responses": {"200": right, **_errors(*ERRORS)}}


def _errors(*statuses: str) -> Document:
    error = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    return {status: {"description": ERRORS[status], "content": {**error, "text/plain": {"schema": {"type": "string"}}}}
            for status in statuses}


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
    return _body(signature, "inputs", "instances", {"anyOf": [_exactly(columns), *columns.values()]})


def _body(signature: Signature, key: str, other: str, schema: Document) -> Document:
    properties: Document = {"signature_name": {"const": signature.name}, key: schema}
    required = [key] if signature.name == "serving_default" else [key, "signature_name"]
    return {"type": "object", "properties": properties, "required": required, "not": {"required": [other]}}


def _answers(signature: Signature) -> list[Document]:
    infos = sorted(signature.outputs.items())
    row = _exactly({name: _value(info, 1) for name, info in infos}) if len(infos) > 1 else _value(infos[0][1], 1)
    column = _exactly({name: _value(info, 0) for name, info in infos}) if len(infos) > 1 else _value(infos[0][1], 0)
    return [_exactly({"predictions": {"type": "array", "items": row}}), _exactly({"outputs": column})]


def _exactly(properties: Document) -> Document:
    return {"type": "object", "properties": properties, "required": sorted(properties)}


def _value(info: TensorInfo, skipped: int) -> Document:
    """The schema of a tensor, without its first dimensions."""
    if info.dtype == "string":
        schema: Document = {"anyOf": [{"type": "string"}, {**_exactly({"b64": {
            "type": "string", "contentEncoding": "base64", "pattern": BASE64}}), "additionalProperties": False}]}
    elif info.dtype == "bool":
        schema = {"type": "boolean"}
    elif "int" in info.dtype:
        least, most = LIMITS.get(info.dtype, (0, 255))
        schema = {"type": "integer", "minimum": least, "maximum": most}
    else:
        schema = {"type": "number"}
    if info.shape is None:
        return {}
    for size in reversed(info.shape[skipped:]):
        schema = {"type": "array", "items": schema, **({} if size is None else {"minItems": size, "maxItems": size})}
    return schema


STATUS = _exactly({"model_version_status": {"type": "array", "items": _exactly({
    "version": {"type": "string"}, "state": {"enum": ["START", "LOADING", "AVAILABLE", "UNLOADING", "END"]},
    "status": _exactly({"error_code": {"type": "string"}, "error_message": {"type": "string"}})})}})
METADATA = _exactly({"model_spec": {"type": "object"}, "metadata": {"type": "object"}})
