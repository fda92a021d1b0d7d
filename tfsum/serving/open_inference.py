"""The Open Inference Protocol, version 2, over HTTP and JSON: the routes below /v2.

Source: kserve/open-inference-protocol, specification/protocol/inference_rest.md. A signature other
than `serving_default` is named by the parameter `signature` of a request; the extension for binary
data is not there.
"""

from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import tfsum
from tfsum.serving.json_tensor import check_inputs, read_object
from tfsum.serving.predictor import Predictor, offload
from tfsum.serving.request_error import invalid, require
from tfsum.serving.rest import JsonResponse, read_body, unless_gone
from tfsum.serving.servable import Servable
from tfsum.serving.signature import Arrays, Signature, TensorInfo

# TensorFlow's name of a type -> the protocol's, and NumPy's type
DATATYPES: dict[str, tuple[str, Any]] = {
    "string": ("BYTES", np.object_),
    "bool": ("BOOL", np.bool_),
    "half": ("FP16", np.float16),
    "float": ("FP32", np.float32),
    "double": ("FP64", np.float64),
    **{
        f"{sign}int{bits}": (f"{sign.upper()}INT{bits}", np.dtype(f"{sign}int{bits}").type)
        for sign in ("", "u")
        for bits in (8, 16, 32, 64)
    },
}


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
            Route("/v2", self.server),
            Route("/v2/health/live", self.live),
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

    async def server(self, request: Request) -> Response:
        """The name of the server."""
        return JsonResponse({"name": "tfsum", "version": tfsum.__version__, "extensions": []})

    async def live(self, request: Request) -> Response:
        """Whether the server runs."""
        return JsonResponse({"live": True})

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
        with self._predictor.room() as take:
            body = await read_body(request, self._predictor.settings, take)
            with self._versions.use(**request.path_params) as servable:
                async with self._predictor.reading():
                    document = await offload(len(body), read_object, body)
                    signature = _signature(document, servable)
                    wanted = _names(document, "outputs") or sorted(signature.outputs)
                    if unknown := sorted(set(wanted) - set(signature.outputs)):
                        raise invalid(
                            f"outputs: {', '.join(unknown)}; expected names among"
                            f" {', '.join(sorted(signature.outputs))}"
                        )
                    inputs = await offload(len(body), _read, document, signature)
                    self._predictor.check_rows(
                        max((len(a) for a in inputs.values() if a.ndim), default=1)
                    )
                answer = self._predictor.predict(servable, signature, inputs)
                outputs = await unless_gone(request, answer)
                size = sum(array.nbytes for array in outputs.values())
                content = {
                    "model_name": servable.name,
                    "model_version": str(servable.version),
                    **({"id": document["id"]} if "id" in document else {}),
                    "outputs": await offload(size, _write, outputs, signature, wanted),
                }
                return JsonResponse(content)


def _signature(document: dict, servable: Servable) -> Signature:
    parameters = document.get("parameters", {})
    name = parameters.get("signature", "serving_default") if isinstance(parameters, dict) else None
    if not isinstance(name, str):
        raise invalid('parameters: expected {"signature": "NAME"}')
    return servable.signature(name)


def _names(document: dict, key: str) -> list[str]:
    """The names of the tensors in a list of a request."""
    tensors = document.get(key, [])
    if not isinstance(tensors, list) or not all(
        isinstance(tensor, dict) and isinstance(tensor.get("name"), str) for tensor in tensors
    ):
        raise invalid(f'{key}: expected a list of objects with a "name"')
    return [tensor["name"] for tensor in tensors]


def _read(document: dict, signature: Signature) -> Arrays:
    """The inputs of a request."""
    names = _names(document, "inputs")
    if sorted(names) != sorted(signature.inputs):
        raise invalid(
            f"inputs: found {', '.join(names) or 'none'}; the signature {signature.name} expects"
            f" {', '.join(sorted(signature.inputs))}"
        )
    tensors = dict(zip(names, document["inputs"]))
    return check_inputs(
        {name: _array(name, tensors[name], info) for name, info in signature.inputs.items()},
        signature,
    )


def _array(name: str, tensor: dict, info: TensorInfo) -> np.ndarray:
    """The array of an input; its data may be nested or flat."""
    datatype, kind = DATATYPES[info.dtype]
    found, shape = tensor.get("datatype"), tensor.get("shape")
    require(found == datatype, f"input {name}: its datatype is {found}; expected {datatype}")
    if not isinstance(shape, list) or not all(type(size) is int and size >= 0 for size in shape):
        raise invalid(f"input {name}: expected a shape, a list of sizes")

    values: list[Any] = []
    ahead = [tensor.get("data")]
    while ahead:
        value = ahead.pop()
        if isinstance(value, list):
            ahead.extend(reversed(value))
        else:
            values.append(value)
    expected: type | tuple[type, ...] = {"BYTES": str, "BOOL": bool}.get(
        datatype, (int, float) if datatype.startswith("FP") else int
    )
    wrong = [v for v in values if not isinstance(v, expected) or (datatype != "BOOL" and v is True)]
    require(not wrong, f"input {name}: {wrong[:1]!r:.40} is no {datatype}")
    size = int(np.prod(shape, dtype=object))
    require(len(values) == size, f"input {name}: {len(values)} values for the shape {shape}")
    if datatype == "BYTES":
        values = [value.encode("utf-8", "replace") for value in values]
    try:
        return np.array(values, kind).reshape(shape)
    except (OverflowError, ValueError) as error:
        raise invalid(f"input {name}: {error}") from None


def _described(infos: Any) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "datatype": DATATYPES[info.dtype][0],
            "shape": [-1 if size is None else size for size in info.shape or (None,)],
        }
        for name, info in sorted(infos.items())
    ]


def _write(outputs: Arrays, signature: Signature, wanted: list[str]) -> list[dict[str, Any]]:
    """The outputs that were asked for, their data flat."""
    written = []
    for name in wanted:
        array = outputs[name]
        data = array.ravel().tolist()
        if array.dtype == object:
            data = [value.decode("utf-8", "replace") for value in data]
        datatype = DATATYPES[signature.outputs[name].dtype][0]
        written.append({"name": name, "datatype": datatype, "shape": [*array.shape], "data": data})
    return written
