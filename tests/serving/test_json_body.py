"""Bodies that are nested too deep for Python's reader, and what reading them takes."""

import json
import tracemalloc

import pytest

from tfsum.serving.json_body import BRACKET, read_object
from tfsum.serving.request_error import RequestError

DEEP = 100_000
LONG = 2_000_000


@pytest.mark.parametrize("piece", ["x", "\\\\n", '\\\\"', "é"], ids=["letter", "n", "quote", "é"])
def test_a_long_string_in_a_body_nested_too_deep_takes_little_memory(piece):
    """An expression that remembers each character for going back takes 120 bytes of each."""
    text = f'"{piece.replace(chr(92) * 2, chr(92)) * (LONG // len(piece))}"'
    body = f'{{"instances": [{text}, {"[" * DEEP}{"]" * DEEP}]}}'.encode()
    tracemalloc.start()
    try:
        document = read_object(body)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert document["instances"][0] == json.loads(text)
    assert peak < 8 * len(body)


@pytest.mark.parametrize("end", ["", "\\\\"])
def test_a_string_that_does_not_end_is_not_json(end):
    with pytest.raises(RequestError, match="JSON Parse error: "):
        read_object(("[" * DEEP + '"' + "x" * LONG + end).encode())


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        (r'{"a": ["b]", "c\"]"]}', ["{", '"a"', "[", '"b]"', r'"c\"]"', "]", "}"]),
        (r'["\\", "]"]', ["[", r'"\\"', '"]"', "]"]),
        ('["[{', ["[", '"[{']),
    ],
)
def test_brackets_inside_of_strings_are_none(text, tokens):
    assert BRACKET.findall(text) == tokens
