"""Runs a pipeline on a runner until it ends."""

import contextlib
from collections.abc import Iterator, Sequence

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.runner import PipelineResult

from tfsum.errors import Error


@contextlib.contextmanager
def running(runner: str, options: Sequence[str], results: list[PipelineResult]) -> Iterator[beam.Pipeline]:
    """Runs the pipeline that the block builds; waits until it is done.

    Args:
        runner: name of Beam's runner. "DirectRunner" is the one of this process ("FnApiRunner"): what Beam calls so
            would first download a program, the Prism runner.
        options: options of the pipeline, such as "--direct_num_workers=2".
        results: gets the result, with the metrics.

    Yields:
        The pipeline.

    Raises:
        Error: the pipeline fails.

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
    try:
        pipeline = beam.Pipeline("FnApiRunner" if runner == "DirectRunner" else runner, PipelineOptions(options))
    except ValueError as error:
        raise Error(f"--runner {runner}: {error}") from None
    yield pipeline
    try:
        result = pipeline.run()
        result.wait_until_finish()
    except Exception as error:  # of any library that a step uses
        lines = [line for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
        raise Error(f"the pipeline failed: {lines[-1]}") from error
    results.append(result)
