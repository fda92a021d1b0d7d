"""TensorFlow Serving's REST API: the routes below /v1/, and the answer to each.

Source: tensorflow/serving, model_servers/http_rest_api_handler.cc and http_rest_api_util.cc.
"""

import asyncio
import contextlib
import functools
import json
import urllib.parse
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

from google.protobuf.json_format import MessageToDict
from starlette.convertors import Convertor, register_url_convertor
from starlette.endpoints import HTTPEndpoint
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from tfsum.serving.json_body import read_object
from tfsum.serving.json_tensor import read_inputs, row_count, signature_name, write_outputs
from tfsum.serving.predictor import MAX_LOGGED, Predictor, offload
from tfsum.serving.request_error import RequestError, invalid, require
from tfsum.serving.servable import Servable, headers_of
from tfsum.serving.signature import Arrays, Signature

T = TypeVar("T")
# A signature, its inputs, and a function that writes its outputs in JSON
Reading = tuple[Signature, Arrays, Callable[[Arrays], bytes]]
MODEL_PATHS = [
    "/v1/models/{name:segment}" + which
    for which in ("", "/versions/{version:version}", "/labels/{label:segment}")
]
# Methods of the API that no model of tfsum answers -> the kind of signature that they need.
UNSUPPORTED = {"classify": "classification", "regress": "regression"}


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
        require(
            int(digits) < 1 << 63, f"Failed to convert version: {value[:MAX_LOGGED]} to numeric."
        )
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
        method, path = self.scope["method"], self.scope["path"]
        raise invalid(f"Malformed request: {method} {path[:MAX_LOGGED]}")


class JsonResponse(Response):
    """A response in JSON, readable by people; a character that UTF-8 does not have becomes "?".

    Example:
        >>> JsonResponse({"error": "no text"}, 400).body
        b'{"error": "no text"}'
    """

    media_type = "application/json"

    def render(self, content: object) -> bytes:
        """The body of the response."""
        return json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")


@contextlib.asynccontextmanager
async def received(request: Request, predictor: Predictor) -> AsyncIterator[bytes]:
    """Reads the body of a request, which counts among those of all requests until it is answered.

    Args:
        request: Request over HTTP; its body may be packed by gzip.
        predictor: Predictor with the settings, and the count of the bytes. `max_body` limits the
            unpacked body, `timeout` the time in which it arrives.

    Yields:
        The unpacked body.

    Raises:
        RequestError: The body is too large (413), or too large beside others (429), too slow
            (408), packed otherwise than by gzip (415), or broken (400).
    """
    encoding = request.headers.get("content-encoding", "").strip().lower()
    require(
        encoding in ("", "identity", "gzip", "x-gzip"),
        f"Content-Encoding is {encoding!r}; expected gzip or none",
        http_status=415,
    )

    gzip = zlib.decompressobj(zlib.MAX_WBITS | 16) if "gzip" in encoding else None
    limit, timeout = predictor.settings.max_body, predictor.settings.timeout
    body = bytearray()
    with predictor.room() as take:
        try:
            async with asyncio.timeout(timeout):
                async for chunk in request.stream():
                    part = gzip.decompress(chunk, limit + 1 - len(body)) if gzip else chunk
                    take(len(part))
                    body += part
                    require(
                        len(body) <= limit,
                        f"the body has more than {limit} bytes; send fewer documents, or start the"
                        " server with a larger --max-body",
                        http_status=413,
                    )
        except TimeoutError:
            raise RequestError(
                "DEADLINE_EXCEEDED",
                f"the body did not arrive in {timeout:g} s",
                http_status=408,
            ) from None
        except zlib.error as error:
            raise invalid(f"the body is not in gzip's format ({error})") from None

        require(gzip is None or gzip.eof, "the body in gzip's format is cut off")
        yield bytes(body)


async def unless_gone(request: Request, answer: Awaitable[T]) -> T:
    """Waits for an answer as long as its client does.

    Args:
        request: Request whose body was read.
        answer: Answer, cancelled when the client is gone.

    Raises:
        ClientDisconnect: The client is gone.

    Example:
        >>> async def answer():
        ...     return "It rained."
        >>> async def ask():
        ...     request = Request({"type": "http"}, asyncio.Event().wait)
        ...     return await unless_gone(request, answer())
        >>> asyncio.run(ask())
        'It rained.'
    """
    answered, gone = asyncio.ensure_future(answer), asyncio.ensure_future(request.receive())
    try:
        await asyncio.wait((answered, gone), return_when=asyncio.FIRST_COMPLETED)
        if not answered.done():
            raise ClientDisconnect
        return answered.result()
    finally:
        answered.cancel()
        gone.cancel()


async def predicted(
    request: Request,
    predictor: Predictor,
    read: Callable[[bytes, Servable], Reading],
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
    async with received(request, predictor) as body:
        with predictor.versions.use(**request.path_params) as servable:
            timeout = predictor.settings.timeout
            try:
                async with asyncio.timeout(timeout):
                    signature, inputs, write = await offload(len(body), read, body, servable)
            except TimeoutError:
                raise RequestError(
                    "DEADLINE_EXCEEDED",
                    f"the request was not read in {timeout:g} s (the server's `--timeout`); send"
                    " fewer or shorter documents",
                ) from None

            outputs = await unless_gone(request, predictor.predict(servable, signature, inputs))
            size = sum(array.nbytes for array in outputs.values())
            content = await offload(size, write, outputs)
            return Response(content, media_type=JsonResponse.media_type)


class RestApi:
    """Answers the requests below /v1/ from loaded models.

    Args:
        predictor: Predictor that answers within the limits of the server.

    Attributes:
        routes: Routes of Starlette. Their paths are matched as they were sent, with percent signs.

    Example:
        >>> from tfsum.serving import Server, ServerSettings
        >>> server = Server(settings=ServerSettings(port=0))
        >>> RestApi(server.predictor).routes[2]
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
            Route("/v1/models", _no_name),
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
                    for number, version in self._predictor.versions.status(
                        **request.path_params
                    ).items()
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
            inputs = read_inputs(document, signature)
            write = functools.partial(write_outputs, rows="instances" in document)
            return signature, inputs, write

        try:
            return await predicted(request, self._predictor, read)
        except RequestError as error:
            if asked is None or error.http_status != 400:
                raise
            message = f"{error.message}; a correct body is {asked.sample_body()}"
            raise RequestError(error.code, message) from None

    async def unsupported(self, request: Request) -> Response:
        """Refuses `:classify` and `:regress`."""
        method = request.scope["path"].rpartition(":")[2]
        with self._versions.use(**request.path_params):
            raise invalid(
                f"Expected {UNSUPPORTED[method]} signature method_name to be"
                f" tensorflow/serving/{method}. Was: tensorflow/serving/predict; ask the model by"
                " :predict, the one method that tfsum serve answers"
            )


async def _no_name(request: Request) -> Response:
    raise invalid("Missing model name in request.")
