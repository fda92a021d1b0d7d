"""Abstractive summarization and translation: a Transformer (Vaswani et al. 2017) or
a BertSumAbs (Liu and Lapata 2019) generates the answer."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tfsum.tasks.abstractive.generator import Generator

MODEL_KIND, EXPORT_KIND, VERB = "transformer", "abstractive", "summarize"
OTHER_KINDS = {"bert_sum_abs": "train_documents"}


def owns(config: dict) -> bool:
    """Whether a config.json is of a Transformer or a BertSumAbs."""
    return config.get("model_type") == "transformer" or "bert_sum_abs" in config


def load(folder: str | pathlib.Path) -> Generator:
    """The `Generator` of an exported model."""
    from tfsum.tasks.abstractive.generator import Generator

    return Generator(folder)
