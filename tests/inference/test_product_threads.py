"""The threads of TensorFlow's pool for products are apart while nothing else runs, else free."""

import json
import os
import subprocess
import sys

import pytest

PROGRAM = """
import json, os, pathlib, sys, tfsum
from tfsum.inference import product_threads

summarize, found = tfsum.load(), []
for running in ("1/70", "2/70", "1/70"):
    pathlib.Path(sys.argv[1]).write_text(f"0.5 0.5 0.5 {running} 4711")
    product_threads.RUNNING = pathlib.Path(sys.argv[1])
    summarize("It rained. The bridge was closed.")
    threads = os.listdir("/proc/self/task")
    found.append([sorted(os.sched_getaffinity(int(thread))) for thread in threads])
print(json.dumps(found))
"""


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="only Linux places threads")
def test_each_processor_has_one_thread_while_nothing_else_runs(tmp_path):
    command = [sys.executable, "-c", PROGRAM, tmp_path / "loadavg"]
    found = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    processors = sorted(os.sched_getaffinity(0))
    if len(processors) == 1:
        pytest.skip("one processor has all threads")

    for affinities, are_apart in zip(found, (True, False, True), strict=True):
        placed = sorted(each for each in affinities if each != processors)
        assert placed == ([[processor] for processor in processors] if are_apart else [])
