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


@pytest.mark.parametrize("text", ["20", "0:3", "9:8", "a:b", "1:2:3", "-1:4"])
def test_steps_to_profile_that_are_none(text):
    with pytest.raises(
        pydantic.ValidationError, match=r"expected the first and the last step, such as \"20:30\""
    ):
        RunSettings(folder="run", steps=10, profile=text)
