"""The shapes of a model's weights, known from its sizes: a checkpoint is checked before anything is allocated."""

import re

from tfsum.models.bert_sum_abs import BertSumAbs
from tfsum.models.bert_sum_ext import BertSumExt

GATES = 4  # of an LSTM: input, forget, output, cell
ATTENTION = r"attention/(query|key|value|output)"


def bertsum_shapes(model: BertSumExt | BertSumAbs, paths: list[str]) -> dict[str, tuple[int, ...]]:
    """Gives the shape of each weight, kernels as (in, out).

    Args:
        model: a model, which need not be built.
        paths: of its weights, as `bertsum_names` lists them.

    Returns:
        shapes by path.

    Example:
        >>> model = BertSumExt(
        ...     {
        ...         "vocab_size": 10,
        ...         "hidden_size": 8,
        ...         "num_hidden_layers": 1,
        ...         "num_attention_heads": 2,
        ...         "intermediate_size": 16,
        ...     },
        ...     head="classifier",
        ... )
        >>> bertsum_shapes(model, ["bert/word_embeddings/embeddings", "head/score/kernel"])
        {'bert/word_embeddings/embeddings': (10, 8), 'head/score/kernel': (8, 1)}
    """
    table = [
        *_bert_shapes(model.bert.config),
        *(_decoder_shapes(model) if isinstance(model, BertSumAbs) else _head_shapes(model)),
    ]
    return {
        path: next(shape for pattern, shape in table if re.fullmatch(pattern, path))
        for path in paths
    }


def _bert_shapes(config: dict) -> list[tuple[str, tuple[int, ...]]]:
    width = config["hidden_size"]
    rows = {
        "word": config["vocab_size"],
        "position": config["max_position_embeddings"],
        "segment": config["type_vocab_size"],
    }
    return [
        *((f"bert/{name}_embeddings/embeddings", (count, width)) for name, count in rows.items()),
        *_layer_shapes("bert/.*", width, config["intermediate_size"]),
        ("bert/pooler/kernel", (width, width)),
        ("bert/pooler/bias", (width,)),
    ]


def _layer_shapes(
    below: str, width: int, feed_forward_width: int
) -> list[tuple[str, tuple[int, ...]]]:
    return [
        (rf"{below}{ATTENTION}/kernel", (width, width)),
        (rf"{below}feed_forward/inner/kernel", (width, feed_forward_width)),
        (rf"{below}feed_forward/outer/kernel", (feed_forward_width, width)),
        (rf"{below}feed_forward/inner/bias", (feed_forward_width,)),
        (
            rf"{below}(({ATTENTION}|feed_forward/outer)/bias|norm/(gamma|beta)|\w+_norm/(gamma|beta))",
            (width,),
        ),
    ]


def _head_shapes(model: BertSumExt) -> list[tuple[str, tuple[int, ...]]]:
    width, config = model.bert.config["hidden_size"], model.config
    gates, units = GATES * (width // 2), width // 2
    lstm = r"head/(for|back)ward/"
    return [
        ("head/score/kernel", (width, 1)),
        ("head/score/bias", (1,)),
        (lstm + "input_projection/kernel", (width, gates)),
        (lstm + "recurrent_projection/kernel", (units, gates)),
        (lstm + r"(input|recurrent)_(projection/bias|norm/(gamma|beta))", (gates,)),
        (lstm + "cell_norm/(gamma|beta)", (units,)),
        *_layer_shapes("head/encoder/.*", width, config["head_feed_forward_width"]),
        ("head/encoder/final_norm/(gamma|beta)", (width,)),
    ]


def _decoder_shapes(model: BertSumAbs) -> list[tuple[str, tuple[int, ...]]]:
    width, rows = model.bert.config["hidden_size"], model.bert.config["vocab_size"]
    return [
        ("target_embedding/embeddings", (rows, width)),
        ("output_bias", (rows,)),
        *_layer_shapes("decoder/.*", width, model.config["feed_forward_width"]),
    ]
