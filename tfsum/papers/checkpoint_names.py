"""The names and shapes of BertSum's and PreSumm's tensors, and the variables that they are.

BERT is under `bert.model.` with Hugging Face's names. A head is under `encoder.` (nlpyang/BertSum)
or `ext_layer.` (nlpyang/PreSumm); an abstractive model (PreSumm) has `decoder.` and `generator.`.
"""

from collections.abc import Mapping

import numpy as np

from tfsum.errors import CheckpointError, require
from tfsum.formats.weight_names import (
    DENSE,
    NO_WEIGHT,
    NORM,
    TABLE,
    bert_names,
    named_tensors,
    rows_of,
    rows_of_layers,
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
POSITIONS, POSITION_ROWS = "pos_emb.pe", 5000
BUFFERS = {
    "pe": (
        "table of sines and cosines that BertSum adds to its sentences and PreSumm to its targets"
    ),
    "mask": "mask of later tokens that PreSumm's decoder has",
}
"""End of a name -> what the original's program saves under it, of 5000 positions."""
BUFFER_ERROR = 2e-3
"""The original took the angles of 5000 positions in float32, which are wrong by up to 5e-4
there."""


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
    encoder = bert_names(model.bert.config["num_hidden_layers"], BERT)
    names = [(file, f"bert/{path}", transposed) for file, path, transposed in encoder]
    if isinstance(model, BertSumAbs):
        number = model.config["num_decoder_layers"]
        names += rows_of(DECODER)
        names += rows_of_layers(number, DECODER_LAYER, "decoder.transformer_layers.", "decoder/")
        return [*names, ("generator.0.bias", "output_bias", False)]

    head = rows_of(HEADS[model.config["head"]], prefix, "head/")
    if model.config["head"] == "transformer":
        number, inter = model.config["head_layers"], f"{prefix}transformer_inter."
        head += rows_of_layers(number, SENTENCE_LAYER, inter, "head/encoder/")
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
    tensors |= _buffers(model, prefix)
    if isinstance(model, BertSumAbs):
        tensors[TIED[0]] = tensors[TIED[1]]
    elif model.config["head"] == "transformer":
        width = model.bert.config["hidden_size"]
        unused = (np.ones(width, np.float32), np.zeros(width, np.float32))
        tensors |= {prefix + name: value for name, value in zip(UNUSED, unused, strict=True)}

    return tensors


def _buffers(model: BertSumExt | BertSumAbs, prefix: str) -> dict[str, np.ndarray]:
    """What the original's program computes and saves beside the weights, by name."""
    width = model.bert.config["hidden_size"]
    positions = np.asarray(positional_encoding(POSITION_ROWS, width))[None]
    if isinstance(model, BertSumAbs):
        layers = range(model.config["num_decoder_layers"])
        later = np.triu(np.ones((1, POSITION_ROWS, POSITION_ROWS), np.uint8), k=1)
        masks = dict.fromkeys([f"decoder.transformer_layers.{i}.mask" for i in layers], later)
        return {"decoder." + POSITIONS: positions, **masks}

    return {prefix + POSITIONS: positions} if model.config["head"] == "transformer" else {}


def without_buffers(
    tensors: Mapping[str, np.ndarray], model: BertSumExt | BertSumAbs, prefix: str, source: str
) -> dict[str, np.ndarray]:
    """Checks the tensors of a file that are no weights of ours, and leaves them out.

    Args:
        tensors: Tensors of the file by name.
        model: A model of the file's sizes.
        prefix: Prefix of the head's names.
        source: The file's name, for errors.

    Returns:
        the weights.

    Raises:
        CheckpointError: A buffer is not what the original's program has in it, or the tied weights
            differ.
    """
    unused = [prefix + name for name in UNUSED]
    weights = {
        name: value
        for name, value in tensors.items()
        if not NO_WEIGHT.search(name) and name not in unused
    }
    for name, expected in _buffers(model, prefix).items():
        stored = weights.pop(name, expected)
        part = expected[:, : stored.shape[1], : stored.shape[-1]] if stored.ndim == 3 else expected
        fits = stored.shape == part.shape and stored.size > 0
        # nor is what is no number
        require(
            fits and np.abs(stored - part.astype(np.float32)).max() <= BUFFER_ERROR,
            f"{source}: {name} {list(stored.shape)} is not the {BUFFERS[name.split('.')[-1]]}",
            CheckpointError,
        )

    if TIED[0] in weights and TIED[1] in weights:
        output = weights.pop(TIED[0])
        require(
            np.array_equal(output, weights[TIED[1]]),
            f"{source}: {TIED[0]} differs from {TIED[1]}, and PreSumm ties them; this file is"
            " of another program",
            CheckpointError,
        )

    return weights
