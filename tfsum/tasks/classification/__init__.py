"""Classification: BertClassifier labels a text or a pair of texts (Devlin et al. 2019, section 4)."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tfsum.tasks.classification.classifier import Classifier

MODEL_KIND, EXPORT_KIND, VERB = "bert_classifier", "classifier", "classify"


def owns(config: dict) -> bool:
    """Whether a config.json is of a BertClassifier, by the architecture that transformers calls it."""
    return "BertForSequenceClassification" in (config.get("architectures") or [])


def load(folder: str | pathlib.Path) -> Classifier:
    """The `Classifier` of an exported model."""
    from tfsum.tasks.classification.classifier import Classifier

    return Classifier(folder)
