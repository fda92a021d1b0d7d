"""How results are measured and printed."""

import datetime
import importlib.metadata
import json
import os
import pathlib
import platform
import statistics
import time
from collections.abc import Callable, Sequence

Row = dict[str, str]  # column -> cell

# Seconds before a turn: threads of some programs spin for a while after theirs.
PAUSE = 0.5


def table(rows: dict[str, Row]) -> str:
    """Rows by their names as a Markdown table; a column is as wide as its longest cell."""
    columns = list(dict.fromkeys(column for row in rows.values() for column in row))
    cells = [["", *columns]]
    cells += [[name, *(row.get(column, "") for column in columns)] for name, row in rows.items()]
    widths = [max(map(len, column)) for column in zip(*cells)]
    cells.insert(1, ["-" * width for width in widths])
    return "\n".join(
        f"| {' | '.join(cell.ljust(width) for cell, width in zip(line, widths))} |"
        for line in cells
    )


def show(rows: dict[str, Row]) -> None:
    """Prints a table after an empty line."""
    print(f"\n{table(rows)}", flush=True)


def show_json(**facts: object) -> None:
    """Prints facts as a line of JSON."""
    print(json.dumps(facts), flush=True)


def mean(values: Sequence[float] | Sequence[Sequence[float]], signed: bool = False) -> str:
    """A mean over documents with its 95 % interval, by bootstrap.

    Args:
        values: A number for each document; or (part, whole) of each, whose share in percent is the
            sum of the parts over the sum of the wholes.
        signed: Whether to show the sign, as of a difference.
    """
    import numpy as np

    from tfsum.evaluation.comparison import bootstrap_intervals

    counted = np.asarray(values, float)

    def share(means: np.ndarray) -> np.ndarray:
        return 100 * means[..., 0] / np.maximum(means[..., 1], 1e-9)

    statistic = share if counted.ndim == 2 else None
    low, high = bootstrap_intervals(counted, 1000, 0, statistic)
    middle = counted.mean(0)
    form = "+.2f" if signed else ".2f"
    cells = [
        format(float(v), form) for v in (statistic(middle) if statistic else middle, low, high)
    ]
    return f"{cells[0]} ({cells[1]} to {cells[2]})"


def machine() -> str:
    """Date, processor, versions and load."""
    cpuinfo = pathlib.Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    processor = f"{len(names)} x {names[0]}" if names else platform.processor()
    versions = ", ".join(
        f"{package} {importlib.metadata.version(package)}"
        for package in ("tensorflow", "keras", "numpy")
    )
    return f"{datetime.date.today()}; {processor}; {versions}; load {os.getloadavg()[0]:.1f}"


def seconds(call: Callable[[], object]) -> float:
    """The seconds that a call takes."""
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def in_turns(
    calls: dict[str, Callable[[], float]], rounds: int, pause: float = PAUSE
) -> dict[str, list[float]]:
    """The seconds that each call returns, all of them in turns, in an order that changes."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(rounds):
        for name in list(calls)[:: 1 - 2 * (turn % 2)]:
            time.sleep(pause)
            taken[name].append(calls[name]())
    return taken


def beside_first(taken: dict[str, list[float]], scale: float = 1.0, digits: int = 1) -> Row:
    """Of each, the median, the least in parentheses, and the ratio of its median to the first."""
    first = statistics.median(next(iter(taken.values())))
    return {
        name: f"{scale * statistics.median(each):.{digits}f} ({scale * min(each):.{digits}f})"
        f" {statistics.median(each) / first:.2f}"
        for name, each in taken.items()
    }
