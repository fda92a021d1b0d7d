"""Runs a program in another Python interpreter, for libraries that cannot be installed together
with TensorFlow.

The program calls `answer`: it prints one line of JSON with its facts when it is ready, then answers
each line of JSON with one line. It is idle in between. This file needs the standard library alone.
"""

import json
import pathlib
import subprocess
import sys
import venv
from collections.abc import Callable

HERE = pathlib.Path(__file__).resolve().parent


def environment(name: str) -> str:
    """The interpreter of requirements/NAME.txt, which is made where it is not there as required."""
    requirements = HERE / "requirements" / f"{name}.txt"
    folder = HERE / ".environments" / name
    noted, python = folder / requirements.name, str(folder / "bin" / "python")
    if not noted.is_file() or noted.read_text() != requirements.read_text():
        venv.create(folder, clear=True, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "-r", str(requirements)], check=True)
        noted.write_text(requirements.read_text())
    return python


def answer(facts: dict, answer_to: Callable[[dict], dict]) -> None:
    """Answers the lines of the standard input: the program's side."""
    print(json.dumps(facts), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer_to(json.loads(line))), flush=True)


class OtherInterpreter:
    """A program that answers questions.

    Args:
        python: Path of the interpreter that has the libraries.
        module: Name of the program, such as "speed.training_torch".
        task: What it shall prepare; JSON, its first argument.

    Raises:
        SystemExit: The program ended before it answered.
    """

    def __init__(self, python: str, module: str, task: dict):
        self._process = subprocess.Popen(
            [python, "-m", f"benchmarks.{module}", json.dumps(task)],
            cwd=HERE.parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.facts = self._answer()

    def ask(self, **question: object) -> dict:
        """Sends one line to the program and waits for the answer."""
        print(json.dumps(question), file=self._process.stdin, flush=True)
        return self._answer()

    def _answer(self) -> dict:
        line = self._process.stdout.readline()
        if not line:
            status = self._process.wait()
            raise SystemExit(
                f"{self._process.args[2]} ended with status {status}; its message stands above"
            )
        return json.loads(line)

    def close(self) -> None:
        """Ends the program."""
        self._process.stdin.close()
        self._process.wait()
