"""Schemathesis on the OpenAPI document of `tfsum serve`: requests made from the document, and what
it promises.

    python -m venv schema && schema/bin/pip install schemathesis
    python benchmarks/openapi_check.py --schemathesis schema/bin/schemathesis --examples 100

Schemathesis has an environment of its own, since its packages are not those of tfsum. It sends
correct and incorrect requests to each path, and checks that no answer is a 500, that statuses,
content types and bodies are as the document says, and that what the document does not allow is
refused. Two of its checks are left out. "unsupported_method": below /v1/ unknown methods get 400,
as TensorFlow Serving gives it, and not 405. "positive_data_acceptance": a schema can say neither
that rows have one length nor which ids a vocabulary has; tests/serving/test_openapi.py checks that
correct requests are accepted. The server has the included models, or those of --folder. The exit
status is that of schemathesis.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import threading

START = "import sys; from tfsum.cli.main import main; sys.exit(main())"
EXCLUDED = "unsupported_method,positive_data_acceptance"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--schemathesis", default="schemathesis", help="the command; default: %(default)s"
    )
    parser.add_argument(
        "--folder", help="with NAME/VERSION of exported models; default: the included models"
    )
    parser.add_argument(
        "--examples",
        type=int,
        default=100,
        help="requests of a kind to a path; default: %(default)s",
    )
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    root = str(pathlib.Path(__file__).resolve().parents[1])
    server = subprocess.Popen(
        [
            sys.executable,
            "-c",
            START,
            "serve",
            *filter(None, [options.folder]),
            "--port",
            "0",
            "--no-access-log",
        ],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": root},
    )
    try:
        found = next(
            filter(None, (re.search(r"(http://\S+) answers for", line) for line in server.stderr)),
            None,
        )
        if found is None:
            raise SystemExit(f"the server ended with {server.wait()}")
        # so that its log does not hold it up
        threading.Thread(target=server.stderr.read, daemon=True).start()
        return subprocess.run(
            [
                options.schemathesis,
                "run",
                f"{found[1]}/openapi.json",
                "--exclude-checks",
                EXCLUDED,
                "--suppress-health-check",
                "too_slow",
                "--max-examples",
                str(options.examples),
                "--seed",
                str(options.seed),
            ],
            check=False,
        ).returncode
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    sys.exit(main())
