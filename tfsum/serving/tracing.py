"""Spans of OpenTelemetry for requests, where its packages are installed; nothing where they are not."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

try:
    from opentelemetry import propagate, trace
except ModuleNotFoundError:
    propagate = trace = None

NAME = "tfsum.serving"


@contextlib.contextmanager
def span(
    name: str, headers: Mapping[str, str] | None = None, **attributes: Any
) -> Iterator[dict[str, Any]]:
    """A span around a piece of work.

    Where the spans go is for OpenTelemetry's SDK to say: install `opentelemetry-distro` and an exporter, and run the
    server by `opentelemetry-instrument`.

    Args:
        name: of the span.
        headers: of a request, which may name the span of its client; None for a part of the span that is open.
        attributes: of the span, a `_` in a name being a dot. They never have a text.

    Yields:
        A dict; what is put into it is added to the attributes, by the names as they are.

    Example:
        >>> with span("predict", model="news") as found:
        ...     found["rows"] = 3
    """
    more: dict[str, Any] = {}
    if trace is None:
        yield more
        return
    parent = None if headers is None else propagate.extract(headers)
    kind = trace.SpanKind.INTERNAL if headers is None else trace.SpanKind.SERVER
    with trace.get_tracer(NAME).start_as_current_span(name, context=parent, kind=kind) as opened:
        try:
            yield more
        finally:
            opened.set_attributes(
                {key.replace("_", "."): value for key, value in attributes.items()} | more
            )


def flush() -> None:
    """Sends the spans that wait, before a process ends without Python's own end.

    Example:
        >>> flush()
    """
    if trace is not None and hasattr(provider := trace.get_tracer_provider(), "force_flush"):
        provider.force_flush(timeout_millis=5000)
