"""TensorFlow Serving's gRPC services: PredictionService and ModelService."""

import asyncio
import contextlib
import functools
import time
from collections.abc import AsyncIterator, Awaitable, Callable

import grpc
from google.protobuf.message import DecodeError

from tfsum.serving.model_versions import STATES
from tfsum.serving.predictor import (
    MAX_LOGGED,
    Predictor,
    Take,
    as_request_error,
    offload,
    span,
)
from tfsum.serving.request_error import CODES, RequestError, invalid, require
from tfsum.serving.servable import Arrays, Signature, byte_count, headers_of
from tfsum.serving.tensor_proto import from_proto, to_proto, type_name
from tfsum.tensorflow_messages import Fields, message

SIGNATURE_DEF = "signature_def"  # the one field of GetModelMetadata


class GrpcServices:
    """Answers Predict, GetModelMetadata and GetModelStatus from loaded models.

    Args:
        predictor: Predictor that answers within the limits of the server.

    Example:
        >>> from tfsum.serving import Server, ServerSettings
        >>> server = Server(settings=ServerSettings(port=0))
        >>> len(GrpcServices(server.predictor).handlers())
        2
    """

    def __init__(self, predictor: Predictor) -> None:
        self._predictor, settings = predictor, predictor.settings
        self._reading = asyncio.Semaphore(max(1, settings.max_bodies // settings.max_body))

    def handlers(self) -> list[grpc.GenericRpcHandler]:
        """The services, for `grpc.aio.Server.add_generic_rpc_handlers`."""
        services = {
            "PredictionService": {"Predict": self._predict, "GetModelMetadata": self._metadata},
            "ModelService": {"GetModelStatus": self._status},
        }
        return [
            grpc.method_handlers_generic_handler(
                f"tensorflow.serving.{service}",
                {
                    # As a stream of one, a request is not read before its token is checked.
                    name: grpc.stream_unary_rpc_method_handler(
                        functools.partial(self._handle, name, call),
                        response_serializer=lambda response: response.SerializeToString(),
                    )
                    for name, call in methods.items()
                },
            )
            for service, methods in services.items()
        ]

    async def _handle(
        self,
        method: str,
        call: Callable[[Fields, grpc.aio.ServicerContext, Take], Awaitable[Fields]],
        requests: AsyncIterator[bytes],
        context: grpc.aio.ServicerContext,
    ) -> Fields:
        """Calls a method; records and traces the call, and gives errors the status of gRPC."""
        begin, action, model = time.monotonic(), f"grpc {method}", ""
        sent = contextlib.ExitStack()
        context.add_done_callback(lambda _: sent.close())
        code = "CANCELLED"  # by the client, or by a server that stops at once
        metadata = dict(context.invocation_metadata() or ())
        with span(action, metadata, rpc_system="grpc", rpc_method=method) as opened:
            try:
                self._predictor.check_token(str(metadata.get("authorization", "")))
                take = sent.enter_context(self._predictor.room())
                content = await self._received(requests)
                take(len(content))
                request = await offload(len(content), _decode, method, content)
                model = request.model_spec.name
                response = await call(request, context, take)
                code = "OK"
                return response
            except Exception as error:
                failed = as_request_error(error)
                code = failed.code
            finally:
                opened["rpc.grpc.status_code"] = CODES[code][0]
                self._predictor.record(
                    begin, model, action, code, method=action, model=model[:MAX_LOGGED]
                )

        return await context.abort(grpc.StatusCode[code], failed.message)

    async def _received(self, requests: AsyncIterator[bytes]) -> bytes:
        """The message of a call; no more are read at once than have room if they are large."""
        timeout = self._predictor.settings.timeout
        try:
            async with asyncio.timeout(timeout), self._reading:
                return await anext(requests, b"")
        except TimeoutError:
            raise RequestError(
                "DEADLINE_EXCEEDED", f"the message did not arrive in {timeout:g} s"
            ) from None

    async def _predict(
        self, request: Fields, context: grpc.aio.ServicerContext, take: Take
    ) -> Fields:
        with self._predictor.versions.use(*_model_version(request)) as servable:
            name = request.model_spec.signature_name or "serving_default"
            require(
                name in servable.signatures,
                f'Serving signature key "{name}" not found.',
                "FAILED_PRECONDITION",
            )
            signature = servable.signatures[name]
            names = signature.wanted_outputs(request.output_filter)
            for tensor in request.inputs.values():
                dims = tensor.tensor_shape.dim
                self._predictor.check_rows(dims[0].size if dims else 1)
            inputs = await offload(request.ByteSize(), _read_inputs, request, signature)

            outputs = await self._predictor.predict(servable, signature, inputs, take)
            outputs = {name: outputs[name] for name in names}
            used = {
                "name": servable.name,
                "signature_name": signature.name,
                "version": {"value": servable.version},
            }
            return await offload(byte_count(outputs), _response, used, outputs)

    async def _metadata(
        self, request: Fields, context: grpc.aio.ServicerContext, take: Take
    ) -> Fields:
        require(
            set(request.metadata_field) == {SIGNATURE_DEF},
            f"metadata_field: found {', '.join(request.metadata_field) or 'none'}; expected"
            f" {SIGNATURE_DEF}",
        )
        with self._predictor.versions.use(*_model_version(request)) as servable:
            context.set_trailing_metadata([*headers_of(servable).items()])
            response = message("GetModelMetadataResponse")(
                model_spec={"name": servable.name, "version": {"value": servable.version}}
            )
            response.metadata[SIGNATURE_DEF].Pack(
                message("SignatureDefMap")(signature_def=servable.definitions)
            )
            return response

    async def _status(
        self, request: Fields, context: grpc.aio.ServicerContext, take: Take
    ) -> Fields:
        states = [
            {
                "version": number,
                "state": STATES[version.state],
                "status": {"error_code": CODES[version.code][0], "error_message": version.message},
            }
            for number, version in self._predictor.versions.status(*_model_version(request)).items()
        ]
        return message("GetModelStatusResponse")(model_version_status=states)


def _decode(method: str, content: bytes) -> Fields:
    try:
        return message(f"{method}Request").FromString(content)
    except DecodeError:
        raise invalid(f"the message is no {method}Request") from None


def _model_version(request: Fields) -> tuple[str, int | None, str | None]:
    """Name, version and label of a ModelSpec, None where it does not have them."""
    spec = request.model_spec  # an empty one where there is none
    require(spec.name, "ModelSpec is missing, or has no name")
    version = spec.version.value if spec.HasField("version") else None
    return spec.name, version, spec.version_label or None


def _read_inputs(request: Fields, signature: Signature) -> Arrays:
    names, expected = set(request.inputs), set(signature.inputs)
    require(
        names == expected,
        f"input size does not match signature: {len(names)}!={len(expected)} len({{"
        f"{','.join(sorted(names))}}}) != len({{{','.join(sorted(expected))}}}). Sent extra: {{"
        f"{','.join(sorted(names - expected))}}}. Missing but required: {{"
        f"{','.join(sorted(expected - names))}}}.",
    )
    for name, tensor in request.inputs.items():
        found, dtype = type_name(tensor), signature.inputs[name].dtype
        require(found == dtype, f"Expected {name} to be of type {dtype}, and it is of type {found}")

    inputs = {name: from_proto(tensor) for name, tensor in request.inputs.items()}
    signature.check_inputs(inputs)
    return inputs


def _response(model_spec: dict, outputs: Arrays) -> Fields:
    return message("PredictResponse")(
        model_spec=model_spec,
        outputs={name: to_proto(array) for name, array in outputs.items()},
    )
