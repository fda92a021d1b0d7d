"""How a client's requests travel: JSON over HTTP, or protocol buffers over gRPC."""

import base64
import dataclasses
import json
import urllib.parse
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from tfsum.errors import Error
from tfsum.serving.request_error import CODES, RequestError
from tfsum.serving.signature import NUMPY

CODE_OF_STATUS = {
    408: "DEADLINE_EXCEEDED",
    413: "INVALID_ARGUMENT",
    **{
        http: code
        for code, (_, http) in reversed(CODES.items())
        if code not in ("FAILED_PRECONDITION", "OUT_OF_RANGE")
    },
}
TYPE_PREFIX = "DT_"

Arrays = dict[str, np.ndarray]
Signatures = dict[str, tuple[list[str], list[str]]]  # name -> (inputs, outputs)


@dataclasses.dataclass(frozen=True)
class Question:
    """A request to a signature.

    Attributes:
        signature: its name.
        inputs: name -> array.

    Example:
        >>> Question("score", {}).signature
        'score'
    """

    signature: str
    inputs: Arrays


class Transport(Protocol):
    """What carries requests to one model of a server.

    Example:
        >>> transport_of("http://localhost:8501", "news", None, None, 30.0)  # doctest: +ELLIPSIS
        <tfsum.serving.transport.HttpTransport object at ...>
    """

    async def predict(self, question: Question) -> Arrays:
        """The answer to a request."""

    async def signatures(self) -> Signatures:
        """The inputs and outputs of each signature of the model."""

    async def close(self) -> None:
        """Closes the connections."""


def transport_of(
    url: str, model: str, version: int | None, token: str | None, timeout: float
) -> Transport:
    """The transport for an address.

    Args:
        url: "http://...", "https://..." or "grpc://...".
        model: its name on the server.
        version: of it; the newest where None.
        token: that the server needs.
        timeout: seconds for a request.

    Raises:
        Error: the address is of another kind, or the package for it is not installed.

    Example:
        >>> transport_of("localhost:8501", "news", None, None, 30.0)
        Traceback (most recent call last):
        tfsum.errors.Error: 'localhost:8501': expected http://HOST:PORT, https://HOST:PORT or grpc://HOST:PORT
    """
    parts = urllib.parse.urlsplit(url)
    kinds: dict[str, type] = {"http": HttpTransport, "https": HttpTransport, "grpc": GrpcTransport}
    if parts.scheme not in kinds or not parts.hostname:
        raise Error(f"{url!r}: expected http://HOST:PORT, https://HOST:PORT or grpc://HOST:PORT")
    try:
        return kinds[parts.scheme](url, model, version, token, timeout)
    except ModuleNotFoundError as error:
        raise Error(
            f"a client of {parts.scheme}:// needs the package {error.name}; pip install 'tfsum[client]'"
        ) from None


class HttpTransport:
    """TensorFlow Serving's REST API; for the arguments see `transport_of`.

    Example:
        >>> HttpTransport("http://localhost:8501", "news", None, None, 30.0)  # doctest: +ELLIPSIS
        <tfsum.serving.transport.HttpTransport object at ...>
    """

    def __init__(
        self, url: str, model: str, version: int | None, token: str | None, timeout: float
    ) -> None:
        import httpx

        self._httpx = httpx
        self._path = f"/v1/models/{urllib.parse.quote(model, safe='')}" + (
            "" if version is None else f"/versions/{version}"
        )
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._client = httpx.AsyncClient(base_url=url, headers=headers, timeout=timeout)
        self._signatures: dict[str, Any] | None = None

    async def predict(self, question: Question) -> Arrays:
        """The answer to a request.

        Raises:
            RequestError: the server refused it, or was not reached.
        """
        name = question.signature
        known = (await self._described(lambda found: name in found)).get(name, {}).get("inputs", {})
        if known and (
            more := sorted(set(question.inputs) - set(known))
        ):  # which a server would ignore
            raise RequestError(
                "INVALID_ARGUMENT",
                f"{self._path[1:]}: the signature {name} does not have the inputs "
                f"{', '.join(more)}; expected {', '.join(sorted(known))}",
            )
        body = {
            "signature_name": name,
            "inputs": {key: _json(array) for key, array in question.inputs.items()},
        }
        outputs = (await self._send("POST", f"{self._path}:predict", json.dumps(body).encode()))[
            "outputs"
        ]
        found = await self._described(
            lambda found: name in found and _fits(outputs, found[name].get("outputs", {}))
        )
        return _named(
            outputs, found.get(name, {}).get("outputs", {}), f"{self._path[1:]}, signature {name}"
        )

    async def signatures(self) -> Signatures:
        """The inputs and outputs of each signature of the model.

        Raises:
            RequestError: there is no such model, or the server was not reached.
        """
        return {
            name: (sorted(found.get("inputs", {})), sorted(found.get("outputs", {})))
            for name, found in (await self._described(lambda _: False)).items()
        }

    async def close(self) -> None:
        """Closes the connections."""
        await self._client.aclose()

    async def _described(self, fits: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The signatures as the metadata give them, asked for again where those known do not fit: of a new version."""
        if self._signatures is None or not fits(self._signatures):
            described = await self._send("GET", f"{self._path}/metadata")
            self._signatures = described["metadata"]["signature_def"]["signature_def"]
        return self._signatures

    async def _send(self, method: str, path: str, body: bytes | None = None) -> Any:
        try:
            answer = await self._client.request(method, path, content=body)
        except self._httpx.TimeoutException:
            raise RequestError(
                "DEADLINE_EXCEEDED",
                f"{self._client.base_url}: no answer in "
                f"{self._client.timeout.read:g} s; send fewer texts, or give a larger timeout",
            ) from None
        except self._httpx.ConnectError as error:
            raise RequestError(
                "UNAVAILABLE", f"{self._client.base_url}: cannot be reached ({error})"
            ) from None
        except self._httpx.HTTPError as error:
            raise RequestError(
                "UNKNOWN", f"{self._client.base_url}: {error or type(error).__name__}"
            ) from None
        try:
            found = answer.json()
        except ValueError:
            found = {"error": answer.text[:200]}
        if answer.status_code != 200 or not isinstance(found, dict):
            after = answer.headers.get("retry-after", "")
            said = found.get("error", "") if isinstance(found, dict) else ""
            url = f"{str(self._client.base_url).rstrip('/')}{path}"
            raise RequestError(
                CODE_OF_STATUS.get(answer.status_code, "UNKNOWN"),
                f"{url}: {said} (status {answer.status_code})",
                http_status=answer.status_code,
                retry_after=float(after) if after.replace(".", "", 1).isdecimal() else None,
            )
        return found


class GrpcTransport:
    """TensorFlow Serving's gRPC service; for the arguments see `transport_of`.

    Example:
        >>> GrpcTransport("grpc://localhost:8500", "news", None, None, 30.0)  # doctest: +SKIP
    """

    def __init__(
        self, url: str, model: str, version: int | None, token: str | None, timeout: float
    ) -> None:
        import grpc

        from tfsum.serving.protocol import message

        self._grpc, self._message, self._url = grpc, message, url
        self._model, self._version, self._timeout = model, version, timeout
        self._metadata = [] if token is None else [("authorization", f"Bearer {token}")]
        self._channel: Any = None

    async def predict(self, question: Question) -> Arrays:
        """The answer to a request.

        Raises:
            RequestError: the server refused it, or was not reached.
        """
        from tfsum.serving.tensor_proto import from_proto, to_proto

        request = self._request("PredictRequest")
        request.model_spec.signature_name = question.signature
        for name, array in question.inputs.items():
            request.inputs[name].CopyFrom(to_proto(array))
        response = await self._call("Predict", request, "PredictResponse")
        return {name: from_proto(tensor) for name, tensor in response.outputs.items()}

    async def signatures(self) -> Signatures:
        """The inputs and outputs of each signature of the model.

        Raises:
            RequestError: there is no such model, or the server was not reached.
        """
        request = self._request("GetModelMetadataRequest")
        request.metadata_field.append("signature_def")
        response = await self._call("GetModelMetadata", request, "GetModelMetadataResponse")
        found = self._message("SignatureDefMap").FromString(
            response.metadata["signature_def"].value
        )
        return {
            name: (sorted(one.inputs), sorted(one.outputs))
            for name, one in found.signature_def.items()
        }

    def _request(self, kind: str) -> Any:
        """A message to the model."""
        request = self._message(kind)()
        request.model_spec.name = self._model
        if self._version is not None:
            request.model_spec.version.value = self._version
        return request

    async def _call(self, method: str, request: Any, answer: str) -> Any:
        if self._channel is None:  # it belongs to the loop that runs now
            unlimited = [(f"grpc.max_{way}_message_length", -1) for way in ("send", "receive")]
            self._channel = self._grpc.aio.insecure_channel(
                urllib.parse.urlsplit(self._url).netloc, options=unlimited
            )
        call = self._channel.unary_unary(
            f"/tensorflow.serving.PredictionService/{method}",
            request_serializer=lambda made: made.SerializeToString(),
            response_deserializer=self._message(answer).FromString,
        )
        try:
            return await call(request, timeout=self._timeout, metadata=self._metadata)
        except self._grpc.RpcError as error:
            code, said = error.code().name, f"{self._url}: {error.details()} ({error.code().name})"
            if code == "RESOURCE_EXHAUSTED" and "larger than max" in (error.details() or ""):
                raise RequestError(
                    "INVALID_ARGUMENT",
                    f"{said}; send fewer texts, or start the server with a larger --max-body",
                    http_status=413,
                ) from None
            raise RequestError(code, said) from None

    async def close(self) -> None:
        """Closes the connections."""
        if self._channel is not None:
            await self._channel.close()


def _fits(outputs: Any, infos: dict) -> bool:
    """Whether the outputs of an answer are those of the metadata; one alone is written without its name."""
    if len(infos) == 1:
        return not isinstance(outputs, dict) or set(outputs) == {"b64"}
    return isinstance(outputs, dict) and set(outputs) == set(infos)


def _named(outputs: Any, infos: dict, what: str) -> Arrays:
    """The outputs of an answer by name."""
    if not _fits(outputs, infos):
        raise RequestError(
            "UNKNOWN",
            f"{what}: the answer does not have the outputs of the metadata, "
            f"{', '.join(sorted(infos)) or 'none'}; ask again, a new version may just have arrived",
        )
    named = {next(iter(infos)): outputs} if len(infos) == 1 else outputs
    return {name: _array(value, infos[name]) for name, value in named.items()}


def _json(array: np.ndarray) -> Any:
    """An array as a JSON value; bytes that are no UTF-8 in base64."""
    if array.dtype != object:
        return array.tolist()
    if array.ndim != 1:
        return [_json(row) for row in array]
    found: list[Any] = []
    for value in array:
        try:
            found.append(value.decode())
        except UnicodeDecodeError:
            found.append({"b64": base64.b64encode(value).decode()})
    return found


def _array(value: Any, info: dict) -> np.ndarray:
    """A JSON value as an array of the type that the metadata give."""
    kind = NUMPY[info["dtype"].removeprefix(TYPE_PREFIX).lower()]
    if kind != "object":
        return np.array(value, kind)
    rank = len(info["tensor_shape"].get("dim", []))
    shape, first = [], value
    for _ in range(rank):
        shape.append(len(first))
        first = first[0] if first else []
    flat = [value]
    for _ in range(rank):
        flat = [item for row in flat for item in row]
    array = np.empty(len(flat), object)
    array[:] = [
        base64.b64decode(item["b64"]) if isinstance(item, dict) else item.encode() for item in flat
    ]
    return array.reshape(shape)
