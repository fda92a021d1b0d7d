"""The part of a BertSumAbs's model card."""

from tfsum.generation import card

WHAT, ANSWERS = card.WHAT, card.ANSWERS


def table(description: dict, weights: int) -> str:
    """Returns the rows of the card's table.

    Args:
        description: Content of assets.extra/tfsum.json.
        weights: Number of stored weights.
    """
    config, text = description["config"], description["text"]
    decoder = config["bert_sum_abs"]
    sizes = {
        "model": "BertSumAbs",
        "encoder_layers": config["num_hidden_layers"],
        "decoder_layers": decoder["num_decoder_layers"],
        "width": config["hidden_size"],
        "heads": decoder["num_heads"],
        "source_pieces": config["vocab_size"],
        "target_pieces": config["vocab_size"],
        "source": (
            f"at most {text['max_windows']} windows of {text['window_length']} tokens; sentences"
            " beyond are left out, which `coverage` reports"
        ),
    }
    return card.table(description, weights, sizes)
