"""Each thread of TensorFlow's pool for products has a processor of its own."""

import json
import os
import subprocess
import sys

import pytest

PROGRAM = """
import json, os, tfsum

tfsum.load()("It rained. The bridge was closed.")
allowed = [os.sched_getaffinity(int(thread)) for thread in os.listdir("/proc/self/task")]
print(json.dumps([sorted(each) for each in allowed]))
"""


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="only Linux places threads")
def test_each_processor_has_one_thread_and_all_others_are_free():
    command = [sys.executable, "-c", PROGRAM]
    found = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    processors = sorted(os.sched_getaffinity(0))

    if len(processors) > 1:
        placed = [each for each in found if len(each) == 1]
        assert sorted(placed) == [[processor] for processor in processors]
        assert all(each == processors for each in found if each not in placed)
