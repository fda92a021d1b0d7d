"""Requests of a client over HTTP: TensorFlow Serving's REST API."""

import base64
import json
import urllib.parse
from typing import Any

import httpx2

from tfsum.serving.json_tensor import read_array
from tfsum.serving.request_error import CODES, RequestError, require
from tfsum.serving.servable import Arrays, read_defaults
from tfsum.tasks.bert_sum_ext.answering import Defaults

# Status of HTTP -> code; of several codes with one status, the first.
CODE_OF_STATUS = {status: code for code, (_, status) in reversed(CODES.items())} | {
    200: "UNKNOWN",  # of an answer that is none
    408: "DEADLINE_EXCEEDED",
    413: "INVALID_ARGUMENT",
}

# A token for this machine does not go through a proxy of the environment.
NO_PROXY = {f"all://{host}": None for host in ("localhost", "*.localhost", "127.0.0.1", "[::1]")}


class HttpTransport:
    """Sends requests to one model of a server, as JSON over HTTP.

    Args:
        url: Address, "http://HOST:PORT" or "https://HOST:PORT".
        model: Name of the model on the server.
        version: Version of the model; the newest where None.
        token: Token that the server needs, or None.
        timeout: Seconds for a request.

    Example:
        >>> HttpTransport("http://localhost:8501", "news", None, None, 30.0).path
        '/v1/models/news'
    """

    def __init__(
        self, url: str, model: str, version: int | None, token: str | None, timeout: float
    ) -> None:
        which = "" if version is None else f"/versions/{version}"
        self.path = f"/v1/models/{urllib.parse.quote(model, safe='')}{which}"
        self._client = httpx2.AsyncClient(
            base_url=url,
            headers={} if token is None else {"Authorization": f"Bearer {token}"},
            timeout=timeout,
            mounts=NO_PROXY,
        )
        self._url, self._timeout = url.rstrip("/"), timeout
        self._signatures: dict[str, Any] = {}  # of the last metadata
        self.defaults: Defaults | None = None  # likewise, of a server that says them

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
        if signature not in self._signatures:
            await self._read_metadata()
        expected = self._infos(signature, "inputs")
        unknown = sorted(set(inputs) - set(expected))
        require(
            not expected or not unknown,  # the server would ignore them
            f"{self.path[1:]}: the signature {signature} does not have the inputs"
            f" {', '.join(unknown)}; expected {', '.join(sorted(expected))}",
        )

        body = {
            "signature_name": signature,
            "inputs": {name: array.tolist() for name, array in inputs.items()},
        }
        answer, _ = await self._send(
            "POST", f"{self.path}:predict", json.dumps(body, default=_encode).encode()
        )
        outputs = answer["outputs"]
        if not self._fits(outputs, signature):  # a new version may have other outputs
            await self._read_metadata()
        infos = self._infos(signature, "outputs")
        require(
            self._fits(outputs, signature),
            f"{self.path[1:]}, signature {signature}: the answer does not have the outputs of the"
            f" metadata, {', '.join(sorted(infos)) or 'none'}; ask again, a new version may just"
            " have arrived",
            "UNKNOWN",
        )
        if len(infos) == 1:
            outputs = dict.fromkeys(infos, outputs)
        return {
            name: read_array(value, infos[name]["dtype"].removeprefix("DT_").lower())
            for name, value in outputs.items()
        }

    async def signatures(self) -> dict[str, tuple[list[str], list[str]]]:
        """The names of the inputs and outputs of each signature.

        Raises:
            RequestError: There is no such model, or the server was not reached.
        """
        await self._read_metadata()
        return {
            name: (sorted(signature.get("inputs", {})), sorted(signature.get("outputs", {})))
            for name, signature in self._signatures.items()
        }

    async def close(self) -> None:
        """Closes the connections."""
        await self._client.aclose()

    def _infos(self, signature: str, side: str) -> dict[str, dict]:
        """Type and shape of the inputs or the outputs of a signature, as far as it is known."""
        return self._signatures.get(signature, {}).get(side, {})

    def _fits(self, outputs: object, signature: str) -> bool:
        """Whether the outputs of an answer are those of the metadata."""
        infos = self._infos(signature, "outputs")
        if len(infos) == 1:  # it is written without its name
            return not isinstance(outputs, dict) or set(outputs) == {"b64"}
        return isinstance(outputs, dict) and set(outputs) == set(infos)

    async def _read_metadata(self) -> None:
        answer, headers = await self._send("GET", f"{self.path}/metadata")
        self._signatures = answer["metadata"]["signature_def"]["signature_def"]
        self.defaults = read_defaults(headers)

    async def _send(
        self, method: str, path: str, content: bytes | None = None
    ) -> tuple[dict[str, Any], httpx2.Headers]:
        """The answer to a request, and its headers."""
        try:
            response = await self._client.request(method, path, content=content)
        except httpx2.TimeoutException:
            raise RequestError(
                "DEADLINE_EXCEEDED",
                f"{self._url}: no answer in {self._timeout:g} s; send fewer texts, or set a larger"
                " timeout",
            ) from None
        except (httpx2.NetworkError, httpx2.RemoteProtocolError) as error:
            raise RequestError(
                "UNAVAILABLE",
                f"{self._url}: cannot be reached ({str(error) or type(error).__name__}); correct"
                " the address, or start a server there: `tfsum serve`",
            ) from None
        except httpx2.HTTPError as error:
            raise RequestError(
                "UNKNOWN", f"{self._url}: {str(error) or type(error).__name__}"
            ) from None

        try:
            answer = response.json()
        except ValueError:
            found = " ".join(response.text.split())[:200]
            answer = {"error": f"expected JSON, found {found!r}"}
        if not isinstance(answer, dict):
            answer = {"error": "the answer is not a JSON object"}
        if response.status_code == 200 and "error" not in answer:
            return answer, response.headers

        retry_after = response.headers.get("retry-after", "")
        raise RequestError(
            CODE_OF_STATUS.get(response.status_code, "UNKNOWN"),
            f"{self._url}{path}: {answer.get('error', '')} (status {response.status_code})",
            http_status=response.status_code,
            retry_after=float(retry_after) if retry_after.replace(".", "", 1).isdecimal() else None,
        )


def _encode(text: bytes) -> str | dict[str, str]:
    """A text as a JSON value: bytes that are not UTF-8 in base64."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(text).decode()}
