"""The Open Inference Protocol, version 2, over HTTP and JSON: the routes below /v2.

Source: kserve/open-inference-protocol, specification/protocol/inference_rest.md. A signature other
than `serving_default` is named by the parameter `signature` of a request; the extension for binary
data is not there.
"""

import functools
import json
from collections.abc import Mapping

import numpy as np
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import tfsum
from tfsum.serving.json_body import read_object
from tfsum.serving.json_tensor import read_array
from tfsum.serving.predictor import Predictor
from tfsum.serving.request_error import RequestError, invalid, require
from tfsum.serving.rest import JsonResponse, Reading, predicted
from tfsum.serving.servable import Servable
from tfsum.serving.signature import NUMPY, Arrays, Signature, TensorInfo, sizes_of

# TensorFlow's name of a type -> the protocol's
DATATYPES = {
    name: dtype.upper().replace("OBJECT", "BYTES").replace("FLOAT", "FP")
    for name, dtype in NUMPY.items()
}
SERVER = {"name": "tfsum", "version": tfsum.__version__, "extensions": []}


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
            versions = self._versions.available()[servable.name]
            return JsonResponse(
                {
                    "name": servable.name,
                    "versions": [str(other.version) for other in versions],
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
    signature = servable.signature(_signature_name(document))
    wanted = signature.wanted_outputs([*_tensors(document, "outputs")])

    tensors = _tensors(document, "inputs")
    require(
        tensors.keys() == signature.inputs.keys(),
        f"inputs: found {', '.join(tensors) or 'none'}; the signature {signature.name} expects"
        f" {', '.join(sorted(signature.inputs))}",
    )
    inputs = {name: _array(tensors[name], info.dtype) for name, info in signature.inputs.items()}
    signature.check_inputs(inputs)

    answer = {
        "model_name": servable.name,
        "model_version": str(servable.version),
        **{key: document[key] for key in ("id",) if key in document},
    }
    return signature, inputs, functools.partial(_write, answer, signature, wanted)


def _signature_name(document: dict) -> str:
    parameters = document.get("parameters", {})
    expected = 'parameters: expected {"signature": "NAME"}'
    require(isinstance(parameters, dict), expected)
    name = parameters.get("signature", "serving_default")
    require(isinstance(name, str), expected)
    return name


def _tensors(document: dict, key: str) -> dict[str, dict]:
    """The tensors in a list of a request, by name."""
    tensors = document.get(key, [])
    named = isinstance(tensors, list) and all(
        isinstance(tensor, dict) and isinstance(tensor.get("name"), str) for tensor in tensors
    )
    require(named, f'{key}: expected a list of objects with a "name"')
    found = {tensor["name"]: tensor for tensor in tensors}
    require(len(found) == len(tensors), f"{key}: a name stands there twice")
    return found


def _array(tensor: dict, dtype: str) -> np.ndarray:
    """The array of an input; its data may be nested or flat."""
    name, shape, datatype = tensor["name"], tensor.get("shape"), tensor.get("datatype")
    require(
        datatype == DATATYPES[dtype],
        f"input {name}: its datatype is {datatype}; expected {DATATYPES[dtype]}",
    )
    sized = isinstance(shape, list) and all(type(size) is int and size >= 0 for size in shape)
    require(sized, f"input {name}: expected a shape, a list of sizes")

    try:
        return read_array(tensor.get("data"), dtype).reshape(shape)
    except (RequestError, ValueError, OverflowError) as error:  # of `reshape` but for the first
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
            "data": _decoded(outputs[name]).ravel().tolist(),
        }
        for name in wanted
    ]
    return json.dumps({**answer, "outputs": tensors}, ensure_ascii=False).encode()


def _decoded(array: np.ndarray) -> np.ndarray:
    """An array with its bytes as texts."""
    if array.dtype != object:
        return array
    return np.frompyfunc(lambda value: value.decode("utf-8", "replace"), 1, 1)(array)
