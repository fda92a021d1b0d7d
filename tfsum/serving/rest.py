"""Predictions over HTTP: TensorFlow Serving's REST API below /v1, and the Open Inference Protocol,
version 2, below /v2.

Sources: tensorflow/serving, model_servers/http_rest_api_handler.cc and http_rest_api_util.cc;
kserve/open-inference-protocol, specification/protocol/inference_rest.md. There a signature other
than `serving_default` is named by the parameter `signature` of a request, and the extension for
binary data is not there.
"""

import asyncio
import functools
import json
import urllib.parse
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from google.protobuf.json_format import MessageToDict
from starlette.convertors import Convertor, register_url_convertor
from starlette.endpoints import HTTPEndpoint
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import tfsum
from tfsum.formats.shapes import element_count
from tfsum.serving.json_body import JsonResponse, read_object, received, unless_gone
from tfsum.serving.json_tensor import (
    read_array,
    read_inputs,
    row_count,
    signature_name,
    write_outputs,
)
from tfsum.serving.predictor import Predictor, offload
from tfsum.serving.request_error import RequestError, invalid, require
from tfsum.serving.servable import (
    Arrays,
    Servable,
    Signature,
    TensorInfo,
    byte_count,
    headers_of,
    sizes_of,
)
from tfsum.serving.tensor_proto import NUMPY

# A signature, its inputs, and a function that writes its outputs in JSON
Reading = tuple[Signature, Arrays, Callable[[Arrays], bytes]]
MODEL_PATHS = [
    "/v1/models/{name:segment}" + which
    for which in ("", "/versions/{version:version}", "/labels/{label:segment}")
]
# Methods of the API that no model of tfsum answers -> the kind of signature that they need.
UNSUPPORTED = {"classify": "classification", "regress": "regression"}
# TensorFlow's name of a type -> the protocol's
DATATYPES = {
    name: dtype.upper().replace("OBJECT", "BYTES").replace("FLOAT", "FP")
    for name, dtype in NUMPY.items()
}
SERVER = {"name": "tfsum", "version": tfsum.__version__, "extensions": []}


class SegmentConvertor(Convertor[str]):
    """A name between two slashes of a path, decoded after the path was divided.

    Example:
        >>> SegmentConvertor().convert("news%2Fen")
        'news/en'
    """

    regex = "[^/:]+"

    def convert(self, value: str) -> str:
        """The name of a part of a path."""
        return urllib.parse.unquote(value)


class VersionConvertor(Convertor[int]):
    """The number of a version in a path.

    Example:
        >>> VersionConvertor().convert("00017")
        17
    """

    regex = "[0-9]+"

    def convert(self, value: str) -> int:
        """The number of a part of a path."""
        digits = value.lstrip("0")[:20] or "0"
        require(int(digits) < 1 << 63, f"Failed to convert version: {value} to numeric.")
        return int(digits)


register_url_convertor("segment", SegmentConvertor())
register_url_convertor("version", VersionConvertor())


class Malformed(HTTPEndpoint):
    """Refuses a request that the API does not have, whatever its method.

    Example:
        >>> Route("/v1/{path:path}", Malformed).name
        'Malformed'
    """

    async def dispatch(self) -> None:
        """Refuses the request."""
        raise invalid(f"Malformed request: {self.scope['method']} {self.scope['path']}")


async def predicted(
    request: Request, predictor: Predictor, read: Callable[[bytes, Servable], Reading]
) -> Response:
    """Answers a request to a model that its path names.

    Args:
        request: Request over HTTP.
        predictor: Predictor that answers within the limits of the server.
        read: Function from the body and the model to what it asks for.

    Raises:
        RequestError: The request is wrong, too large or too late.
        ClientDisconnect: The client is gone.
    """
    body = await received(request, predictor)
    with predictor.versions.use(**request.path_params) as servable:
        timeout = predictor.settings.timeout
        try:
            async with asyncio.timeout(timeout):
                signature, inputs, write = await offload(len(body), read, body, servable)
        except TimeoutError:
            raise RequestError(
                "DEADLINE_EXCEEDED",
                f"the request was not read in {timeout:g} s (the server's `--timeout`); send fewer"
                " or shorter documents",
            ) from None

        outputs = await unless_gone(
            request, predictor.predict(servable, signature, inputs, request.scope["take"])
        )
        content = await offload(byte_count(outputs), write, outputs)
        return Response(content, media_type="application/json")


class RestApi:
    """Answers the requests below /v1/ from loaded models.

    Args:
        predictor: Predictor that answers within the limits of the server.

    Attributes:
        routes: Routes, whose paths are matched as they were sent, with percent signs.

    Example:
        >>> from tfsum.serving import Server, ServerSettings
        >>> server = Server(settings=ServerSettings(port=0))
        >>> RestApi(server.predictor).routes[1]
        Route(path='/v1/models/{name:segment}', name='status', methods=['GET', 'HEAD'])
    """

    def __init__(self, predictor: Predictor) -> None:
        self._predictor, self._versions = predictor, predictor.versions
        endpoints = [
            ("", self.status, ["GET"]),
            ("/metadata", self.metadata, ["GET"]),
            (":predict", self.predict, ["POST"]),
            (":classify", self.unsupported, ["POST"]),
            (":regress", self.unsupported, ["POST"]),
        ]
        self.routes = [
            Route("/v1/{path:path}", Malformed, methods=["HEAD"]),
            *(
                Route(path + suffix, endpoint, methods=methods)
                for path in MODEL_PATHS
                for suffix, endpoint, methods in endpoints
            ),
            Route("/v1/{path:path}", Malformed),
        ]

    async def status(self, request: Request) -> Response:
        """The states of a model's versions."""
        return JsonResponse(
            {
                "model_version_status": [
                    {
                        "version": str(number),
                        "state": version.state,
                        "status": {"error_code": version.code, "error_message": version.message},
                    }
                    for number, version in self._versions.status(**request.path_params).items()
                ]
            }
        )

    async def metadata(self, request: Request) -> Response:
        """The signatures of a loaded model."""
        with self._versions.use(**request.path_params) as servable:
            signatures = {
                name: MessageToDict(
                    definition,
                    preserving_proto_field_name=True,
                    always_print_fields_with_no_presence=True,
                )
                for name, definition in sorted(servable.definitions.items())
            }
            return JsonResponse(
                {
                    "model_spec": {
                        "name": servable.name,
                        "signature_name": "",
                        "version": str(servable.version),
                    },
                    "metadata": {"signature_def": {"signature_def": signatures}},
                },
                headers=headers_of(servable),
            )

    async def predict(self, request: Request) -> Response:
        """The outputs of a signature; the error of a wrong request shows a correct body."""
        asked: Signature | None = None

        def read(body: bytes, servable: Servable) -> Reading:
            nonlocal asked
            asked = servable.signatures.get("serving_default")  # until another is named
            document = read_object(body)
            asked = signature = servable.signature(signature_name(document))
            self._predictor.check_rows(row_count(document))
            write = functools.partial(write_outputs, rows="instances" in document)
            return signature, read_inputs(document, signature), write

        try:
            return await predicted(request, self._predictor, read)
        except RequestError as error:
            if asked is None or error.http_status != 400:
                raise
            raise RequestError(
                error.code, f"{error.message}; a correct body is {asked.sample_body()}"
            ) from None

    async def unsupported(self, request: Request) -> Response:
        """Refuses `:classify` and `:regress`."""
        method = request.scope["path"].rpartition(":")[2]
        with self._versions.use(**request.path_params):
            raise invalid(
                f"Expected {UNSUPPORTED[method]} signature method_name to be"
                f" tensorflow/serving/{method}. Was: tensorflow/serving/predict; ask the model by"
                " :predict, the one method that tfsum serve answers"
            )


class OpenInference:
    """Answers the requests below /v2 from loaded models.

    Args:
        predictor: Predictor that answers within the limits of the server.

    Attributes:
        routes: Routes of the application.

    Example:
        >>> from tfsum.serving import Server, ServerSettings
        >>> predictor = Server(settings=ServerSettings(port=0)).predictor
        >>> OpenInference(predictor).routes[0].path
        '/v2'
    """

    def __init__(self, predictor: Predictor) -> None:
        self._predictor, self._versions = predictor, predictor.versions
        model = "/v2/models/{name:segment}"
        self.routes = [
            Route("/v2", JsonResponse(SERVER), methods=["GET"]),
            Route("/v2/health/live", JsonResponse({"live": True}), methods=["GET"]),
            Route("/v2/health/ready", self.ready),
            *(
                route
                for path in (model, model + "/versions/{version:version}")
                for route in (
                    Route(path, self.metadata),
                    Route(path + "/ready", self.model_ready),
                    Route(path + "/infer", self.infer, methods=["POST"]),
                )
            ),
        ]

    async def ready(self, request: Request) -> Response:
        """Whether every model answers."""
        ready = self._versions.ready
        return JsonResponse({"ready": ready}, 200 if ready else 503)

    async def model_ready(self, request: Request) -> Response:
        """Whether a model answers."""
        with self._versions.use(**request.path_params) as servable:
            return JsonResponse({"name": servable.name, "ready": True})

    async def metadata(self, request: Request) -> Response:
        """Inputs and outputs of `serving_default`."""
        with self._versions.use(**request.path_params) as servable:
            signature = servable.signature("serving_default")
            return JsonResponse(
                {
                    "name": servable.name,
                    "versions": [
                        str(each.version) for each in self._versions.available()[servable.name]
                    ],
                    "platform": "tensorflow_savedmodel",
                    "inputs": _described(signature.inputs),
                    "outputs": _described(signature.outputs),
                }
            )

    async def infer(self, request: Request) -> Response:
        """The outputs of a signature."""
        require(
            "inference-header-content-length" not in request.headers,
            "the request has binary data, and the server has no such extension; send JSON"
            " (binary_data=False)",
        )
        return await predicted(request, self._predictor, _read)


def _read(body: bytes, servable: Servable) -> Reading:
    document = read_object(body)
    parameters = document.get("parameters", {})
    name: Any = isinstance(parameters, dict) and parameters.get("signature", "serving_default")
    require(isinstance(name, str), 'parameters: expected {"signature": "NAME"}')
    signature = servable.signature(name)
    wanted = signature.wanted_outputs([tensor["name"] for tensor in _tensors(document, "outputs")])

    tensors = _tensors(document, "inputs")
    names = [tensor["name"] for tensor in tensors]
    require(
        sorted(names) == sorted(signature.inputs),
        f"inputs: found {', '.join(names) or 'none'}; the signature {signature.name} expects"
        f" {', '.join(sorted(signature.inputs))}, each once",
    )
    inputs = {
        tensor["name"]: _array(tensor, signature.inputs[tensor["name"]].dtype) for tensor in tensors
    }
    signature.check_inputs(inputs)

    answer = {
        "model_name": servable.name,
        "model_version": str(servable.version),
        **{key: document[key] for key in ("id",) if key in document},
    }
    return signature, inputs, functools.partial(_write, answer, signature, wanted)


def _tensors(document: dict, key: str) -> list[dict]:
    """The tensors in a list of a request."""
    tensors = document.get(key, [])
    named = isinstance(tensors, list) and all(
        isinstance(tensor, dict) and isinstance(tensor.get("name"), str) for tensor in tensors
    )
    require(named, f'{key}: expected a list of objects with a "name"')
    return tensors


def _array(tensor: dict, dtype: str) -> np.ndarray:
    """The array of an input; its data may be nested or flat."""
    name, shape, datatype = tensor["name"], tensor.get("shape"), tensor.get("datatype")
    require(
        datatype == DATATYPES[dtype],
        f"input {name}: its datatype is {datatype}; expected {DATATYPES[dtype]}",
    )
    try:
        element_count(shape)
        return read_array(tensor.get("data"), dtype).reshape(shape)
    except (RequestError, ValueError) as error:  # ValueError: of the shape, or of another number
        raise invalid(f"input {name}: {error}") from None


def _described(infos: Mapping[str, TensorInfo]) -> list[dict[str, object]]:
    return [
        {
            "name": name,
            "datatype": DATATYPES[info.dtype],
            "shape": sizes_of(info.shape or (None,)),
        }
        for name, info in sorted(infos.items())
    ]


def _write(answer: dict, signature: Signature, wanted: list[str], outputs: Arrays) -> bytes:
    """The answer with the outputs that were asked for, their data flat."""
    tensors = [
        {
            "name": name,
            "datatype": DATATYPES[signature.outputs[name].dtype],
            "shape": [*outputs[name].shape],
            "data": outputs[name].ravel().tolist(),
        }
        for name in wanted
    ]
    decode = functools.partial(str, encoding="utf-8", errors="replace")
    return json.dumps({**answer, "outputs": tensors}, ensure_ascii=False, default=decode).encode()
