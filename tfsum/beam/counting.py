"""Counters of a pipeline: elements that pass, and what a result says of them."""

from typing import Any

import apache_beam as beam
from apache_beam.metrics import Metrics, MetricsFilter
from apache_beam.runners.runner import PipelineResult

NAMESPACE = "tfsum.files"


class Count(beam.PTransform):
    """Counts the elements that pass, unchanged.

    Args:
        name: of the counter.

    Example:
        >>> with beam.Pipeline(runner="FnApiRunner") as pipeline:
        ...     _ = pipeline | beam.Create(["It rained."]) | Count("texts") | beam.Map(print)
        It rained.
    """

    def __init__(self, name: str) -> None:
        super().__init__(f"Count {name}")
        self._name = name

    def expand(self, elements: beam.PCollection) -> beam.PCollection:
        counter = Metrics.counter(NAMESPACE, self._name)

        def count(element: Any) -> Any:
            counter.inc()
            return element

        return elements | beam.Map(count).with_output_types(elements.element_type)


def counted(result: PipelineResult, name: str) -> int:
    """What a counter of `Count` says at the end of a pipeline; 0 where nothing passed.

    Args:
        result: of a pipeline that is done.
        name: of the counter.

    Example:
        >>> pipeline = beam.Pipeline(runner="FnApiRunner")
        >>> _ = pipeline | beam.Create(["It rained."]) | Count("texts")
        >>> counted(pipeline.run(), "texts")
        1
    """
    found = result.metrics().query(MetricsFilter().with_namespace(NAMESPACE).with_name(name))[
        "counters"
    ]
    return sum(counter.result for counter in found)
