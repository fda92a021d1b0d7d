"""The names of BertSum's and PreSumm's tensors, and the variables of tfsum's models that they are.

BERT is under `bert.model.` with Hugging Face's names. A head is under `encoder.` (nlpyang/BertSum) or `ext_layer.`
(nlpyang/PreSumm); an abstractive model (PreSumm) has `decoder.` and `generator.`.
"""

import re

import numpy as np

from tfsum.errors import CheckpointError
from tfsum.formats import weight_names
from tfsum.formats.weight_names import DENSE, NORM, TABLE
from tfsum.layers.positional_encoding import positional_encoding
from tfsum.models.bert_sum_abs import BertSumAbs
from tfsum.models.bert_sum_ext import BertSumExt

BERT = "bert.model."
CLASSIFIER = (("linear1", "score", DENSE),)
TRANSFORMER = (("layer_norm", "encoder/final_norm", NORM), ("wo", "score", DENSE))
LSTM = (("wo", "score", DENSE),)
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
    *(
        (f"{file}.{a}", f"{path}/{b}", t)
        for file, path in (
            ("ln_ih", "input_norm"),
            ("ln_hh", "recurrent_norm"),
            ("ln_ho", "cell_norm"),
        )
        for a, b, t in NORM
    ),
)
UNUSED = ("transformer_inter.0.layer_norm.weight", "transformer_inter.0.layer_norm.bias")
"""In the file, but the original's first layer never applies it: it attends on what it is given."""
TIED = ("generator.0.weight", "decoder.embeddings.weight")
"""The output's weights, and the embedding that they are."""
POSITIONS, POSITION_ROWS = "pos_emb.pe", 5000  # a buffer of the original
POSITION_ERROR = 2e-3
"""The original took the angles of 5000 positions in float32, which are wrong by up to 5e-4 there."""
MASK = re.compile(r"decoder\.transformer_layers\.\d+\.mask$")


def bertsum_names(
    model: BertSumExt | BertSumAbs, prefix: str = "encoder."
) -> list[tuple[str, str, bool]]:
    """Lists (name in the file, path of the variable below the model, transposed) of all weights.

    Args:
        model: a built model.
        prefix: of the names of a head, "encoder." for BertSum and "ext_layer." for PreSumm.

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
    encoder = weight_names.bert_names(model.bert.config["num_hidden_layers"])
    names = [(BERT + file, f"bert/{path}", transposed) for file, path, transposed in encoder]
    if isinstance(model, BertSumAbs):
        return names + _writer_names(model)
    head = _head_names(model.config["head"], model.config["head_layers"])
    return names + [
        (prefix + file, f"head/{path}", transposed)
        for file, path, transposed in head
        if file not in UNUSED
    ]


def _head_names(head: str, layers: int) -> list[tuple[str, str, bool]]:
    if head == "classifier":
        return _parameters(CLASSIFIER)
    if head == "lstm":
        directions = (("rnn.hidden0.0.", "forward/"), ("rnn.hidden1.0.", "backward/"))
        return [
            (file + f, path + p, t) for file, path in directions for f, p, t in DIRECTION
        ] + _parameters(LSTM)
    return _parameters(TRANSFORMER) + [
        name
        for i in range(layers)
        for name in _parameters(SENTENCE_LAYER, f"transformer_inter.{i}.", f"encoder/layer_{i}/")
    ]


def _writer_names(model: BertSumAbs) -> list[tuple[str, str, bool]]:
    layers = [
        name
        for i in range(model.config["num_decoder_layers"])
        for name in _parameters(
            DECODER_LAYER, f"decoder.transformer_layers.{i}.", f"decoder/layer_{i}/"
        )
    ]
    top = _parameters(
        (
            ("decoder.embeddings", "target_embedding", TABLE),
            ("decoder.layer_norm", "decoder/final_norm", NORM),
        )
    )
    return top + layers + [("generator.0.bias", "output_bias", False)]


def _parameters(
    parts: tuple, file_prefix: str = "", path_prefix: str = ""
) -> list[tuple[str, str, bool]]:
    return [
        (f"{file_prefix}{file}.{a}", f"{path_prefix}{path}/{b}", t)
        for file, path, kinds in parts
        for a, b, t in kinds
    ]


def named_variables(model: BertSumExt | BertSumAbs) -> dict:
    """The weights by the paths of `bertsum_names`.

    Args:
        model: a built model.

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
    if isinstance(model, BertSumAbs):
        rest = model.writer_variables()
    else:
        rest = {
            path: variable
            for path, variable in model.head_variables().items()
            if path.startswith("head/")
        }
    bert = {
        f"bert/{path}": variable
        for path, variable in weight_names.variables_by_path(model.bert).items()
    }
    return bert | rest


def bertsum_tensors(
    model: BertSumExt | BertSumAbs, prefix: str = "encoder."
) -> dict[str, np.ndarray]:
    """Gives the weights under the original's names: the state_dict that its `load_state_dict` takes.

    Args:
        model: a built model.
        prefix: "encoder." for BertSum, "ext_layer." for PreSumm; without effect on an abstractive model.

    Returns:
        arrays by name, kernels as (out, in), the original's buffers among them; the normalization that the original
        never applies is 1 and 0.

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
    tensors = weight_names.named_tensors(named_variables(model), bertsum_names(model, prefix))
    width = model.bert.config["hidden_size"]
    if isinstance(model, BertSumAbs):
        tensors["decoder." + POSITIONS] = _positions(width)
        tensors[TIED[0]] = tensors[TIED[1]]
        later = np.triu(np.ones((1, POSITION_ROWS, POSITION_ROWS), np.uint8), k=1)
        for i in range(model.config["num_decoder_layers"]):
            tensors[f"decoder.transformer_layers.{i}.mask"] = later
    elif model.config["head"] == "transformer":
        tensors[prefix + POSITIONS] = _positions(width)
        tensors[prefix + UNUSED[0]] = np.ones(width, np.float32)
        tensors[prefix + UNUSED[1]] = np.zeros(width, np.float32)
    return tensors


def _positions(width: int) -> np.ndarray:
    return np.asarray(positional_encoding(POSITION_ROWS, width))[None]


def without_buffers(
    tensors: dict[str, np.ndarray], prefix: str, source: str
) -> dict[str, np.ndarray]:
    """Checks the tensors of a file that are no weights of ours, and leaves them out.

    Args:
        tensors: of the file.
        prefix: of the names of the head, or "decoder.".
        source: the file's name, for errors.

    Returns:
        the weights.

    Raises:
        CheckpointError: a buffer is not what the original's program has in it, or the tied weights differ.

    Example:
        >>> sorted(without_buffers({"encoder.linear1.bias": np.zeros(1)}, "encoder.", "model.pt"))
        ['encoder.linear1.bias']
    """
    weights = {
        name: value for name, value in tensors.items() if not weight_names.NO_WEIGHT.search(name)
    }
    positions = weights.pop(prefix + POSITIONS, None)
    if positions is not None:
        sound = positions.ndim == 3 and len(positions) == 1 and positions.size > 0
        expected = np.asarray(positional_encoding(*positions.shape[1:]))[None] if sound else None
        if (
            expected is None or not np.abs(positions - expected).max() <= POSITION_ERROR
        ):  # nor is what is no number
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
                f"{source}: {name} {list(mask.shape)} is not the mask of later tokens that PreSumm's "
                "decoder has"
            )
    if TIED[0] in weights and TIED[1] in weights:
        output = weights.pop(TIED[0])
        if not np.array_equal(output, weights[TIED[1]]):
            raise CheckpointError(
                f"{source}: {TIED[0]} differs from {TIED[1]}, and PreSumm ties them; this file is of "
                "another program"
            )
    return {
        name: value for name, value in weights.items() if name.removeprefix(prefix) not in UNUSED
    }
