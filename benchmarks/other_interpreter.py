"""Runs a program in another Python interpreter, for libraries that cannot be installed together
with TensorFlow.

The program prints one line of JSON with its facts when it is ready, then answers each line of JSON
with one line. It is idle in between.
"""

import json
import pathlib
import subprocess
import venv

HERE = pathlib.Path(__file__).parent


def environment(name: str = "rivals") -> str:
    """The interpreter of the others, which is made where it is not there as required."""
    requirements = HERE / "requirements" / f"{name}.txt"
    folder = HERE / ".environments" / name
    noted, python = folder / requirements.name, str(folder / "bin" / "python")
    if not noted.is_file() or noted.read_text() != requirements.read_text():
        venv.create(folder, clear=True, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "-r", str(requirements)], check=True)
        noted.write_text(requirements.read_text())
    return python


class OtherInterpreter:
    """A program that answers questions.

    Args:
        python: path of the interpreter that has the libraries.
        script: name of the program, a file beside this one.
        task: what it shall prepare; JSON, its first argument.

    Raises:
        SystemExit: the program ended before it answered.
    """

    def __init__(self, python: str, script: str, task: dict):
        path = pathlib.Path(__file__).with_name(script)
        self._process = subprocess.Popen(
            [python, str(path), json.dumps(task)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.facts = self._answer()

    def ask(self, question: dict) -> dict:
        """Sends one line to the program and waits for the answer."""
        print(json.dumps(question), file=self._process.stdin, flush=True)
        return self._answer()

    def _answer(self) -> dict:
        line = self._process.stdout.readline()
        if not line:
            status = self._process.wait()
            raise SystemExit(
                f"{self._process.args[1]} ended with status {status}; its message stands above"
            )
        return json.loads(line)

    def close(self) -> None:
        """Ends the program."""
        self._process.stdin.close()
        self._process.wait()
