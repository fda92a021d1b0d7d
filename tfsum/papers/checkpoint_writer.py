"""A model of tfsum, or its folder, as a checkpoint of BertSum or PreSumm."""

import os
import pathlib
from typing import Any

from tfsum.errors import CheckpointError, require
from tfsum.formats import config_json, torch_file
from tfsum.models import BertSumAbs, BertSumExt
from tfsum.papers.checkpoint_names import bertsum_tensors

FLAVOURS = {"bertsum": "encoder.", "presumm": "ext_layer."}
"""Format -> the prefix of a head's names."""
HEADS = {
    "bertsum": ("classifier", "transformer", "lstm"),
    "presumm": ("classifier", "transformer"),
}
"""Format -> the heads that its program has."""
TRAINED = {
    "mode": "train",
    "use_interval": True,
    "param_init": 0,
    "param_init_glorot": True,
    "visible_gpus": "-1",
    "seed": 666,
}
"""Arguments that the programs ask for, and that no model has."""
PAPERS_HEADS = 64  # columns of an attention head of BERT, which the originals do not store


def write_bertsum(model: BertSumExt | BertSumAbs, path: str | pathlib.Path, to: str) -> list[str]:
    """Writes a checkpoint that the original loads, to test or to train it further.

    Args:
        model: A built model.
        path: The .pt file.
        to: "bertsum" (extractive, with any head) or "presumm" (abstractive; extractive with the
            transformer head, or with the classifier, which is its encoder "baseline").

    Returns:
        Notes, one line each: what the original computes differently.

    Raises:
        CheckpointError: Original has no such model.
        OSError: File cannot be written.

    Example:
        >>> import tempfile
        >>> model = BertSumExt(
        ...     {
        ...         "vocab_size": 10,
        ...         "hidden_size": 64,
        ...         "num_hidden_layers": 1,
        ...         "num_attention_heads": 1,
        ...         "intermediate_size": 16,
        ...     },
        ...     head="classifier",
        ... )
        >>> model.build()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_bertsum(model, f"{folder}/model.pt", "bertsum")
        []
    """
    _check(model, to)
    torch_file.write_torch_file(path, bertsum_tensors(model, FLAVOURS[to]), _options(model, to))
    return _notes(model)


def folder_to_checkpoint(
    source: str | os.PathLike, destination: pathlib.Path, to: str
) -> list[str]:
    """Writes a model folder as a checkpoint of the original's program.

    Args:
        source: A model folder of a `BertSumExt` or a `BertSumAbs`.
        destination: The .pt file.
        to: "bertsum" or "presumm".

    Returns:
        Notes, one line each.

    Raises:
        CheckpointError: Folder is of another model, or the original has no such model.
        OSError: File cannot be written.
    """
    config = config_json.read_json(f"{source}/config.json")
    kinds: list[Any] = [kind for kind in (BertSumExt, BertSumAbs) if kind.section in config]
    require(
        kinds,
        f"{source}: is neither a BertSumExt nor a BertSumAbs, which the programs of "
        f"{' and '.join(FLAVOURS)} have; other formats of a BERT are google and hugging-face",
        CheckpointError,
    )

    return write_bertsum(kinds[0].from_pretrained(source), destination, to)


def _check(model: BertSumExt | BertSumAbs, to: str) -> None:
    """Raises CheckpointError if the original's program has no such model."""
    config = model.config
    if isinstance(model, BertSumAbs):
        checks = {
            "an abstractive model, which PreSumm has: --to presumm": to == "bertsum",
            "a copy attention": config["copy"],
        }
    else:
        head, pooling = config["head"], config["pooling"]
        checks = {
            f"head {head!r}, where it has {', '.join(HEADS[to])}": head not in HEADS[to],
            f"pooling {pooling!r}, where it has 'cls'": pooling != "cls",
            "length_input": config["length_input"],
        }

    if wrong := [what for what, found in checks.items() if found]:
        raise CheckpointError(
            f"--to {to}: the original's program has no model with {'; '.join(wrong)}"
        )


def _options(model: BertSumExt | BertSumAbs, to: str) -> dict[str, Any]:
    """The `opt` of the file, by the names of the original's arguments."""
    bert, config = model.bert.config, model.config
    options: dict[str, Any] = dict(TRAINED)
    if to == "presumm":
        # which has a classifier on top of a small BERT of its own alone
        options |= {
            "encoder": {"classifier": "baseline"}.get(config.get("head", ""), "bert"),
            "max_pos": bert["max_position_embeddings"],
            "large": False,
            "finetune_bert": True,
            "task": "abs" if isinstance(model, BertSumAbs) else "ext",
        }

    if isinstance(model, BertSumAbs):
        return options | {
            "dec_layers": config["num_decoder_layers"],
            "dec_hidden_size": bert["hidden_size"],
            "dec_heads": config["num_heads"],
            "dec_ff_size": config["feed_forward_width"],
            "dec_dropout": config["dropout"],
            "label_smoothing": config["label_smoothing"],
            "max_length": config["max_length"],
            "use_bert_emb": True,
            "share_emb": False,
        }
    if to == "presumm":
        return options | _presumm_head(bert, config)
    return options | {
        "heads": config["head_num_heads"],
        "ff_size": config["head_feed_forward_width"],
        "dropout": config["head_dropout"],
        "hidden_size": bert["hidden_size"],
        "encoder": {"lstm": "rnn"}.get(config["head"], config["head"]),
        "inter_layers": config["head_layers"],
        "rnn_size": bert["hidden_size"],
    }


def _presumm_head(bert: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
    layers = [config[f"head_{name}"] for name in ("layers", "num_heads", "feed_forward_width")]
    if config["head"] == "classifier":
        layers = [bert["num_hidden_layers"], bert["num_attention_heads"], bert["intermediate_size"]]
    return {
        **dict(zip(("ext_layers", "ext_heads", "ext_ff_size"), layers)),
        "ext_dropout": config["head_dropout"],
        "ext_hidden_size": bert["hidden_size"],
    }


def _notes(model: BertSumExt | BertSumAbs) -> list[str]:
    bert, config = model.bert.config, model.config
    activation, heads = bert["hidden_act"], bert["num_attention_heads"]
    notes = {
        f"the encoder computes {activation}, and the original the exact GELU unless its"
        " configuration of BERT says otherwise": activation != "gelu",
        f"the encoder has {heads} attention heads, which the file cannot say: the original takes"
        " them from its configuration of BERT": heads * PAPERS_HEADS != bert["hidden_size"],
        "window_length is not stored; the original reads one window": (
            getattr(model, "window_length", 0) != bert["max_position_embeddings"]
        ),
        "the original computes its LSTM head with two slips (`legacy`), so that its scores"
        " differ": config.get("head") == "lstm" and not config["legacy"],
    }
    return [note for note, applies in notes.items() if applies]
