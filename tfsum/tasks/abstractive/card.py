"""The rows of an abstractive model's card."""

WHAT, ANSWERS = "An abstractive model for TensorFlow", "the generated text"
TABLE = """\
| kind | {kind} ({model}) |
| layers | encoder {encoder_layers}, decoder {num_decoder_layers}, width {width}, {num_heads} heads |
| word pieces | {source_pieces} of the source, {target_pieces} of the target |
| stored as | {storage}; {weights:,} numbers |
| text ops | {ops} |
| signatures | serving_default, generate_ids, attend |
| answer | at most {max_length} tokens, by {search} |
| source | {source} |"""


def table(description: dict, weights: int) -> str:
    """The rows of the card's table; for the arguments see `tfsum.tasks.extractive.card.table`."""
    config, search, text = description["config"], dict(description["search"]), description["text"]
    strategy = search.pop("strategy")
    if own := config.get("bert_sum_abs"):
        sizes = {
            **own,
            "model": "BertSumAbs",
            "encoder_layers": config["num_hidden_layers"],
            "width": config["hidden_size"],
            "source_pieces": config["vocab_size"],
            "target_pieces": config["vocab_size"],
        }
        source = (
            f"at most {text['max_windows']} windows of {text['window_length']} tokens; sentences beyond are left "
            "out, which `coverage` reports"
        )
    else:
        sizes = {
            **config,
            "model": "Transformer",
            "encoder_layers": config["num_encoder_layers"],
            "width": config["d_model"],
            "source_pieces": config["source_vocabulary_size"],
            "target_pieces": config["target_vocabulary_size"],
        }
        source = f"at most {text['max_source_length']} tokens; what is beyond is cut, which `coverage` reports"
    return TABLE.format(
        **sizes
        | {
            "kind": description["kind"],
            "storage": description["storage"],
            "weights": weights,
            "ops": description["ops"],
            "max_length": description["max_length"],
            "search": f"{strategy}({', '.join(f'{key}={value!r}' for key, value in search.items())})",
            "source": source,
        }
    )
