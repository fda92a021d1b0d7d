"""The sizes of a small BERT, and model folders to spoil."""

import json
import pathlib
import shutil

import pytest
from safetensors.numpy import load_file, save_file


@pytest.fixture(scope="session")
def sizes() -> dict[str, int]:
    """Arguments of a BERT, those of the folders in tests/data of models with heads."""
    return {"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
            "intermediate_size": 24, "max_position_embeddings": 20}


@pytest.fixture
def folder(request, tmp_path) -> pathlib.Path:
    """A copy of the `FOLDER` of a test's file."""
    return pathlib.Path(shutil.copytree(request.module.FOLDER, tmp_path / "model"))


@pytest.fixture
def change(folder):
    """The function that rewrites the tensors of `folder`: `edit` gives others, or changes those it is given."""
    def rewrite(edit):
        tensors = {k: v.copy() for k, v in load_file(folder / "model.safetensors").items()}
        save_file(edit(tensors) or tensors, folder / "model.safetensors")

    return rewrite


@pytest.fixture
def change_config(folder):
    """The function that rewrites fields of the config of `folder`; `...` leaves one out."""
    def rewrite(**fields):
        config = json.loads((folder / "config.json").read_text()) | fields
        (folder / "config.json").write_text(json.dumps({k: v for k, v in config.items() if v is not ...}))

    return rewrite
