"""Random bodies of requests: correct, mutated, any JSON, any bytes, near a limit."""

import base64
import json
from typing import TypeVar

import numpy as np

T = TypeVar("T")

MAX_TEXT = 1_000_000  # bytes of a text that the server takes
PUT_IN = rb'" { } [ ] , : \ \ud800 null 1e999 NaN -'.split() + [b"\0", b"\xff"]

Json = object  # what `json.loads` gives


class Maker:
    """Makes requests."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def one_of(self, *choices: T) -> T:
        return choices[self.random.integers(len(choices))]

    def text(self) -> str:
        length = int(self.random.integers(0, self.one_of(2, 20, 200, 5000)))
        low, high = self.one_of(
            (32, 127), (0, 0x300), (0xAC00, 0xD7A3), (0x1F300, 0x1F700), (0, 0x110000)
        )
        points = self.random.integers(low, high, length)
        return "".join(chr(point) for point in points if not 0xD800 <= point < 0xE000)

    def value(self, text: str) -> Json:
        return (
            {"b64": base64.b64encode(text.encode()).decode()}
            if self.random.random() < 0.2
            else text
        )

    def body(self) -> bytes:
        """A correct body."""
        values = [
            self.value(self.text()) for _ in range(self.random.integers(1, self.one_of(2, 5, 40)))
        ]
        if self.random.random() < 0.5:
            rows = [{"text": value} for value in values] if self.random.random() < 0.3 else values
            made: dict[str, Json] = {"instances": rows}
        else:
            made = {"inputs": {"text": values} if self.random.random() < 0.5 else values}
        if self.random.random() < 0.3:
            made["signature_name"] = "serving_default"
        if self.random.random() < 0.2:
            made[self.text()[:20] or "other"] = self.json(3)
        written = json.dumps(
            made, ensure_ascii=bool(self.random.integers(2)), indent=self.one_of(None, 1)
        )
        return written.encode("utf-8", "surrogatepass")

    def json(self, depth: int) -> Json:
        kind = self.random.integers(8 if depth else 6)
        if kind == 6:
            return [self.json(depth - 1) for _ in range(self.random.integers(0, 4))]
        if kind == 7:
            names = ("instances", "inputs", "text", "b64", "signature_name", "", "x")
            return {
                self.one_of(*names): self.json(depth - 1) for _ in range(self.random.integers(0, 4))
            }
        return self.one_of(
            None,
            True,
            1,
            -0.5,
            1e308,
            float("nan"),
            "",
            "a",
            "\ud800",
            "serving_default",
            "AA==",
            10**400,
            self.text()[:9],
        )

    def mutated(self, body: bytes) -> bytes:
        """A body with a few bytes changed, removed, repeated or put in."""
        made = bytearray(body)
        for _ in range(self.random.integers(1, 6)):
            place = int(self.random.integers(len(made) + 1))
            size = int(self.random.integers(1, 9))
            match self.random.integers(5):
                case 0:
                    made[place : place + 1] = bytes([self.random.integers(256)])
                case 1:
                    del made[place : place + size]
                case 2:
                    made[place:place] = made[place : place + size]
                case 3:
                    made[place:place] = self.one_of(*PUT_IN)
                case 4:
                    del made[place:]
        return bytes(made)

    def at_a_limit(self) -> tuple[str, bytes]:
        """A kind of body, and a body near a limit of the server or beyond it."""
        size = int(10 ** self.random.uniform(1, 7.5))
        match self.random.integers(5):
            case 0:
                rows = self.one_of(1, 1023, 1024, 1025, size)
                return "rows", json.dumps({"instances": [self.one_of("", "a")] * rows}).encode()
            case 1:
                deep = self.one_of(b"[", b'{"a":') * min(size, 1_000_000)
                return "depth", self.one_of(deep, b'{"instances":["a"],"x":' + deep)
            case 2:
                digits = b"1" * min(size, 1_000_000)
                return "digits", self.one_of(
                    b'{"instances":["a"],"x":' + digits + b"}", b'{"instances":[' + digits + b"]}"
                )
            case 3:
                text = self.one_of("a", " ", "\n", "\\", '"', "가") * min(size, MAX_TEXT + 2)
                return "a long text", json.dumps({"instances": [text]}).encode()
        texts = [self.one_of("a", "é", "\\") * self.one_of(1, 1000, 40_000)] * self.one_of(
            1, 9, 900
        )
        return "bytes", json.dumps({"inputs": {"text": texts}}).encode()

    def of_kind(self, kind: str) -> bytes:
        match kind:
            case "json":
                made = self.json(4)
                return json.dumps(self.one_of({"instances": made}, made)).encode()
            case "bytes":
                return self.random.bytes(self.random.integers(0, 300))
            case "deep":
                deep = self.one_of(b"[", b'{"a":') * int(self.random.integers(1, 100_000))
                begin = self.one_of(b"", b'{"instances":', b'{"instances":["a"],"x":')
                return begin + deep
            case "mutated":
                return self.mutated(self.body())
        return self.body()

    def request(self) -> tuple[str, bytes]:
        """A kind of body, and the body."""
        kind = self.one_of(
            "correct", "correct", "mutated", "mutated", "json", "json", "bytes", "deep"
        )
        return kind, self.of_kind(kind)
