"""Fixtures of the whole suite."""

import gc
import importlib.util
import os
import pathlib
import sys
from collections.abc import Iterator

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
# Beside other processes of the suite more threads of one would only wait (a sixteenth of the time).
if "PYTEST_XDIST_WORKER" in os.environ:
    threads = ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS")
    os.environ.update(dict.fromkeys(threads, "1"))

import hypothesis
import pytest

# A few examples of each property, the same ones each time; `.ci/full` tries many others.
# No time decides: the machine may have much else to do.
hypothesis.settings.register_profile(
    "patient", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
patient = hypothesis.settings.get_profile("patient")
hypothesis.settings.register_profile("few", patient, max_examples=15, derandomize=True)
hypothesis.settings.register_profile("many", patient, max_examples=100)
hypothesis.settings.load_profile("few")

# Tracing makes millions of objects that live on; the collector would walk all of them again and
# again (a seventh of the time).
gc.set_threshold(100_000, 50, 100)

# Fixtures that tests of several folders share; each is a file of tests/fixtures/.
pytest_plugins = (
    "exported_models",
    "made_once",
    "model_folders",
    "one_process",
    "opened_models",
    "pages",
    "pipelines",
    "processes",
    "raising_models",
    "split_once",
    "training_runs",
    "unoptimized",
)

TESTS = pathlib.Path(__file__).resolve().parent
ROOT = TESTS.parent
SHARED = ROOT.parent / "shared"

# `benchmarks` is found in the checkout, and `tfsum` first where it is installed.
sys.path.append(str(ROOT))


@pytest.fixture(scope="session")
def shared() -> pathlib.Path:
    """The folder of corpora and reference outputs beside the checkout; the test skips without
    it."""
    if not SHARED.is_dir():
        pytest.skip(
            "the shared corpora and reference outputs are not beside this checkout (../shared)"
        )
    return SHARED


def pytest_ignore_collect(collection_path: pathlib.Path) -> bool | None:
    """Of this folder test files alone: `--doctest-modules` would import scripts that tests run."""
    is_script = collection_path.suffix == ".py" and not collection_path.name.startswith("test_")
    return (is_script and TESTS in collection_path.parents) or None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the examples of docstrings."""
    for item in items:
        if isinstance(item, pytest.DoctestItem):
            item.add_marker("doctest")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One process more than processors: tests that wait for a process of their own leave a
    processor idle."""
    return (os.cpu_count() or 1) + 1


# Without TF Text, which Windows and unreleased versions of TensorFlow lack, what asks for it is
# skipped.
if importlib.util.find_spec("tensorflow_text") is None:

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(item: pytest.Item) -> Iterator:
        try:
            return (yield)
        except Exception as error:
            if "TF Text is not installed" not in str(error):
                raise
            pytest.skip("needs TF Text")

    pytest_runtest_setup = pytest_runtest_call
