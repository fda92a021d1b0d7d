"""Requests of a client over gRPC: TensorFlow Serving's PredictionService."""

import urllib.parse
from typing import Any

import grpc

from tfsum.serving.request_error import RequestError
from tfsum.serving.servable import Arrays, read_defaults
from tfsum.serving.tensor_proto import from_proto, to_proto
from tfsum.tasks.bert_sum_ext.answering import Defaults
from tfsum.tensorflow_messages import Fields, message

# The server has limits of its own.
NO_LIMITS = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]


class GrpcTransport:
    """Sends requests to one model of a server, as protocol buffers over gRPC.

    Args:
        url: Address, "grpc://HOST:PORT".
        model: Name of the model on the server.
        version: Version of the model; the newest where None.
        token: Token that the server needs, or None.
        timeout: Seconds for a request.

    Example:
        >>> GrpcTransport("grpc://localhost:8500", "news", 2, None, 30.0).spec
        {'name': 'news', 'version': {'value': 2}}
    """

    def __init__(
        self, url: str, model: str, version: int | None, token: str | None, timeout: float
    ) -> None:
        self._url, self._timeout = url, timeout
        which = {} if version is None else {"version": {"value": version}}
        self.spec: dict[str, Any] = {"name": model, **which}
        self._metadata = [] if token is None else [("authorization", f"Bearer {token}")]
        self._channel: grpc.aio.Channel | None = None
        self.defaults: Defaults | None = None  # of the last metadata of a server that says them

    async def predict(self, signature: str, inputs: Arrays) -> Arrays:
        """The outputs of a signature.

        Args:
            signature: Name of the signature.
            inputs: Name -> array.

        Returns:
            Name -> array.

        Raises:
            RequestError: The server refused the request, or was not reached.
        """
        response, _ = await self._call(
            "Predict",
            model_spec={**self.spec, "signature_name": signature},
            inputs={name: to_proto(array) for name, array in inputs.items()},
        )
        return {name: from_proto(tensor) for name, tensor in response.outputs.items()}

    async def signatures(self) -> dict[str, tuple[list[str], list[str]]]:
        """The names of the inputs and outputs of each signature.

        Raises:
            RequestError: There is no such model, or the server was not reached.
        """
        response, headers = await self._call(
            "GetModelMetadata", model_spec=self.spec, metadata_field=["signature_def"]
        )
        self.defaults = read_defaults(headers)
        found = message("SignatureDefMap").FromString(response.metadata["signature_def"].value)
        return {
            name: (sorted(signature.inputs), sorted(signature.outputs))
            for name, signature in found.signature_def.items()
        }

    async def close(self) -> None:
        """Closes the connections."""
        if self._channel is not None:
            await self._channel.close()

    async def _call(self, method: str, **fields: object) -> tuple[Fields, dict[str, str]]:
        """The response of a method to a request with these fields, and its metadata."""
        if self._channel is None:  # it belongs to the loop that runs now
            self._channel = grpc.aio.insecure_channel(
                urllib.parse.urlsplit(self._url).netloc, options=NO_LIMITS
            )
        method_call = self._channel.unary_unary(
            f"/tensorflow.serving.PredictionService/{method}",
            request_serializer=lambda request: request.SerializeToString(),
            response_deserializer=message(f"{method}Response").FromString,
        )
        try:
            call = method_call(
                message(f"{method}Request")(**fields),
                timeout=self._timeout,
                metadata=self._metadata,
            )
            return await call, dict(await call.trailing_metadata())
        except grpc.RpcError as error:
            code, details = error.code().name, error.details() or ""
            reason = f"{self._url}: {details} ({code})"
            if code == "RESOURCE_EXHAUSTED" and "larger than max" in details:
                raise RequestError(
                    "INVALID_ARGUMENT",
                    f"{reason}; send fewer texts, or start the server with a larger --max-body",
                    http_status=413,
                ) from None
            if "failed to connect" in details:
                reason += (
                    "; correct the address, or start a server there: `tfsum serve --grpc-port`"
                )
            raise RequestError(code, reason) from None
