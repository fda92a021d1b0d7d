"""The model card: README.md beside the version folders."""

import math
import os
import pathlib

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
EXTRACTIVE = """\
| kind | {kind} (BertSumExt, head "{head}", pooling "{pooling}") |
| encoder | {layers} layers, width {width}, {vocabulary} word pieces, windows of {window} tokens |
| stored as | {storage}; {weights:,} numbers |
| text ops | {ops} |
| signatures | serving_default, summarize, score, score_ids |
| summary | {sentences} sentences by default, at most {max_sentences}; trigram blocking {blocking} |
| chosen by | {selection} |"""
ABSTRACTIVE = """\
| kind | {kind} (Transformer) |
| layers | encoder {num_encoder_layers}, decoder {num_decoder_layers}, width {d_model}, {num_heads} heads |
| word pieces | {source_vocabulary_size} of the source, {target_vocabulary_size} of the target |
| stored as | {storage}; {weights:,} numbers |
| text ops | {ops} |
| signatures | serving_default, generate_ids, attend |
| answer | at most {max_length} tokens, by {search} |
| source | at most {max_source_length} tokens; what is beyond is cut, which `coverage` tells |"""
CLASSIFIER = """\
| kind | {kind} (BertClassifier) |
| labels | {labels} |
| encoder | {num_hidden_layers} layers, width {hidden_size}, {vocab_size} word pieces |
| stored as | {storage}; {weights:,} numbers |
| text ops | {ops} |
| signatures | serving_default, of {inputs} |
| text | at most {max_length} tokens; what is beyond is cut, which `coverage` tells |"""
UNSAID = "The model folder does not say."


def write(destination: pathlib.Path, description: dict, source: pathlib.Path) -> None:
    """Writes the card where there is none yet: the model folder's own README.md, or one made of the description."""
    card = destination.parent / "README.md"
    if card.exists():
        return
    own = source / "README.md"
    content = own.read_bytes() if own.is_file() else text(destination.parent.name, description).encode()
    part = card.with_name(f".{card.name}.part")
    try:
        part.write_bytes(content)
        os.replace(part, card)
    finally:
        part.unlink(missing_ok=True)


def text(name: str, description: dict) -> str:
    """The card made of assets.extra/tfsum.json."""
    what, out, table = KINDS[description["kind"]]
    return CARD.format(
        name=name,
        tfsum=description["tfsum"],
        what=what,
        out=out,
        table=table(description),
        data=_told(description.get("data") or _files(description)),
        scores=_told(description.get("scores") or _validated(description)),
        licence=_told(description.get("licence")),
    )


def _extractive(description: dict) -> str:
    config = description["config"]
    model = config.get("bert_sum_ext", {})
    return EXTRACTIVE.format(
        kind=description["kind"],
        head=model.get("head"),
        pooling=model.get("pooling"),
        layers=config["num_hidden_layers"],
        width=config["hidden_size"],
        vocabulary=config["vocab_size"],
        window=description["text"]["window_length"],
        storage=description["storage"],
        weights=_numbers(description),
        ops=description["ops"],
        sentences=description["sentences"],
        max_sentences=description["max_sentences"],
        selection=description["selection"],
        blocking="on" if description["block_trigrams"] else "off",
    )


def _abstractive(description: dict) -> str:
    chosen = {name: description[name] for name in ("kind", "storage", "ops", "max_length")}
    search = dict(description["search"])
    name = search.pop("strategy")
    return ABSTRACTIVE.format(
        **{**description["config"], **chosen},
        weights=_numbers(description),
        search=f"{name}({', '.join(f'{key}={value!r}' for key, value in search.items())})",
        max_source_length=description["text"]["max_source_length"],
    )


def _classifier(description: dict) -> str:
    chosen = {name: description[name] for name in ("kind", "storage", "ops")}
    return CLASSIFIER.format(
        **{**description["config"], **chosen},
        labels=", ".join(description["labels"]),
        weights=_numbers(description),
        inputs="text and text_pair" if description["text"]["pair"] else "text",
        max_length=description["text"]["max_length"],
    )


KINDS = {  # what the card calls it, what it gives, the table about it
    "extractive": ("An extractive summarizer for TensorFlow", "sentences with scores and byte offsets", _extractive),
    "abstractive": ("A Transformer for TensorFlow", "the text that it writes", _abstractive),
    "classifier": ("A classifier for TensorFlow", "labels with their probabilities", _classifier),
}


def _numbers(description: dict) -> int:
    """How many numbers the stored weights are."""
    return sum(math.prod(shape) for _, shape in description["weights"].values())


def _files(description: dict) -> dict[str, str]:
    """The files that the model's recipe names, each by its name and its folder's."""
    data = _section(_section(description, "recipe"), "data")
    named = {split: [data[key] for key in (split, f"{split}_target") if data.get(key)]
             for split in ("train", "validation")}
    files = {split: ", ".join(str(pathlib.PurePath(*pathlib.PurePath(path).parts[-2:])) for path in paths)
             for split, paths in named.items() if paths}
    if files.keys() == {"train"} and data.get("validation_share"):
        files["validation"] = f"a share of {data['validation_share']} of it, held out"
    return files


def _validated(description: dict) -> str:
    """What the training run measured on its validation data, and lead's scores beside it."""
    validation, lead = _section(description, "validation"), _section(description, "lead")
    if not validation:
        return ""
    beside = f"; the first sentences (lead): {_points(lead)}" if lead else ""
    return (f"On validation data, by which the weights of step {validation.get('step')} were chosen: "
            f"{_points(validation)}{beside}.")


def _points(scores: dict) -> str:
    """The metrics in words; a classifier's stand with their intervals, its counts are no metrics."""
    values = {name: score.get("value") if isinstance(score, dict) else score for name, score in scores.items()}
    return ", ".join(f"{name} {value:.2f}" for name, value in values.items() if isinstance(value, float))


def _section(settings: dict, name: str) -> dict:
    """A table of the settings; an empty one where they have another thing there, since a card must not fail."""
    value = settings.get(name)
    return value if isinstance(value, dict) else {}


def _told(value) -> str:
    if not value:
        return UNSAID
    return "\n".join(f"- {k}: {v}" for k, v in value.items()) if isinstance(value, dict) else str(value)
