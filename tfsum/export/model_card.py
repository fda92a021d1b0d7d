"""The model card: README.md beside the version folders."""

import math
import pathlib
from typing import Any

from tfsum.atomic_files import write_atomically

CARD = """# {name}

{what}, exported by tfsum {tfsum}: raw strings in, {out} out.

| | |
|---|---|
{table}

## Training data

{data}

## Scores

{scores}

## Licence

{licence}
"""
NOT_STATED = "Not stated in the model folder."


def write_card(
    destination: pathlib.Path, description: dict, source: pathlib.Path, task_card: Any
) -> None:
    """Writes the card where there is none yet: the model folder's own README.md, or one made of the description.

    Args:
        destination: the version folder; the card is written beside it.
        description: the content of assets.extra/tfsum.json.
        source: the model folder.
        task_card: the `card` part of the model's task.

    Example:
        >>> from tfsum.inference.saved_model import read_description
        >>> from tfsum.inference.shipped import shipped_model
        >>> from tfsum.tasks import task
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder)
        ...     write_card(
        ...         path / "1",
        ...         read_description(shipped_model()),
        ...         path,
        ...         task("extractive").part("card"),
        ...     )
        ...     (path / "README.md").is_file()
        True
    """
    card = destination.parent / "README.md"
    if card.exists():
        return
    own = source / "README.md"
    write_atomically(
        card,
        own.read_bytes()
        if own.is_file()
        else text(destination.parent.name, description, task_card),
    )


def text(name: str, description: dict, task_card: Any) -> str:
    """Renders the card of a description.

    Args:
        name: of the model.
        description: the content of assets.extra/tfsum.json.
        task_card: the `card` part of the model's task.

    Returns:
        Markdown.

    Example:
        >>> from tfsum.inference.saved_model import read_description
        >>> from tfsum.inference.shipped import shipped_model
        >>> from tfsum.tasks import task
        >>> card = text("news", read_description(shipped_model()), task("extractive").part("card"))
        >>> card.splitlines()[0]
        '# news'
    """
    return CARD.format(
        name=name,
        tfsum=description["tfsum"],
        what=task_card.WHAT,
        out=task_card.ANSWERS,
        table=task_card.table(description, _numbers(description)),
        data=_stated(description.get("data") or _files(description)),
        scores=_stated(description.get("scores") or _validated(description)),
        licence=_stated(description.get("licence")),
    )


def _numbers(description: dict) -> int:
    """The number of stored weights."""
    return sum(math.prod(shape) for _, shape in description["weights"].values())


def _files(description: dict) -> dict[str, str]:
    """The files of the model's recipe, each by its name and its folder's."""
    data = _section(_section(description, "recipe"), "data")
    named = {
        split: [data[key] for key in (split, f"{split}_target") if data.get(key)]
        for split in ("train", "validation")
    }
    files = {
        split: ", ".join(
            str(pathlib.PurePath(*pathlib.PurePath(path).parts[-2:])) for path in paths
        )
        for split, paths in named.items()
        if paths
    }
    if files.keys() == {"train"} and data.get("validation_share"):
        files["validation"] = f"a share of {data['validation_share']} of it, held out"
    return files


def _validated(description: dict) -> str:
    """The validation scores of the training run, and those of lead."""
    validation, lead = _section(description, "validation"), _section(description, "lead")
    if not validation:
        return ""
    beside = f"; the first sentences (lead): {_scores(lead)}" if lead else ""
    return (
        f"On validation data, by which the weights of step {validation.get('step')} were chosen: "
        f"{_scores(validation)}{beside}."
    )


def _scores(scores: dict) -> str:
    """The metrics in words; a classifier's come with intervals, its counts are not metrics."""
    values = {
        name: score.get("value") if isinstance(score, dict) else score
        for name, score in scores.items()
    }
    return ", ".join(
        f"{name} {value:.2f}" for name, value in values.items() if isinstance(value, float)
    )


def _section(settings: dict, name: str) -> dict:
    """A section of the settings; empty if it is not a table, since a card must not fail."""
    value = settings.get(name)
    return value if isinstance(value, dict) else {}


def _stated(value: Any) -> str:
    if not value:
        return NOT_STATED
    return (
        "\n".join(f"- {k}: {v}" for k, v in value.items())
        if isinstance(value, dict)
        else str(value)
    )
