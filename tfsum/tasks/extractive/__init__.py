"""Extractive summarization: BertSumExt chooses sentences of the text (Liu 2019; Liu and Lapata 2019)."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tfsum.tasks.extractive.summarizer import Summarizer

MODEL_KIND, EXPORT_KIND, VERB = "bert_sum_ext", "extractive", "summarize"


def owns(config: dict) -> bool:
    """Whether a config.json is of a BertSumExt."""
    return config.get("model_type") == "bert" and "bert_sum_ext" in config


def load(folder: str | pathlib.Path) -> Summarizer:
    """The `Summarizer` of an exported model."""
    from tfsum.tasks.extractive.summarizer import Summarizer

    return Summarizer(folder)
