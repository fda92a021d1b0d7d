"""Standard streams that are closed, full or interrupted: one line, the documented exit status,
nothing destroyed."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).parents[2]
COMMAND = f'{sys.executable} -c "import sys; from tfsum.cli.main import main; sys.exit(main())"'


def shell(line: str, **options) -> subprocess.CompletedProcess:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    return subprocess.run(
        ["bash", "-c", line],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


@pytest.mark.parametrize(
    ("redirection", "reason"),
    [
        ("> /dev/full", "standard output: No space left on device"),
        (">&-", "standard output is closed"),
    ],
)
def test_output_that_cannot_be_written(redirection, reason):
    done = shell(f"{COMMAND} --help {redirection}")
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and reason in done.stderr


def test_closed_errors_are_no_part_of_the_output():
    done = shell(f"{COMMAND} sumarize 2>&-")
    assert done.returncode == 2 and done.stdout == ""


BUSY = """
import hashlib, sys
from tfsum.cli import main
class Verb:
    EXAMPLES = ""
    OPTIONS = {}
    @staticmethod
    def run(arguments):
        print("begun", flush=True)
        # Many minutes in C, as a call of a model may be.
        hashlib.pbkdf2_hmac("sha256", b"", b"", 2 ** 31 - 1)
main.importlib.import_module = lambda name: Verb
sys.exit(main.main(["doctor"]))
"""


def test_ctrl_c_ends_a_call_that_python_cannot_interrupt():
    process = subprocess.Popen(
        [sys.executable, "-c", BUSY],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        # A shell's job in the background ignores the signal, and its children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout.readline() == "begun\n"
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=600)  # the call alone takes longer
    assert process.returncode == 130 and errors == "tfsum: interrupted\n"
