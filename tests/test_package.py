"""The public face of the package: its names, its version, and what importing it costs."""

import ast
import collections
import json
import pathlib
import subprocess
import sys

import pytest

import tfsum


def test_import_loads_no_heavy_library():
    code = (
        "import sys, json, tfsum, tfsum.errors, tfsum.cli.main;"
        " print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    loaded = json.loads(done.stdout)
    heavy = {"tensorflow", "keras", "tensorflow_text", "numpy", "torch"} & set(loaded)
    assert not heavy, f"`import tfsum` loads {heavy}"


def test_every_public_name_can_be_had():
    for name in tfsum.__all__:
        assert getattr(tfsum, name) is not None, name
    assert set(tfsum.__all__) <= set(dir(tfsum))


def test_figures_are_listed():
    import tfsum.visualization

    assert {"plot_attention", "bert_attention"} <= set(dir(tfsum.visualization))


@pytest.mark.slow
def test_keras_files_load_where_keras_is_imported_first(tmp_path, fresh_python):
    model = tfsum.Transformer(9, 9, 1, 1, 8, 2, 8)
    model.build()
    model.save(tmp_path / "t.keras")
    load = f"print(type(keras.models.load_model({str(tmp_path / 't.keras')!r})).__name__)"
    assert fresh_python(f"import keras, tfsum; {load}").strip() == "Transformer"
    # The other way round the error names the module to import, and tfsum stays light.
    code = f"import tfsum, keras\ntry: {load}\nexcept TypeError as error: print(error)"
    assert "'module': 'tfsum.models.transformer'" in fresh_python(code)
    assert fresh_python(f"import tfsum.models, keras; {load}").strip() == "Transformer"


def test_an_unknown_name_is_an_attribute_error_that_lists_the_known():
    with pytest.raises(AttributeError, match="no attribute 'Bart'.*BertSumExt"):
        tfsum.Bart  # noqa: B018


def test_calling_an_exported_model_loads_neither_models_nor_training(fresh_python):
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


def test_children_of_error():
    for child in (
        tfsum.DataError,
        tfsum.CheckpointError,
        tfsum.RecipeError,
        tfsum.ExportError,
        tfsum.Stopped,
    ):
        assert issubclass(child, tfsum.Error)


def test_no_two_classes_have_one_name():
    """Except the settings classes of the models, each of which is named by its folder."""
    modules = collections.defaultdict(list)
    for path in pathlib.Path(tfsum.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.endswith("Settings"):
                modules[node.name].append(str(path))
    assert {name: paths for name, paths in modules.items() if len(paths) > 1} == {}
