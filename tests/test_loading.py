"""What TensorFlow's libraries write while they are loaded, and when it is shown."""

import os

import pytest

from tfsum.errors import Error
from tfsum.loading import quiet


@pytest.mark.parametrize(
    ("error", "shown"), [(ImportError("libcudart.so"), "oneDNN is on\n"), (Error("broken"), "")]
)
def test_lines_of_libraries_explain_failed_imports_alone(capfd, error, shown):
    with pytest.raises(type(error)), quiet():
        os.write(2, b"oneDNN is on\n")
        raise error
    assert capfd.readouterr().err == shown
