"""`tfsum serve` in a process of its own."""

import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

from benchmarks.corpora import ROOT

TFSUM = (sys.executable, "-c", "import sys; from tfsum.cli.main import main; sys.exit(main())")


class Serving:
    """A server that answers.

    Args:
        folder: Directory of the exported models, NAME/VERSION.
        *options: Options of `tfsum serve`; `--port` is a free one by default.
        tree: The checkout that serves.

    Attributes:
        port: Port of HTTP.
        process: The process.
        seconds: From the start until it answers.

    Raises:
        SystemExit: It ended before it answered.
    """

    def __init__(self, folder: pathlib.Path, *options: str, tree: pathlib.Path = ROOT) -> None:
        begin = time.monotonic()
        port = [] if "--port" in options else ["--port", "0"]
        paths = os.pathsep.join([str(tree.resolve()), os.environ.get("PYTHONPATH", "")])
        self._own = tempfile.TemporaryDirectory()
        log = pathlib.Path(self._own.name, "log")
        with log.open("w") as stream:
            self.process = subprocess.Popen(
                [*TFSUM, "serve", str(folder.resolve()), *port, *options],
                cwd=self._own.name,  # `python -c` would take tfsum from where this runs
                stderr=stream,
                env={**os.environ, "PYTHONPATH": paths},
                start_new_session=True,
            )
        self._log = log
        while not (found := re.search(r"http://[^:]+:(\d+) answers for", self.log())):
            if self.process.poll() is not None:
                raise SystemExit(f"tfsum serve ended: {self.log()}")
            time.sleep(0.01)
        self.port, self.seconds = int(found[1]), time.monotonic() - begin

    def log(self) -> str:
        """What it has written to standard error."""
        return self._log.read_text(encoding="utf-8")

    def memory(self) -> float:
        """Its resident memory in MB."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024

    def end(self) -> int:
        """Stops it and what it started; its exit status."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(60)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)

    def __enter__(self) -> "Serving":
        return self

    def __exit__(self, *error: object) -> None:
        self.end()
