"""Writes the model card: README.md beside the version folders."""

import math
import pathlib
from collections.abc import Callable
from typing import Any, NamedTuple

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


class Card(NamedTuple):
    """A task's part of a model card.

    Attributes:
        what: What the model is.
        answers: What it returns.
        rows: Rows of the card's table, by their names.
    """

    what: str
    answers: str
    rows: dict[str, object]


CardOf = Callable[[dict], Card]
"""A task's part of the card of a description, the content of assets.extra/tfsum.json."""


def write_card(
    destination: pathlib.Path, description: dict, source: pathlib.Path, card_of: CardOf
) -> None:
    """Writes the card of an export, unless it exists.

    The card is the README.md of the model folder, or else made from the description.

    Args:
        destination: Version folder; the card is written beside it.
        description: Content of assets.extra/tfsum.json.
        source: Model folder.
        card_of: Function of the model's task.

    Example:
        >>> import tempfile
        >>> from tfsum.inference.saved_model import read_description
        >>> from tfsum.inference.saved_model import shipped_model
        >>> from tfsum.tasks.bert_sum_ext.export import card
        >>> description = read_description(shipped_model())
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder)
        ...     write_card(path / "1", description, path, card)
        ...     (path / "README.md").is_file()
        True
    """
    card, own = destination.parent / "README.md", source / "README.md"
    if not card.exists():
        name = destination.parent.name
        write_atomically(
            card, own.read_bytes() if own.is_file() else text(name, description, card_of)
        )


def text(name: str, description: dict, card_of: CardOf) -> str:
    """Renders the card of a description.

    Args:
        name: Name of the model.
        description: Content of assets.extra/tfsum.json.
        card_of: Function of the model's task.

    Returns:
        Markdown.

    Example:
        >>> from tfsum.inference.saved_model import read_description
        >>> from tfsum.inference.saved_model import shipped_model
        >>> from tfsum.tasks.bert_sum_ext.export import card
        >>> description = read_description(shipped_model())
        >>> text("news", description, card).splitlines()[0]
        '# news'
    """
    weights = sum(math.prod(shape) for _, shape in description["weights"].values())
    what, answers, own = card_of(description)
    rows = {
        **own,
        "stored as": f"{description['storage']}; {weights:,} numbers",
        "text ops": description["ops"],
    }
    return CARD.format(
        name=name,
        tfsum=description["tfsum"],
        what=what,
        out=answers,
        table="\n".join(f"| {row} | {value} |" for row, value in rows.items()),
        data=_stated(description.get("data") or _files(description)),
        scores=_stated(description.get("scores") or _validated(description)),
        licence=_stated(description.get("licence")),
    )


def _files(description: dict) -> dict[str, str]:
    """The data files of the model's recipe, each with the name of its folder."""
    data = _section(_section(description, "recipe"), "data")
    files = {}
    for split in ("train", "validation"):
        paths = [data[key] for key in (split, f"{split}_target") if data.get(key)]
        if parts := [pathlib.PurePath(path).parts[-2:] for path in paths]:
            files[split] = ", ".join(str(pathlib.PurePath(*part)) for part in parts)
    if files.keys() == {"train"} and data.get("validation_share"):
        files["validation"] = f"a share of {data['validation_share']} of it, held out"
    return files


def _validated(description: dict) -> str:
    """The validation scores of the training run, and those of lead."""
    validation, lead = _section(description, "validation"), _section(description, "lead")
    if not validation:
        return ""
    scores = _scores(validation)
    if lead:
        scores += f"; the first sentences (lead): {_scores(lead)}"
    return (
        f"On validation data, by which the weights of step {validation.get('step')} were chosen: "
        f"{scores}."
    )


def _scores(scores: dict) -> str:
    """The metrics as text; those of a classifier have intervals, and its counts are left out."""
    values = {
        name: score.get("value") if isinstance(score, dict) else score
        for name, score in scores.items()
    }
    return ", ".join(
        f"{name} {value:.2f}" for name, value in values.items() if isinstance(value, float)
    )


def _section(settings: dict, name: str) -> dict:
    """A section of the settings; empty if it is no table, since a card must not fail."""
    value = settings.get(name)
    if isinstance(value, dict):
        return value
    return {}


def _stated(value: Any) -> str:
    if isinstance(value, dict):
        value = "\n".join(f"- {name}: {entry}" for name, entry in value.items())
    return str(value or NOT_STATED)
