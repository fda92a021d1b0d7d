"""List training runs with their state and scores, or compare two of them."""

import argparse
import dataclasses
import json
from collections.abc import Sequence

from tfsum.errors import Error, RecipeError
from tfsum.training.run_list import RunSummary, differences, find_runs, read_run

EXAMPLES = """examples:
  tfsum runs runs
  tfsum runs --compare runs/news runs/news_longer
  tfsum runs --compare runs/news runs/news_longer --plot curves.png
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument(
        "folder", nargs="?", metavar="FOLDER", help="the folder that runs are in, or that of one"
    )
    which.add_argument(
        "--compare",
        nargs=2,
        metavar=("RUN", "OTHER"),
        help="the differences of two runs: keys of their recipes, and scores at each validation",
    )
    parser.add_argument(
        "--plot",
        metavar="FILE",
        help="with --compare: also draw the scores, as .png, .svg or .pdf (extra `plots`)",
    )
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default text")


def run(arguments: argparse.Namespace) -> int:
    if arguments.plot and not arguments.compare:
        raise RecipeError("--plot draws the runs that --compare names; add --compare RUN OTHER")
    if arguments.compare:
        one, other = map(read_run, arguments.compare)
        if arguments.plot:
            draw(one, other, arguments.plot)
        compared = {"recipes": differences(one, other), "scores": curves(one, other)}
        print(json.dumps(compared) if arguments.format == "json" else comparison(one, other))
        return 0
    found = find_runs(arguments.folder)
    print(
        json.dumps([dataclasses.asdict(row) for row in found])
        if arguments.format == "json"
        else listing(found)
    )
    return 0


def draw(one: RunSummary, other: RunSummary, file: str) -> None:
    """Draws the scores of two runs into a file.

    Example:
        >>> draw(
        ...     read_run("runs/news"), read_run("runs/news_longer"), "curves.png"
        ... )  # doctest: +SKIP
    """
    from tfsum.visualization import plot_curves

    figure = plot_curves({found.folder: found.history for found in (one, other)})
    try:
        figure.savefig(file)
    except (OSError, ValueError) as error:
        raise Error(
            f"{file}: cannot be drawn ({error}); name a file that can be written, such as curves.png"
        ) from None


def listing(runs: list[RunSummary]) -> str:
    """A line for each run."""
    rows = [("run", "state", "step", "best", "s/step", "scores of the best")]
    for found in runs:
        scores = "  ".join(
            f"{name} {value:.2f}" for name, value in found.best.items() if name != "step"
        )
        speed = "" if found.seconds_per_step is None else f"{found.seconds_per_step:.2f}"
        rows.append(
            (
                found.folder,
                found.state,
                f"{found.step}/{found.steps}",
                str(found.best.get("step", "")),
                speed,
                scores,
            )
        )
    return table(rows)


def comparison(one: RunSummary, other: RunSummary) -> str:
    """The differing keys, then the scores."""
    keys = [
        ("key", one.folder, other.folder),
        *((key, shown(a), shown(b)) for key, a, b in differences(one, other)),
    ]
    scores = [
        ("score at step", one.folder, other.folder),
        *((f"{name} {step}", number(a), number(b)) for name, step, a, b in curves(one, other)),
    ]
    return f"{table(keys)}\n\n{table(scores)}"


def curves(one: RunSummary, other: RunSummary) -> list[tuple[str, int, float | None, float | None]]:
    """(score, step, its value in the first run, in the second) of each validation of either."""
    values = [
        {
            (name, row["step"]): value
            for row in run.history
            for name, value in row.items()
            if name != "step"
        }
        for run in (one, other)
    ]
    keys = sorted({*values[0], *values[1]})
    return [
        (name, int(step), values[0].get((name, step)), values[1].get((name, step)))
        for name, step in keys
    ]


def shown(value: object) -> str:
    """A value of a recipe."""
    return "-" if value is None else json.dumps(value)


def number(value: float | None) -> str:
    """A score."""
    return "-" if value is None else f"{value:.2f}"


def table(rows: Sequence[tuple[str, ...]]) -> str:
    """Rows as columns of equal width."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows
    )
