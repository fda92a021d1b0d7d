"""The package as a command."""

import subprocess
import sys

import tfsum


def test_python_m_tfsum_is_the_command():
    command = [sys.executable, "-m", "tfsum", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"tfsum {tfsum.__version__}\n"
