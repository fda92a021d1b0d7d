"""The rows of a Transformer's model card."""

WHAT, ANSWERS = "A Transformer for TensorFlow", "the generated text"
TABLE = """\
| kind | {kind} (Transformer) |
| layers | encoder {num_encoder_layers}, decoder {num_decoder_layers}, width {d_model}, {num_heads} heads |
| word pieces | {source_vocabulary_size} of the source, {target_vocabulary_size} of the target |
| stored as | {storage}; {weights:,} numbers |
| text ops | {ops} |
| signatures | serving_default, generate_ids, attend |
| answer | at most {max_length} tokens, by {search} |
| source | at most {max_source_length} tokens; what is beyond is cut, which `coverage` reports |"""


def table(description: dict, weights: int) -> str:
    """The rows of the card's table; for the arguments see `tfsum.tasks.extractive.card.table`."""
    config, search = description["config"], dict(description["search"])
    strategy = search.pop("strategy")
    return TABLE.format(
        kind=description["kind"],
        num_encoder_layers=config["num_encoder_layers"],
        num_decoder_layers=config["num_decoder_layers"],
        d_model=config["d_model"],
        num_heads=config["num_heads"],
        source_vocabulary_size=config["source_vocabulary_size"],
        target_vocabulary_size=config["target_vocabulary_size"],
        storage=description["storage"],
        weights=weights,
        ops=description["ops"],
        max_length=description["max_length"],
        search=f"{strategy}({', '.join(f'{key}={value!r}' for key, value in search.items())})",
        max_source_length=description["text"]["max_source_length"],
    )
