"""The rows that the model cards of all writers share."""

WHAT, ANSWERS = "An abstractive model for TensorFlow", "the generated text"
TABLE = """\
| kind | {kind} ({model}) |
| layers | encoder {encoder_layers}, decoder {decoder_layers}, width {width}, {heads} heads |
| word pieces | {source_pieces} of the source, {target_pieces} of the target |
| stored as | {storage}; {weights:,} numbers |
| text ops | {ops} |
| signatures | serving_default, generate_ids, attend |
| answer | at most {max_length} tokens, by {search} |
| source | {source} |"""


def table(description: dict, weights: int, sizes: dict) -> str:
    """Returns the rows of the card's table.

    Args:
        description: Content of assets.extra/tfsum.json.
        weights: Number of stored weights.
        sizes: What the model's own configuration says: "model", "encoder_layers",
            "decoder_layers", "width", "heads", "source_pieces", "target_pieces" and "source".
    """
    search = dict(description["search"])
    strategy = search.pop("strategy")
    options = ", ".join(f"{key}={value!r}" for key, value in search.items())
    same = {name: description[name] for name in ("kind", "storage", "ops", "max_length")}
    return TABLE.format(**sizes, **same, weights=weights, search=f"{strategy}({options})")
