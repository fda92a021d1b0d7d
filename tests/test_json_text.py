"""JSON that Python's own reader answers with other errors than that of wrong JSON."""

import json

import pytest

from tfsum.errors import DataError
from tfsum.json_text import parse_json, read_json_object

DEEP, LONG = "[" * 100_000 + "]" * 100_000, "9" * 5_000


@pytest.mark.parametrize(
    ("text", "says"),
    [(DEEP, "nested too deep"), (LONG, "Exceeds the limit .4300"), ("{", "property name")],
)
def test_all_are_one_error(text, says):
    with pytest.raises(json.JSONDecodeError, match=says) as caught:
        parse_json(text)
    assert len(str(caught.value)) < 200


def test_what_python_reads_is_read():
    text = json.dumps([{"a": [1, 2.5, None, "é"]}] * 3)
    assert parse_json(text) == json.loads(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f'{{"a": {DEEP}}}', r"not JSON \(Arrays or objects nested too deep: .*\); take another"),
        (f'{{"a": {LONG}}}', r"not JSON \(Exceeds the limit .*\); take another"),
        ("[]", "holds a list; a JSON object was expected; take another"),
        (b"\xff", "not JSON"),
        (None, "no such file; one is expected"),
    ],
)
def test_a_file_that_holds_no_object(tmp_path, text, says):
    file = tmp_path / "a.json"
    if text is not None:
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(DataError, match=f"a.json: {says}") as caught:
        read_json_object(file, DataError, "one is expected", "take another")
    assert "\n" not in str(caught.value)
