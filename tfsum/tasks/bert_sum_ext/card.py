"""The part of an extractive summarizer's model card."""

WHAT, ANSWERS = "An extractive summarizer for TensorFlow", "sentences with scores and byte offsets"
TABLE = """\
| kind | {kind} (BertSumExt, head "{head}", pooling "{pooling}") |
| encoder | {layers} layers, width {width}, {vocabulary} word pieces, windows of {window} tokens |
| stored as | {storage}; {weights:,} numbers |
| text ops | {ops} |
| signatures | serving_default, summarize, score, score_ids |
| summary | {sentences} sentences by default, at most {max_sentences}; trigram blocking {blocking} |
| chosen by | {selection} |"""


def table(description: dict, weights: int) -> str:
    """The rows of the card's table.

    Args:
        description: The content of assets.extra/tfsum.json.
        weights: Number of stored weights.
    """
    config = description["config"]
    model = config.get("bert_sum_ext", {})
    return TABLE.format(
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
        sentences={"auto": "two to four"}.get(description["sentences"], description["sentences"]),
        max_sentences=description["max_sentences"],
        selection=description["selection"],
        blocking="on" if description["block_trigrams"] else "off",
    )
