"""Runs a pipeline on a runner until it ends."""

import contextlib
import os
import pathlib
import signal
import threading
from collections.abc import Iterator, Sequence

import apache_beam as beam
from apache_beam.io.filesystem import BeamIOError
from apache_beam.options.pipeline_options import PipelineOptions

from tfsum.errors import Error, as_error

ENDED = "Worker subprocess exited"  # in Beam's error, in the thread that waits for the process
WORKER_ENDED = (
    " A worker process ended, perhaps for want of memory; nothing of this run is in the output: run"
    " it again, with fewer processes if so"
)


@contextlib.contextmanager
def running(runner: str, options: Sequence[str]) -> Iterator[beam.Pipeline]:
    """Context manager that runs the pipeline built in its block, and waits until it is done.

    Args:
        runner: Name of a runner of Beam. "DirectRunner" means the runner of this process
            ("FnApiRunner"), since Beam's own DirectRunner first downloads a program (Prism).
        options: Options of the pipeline, such as "--direct_num_workers=2".

    Yields:
        The pipeline, which has its `result` after the block.

    Raises:
        Error: An option is unknown to the DirectRunner, or the pipeline fails.

    Example:
        >>> with running("DirectRunner", []) as pipeline:
        ...     _ = pipeline | beam.Create(["It rained."]) | beam.Map(print)
        It rained.
        >>> pipeline.result.state
        'DONE'
    """
    # Worker processes log as little as this one; the last of several equal options counts.
    options = ["--default_sdk_harness_log_level=WARNING", *options]
    if runner == "DirectRunner" and (unknown := _unknown(options)):
        raise Error(
            f"{', '.join(unknown)}: no option of Beam; expected such as --direct_num_workers=2"
        )

    with as_error(f"--runner {runner}: cannot be used", ValueError):
        pipeline = beam.Pipeline(
            {"DirectRunner": "FnApiRunner"}.get(runner, runner), PipelineOptions(options)
        )
    yield pipeline

    try:
        with ending_together():
            pipeline.result = pipeline.run()
            pipeline.result.wait_until_finish()
    except Exception as error:  # of any library that a step uses
        lines = [line for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
        reason = lines[-1]
        if reason.startswith("Channel closed"):
            reason += WORKER_ENDED
        raise Error(f"the pipeline failed: {reason}") from error


def _unknown(options: Sequence[str]) -> list[str]:
    """The options that Beam does not know, which it would ignore with a line in the log."""
    every, known = (
        PipelineOptions(options).get_all_options(drop_default=True, retain_unknown_options=retain)
        for retain in (True, False)
    )
    return [f"--{name.partition('=')[0].lstrip('-')}" for name in every if name not in known]


def file_errors(place: str) -> contextlib.AbstractContextManager[None]:
    """Context manager that turns the errors of Beam's file systems into an `Error`.

    Args:
        place: Files, for the error message.

    Example:
        >>> with file_errors("docs/*"):
        ...     raise ValueError("no such file system")
        Traceback (most recent call last):
            ...
        tfsum.errors.Error: docs/*: cannot be reached (no such file system)
    """
    # a ValueError comes from a scheme whose extra of Beam is not installed
    return as_error(f"{place}: cannot be reached", BeamIOError, ValueError)


@contextlib.contextmanager
def ending_together() -> Iterator[None]:
    """Context manager that ends all worker processes when one fails.

    Beam itself would fail only when the others have done their share of the documents. Processes
    are found in /proc, which only Linux has.

    Yields:
        None.

    Example:
        >>> with ending_together():
        ...     pass
    """
    previous_hook = threading.excepthook

    def hook(arguments: threading.ExceptHookArgs) -> None:
        previous_hook(arguments)
        if ENDED in str(arguments.exc_value):
            for process in descendants(os.getpid()):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)

    threading.excepthook = hook
    try:
        yield
    finally:
        threading.excepthook = previous_hook


def descendants(process: int) -> list[int]:
    """Lists the child processes of a process, their children and so on.

    Args:
        process: Id of the process.

    Returns:
        Ids of the processes; none if there is no /proc.

    Example:
        >>> descendants(-1)
        []
    """
    children: dict[int, list[int]] = {}
    for status in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # a process has ended
            parent = int(status.read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(status.parent.name))

    ids = list(children.get(process, []))
    for child in ids:  # grows while it is read
        ids += children.get(child, [])
    return ids
