"""Bodies that are nested too deep for Python's reader."""

import pytest

from tfsum.serving.json_body import read_object
from tfsum.serving.request_error import RequestError


@pytest.mark.parametrize("body", ['{"instances": %s%s}', "%s%s", '{"nested": %s1'])
def test_a_body_that_is_nested_too_deep_is_refused(body):
    deep = body.replace("%s", "[" * 100_000, 1).replace("%s", "]" * 100_000)
    with pytest.raises(RequestError, match="JSON Parse error: lists and objects are nested too"):
        read_object(deep.encode())
