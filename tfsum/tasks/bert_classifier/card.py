"""The part of a classifier's model card."""

WHAT, ANSWERS = "A classifier for TensorFlow", "labels with their probabilities"
TABLE = """\
| kind | {kind} (BertClassifier) |
| labels | {labels} |
| encoder | {num_hidden_layers} layers, width {hidden_size}, {vocab_size} word pieces |
| stored as | {storage}; {weights:,} numbers |
| text ops | {ops} |
| signatures | serving_default, of {inputs} |
| text | at most {max_length} tokens; what is beyond is cut, which `coverage` reports |"""


def table(description: dict, weights: int) -> str:
    """The rows of the card's table; for the arguments see `tfsum.tasks.bert_sum_ext.card.table`."""
    config = description["config"]
    return TABLE.format(
        kind=description["kind"],
        labels=", ".join(description["labels"]),
        num_hidden_layers=config["num_hidden_layers"],
        hidden_size=config["hidden_size"],
        vocab_size=config["vocab_size"],
        storage=description["storage"],
        weights=weights,
        ops=description["ops"],
        inputs="text and text_pair" if description["text"]["pair"] else "text",
        max_length=description["text"]["max_length"],
    )
