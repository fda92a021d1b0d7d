"""Abstractive summarization and translation: a Transformer generates the answer (Vaswani et al. 2017)."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tfsum.tasks.abstractive.generator import Generator

MODEL_KIND, EXPORT_KIND, VERB = "transformer", "abstractive", "summarize"


def owns(config: dict) -> bool:
    """Whether a config.json is of a Transformer."""
    return config.get("model_type") == "transformer"


def load(folder: str | pathlib.Path) -> Generator:
    """The `Generator` of an exported model."""
    from tfsum.tasks.abstractive.generator import Generator

    return Generator(folder)
