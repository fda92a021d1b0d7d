"""Runs a pipeline on a runner until it ends."""

import contextlib
from collections.abc import Iterator, Sequence

import apache_beam as beam
from apache_beam.io.filesystem import BeamIOError
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.runner import PipelineResult

from tfsum.beam.worker_processes import ending_together
from tfsum.errors import Error

WORKER_ENDED = (
    " A worker process ended, perhaps for want of memory; nothing of this run is in the output: run it "
    "again, with fewer processes if so"
)


@contextlib.contextmanager
def running(
    runner: str, options: Sequence[str], results: list[PipelineResult]
) -> Iterator[beam.Pipeline]:
    """Runs the pipeline that the block builds; waits until it is done.

    Args:
        runner: name of Beam's runner. "DirectRunner" is the one of this process ("FnApiRunner"): what Beam calls so
            would first download a program, the Prism runner.
        options: options of the pipeline, such as "--direct_num_workers=2".
        results: gets the result, with the metrics.

    Yields:
        The pipeline.

    Raises:
        Error: the DirectRunner does not know an option, or the pipeline fails. Other runners know options of their own.

    Example:
        >>> results = []
        >>> with running("DirectRunner", [], results) as pipeline:
        ...     _ = pipeline | beam.Create(["It rained."]) | beam.Map(print)
        It rained.
        >>> results[0].state
        'DONE'
    """
    # Of later options of one name the last counts: a worker of its own process says no more than this one.
    options = ["--default_sdk_harness_log_level=WARNING", *options]
    if runner == "DirectRunner" and (unknown := _unknown(options)):
        raise Error(
            f"{', '.join(unknown)}: no option of Beam; expected such as --direct_num_workers=2"
        )
    try:
        pipeline = beam.Pipeline(
            "FnApiRunner" if runner == "DirectRunner" else runner, PipelineOptions(options)
        )
    except ValueError as error:
        raise Error(f"--runner {runner}: {error}") from None
    yield pipeline
    try:
        with ending_together():
            result = pipeline.run()
            result.wait_until_finish()
    except Exception as error:  # of any library that a step uses
        lines = [line for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
        more = WORKER_ENDED if lines[-1].startswith("Channel closed") else ""
        raise Error(f"the pipeline failed: {lines[-1]}{more}") from error
    results.append(result)


def _unknown(options: Sequence[str]) -> list[str]:
    """The options that Beam does not know; it would leave them out with a line in the log."""
    every, known = (
        PipelineOptions(options).get_all_options(drop_default=True, retain_unknown_options=retain)
        for retain in (True, False)
    )
    return [f"--{name.partition('=')[0].lstrip('-')}" for name in every if name not in known]


@contextlib.contextmanager
def file_errors(place: str) -> Iterator[None]:
    """Makes an `Error` of what Beam's file systems raise in the block.

    Args:
        place: the files, for the message.

    Raises:
        Error: they cannot be reached.

    Example:
        >>> with file_errors("docs/*"):
        ...     raise ValueError("no such file system")
        Traceback (most recent call last):
            ...
        tfsum.errors.Error: docs/*: no such file system
    """
    try:
        yield
    except (
        BeamIOError,
        ValueError,
    ) as error:  # ValueError: of a scheme whose extra of Beam is not installed
        raise Error(f"{place}: {error}") from error
