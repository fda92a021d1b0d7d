"""The page at `/`, and what it asks that TensorFlow Serving's API has not: the models, and attention in words."""

import asyncio
import json
import pathlib
from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import Response

from tfsum.inference.vocabularies import read_vocabularies
from tfsum.serving.json_tensor import invalid, read_object
from tfsum.serving.predictor import Predictor
from tfsum.serving.request_body import read_body
from tfsum.serving.request_error import RequestError
from tfsum.serving.servable import Servable
from tfsum.serving.settings import ServerSettings
from tfsum.serving.worker_thread import beside

FILES = {
    "/": ("index.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/page.js": ("page.js", "text/javascript"),
}
# What the page may load and ask: this server alone.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


class Page:
    """Answers what the page needs.

    Args:
        predictor: answers requests to models.
        settings: `max_body` and `timeout`.

    Example:
        >>> from tfsum.serving import Server
        >>> with Server() as server:  # doctest: +SKIP
        ...     print(f"open http://127.0.0.1:{server.port}/ in a browser")
    """

    def __init__(self, predictor: Predictor, settings: ServerSettings) -> None:
        self._predictor, self._settings = predictor, settings
        folder = pathlib.Path(__file__).parent / "page"
        self._files = {
            path: ((folder / name).read_bytes(), kind) for path, (name, kind) in FILES.items()
        }

    async def file(self, request: Request) -> Response:
        """A file of the page."""
        content, kind = self._files[request.url.path]
        return Response(
            content,
            media_type=f"{kind}; charset=utf-8",
            headers={
                "Content-Security-Policy": POLICY,
                "X-Content-Type-Options": "nosniff",
                "Cache-Control": "no-cache",
            },
        )

    async def models(self, request: Request) -> Response:
        """The newest version of each model that texts can be sent to."""
        found = [
            _described(servables[-1]) for servables in self._predictor.versions.available().values()
        ]
        return _json({"models": [one for one in found if one is not None]})

    async def attention(self, request: Request) -> Response:
        """The attention of each piece of an answer to each of a text, and what else the model considered at its place.

        {"model", "text"} is asked.

        Raises:
            RequestError: the model has no signature `attend`, or the request is wrong.
        """
        body = await read_body(
            request.stream(),
            request.headers.get("content-encoding", ""),
            self._settings.max_body,
            self._settings.timeout,
        )
        asked = await beside(len(body), read_object, body)
        name, text = asked.get("model"), asked.get("text")
        if not isinstance(name, str) or not isinstance(text, str):
            raise invalid('expected {"model": "NAME", "text": "..."}')
        with self._predictor.versions.use(name) as servable:
            if "attend" not in servable.signatures:
                raise RequestError(
                    "INVALID_ARGUMENT",
                    f"{name} has no signature 'attend'; it is not an abstractive "
                    "model, or was exported by an older tfsum",
                )
            inputs = {"text": np.array([text.encode("utf-8", "replace")], object)}
            outputs = await self._predictor.predict(servable, servable.signatures["attend"], inputs)
            given = {key: array[0] for key, array in outputs.items()}
            return _json(
                await asyncio.to_thread(_in_words, servable, given)
            )  # it reads the vocabularies from files


def _described(servable: Servable) -> dict | None:
    """What the page shows of a model; None for one that takes no text."""
    default = servable.signatures.get("serving_default")
    if default is None or "text" not in default.inputs or not servable.description:
        return None
    return {
        "name": servable.name,
        "version": servable.version,
        "kind": servable.description["kind"],
        "max_sentences": servable.description.get("max_sentences", 0),
        "signatures": sorted(servable.signatures),
    }


def _in_words(servable: Servable, given: dict[str, np.ndarray]) -> dict[str, Any]:
    source_ids, ids, attention = (given[name] for name in ("source_ids", "ids", "attention"))
    written, read = np.count_nonzero(ids), np.count_nonzero(source_ids)
    words, target_words = read_vocabularies(servable.path)
    found = {
        "source": [words[i] for i in source_ids[:read]],
        "answer": [target_words[i] for i in ids[:written]],
        "attention": attention[:written, :read].astype(float).round(4).tolist(),
    }
    if "alternatives" in given:
        shares = given["alternative_probability"].astype(float).round(4).tolist()
        found["alternatives"] = [
            [[target_words[i], share] for i, share in zip(row, shares[place])]
            for place, row in enumerate(given["alternatives"][:written])
        ]
    return found


def _json(value: dict) -> Response:
    return Response(json.dumps(value, ensure_ascii=False), media_type="application/json")
