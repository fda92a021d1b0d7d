"""JSON of users' files: whatever is wrong with a text is one kind of error."""

import json
import os
import pathlib
from typing import Any

from tfsum.errors import Error


def parse_json(text: str) -> Any:
    """Parses a JSON text as `json.loads`, which raises errors of other classes for some texts.

    Args:
        text: JSON text.

    Returns:
        The value.

    Raises:
        json.JSONDecodeError: The text is not JSON, is nested too deep for Python, or has an integer
            of more digits than Python converts.

    Example:
        >>> parse_json("[" * 100_000)
        Traceback (most recent call last):
        json.decoder.JSONDecodeError: Arrays or objects nested too deep: line 1 column 1 (char 0)
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except RecursionError:
        reason = "Arrays or objects nested too deep"
    except ValueError as error:  # "...; use sys.set_int_max_str_digits()", which is no cure here
        reason = str(error).partition(";")[0]
    raise json.JSONDecodeError(reason, text, 0)


def read_json_object(
    path: str | os.PathLike, kind: type[Error], expected: str, cure: str
) -> dict[str, Any]:
    """Reads a file that holds a JSON object.

    Args:
        path: JSON file.
        kind: Class of the errors.
        expected: Sentence about what the file is a part of, for messages.
        cure: How to get a whole file, for messages.

    Returns:
        The object.

    Raises:
        Error: The file is missing or holds something else; of the class `kind`.

    Example:
        >>> import tempfile
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "config.json"
        >>> _ = file.write_text('{"hidden_size": 8}')
        >>> read_json_object(file, Error, "a model folder has it", "fetch the file again")
        {'hidden_size': 8}
    """
    try:
        value = parse_json(pathlib.Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise kind(f"{path}: no such file; {expected}") from None
    except OSError as error:
        raise kind(f"{path}: cannot be read ({error.strerror}); {expected}") from None
    except ValueError as error:  # not UTF-8, or not JSON
        raise kind(f"{path}: not JSON ({error}); {cure}") from None

    if not isinstance(value, dict):
        raise kind(f"{path}: holds a {type(value).__name__}; a JSON object was expected; {cure}")
    return value
