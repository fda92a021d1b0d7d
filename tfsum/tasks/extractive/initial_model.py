"""The model that extractive training begins with: around a trained encoder, around a random one, or another model."""

import json
import pathlib
from typing import Any

from tfsum.errors import RecipeError
from tfsum.formats.bert_config import read_bert_config
from tfsum.formats.hugging_face import local_folder
from tfsum.formats.int8_rows import rounded_rows
from tfsum.formats.model_folder import read_json
from tfsum.models import Bert, BertSumExt
from tfsum.training.encoder import freeze

SHAPE = ("head", "pooling", "length_input", "legacy")
LAYERS = ("head_layers", "head_num_heads", "head_feed_forward_width")


def make_model(
    encoder: str,
    freeze_layers: int = 0,
    round_words: bool = False,
    hidden_dropout_prob: float = 0.1,
    attention_probs_dropout_prob: float = 0.1,
    **head: Any,
) -> BertSumExt:
    """Builds a BertSumExt around a trained encoder.

    Args:
        encoder: see `tfsum.formats.hugging_face.local_folder`.
        freeze_layers: the lowest encoder layers that keep their weights; above 0 the embeddings keep theirs too.
        round_words: round the rows of the word embedding to what int8 holds before training, so that an export with
            storage "small" is exact for them; they must keep their weights (`freeze_layers`).
        hidden_dropout_prob: dropout of the encoder.
        attention_probs_dropout_prob: dropout on its attention weights.
        **head: the other arguments of `BertSumExt`.

    Returns:
        The built model.

    Raises:
        RecipeError: the word embedding is rounded and trained.
        CheckpointError: the encoder cannot be read.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Bert(10, 8, 1, 2, 16).save_pretrained(folder)
        ...     model = make_model(folder, head="classifier")
        >>> model.config["head"]
        'classifier'
    """
    check_rounding(round_words, freeze_layers)
    bert = Bert.from_pretrained(
        local_folder(encoder),
        hidden_dropout_prob=hidden_dropout_prob,
        attention_probs_dropout_prob=attention_probs_dropout_prob,
    )
    model = BertSumExt(bert, **head)
    model.build()
    return _frozen(model, freeze_layers, round_words)


def start_model(
    folder: str,
    freeze_layers: int,
    round_words: bool,
    hidden_dropout_prob: float,
    attention_probs_dropout_prob: float,
    **head: Any,
) -> BertSumExt:
    """Builds a BertSumExt with the weights of another, such as a checkpoint of BertSum that was converted.

    Args:
        folder: the model folder of a `BertSumExt`.
        freeze_layers, round_words, hidden_dropout_prob, attention_probs_dropout_prob, **head: see `make_model`.

    Raises:
        RecipeError: it is another model, or has another head.

    Example:
        >>> model = start_model("bertsum", 0, False, 0.1, 0.1, head="classifier")  # doctest: +SKIP
    """
    if "bert_sum_ext" not in read_json(pathlib.Path(folder) / "config.json"):
        raise RecipeError(
            f"[model] start: {folder} is no BertSumExt; name a BERT as encoder instead"
        )
    stored = BertSumExt.from_pretrained(folder)
    model = random_model(
        folder, 0, False, hidden_dropout_prob, attention_probs_dropout_prob, **head
    )
    names = SHAPE + (LAYERS if stored.config["head"] == "transformer" else ())
    if others := [name for name in names if stored.config[name] != model.config[name]]:
        wanted = ", ".join(f"{name} = {json.dumps(stored.config[name])}" for name in others)
        raise RecipeError(
            f"[model] start: {folder} has another head or pooling; [model] must have {wanted}"
        )
    for new, old in zip(
        model.bert.weights + _above(model), stored.bert.weights + _above(stored), strict=True
    ):
        new.assign(old)
    return _frozen(model, freeze_layers, round_words)


def random_model(
    folder: str,
    freeze_layers: int,
    round_words: bool,
    hidden_dropout_prob: float,
    attention_probs_dropout_prob: float,
    **head: Any,
) -> BertSumExt:
    """Builds a BertSumExt whose encoder has random weights, as the encoder `baseline` of the original's program has.

    Args:
        folder: of an encoder, whose config.json gives the sizes, and vocab.txt the word pieces; its weights are not
            read, and need not be there.
        freeze_layers, round_words, hidden_dropout_prob, attention_probs_dropout_prob, **head: see `make_model`.

    Raises:
        CheckpointError: there is no config.json, or it is not that of a BERT.

    Example:
        >>> model = random_model(
        ...     "a_small_bert", 0, False, 0.1, 0.1, head="classifier"
        ... )  # doctest: +SKIP
    """
    rates = {
        "hidden_dropout_prob": hidden_dropout_prob,
        "attention_probs_dropout_prob": attention_probs_dropout_prob,
    }
    model = BertSumExt({**read_bert_config(folder), **rates}, **head)
    model.build()
    return _frozen(model, freeze_layers, round_words)


def _above(model: BertSumExt) -> list:
    """The weights above the encoder, in an order that depends on the shape of the model alone."""
    return [variable for _, variable in sorted(model.head_variables().items())]


def _frozen(model: BertSumExt, freeze_layers: int, round_words: bool) -> BertSumExt:
    if round_words:
        words = model.bert.word_embeddings.embeddings
        words.assign(rounded_rows(words.numpy()))
    freeze(model.bert, freeze_layers)
    model.bert.pooler.trainable = False  # the scores do not use it
    return model


def is_pretrained(model: dict[str, Any]) -> bool:
    """Whether the encoder's weights come from a folder of a BERT.

    Args:
        model: [model] of a recipe.

    Example:
        >>> is_pretrained({"start": None, "pretrained": None})
        True
    """
    return not model["start"] and model["pretrained"] is not False


def check_origin(model: dict[str, Any]) -> None:
    """Checks that a recipe says what the model begins with.

    Args:
        model: [model] of the recipe.

    Raises:
        RecipeError: it names nothing, or several things.

    Example:
        >>> check_origin({"encoder": "a_bert", "start": None, "pretrained": None})
    """
    if (model["encoder"] is None) == (model["start"] is None):
        raise RecipeError(
            "[model] needs one of encoder, a BERT whose head begins untrained, and start, the model "
            "folder of a BertSumExt"
        )
    if model["start"] and model["pretrained"] is False:
        raise RecipeError(
            "[model] pretrained is false and start is given: a model that training starts from has its "
            "weights; leave one of them out"
        )


def check_rounding(round_words: bool, freeze_layers: int) -> None:
    """Checks that rounded embeddings stay as they are.

    Args:
        round_words, freeze_layers: see `make_model`.

    Raises:
        RecipeError: they would be trained.

    Example:
        >>> check_rounding(round_words=True, freeze_layers=1)
    """
    if round_words and not freeze_layers:
        raise RecipeError(
            "[model] round_words is true and freeze_layers 0: embeddings that are trained do not stay "
            "rounded; freeze 1 layer or more, or leave round_words out"
        )
