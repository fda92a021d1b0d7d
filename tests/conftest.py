"""Fixtures of the whole suite."""

import os
import pathlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import pytest

# Fixtures that tests of several folders share; each is a file of tests/fixtures/.
pytest_plugins = ("exported_models", "model_folders", "pages", "processes", "training_runs")

SHARED = pathlib.Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> pathlib.Path:
    """The folder of corpora and reference outputs beside the checkout; the test skips without it."""
    if not SHARED.is_dir():
        pytest.skip("the shared corpora and reference outputs are not beside this checkout (../shared)")
    return SHARED


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One process more than processors: tests that wait for a process of their own leave a processor idle."""
    return (os.cpu_count() or 1) + 1
