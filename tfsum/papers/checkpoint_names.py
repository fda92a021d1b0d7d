"""The names and shapes of BertSum's and PreSumm's tensors, and the variables that they are.

BERT is under `bert.model.` with Hugging Face's names. A head is under `encoder.` (nlpyang/BertSum)
or `ext_layer.` (nlpyang/PreSumm); an abstractive model (PreSumm) has `decoder.` and `generator.`.
"""

import re

import numpy as np

from tfsum.errors import CheckpointError
from tfsum.formats.weight_names import (
    DENSE,
    NO_WEIGHT,
    NORM,
    TABLE,
    bert_names,
    bert_shapes,
    named_tensors,
    rows_of,
    variables_by_path,
)
from tfsum.layers.positional_encoding import positional_encoding
from tfsum.models import BertSumAbs, BertSumExt

BERT = "bert.model."
ATTENTION = (
    ("linear_query", "query", DENSE),
    ("linear_keys", "key", DENSE),
    ("linear_values", "value", DENSE),
    ("final_linear", "output", DENSE),
)
FEED_FORWARD = (
    ("feed_forward.layer_norm", "feed_forward_norm", NORM),
    ("feed_forward.w_1", "feed_forward/inner", DENSE),
    ("feed_forward.w_2", "feed_forward/outer", DENSE),
)
SENTENCE_LAYER = (
    *((f"self_attn.{file}", f"attention/{path}", kinds) for file, path, kinds in ATTENTION),
    *FEED_FORWARD,
    ("layer_norm", "attention_norm", NORM),
)
DECODER_LAYER = (
    *((f"self_attn.{file}", f"self_attention/{path}", kinds) for file, path, kinds in ATTENTION),
    *(
        (f"context_attn.{file}", f"cross_attention/{path}", kinds)
        for file, path, kinds in ATTENTION
    ),
    *FEED_FORWARD,
    ("layer_norm_1", "self_attention_norm", NORM),
    ("layer_norm_2", "cross_attention_norm", NORM),
)
DIRECTION = (
    ("weight_ih", "input_projection/kernel", True),
    ("bias_ih", "input_projection/bias", False),
    ("weight_hh", "recurrent_projection/kernel", True),
    ("bias_hh", "recurrent_projection/bias", False),
    ("ln_ih.weight", "input_norm/gamma", False),
    ("ln_ih.bias", "input_norm/beta", False),
    ("ln_hh.weight", "recurrent_norm/gamma", False),
    ("ln_hh.bias", "recurrent_norm/beta", False),
    ("ln_ho.weight", "cell_norm/gamma", False),
    ("ln_ho.bias", "cell_norm/beta", False),
)
HEADS = {
    "classifier": (("linear1", "score", DENSE),),
    "transformer": (("layer_norm", "encoder/final_norm", NORM), ("wo", "score", DENSE)),
    "lstm": (
        ("rnn.hidden0.0", "forward", DIRECTION),
        ("rnn.hidden1.0", "backward", DIRECTION),
        ("wo", "score", DENSE),
    ),
}
DECODER = (
    ("decoder.embeddings", "target_embedding", TABLE),
    ("decoder.layer_norm", "decoder/final_norm", NORM),
)
UNUSED = ("transformer_inter.0.layer_norm.weight", "transformer_inter.0.layer_norm.bias")
"""In the file, but the original's first layer never applies it: it attends on what it is given."""
TIED = ("generator.0.weight", "decoder.embeddings.weight")
"""The output's weights, and the embedding that they are."""
POSITIONS, POSITION_ROWS = "pos_emb.pe", 5000  # a buffer of the original
POSITION_ERROR = 2e-3
"""The original took the angles of 5000 positions in float32, which are wrong by up to 5e-4
there."""
MASK = re.compile(r"decoder\.transformer_layers\.\d+\.mask$")


def bertsum_names(
    model: BertSumExt | BertSumAbs, prefix: str = "encoder."
) -> list[tuple[str, str, bool]]:
    """Lists (name in the file, path of the variable below the model, transposed) of all weights.

    Args:
        model: A built model.
        prefix: Prefix of the head's names: "encoder." for BertSum, "ext_layer." for PreSumm.

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
        >>> bertsum_names(model, "encoder.")[-1]
        ('encoder.linear1.bias', 'head/score/bias', False)
    """
    encoder = bert_names(model.bert.config["num_hidden_layers"])
    names = [(BERT + file, f"bert/{path}", transposed) for file, path, transposed in encoder]
    if isinstance(model, BertSumAbs):
        names += rows_of(DECODER)
        for i in range(model.config["num_decoder_layers"]):
            names += rows_of(
                DECODER_LAYER, f"decoder.transformer_layers.{i}.", f"decoder/layer_{i}/"
            )
        return [*names, ("generator.0.bias", "output_bias", False)]

    head = rows_of(HEADS[model.config["head"]], prefix, "head/")
    if model.config["head"] == "transformer":
        for i in range(model.config["head_layers"]):
            head += rows_of(
                SENTENCE_LAYER, f"{prefix}transformer_inter.{i}.", f"head/encoder/layer_{i}/"
            )
    return names + [row for row in head if row[0].removeprefix(prefix) not in UNUSED]


def named_variables(model: BertSumExt | BertSumAbs) -> dict:
    """The weights by the paths of `bertsum_names`.

    Args:
        model: A built model.

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
        >>> model.build()
        >>> tuple(named_variables(model)["head/score/kernel"].shape)
        (8, 1)
    """
    bert = variables_by_path(model.bert)
    return {f"bert/{path}": variable for path, variable in bert.items()} | model.head_variables()


def bertsum_tensors(
    model: BertSumExt | BertSumAbs, prefix: str = "encoder."
) -> dict[str, np.ndarray]:
    """Returns the weights as the state_dict that the original's `load_state_dict` takes.

    Args:
        model: A built model.
        prefix: "encoder." for BertSum, "ext_layer." for PreSumm; without effect on an abstractive
            model.

    Returns:
        arrays by name, kernels as (out, in), the original's buffers among them; the normalization
        that the original never applies is 1 and 0.

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
        >>> model.build()
        >>> bertsum_tensors(model)["encoder.linear1.weight"].shape
        (1, 8)
    """
    tensors = named_tensors(named_variables(model), bertsum_names(model, prefix))
    width = model.bert.config["hidden_size"]
    positions = np.asarray(positional_encoding(POSITION_ROWS, width))[None]
    if isinstance(model, BertSumAbs):
        masks = [
            f"decoder.transformer_layers.{i}.mask"
            for i in range(model.config["num_decoder_layers"])
        ]
        later = np.triu(np.ones((1, POSITION_ROWS, POSITION_ROWS), np.uint8), k=1)
        tensors |= {"decoder." + POSITIONS: positions, TIED[0]: tensors[TIED[1]]}
        tensors |= dict.fromkeys(masks, later)
    elif model.config["head"] == "transformer":
        unused = (np.ones(width, np.float32), np.zeros(width, np.float32))
        tensors |= {prefix + POSITIONS: positions}
        tensors |= {prefix + name: value for name, value in zip(UNUSED, unused)}

    return tensors


def without_buffers(
    tensors: dict[str, np.ndarray], prefix: str, source: str
) -> dict[str, np.ndarray]:
    """Checks the tensors of a file that are no weights of ours, and leaves them out.

    Args:
        tensors: Tensors of the file by name.
        prefix: Prefix of the head's names, or "decoder.".
        source: The file's name, for errors.

    Returns:
        the weights.

    Raises:
        CheckpointError: A buffer is not what the original's program has in it, or the tied weights
            differ.

    Example:
        >>> sorted(without_buffers({"encoder.linear1.bias": np.zeros(1)}, "encoder.", "model.pt"))
        ['encoder.linear1.bias']
    """
    weights = {name: value for name, value in tensors.items() if not NO_WEIGHT.search(name)}
    positions = weights.pop(prefix + POSITIONS, None)
    if positions is not None:
        sound = positions.ndim == 3 and len(positions) == 1 and positions.size > 0
        expected = np.asarray(positional_encoding(*positions.shape[1:]))[None] if sound else None
        # nor is what is no number
        if expected is None or not np.abs(positions - expected).max() <= POSITION_ERROR:
            raise CheckpointError(
                f"{source}: {prefix}{POSITIONS} {list(positions.shape)} is not the table of "
                "sines and cosines that BertSum adds to its sentences and PreSumm to its targets"
            )

    for name in [name for name in weights if MASK.match(name)]:
        mask = weights.pop(name)
        if (
            mask.ndim != 3
            or mask.shape[1] != mask.shape[2]
            or not np.array_equal(mask[0].astype(bool), np.triu(np.ones(mask.shape[1:], bool), k=1))
        ):
            raise CheckpointError(
                f"{source}: {name} {list(mask.shape)} is not the mask of later tokens that"
                " PreSumm's decoder has"
            )

    if TIED[0] in weights and TIED[1] in weights:
        output = weights.pop(TIED[0])
        if not np.array_equal(output, weights[TIED[1]]):
            raise CheckpointError(
                f"{source}: {TIED[0]} differs from {TIED[1]}, and PreSumm ties them; this file is"
                " of another program"
            )

    return {
        name: value for name, value in weights.items() if name.removeprefix(prefix) not in UNUSED
    }


def bertsum_shapes(model: BertSumExt | BertSumAbs, paths: list[str]) -> dict[str, tuple[int, ...]]:
    """Gives the shape of each weight, kernels as (in, out).

    Args:
        model: A model, which need not be built.
        paths: Paths of its weights, as `bertsum_names` lists them.

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
        >>> bertsum_shapes(model, ["head/score/kernel"])["head/score/kernel"]
        (8, 1)
    """
    bert, config = model.bert.config, model.config
    rows, width = bert["vocab_size"], bert["hidden_size"]
    shapes = bert_shapes(bert, bert["num_hidden_layers"])
    encoder = {f"bert/{path}": shape for path, shape in shapes.items()}

    if isinstance(model, BertSumAbs):
        table = [
            ("target_embedding/embeddings", (rows, width)),
            ("output_bias", (rows,)),
            *_layer_shapes("decoder/.*", width, config["feed_forward_width"]),
        ]
    else:
        units, gates = width // 2, 4 * (width // 2)  # input, forget, output, cell
        lstm = r"head/(for|back)ward/"
        table = [
            ("head/score/kernel", (width, 1)),
            ("head/score/bias", (1,)),
            (lstm + "input_projection/kernel", (width, gates)),
            (lstm + "recurrent_projection/kernel", (units, gates)),
            (lstm + r"(input|recurrent)_(projection/bias|norm/(gamma|beta))", (gates,)),
            (lstm + "cell_norm/(gamma|beta)", (units,)),
            *_layer_shapes("head/encoder/.*", width, config["head_feed_forward_width"]),
            ("head/encoder/final_norm/(gamma|beta)", (width,)),
        ]
    return encoder | {
        path: next(shape for pattern, shape in table if re.fullmatch(pattern, path))
        for path in paths
        if path not in encoder
    }


def _layer_shapes(
    below: str, width: int, feed_forward_width: int
) -> list[tuple[str, tuple[int, ...]]]:
    attention = r"attention/(query|key|value|output)"
    return [
        (rf"{below}{attention}/kernel", (width, width)),
        (rf"{below}feed_forward/inner/kernel", (width, feed_forward_width)),
        (rf"{below}feed_forward/outer/kernel", (feed_forward_width, width)),
        (rf"{below}feed_forward/inner/bias", (feed_forward_width,)),
        (rf"{below}({attention}|feed_forward/outer)/bias", (width,)),
        (rf"{below}(\w+_)?norm/(gamma|beta)", (width,)),
    ]
