"""The model card: README.md beside the version folders."""

import os
import pathlib

CARD = """# {name}

An extractive summarizer for TensorFlow, exported by tfsum {tfsum}: raw strings in, sentences with scores and byte
offsets out.

| | |
|---|---|
| kind | {kind} (BertSumExt, head "{head}", pooling "{pooling}") |
| encoder | {layers} layers, width {width}, {vocabulary} word pieces, windows of {window} tokens |
| stored as | {storage}; {weights:,} numbers |
| text ops | {ops} |
| signatures | serving_default, summarize, score, score_ids |
| summary | {sentences} sentences by default, at most {max_sentences}; trigram blocking {blocking} |

## Training data

{data}

## Scores

{scores}

## Licence

{licence}
"""
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
    config = description["config"]
    model = config.get("bert_sum_ext", {})
    weights = 0
    for _, shape in description["weights"].values():
        size = 1
        for length in shape:
            size *= length
        weights += size
    return CARD.format(
        name=name,
        tfsum=description["tfsum"],
        kind=description["kind"],
        head=model.get("head"),
        pooling=model.get("pooling"),
        layers=config["num_hidden_layers"],
        width=config["hidden_size"],
        vocabulary=config["vocab_size"],
        window=description["text"]["window_length"],
        storage=description["storage"],
        weights=weights,
        ops=description["ops"],
        sentences=description["sentences"],
        max_sentences=description["max_sentences"],
        blocking="on" if description["block_trigrams"] else "off",
        data=_told(description.get("data")),
        scores=_told(description.get("scores")),
        licence=_told(description.get("licence")),
    )


def _told(value) -> str:
    if not value:
        return UNSAID
    return "\n".join(f"- {k}: {v}" for k, v in value.items()) if isinstance(value, dict) else str(value)
