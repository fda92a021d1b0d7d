"""What the page at `/` is made of and asks for beside the REST API."""

import asyncio
import contextlib
import importlib.util
import pathlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping

import numpy as np
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from tfsum.errors import DataError
from tfsum.inference.saved_model import read_vocabularies
from tfsum.inference.texts import as_bytes
from tfsum.inputs.apart import text_apart
from tfsum.request import SENTENCES
from tfsum.serving.json_body import JsonResponse, read_object, received, unless_gone
from tfsum.serving.long_texts import Progress
from tfsum.serving.predictor import MAX_LOGGED, Predictor, as_request_error, offload
from tfsum.serving.request_error import RequestError, invalid, require
from tfsum.serving.servable import Arrays, Servable, byte_count
from tfsum.serving.summarize_api import ModelCalls, SummarizeApi

# Path -> (file in the folder `page`, its type)
FILES = {
    "/": ("index.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/page.js": ("page.js", "text/javascript"),
    "/page/example.txt": ("example.txt", "text/plain"),
}
PAGE_HEADERS = {
    # The page may load files of this server alone, and ask it alone.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src"
        " 'self'; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",
}
# The end of what the page offers to open, which is read with the extra `documents`.
DOCUMENTS = b",.md,.html,.htm,.pdf,.odt,.rtf,.epub,.tex,.ipynb,text/*"
MAX_UPLOADS = 16  # files that wait to be read
LONG = 1 << 15  # bytes of a request whose answer says how far it is
TIMES_LONGER = 4  # than `max_document_bytes` a text may be whose computation ends with its client


class PageApi:
    """The routes of the page.

    Args:
        predictor: Predictor that answers within the limits of the server.
        summarize: Routes for programs, which the page asks too.

    Attributes:
        routes: Routes of the application.

    Example:
        >>> from tfsum.serving import Server, ServerSettings
        >>> predictor = Server(settings=ServerSettings(port=0)).predictor
        >>> [route.path for route in PageApi(predictor, SummarizeApi(predictor)).routes][-1]
        '/page/warnings.json'
    """

    def __init__(self, predictor: Predictor, summarize: SummarizeApi) -> None:
        self._predictor, self._summarize = predictor, summarize
        # Files of the page: those that are read or wait, and the one that is read.
        self._uploads, self._reading = asyncio.Semaphore(MAX_UPLOADS), asyncio.Semaphore(1)
        folder = pathlib.Path(__file__).parent / "page"
        unread = b"" if importlib.util.find_spec("trafilatura") else DOCUMENTS
        files = {
            path: Response(
                (folder / name).read_bytes().replace(unread, b""),
                headers=PAGE_HEADERS,
                media_type=kind,
            )
            for path, (name, kind) in FILES.items()
        }
        self.routes = [
            *(Route(path, file, methods=["GET"]) for path, file in files.items()),
            Route("/page/attention", self.attention, methods=["POST"]),
            Route("/page/summarize", self.summarize, methods=["POST"]),
            Route("/page/text", self.text, methods=["POST"]),
            Route("/page/warnings.json", JsonResponse(SENTENCES), methods=["GET"]),
        ]

    async def summarize(self, request: Request) -> Response:
        """The answer of `POST /summarize`, however long the text is.

        For a long one the body has lines of JSON: `{"progress": ...}` (see `LongTexts.outputs`)
        until `{"answer": ...}` is there, which comes again with its keywords, or `{"error": ...}`.
        """
        content = await received(request, self._predictor)
        fields = await offload(len(content), read_object, content)
        if len(content) <= LONG:
            return await self._summarize.answer(request, fields)

        lines, headers = self._lines(request, fields), {"X-Accel-Buffering": "no"}  # of nginx
        return StreamingResponse(lines, headers=headers, media_type="application/x-ndjson")

    async def _lines(self, request: Request, fields: dict) -> AsyncIterator[bytes]:
        try:
            async for line in self._stages(request, fields):
                yield bytes(JsonResponse(line).body) + b"\n"
        except Exception as error:
            yield bytes(JsonResponse({"error": as_request_error(error).message}).body)

    async def _stages(self, request: Request, fields: dict) -> AsyncIterator[dict[str, object]]:
        with self._summarize.use(request, fields) as (servable, body):
            asked: ModelCalls | None = await self._summarize.asked(servable, body)
            while asked:
                for name, inputs in asked.calls.items():
                    await asyncio.to_thread(
                        self._predictor.check_limits,
                        servable.signatures[name],
                        inputs,
                        TIMES_LONGER,
                    )

                found: dict[str, Arrays] = {}
                outputs_of = self._predictor.long_texts.outputs
                if all(self._summarize.reads(servable, name) for name in asked.calls):
                    outputs_of = self._outputs_of_reading
                async with contextlib.aclosing(outputs_of(servable, asked.calls)) as stages:
                    async for stage in stages:
                        if isinstance(stage, dict):
                            yield {"progress": stage}
                            continue
                        name, outputs = stage
                        request.scope["take"](byte_count(outputs))
                        found[name] = outputs
                        yield {"answer": await asyncio.to_thread(asked.answer, found)}
                asked = asked.again()

    async def _outputs_of_reading(
        self, servable: Servable, calls: Mapping[str, Arrays]
    ) -> AsyncGenerator[Progress | tuple[str, Arrays]]:
        """The stages of `LongTexts.outputs`; a text that was read lately is not read again."""
        (text, *_) = (inputs["text"] for inputs in calls.values())
        read: Arrays = self._summarize.find(servable, text) or {}
        if not read:
            reading = self._predictor.long_texts.outputs(servable, {"read": {"text": text}})
            async with contextlib.aclosing(reading):
                async for stage in reading:
                    if isinstance(stage, dict):
                        yield stage
                    else:
                        _, read = stage
                        self._summarize.keep(servable, text, read)
        for name, inputs in calls.items():
            yield name, await self._summarize.of_reading(servable, name, inputs, read)

    async def attention(self, request: Request) -> Response:
        """The attention between the pieces of a text and of its answer, and the alternatives.

        The body of the request is {"model": NAME, "text": TEXT}.
        """
        body = await received(request, self._predictor)
        document = await offload(len(body), read_object, body)
        name, text = document.get("model"), document.get("text")
        if not isinstance(name, str) or not isinstance(text, str):
            raise invalid('expected {"model": "NAME", "text": "..."}')

        with self._predictor.versions.use(name) as servable:
            require(
                "attend" in servable.signatures,
                f"{name} has no signature 'attend'; it is not an abstractive model, or was"
                " exported by an older tfsum",
            )
            answer = self._predictor.predict(
                servable,
                servable.signatures["attend"],
                {"text": np.array([as_bytes(text)], object)},
                request.scope["take"],
            )
            outputs = await unless_gone(request, answer)
            # The vocabularies are read from files.
            return JsonResponse(await asyncio.to_thread(_in_words, servable.path, outputs))

    async def text(self, request: Request) -> Response:
        """The text of a file that is the body of the request; its name is the parameter `name`."""
        name = request.query_params.get("name", "")[:MAX_LOGGED]
        name = "".join(c for c in name if c.isprintable()) or "the file"
        reading = self.read_file(await received(request, self._predictor), name)
        return JsonResponse({"text": await unless_gone(request, reading)})

    async def read_file(self, body: bytes, name: str) -> str:
        """The text of a file, which is read when those before it are.

        Args:
            body: Content of the file.
            name: Name of the file, for errors.

        Raises:
            RequestError: The file cannot be read, or not in time.
        """
        settings = self._predictor.settings
        require(
            not self._uploads.locked(),
            f"{MAX_UPLOADS} files wait to be read; ask again later",
            "RESOURCE_EXHAUSTED",
            retry_after=1,
        )
        try:
            async with self._uploads, asyncio.timeout(settings.timeout), self._reading:
                return await text_apart(body, name, settings.timeout, settings.max_body)
        except TimeoutError:
            raise RequestError(
                "DEADLINE_EXCEEDED",
                f"{name}: was not read in {settings.timeout:g} s (the server's `--timeout`), with"
                " the files before it; ask again later, or send a smaller one",
            ) from None
        except DataError as error:
            raise invalid(str(error)) from None


def _in_words(path: pathlib.Path, outputs: Arrays) -> dict[str, object]:
    """The outputs of `attend` for one text, with word pieces in place of ids."""
    row = {name: array[0] for name, array in outputs.items()}
    source_pieces, target_pieces = read_vocabularies(path)
    source_ids, ids = (row[name][: np.count_nonzero(row[name])] for name in ("source_ids", "ids"))
    attention = row["attention"][: len(ids), : len(source_ids)]
    shares = row["alternative_probability"].astype(float).round(4).tolist()
    return {
        "source": [source_pieces[i] for i in source_ids],
        "answer": [target_pieces[i] for i in ids],
        "attention": attention.astype(float).round(4).tolist(),
        "alternatives": [
            [[target_pieces[i], share] for i, share in zip(candidates, place)]
            for candidates, place in zip(row["alternatives"][: len(ids)], shares)
        ],
    }
