"""The public face of the package: its names, its version, and what importing it costs."""

import json
import subprocess
import sys

import pytest

import tfsum


def fresh_python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_import_loads_no_heavy_library():
    code = "import sys, json, tfsum, tfsum.errors, tfsum.cli.main; print(json.dumps(sorted(sys.modules)))"
    loaded = json.loads(fresh_python(code))
    heavy = {"tensorflow", "keras", "tensorflow_text", "numpy", "torch"} & set(loaded)
    assert not heavy, f"`import tfsum` loads {heavy}"


def test_every_public_name_can_be_had():
    for name in tfsum.__all__:
        assert getattr(tfsum, name) is not None, name
    assert set(tfsum.__all__) <= set(dir(tfsum))


def test_an_unknown_name_is_an_attribute_error_that_lists_the_known():
    with pytest.raises(AttributeError, match="no attribute 'Bart'.*BertSumExt"):
        tfsum.Bart  # noqa: B018


def test_children_of_error():
    for child in (tfsum.DataError, tfsum.CheckpointError, tfsum.RecipeError, tfsum.ExportError, tfsum.Stopped):
        assert issubclass(child, tfsum.Error)
