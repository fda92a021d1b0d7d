"""A model of tfsum as a checkpoint of BertSum or PreSumm."""

import pathlib
from typing import Any

from tfsum.conversion.bertsum_names import bertsum_tensors
from tfsum.errors import CheckpointError
from tfsum.formats.torch_writer import write_torch_file
from tfsum.models.bert_sum_abs import BertSumAbs
from tfsum.models.bert_sum_ext import BertSumExt

FLAVOURS = {"bertsum": "encoder.", "presumm": "ext_layer."}
"""Format -> the prefix of a head's names."""
PAPERS_HEADS = 64  # columns of an attention head of BERT, which the originals do not store


def write_bertsum(model: BertSumExt | BertSumAbs, path: str | pathlib.Path, to: str) -> list[str]:
    """Writes a checkpoint that the original loads, for its tests or to go on training with a new optimizer.

    Args:
        model: a built model.
        path: the .pt file.
        to: "bertsum" (extractive, with any head) or "presumm" (abstractive; extractive with the
            transformer head, or with the classifier, which is its encoder "baseline").

    Returns:
        Notes, one line each: what the original computes differently.

    Raises:
        CheckpointError: the original has no such model.
        OSError: the file cannot be written.

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
    write_torch_file(path, bertsum_tensors(model, FLAVOURS[to]), _options(model, to))
    return _notes(model)


def _check(model: BertSumExt | BertSumAbs, to: str) -> None:
    """Raises CheckpointError if the original's program has no such model."""
    abstractive, config = isinstance(model, BertSumAbs), model.config
    wrong = []
    if abstractive and to == "bertsum":
        wrong.append("an abstractive model, which PreSumm has: --to presumm")
    if abstractive and config["copy"]:
        wrong.append("a copy attention")
    if not abstractive:
        known = (
            ("classifier", "transformer")
            if to == "presumm"
            else ("classifier", "transformer", "lstm")
        )
        if config["head"] not in known:
            wrong.append(f"head {config['head']!r}, where it has {', '.join(known)}")
        if config["pooling"] != "cls":
            wrong.append(f"pooling {config['pooling']!r}, where it has 'cls'")
        if config["length_input"]:
            wrong.append("length_input")
    if wrong:
        raise CheckpointError(
            f"--to {to}: the original's program has no model with {'; '.join(wrong)}"
        )


def _options(model: BertSumExt | BertSumAbs, to: str) -> dict[str, Any]:
    """The `opt` of the file, by the names of the original's arguments."""
    bert, config = model.bert.config, model.config
    found: dict[str, Any] = {
        "mode": "train",
        "use_interval": True,
        "param_init": 0,
        "param_init_glorot": True,
        "visible_gpus": "-1",
        "seed": 666,
    }
    if to == "presumm":
        found |= {
            "encoder": "bert",
            "max_pos": bert["max_position_embeddings"],
            "large": False,
            "finetune_bert": True,
            "task": "abs" if isinstance(model, BertSumAbs) else "ext",
        }
    if isinstance(model, BertSumAbs):
        return found | {
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
    sizes = {
        "layers": config["head_layers"],
        "heads": config["head_num_heads"],
        "ff_size": config["head_feed_forward_width"],
        "dropout": config["head_dropout"],
        "hidden_size": bert["hidden_size"],
    }
    if to == "presumm":
        if (
            config["head"] == "classifier"
        ):  # which PreSumm has on top of a small BERT of its own alone
            sizes |= {
                "layers": bert["num_hidden_layers"],
                "heads": bert["num_attention_heads"],
                "ff_size": bert["intermediate_size"],
            }
            found["encoder"] = "baseline"
        return found | {f"ext_{name}": value for name, value in sizes.items()}
    encoder = {"lstm": "rnn"}.get(config["head"], config["head"])
    layers = sizes.pop("layers")
    return (
        found
        | sizes
        | {"encoder": encoder, "inter_layers": layers, "rnn_size": bert["hidden_size"]}
    )


def _notes(model: BertSumExt | BertSumAbs) -> list[str]:
    bert, notes = model.bert.config, []
    if bert["hidden_act"] != "gelu":
        notes.append(
            f"the encoder computes {bert['hidden_act']}, and the original the exact GELU unless its "
            "configuration of BERT says otherwise"
        )
    if bert["num_attention_heads"] * PAPERS_HEADS != bert["hidden_size"]:
        notes.append(
            f"the encoder has {bert['num_attention_heads']} attention heads, which the file cannot say: the "
            "original takes them from its configuration of BERT"
        )
    if getattr(model, "window_length", 0) != bert["max_position_embeddings"]:
        notes.append("window_length is not stored; the original reads one window")
    if (
        isinstance(model, BertSumExt)
        and model.config["head"] == "lstm"
        and not model.config["legacy"]
    ):
        notes.append(
            "the original computes its LSTM head with two slips (`legacy`), so that its scores differ"
        )
    return notes
