"""TensorFlow Serving's gRPC services: PredictionService and ModelService."""

import asyncio
import hmac
import json
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import numpy as np

from tfsum.serving.json_tensor import check_inputs, invalid
from tfsum.serving.predictor import Predictor
from tfsum.serving.protocol import message
from tfsum.serving.request_error import CODES, RequestError
from tfsum.serving.signature import Signature
from tfsum.serving.tensor_proto import from_proto, to_proto, type_name
from tfsum.serving.tracing import span
from tfsum.serving.worker_thread import beside

LOG, ACCESS = logging.getLogger("tfsum.serving"), logging.getLogger("tfsum.serving.access")
SHOWN = 200  # characters of a model's name in the access log
STATES = {
    "START": 10,
    "LOADING": 20,
    "AVAILABLE": 30,
    "UNLOADING": 40,
    "END": 50,
}  # of ModelVersionStatus.State
SIGNATURE_DEF = "signature_def"  # the one field that GetModelMetadata has
GRPC = {code.value[0]: code for code in grpc.StatusCode}

Answer = Callable[[Any], Awaitable[Any]]


class GrpcServices:
    """Answers Predict, GetModelMetadata and GetModelStatus from loaded models.

    Args:
        predictor: answers, within the limits of the server.
        token: that calls must bear in their metadata; None lets all in.

    Example:
        >>> from tfsum.serving import Server, ServerSettings
        >>> Server(settings=ServerSettings(grpc_port=8500)).run()  # doctest: +SKIP
    """

    def __init__(self, predictor: Predictor, token: str | None) -> None:
        self._predictor, self._token = predictor, token

    def handlers(self) -> list[grpc.GenericRpcHandler]:
        """The services, for `grpc.aio.Server.add_generic_rpc_handlers`."""
        services = {
            "PredictionService": {
                "Predict": ("PredictRequest", self._predict),
                "GetModelMetadata": ("GetModelMetadataRequest", self._metadata),
            },
            "ModelService": {"GetModelStatus": ("GetModelStatusRequest", self._status)},
        }
        return [
            grpc.method_handlers_generic_handler(
                f"tensorflow.serving.{service}",
                {
                    name: grpc.unary_unary_rpc_method_handler(
                        self._guarded(name, answer),
                        request_deserializer=message(request).FromString,
                        response_serializer=lambda response: response.SerializeToString(),
                    )
                    for name, (request, answer) in methods.items()
                },
            )
            for service, methods in services.items()
        ]

    def _guarded(
        self, method: str, answer: Answer
    ) -> Callable[[Any, grpc.aio.ServicerContext], Awaitable[Any]]:
        """A method that gives its errors the status of gRPC, and is counted, logged and traced."""

        async def call(request: Any, context: grpc.aio.ServicerContext) -> Any:
            begin, code, said, response = time.monotonic(), "OK", "", None
            metadata = dict(context.invocation_metadata() or ())
            with span(f"grpc {method}", metadata, rpc_system="grpc", rpc_method=method) as found:
                try:
                    self._check_token(metadata)
                    response = await answer(request)
                except RequestError as error:
                    code, said = error.code, error.message
                except (
                    asyncio.CancelledError
                ):  # the client waits no more, or the server stops at once
                    code = "CANCELLED"
                    raise
                except Exception:
                    LOG.exception("a call failed")
                    code, said = "INTERNAL", "the call failed; the server's log says why"
                finally:
                    found["rpc.grpc.status_code"] = CODES[code][0]
                    self._note(method, request.model_spec.name, code, time.monotonic() - begin)
            if code != "OK":
                await context.abort(GRPC[CODES[code][0]], said)
            return response

        return call

    def _note(self, method: str, model: str, code: str, seconds: float) -> None:
        """Counts a call, and writes a line about it that has nothing of its tensors."""
        self._predictor.observe(model, f"grpc {method}", code, seconds)
        ACCESS.info(
            "%s",
            json.dumps(
                {
                    "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                    "method": f"grpc {method}",
                    "model": model[:SHOWN],
                    "status": code,
                    "milliseconds": round(seconds * 1000, 1),
                }
            ),
        )

    async def _predict(self, request: Any) -> Any:
        spec = _spec(request)
        with self._predictor.versions.use(spec.name, *_which(spec)) as servable:
            name = spec.signature_name or "serving_default"
            if name not in servable.signatures:
                raise RequestError(
                    "FAILED_PRECONDITION", f'Serving signature key "{name}" not found.'
                )
            signature = servable.signatures[name]
            inputs = await beside(request.ByteSize(), _inputs, request, signature)
            wanted = _filter(list(request.output_filter), signature)
            outputs = await self._predictor.predict(servable, signature, inputs)
            response = message("PredictResponse")()
            response.model_spec.name, response.model_spec.signature_name = spec.name, name
            response.model_spec.version.value = servable.version
            return await beside(
                sum(array.nbytes for array in outputs.values()), _filled, response, wanted, outputs
            )

    async def _metadata(self, request: Any) -> Any:
        if not request.metadata_field:
            raise invalid("GetModelMetadataRequest must specify at least one metadata_field")
        if unknown := [field for field in request.metadata_field if field != SIGNATURE_DEF]:
            raise invalid(f"Metadata field {unknown[0]} is not supported; expected {SIGNATURE_DEF}")
        spec = _spec(request)
        with self._predictor.versions.use(spec.name, *_which(spec)) as servable:
            signatures = message("SignatureDefMap")()
            for name, definition in servable.definitions.items():
                signatures.signature_def[name].MergeFromString(definition.SerializeToString())
            response = message("GetModelMetadataResponse")()
            response.model_spec.name, response.model_spec.version.value = (
                spec.name,
                servable.version,
            )
            response.metadata[SIGNATURE_DEF].Pack(signatures)
            return response

    async def _status(self, request: Any) -> Any:
        spec = _spec(request)
        response = message("GetModelStatusResponse")()
        for number, found in self._predictor.states(spec.name, *_which(spec)).items():
            status = response.model_version_status.add(version=number, state=STATES[found.state])
            status.status.error_code, status.status.error_message = (
                CODES[found.code][0],
                found.message,
            )
        return response

    def _check_token(self, metadata: dict) -> None:
        given = str(metadata.get("authorization", ""))
        if self._token is not None and not hmac.compare_digest(
            given.encode(), f"Bearer {self._token}".encode()
        ):
            raise RequestError(
                "UNAUTHENTICATED",
                "this server needs its token; send the metadata authorization: Bearer TOKEN",
            )


def _spec(request: Any) -> Any:
    if not request.HasField("model_spec"):
        raise invalid("Missing ModelSpec")
    if not request.model_spec.name:
        raise invalid("ModelSpec has no name specified.")
    return request.model_spec


def _which(spec: Any) -> tuple[int | None, str | None]:
    """(version, label) of a specification, None where it has none."""
    return spec.version.value if spec.HasField("version") else None, spec.version_label or None


def _inputs(request: Any, signature: Signature) -> dict[str, np.ndarray]:
    given, expected = set(request.inputs), set(signature.inputs)
    if given != expected:
        raise invalid(
            f"input size does not match signature: {len(given)}!={len(expected)} len({{"
            f"{','.join(sorted(given))}}}) != len({{{','.join(sorted(expected))}}}). Sent extra: {{"
            f"{','.join(sorted(given - expected))}}}. Missing but required: {{"
            f"{','.join(sorted(expected - given))}}}."
        )
    for name, tensor in request.inputs.items():
        if type_name(tensor) != signature.inputs[name].dtype:
            raise invalid(
                f"Expected {name} to be of type {signature.inputs[name].dtype}, and it is of type "
                f"{type_name(tensor)}"
            )
    inputs = {name: from_proto(tensor) for name, tensor in request.inputs.items()}
    check_inputs(inputs, signature)
    return inputs


def _filled(response: Any, wanted: list[str], outputs: dict[str, np.ndarray]) -> Any:
    """A response with the outputs that are wanted."""
    for name in wanted:
        response.outputs[name].CopyFrom(to_proto(outputs[name]))
    return response


def _filter(wanted: list[str], signature: Signature) -> list[str]:
    """The outputs that a request wants: all where it names none."""
    for name in wanted:
        if name not in signature.outputs:
            raise invalid(
                f"output tensor alias not found in signature: {name} Outputs expected to be in the set {{"
                f"{','.join(sorted(signature.outputs))}}}."
            )
        if wanted.count(name) > 1:
            raise invalid(f"duplicate output tensor alias: {name}")
    return wanted or sorted(signature.outputs)
