"""TensorFlow Serving's REST API: which request is which, and the answer to each.

Source: tensorflow/serving, model_servers/http_rest_api_handler.cc and http_rest_api_util.cc.
"""

import json
import re
import urllib.parse

from google.protobuf.json_format import MessageToDict

from tfsum.serving.example_json import check_method, read_examples, write_results
from tfsum.serving.json_answer import write_predict
from tfsum.serving.json_tensor import (
    invalid,
    read_object,
    read_predict,
    sample_shown,
    signature_name,
)
from tfsum.serving.predictor import Predictor
from tfsum.serving.servable import Servable
from tfsum.serving.worker_thread import beside

WHICH = r"(?:/versions/(?P<version>\d+)|/labels/(?P<label>[^/:]+))?"
ASK = re.compile(
    rf"(?i)/v1/models/(?P<name>[^/:]+){WHICH}:(?P<method>classify|regress|predict)", re.ASCII
)
LOOK = re.compile(rf"(?i)/v1/models(?:/(?P<name>[^/:]+))?{WHICH}(?:/(?P<part>metadata))?", re.ASCII)


class RestApi:
    """Answers the requests below /v1/ from loaded models.

    Args:
        predictor: answers, within the limits of the server.

    Example:
        >>> from tfsum.serving import Server
        >>> api = Server().api  # doctest: +SKIP
        >>> asyncio.run(api.answer("GET", "/v1/models/bert_sum_ext_news_en", b""))  # doctest: +SKIP
        b'{"model_version_status": ...
    """

    def __init__(self, predictor: Predictor) -> None:
        self._predictor, self._versions = predictor, predictor.versions

    async def answer(self, method: str, path: str, body: bytes) -> bytes:
        """The body of the answer to a request.

        Args:
            method: of HTTP.
            path: as it was sent, with its percent signs.
            body: of the request.

        Raises:
            RequestError: it is not answered; the error has the status.
        """
        pattern = {"POST": ASK, "GET": LOOK}.get(method)
        found = pattern.fullmatch(path) if pattern else None
        if found is None:
            raise invalid(f"Malformed request: {method} {path}")
        name = urllib.parse.unquote(found["name"] or "")
        label = None if found["label"] is None else urllib.parse.unquote(found["label"])
        version = _version(found["version"])
        if method == "GET":
            if not name:
                raise invalid("Missing model name in request.")
            return _json(
                self.metadata(name, version, label)
                if found["part"]
                else self.status(name, version, label)
            )
        with self._versions.use(name, version, label) as servable:
            if (asked := found["method"].lower()) == "predict":
                return await self._predict(servable, body)
            return await self._examples(servable, asked, body)

    def status(self, name: str, version: int | None, label: str | None) -> dict:
        """The states of a model's versions.

        Raises:
            RequestError: there is none.
        """
        states = self._predictor.states(name, version, label)
        return {
            "model_version_status": [
                {
                    "version": str(number),
                    "state": found.state,
                    "status": {"error_code": found.code, "error_message": found.message},
                }
                for number, found in states.items()
            ]
        }

    def metadata(self, name: str, version: int | None, label: str | None) -> dict:
        """The signatures of a loaded model.

        Raises:
            RequestError: it is not there.
        """
        with self._versions.use(name, version, label) as servable:
            signatures = {
                key: MessageToDict(
                    found,
                    preserving_proto_field_name=True,
                    always_print_fields_with_no_presence=True,
                )
                for key, found in sorted(servable.definitions.items())
            }
            return {
                "model_spec": {
                    "name": name,
                    "signature_name": "",
                    "version": str(servable.version),
                },
                "metadata": {"signature_def": {"signature_def": signatures}},
            }

    async def _predict(self, servable: Servable, body: bytes) -> bytes:
        request = await beside(len(body), read_predict, body, servable.signature)
        with sample_shown(
            lambda _: request.signature
        ):  # the model may refuse what the signature takes
            outputs = await self._predictor.predict(servable, request.signature, request.inputs)
        return await beside(
            sum(array.nbytes for array in outputs.values()), write_predict, outputs, request.rows
        )

    async def _examples(self, servable: Servable, method: str, body: bytes) -> bytes:
        """The answer to a request of classification or regression."""
        with sample_shown(servable.signature) as known:
            document = await beside(len(body), read_object, body)
            known.append(signature := servable.signature(signature_name(document)))
            check_method(signature, method)
            examples = await beside(len(body), read_examples, document)
            outputs = await self._predictor.predict(
                servable, signature, {next(iter(signature.inputs)): examples}
            )
        return await beside(
            sum(array.nbytes for array in outputs.values()), write_results, outputs, signature
        )


def _version(text: str | None) -> int | None:
    if text is None:
        return None
    if int(text[:40]) >= 1 << 63:
        raise invalid(f"Failed to convert version: {text} to numeric.")
    return int(text)


def _json(value: dict) -> bytes:
    return json.dumps(value, indent=1, ensure_ascii=False).encode("utf-8", "replace")
