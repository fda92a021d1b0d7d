"""The settings that every run has."""

import pydantic
import pytest

from tfsum.training.settings import RunSettings


def test_tensorboard_that_is_not_installed_is_one_error(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(
        pydantic.ValidationError,
        match=r"TensorBoard is not .* pip install 'tfsum\[tensorboard\]', or leave",
    ):
        RunSettings(folder="run", steps=10, tensorboard=True)
