"""The public face of the package: its names, its version, and what importing it costs."""

import importlib
import importlib.util
import json
import subprocess
import sys

import pytest

import tfsum
from tfsum.moved import MODULES, NAMES


def fresh_python(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


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


def test_calling_an_exported_model_loads_neither_models_nor_training():
    code = (
        "import sys, json, tfsum; tfsum.load()('It rained. The bridge was closed.');"
        "print(json.dumps([name for name in sys.modules if name.startswith('tfsum.')]))"
    )
    loaded = json.loads(fresh_python(code).splitlines()[-1])
    heavy = [
        name
        for name in loaded
        if name.split(".")[1]
        in ("models", "layers", "decoding", "training", "export", "conversion")
    ]
    assert not heavy


@pytest.mark.parametrize("name", sorted(MODULES))
def test_a_module_that_moved_gives_its_new_name(name):
    with pytest.raises(ImportError, match=f"^tfsum.{name} is now tfsum.{MODULES[name]}$"):
        importlib.import_module(f"tfsum.{name}")
    assert importlib.util.find_spec(f"tfsum.{MODULES[name]}")


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_name_that_moved_gives_its_new_one(name):
    module, _, attribute = name.rpartition(".")
    with pytest.raises(AttributeError, match=f"^{name} is now {NAMES[name]}$"):
        getattr(importlib.import_module(module), attribute)
    new, _, attribute = NAMES[name].rpartition(".")
    assert hasattr(importlib.import_module(new), attribute)


def test_children_of_error():
    for child in (
        tfsum.DataError,
        tfsum.CheckpointError,
        tfsum.RecipeError,
        tfsum.ExportError,
        tfsum.Stopped,
    ):
        assert issubclass(child, tfsum.Error)
