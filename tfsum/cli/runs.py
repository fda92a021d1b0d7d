"""List training runs with their state and scores, or compare two of them."""

import dataclasses
import json
from collections.abc import Callable, Sequence
from typing import Any

from tfsum.cli.options import FORMAT, Arguments, Options, print_as
from tfsum.errors import RecipeError, as_error, require
from tfsum.training.run_folder import RunSummary, differences, find_runs, read_run

EXAMPLES = """examples:
  tfsum runs runs
  tfsum runs --compare runs/news runs/news_longer
  tfsum runs --compare runs/news runs/news_longer --plot curves.png
"""


OPTIONS: Options = {
    "": {
        "exactly one of": {
            "folder": {
                "nargs": "?",
                "metavar": "FOLDER",
                "help": "the folder that runs are in, or that of one",
            },
            "--compare": {
                "nargs": 2,
                "metavar": ("RUN", "OTHER"),
                "help": (
                    "the differences of two runs: keys of their recipes, and scores at each"
                    " validation"
                ),
            },
        },
        "--plot": {
            "metavar": "FILE",
            "help": "with --compare: also draw the scores, as .png, .svg or .pdf (extra `plots`)",
        },
        "--format": FORMAT,
    }
}


def run(arguments: Arguments) -> int:
    require(
        arguments.compare or not arguments.plot,
        "--plot draws the runs that --compare names; add --compare RUN OTHER",
        RecipeError,
    )
    if not arguments.compare:
        runs = find_runs(arguments.folder)
        print_as(arguments.format, [dataclasses.asdict(run) for run in runs], listing(runs))
        return 0

    one, other = map(read_run, arguments.compare)
    if arguments.plot:
        from tfsum.visualization import plot_curves

        figure = plot_curves({run.folder: run.history for run in (one, other)})
        cure = "; name a file that can be written, such as curves.png"
        with as_error(f"{arguments.plot}: cannot be drawn", OSError, ValueError, cure=cure):
            figure.savefig(arguments.plot)
    print_as(
        arguments.format,
        {"recipes": differences(one, other), "scores": curves(one, other)},
        comparison(one, other),
    )
    return 0


def listing(runs: list[RunSummary]) -> str:
    """A line for each run."""
    rows = [("run", "state", "step", "best", "s/step", "scores of the best")]
    for run in runs:
        scores = [f"{name} {value:.2f}" for name, value in run.best.items() if name != "step"]
        speed = "" if run.seconds_per_step is None else f"{run.seconds_per_step:.2f}"
        step, best = f"{run.step}/{run.steps}", str(run.best.get("step", ""))
        rows.append((run.folder, run.state, step, best, speed, "  ".join(scores)))
    return table(rows)


def comparison(one: RunSummary, other: RunSummary) -> str:
    """The differing keys, then the scores."""
    folders = (one.folder, other.folder)
    keys = [
        (key, *(_cell(value, json.dumps) for value in values))
        for key, *values in differences(one, other)
    ]
    scores = [
        (f"{name} {step}", *(_cell(value, "{:.2f}".format) for value in values))
        for name, step, *values in curves(one, other)
    ]
    recipes = table([("key", *folders), *keys])
    return f"{recipes}\n\n{table([('score at step', *folders), *scores])}"


def _cell(value: object, text_of: Callable[[Any], str]) -> str:
    if value is None:
        return "-"
    return text_of(value)


def curves(one: RunSummary, other: RunSummary) -> list[tuple[str, int, float | None, float | None]]:
    """(score, step, its value in the first run, in the second) of each validation of either."""
    first, second = (
        {
            (name, row["step"]): value
            for row in run.history
            for name, value in row.items()
            if name != "step"
        }
        for run in (one, other)
    )
    return [
        (name, int(step), first.get((name, step)), second.get((name, step)))
        for name, step in sorted({*first, *second})
    ]


def table(rows: Sequence[tuple[str, ...]]) -> str:
    """Rows as columns of equal width."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows
    )
