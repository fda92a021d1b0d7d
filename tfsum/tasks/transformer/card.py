"""The part of a Transformer's model card."""

from tfsum.generation import card

WHAT, ANSWERS = card.WHAT, card.ANSWERS


def table(description: dict, weights: int) -> str:
    """Returns the rows of the card's table.

    Args:
        description: Content of assets.extra/tfsum.json.
        weights: Number of stored weights.
    """
    config, text = description["config"], description["text"]
    sizes = {
        "model": "Transformer",
        "encoder_layers": config["num_encoder_layers"],
        "decoder_layers": config["num_decoder_layers"],
        "width": config["d_model"],
        "heads": config["num_heads"],
        "source_pieces": config["source_vocabulary_size"],
        "target_pieces": config["target_vocabulary_size"],
        "source": (
            f"at most {text['max_source_length']} tokens; what is beyond is cut, which `coverage`"
            " reports"
        ),
    }

    return card.table(description, weights, sizes)
