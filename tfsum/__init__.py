"""Summarize text with TensorFlow and Keras.

`import tfsum` is light: TensorFlow is loaded by the first use of a name that needs it (PEP 562).

Example:
    >>> import tfsum
    >>> summarize = tfsum.load()  # the shipped model
    >>> text = "The bridge was closed on Monday. Engineers found cracks. It rained."
    >>> print(summarize(text, sentences=1).summary)
    The bridge was closed on Monday.
"""

import contextlib
import importlib
import sys
from typing import Any

from tfsum.errors import CheckpointError, DataError, Error, ExportError, RecipeError, Stopped
from tfsum.moved import MovedModules
from tfsum.quiet_tensorflow import quiet

__version__ = "0.2.0"

sys.meta_path.append(MovedModules())

# Public name -> the module that holds it.
_LAZY = {
    # what the command line does, too
    "load": "tfsum.tasks.load",
    "verify": "tfsum.tasks.load",
    "prepare": "tfsum.tasks.prepare",
    "train": "tfsum.tasks.recipes",
    "evaluate": "tfsum.tasks.evaluate",
    "export_model": "tfsum.tasks.export",
    "convert": "tfsum.conversion.convert",
    # answers
    "Summarizer": "tfsum.tasks.extractive.summarizer",
    "Summary": "tfsum.tasks.extractive.summary",
    "Generator": "tfsum.tasks.abstractive.generator",
    "Generated": "tfsum.tasks.abstractive.generated",
    "Classifier": "tfsum.tasks.classification.classifier",
    "Classified": "tfsum.tasks.classification.classified",
    "fill_mask": "tfsum.tasks.pretraining.fill_mask",
    "ExtractiveBatches": "tfsum.tasks.extractive.batches",
    # text
    "SentenceSplitter": "tfsum.text.sentence_splitter",
    "WordPiece": "tfsum.text.word_piece",
    # models
    "Bert": "tfsum.models.bert",
    "BertClassifier": "tfsum.models.bert_classifier",
    "BertForPretraining": "tfsum.models.bert_for_pretraining",
    "BertSumAbs": "tfsum.models.bert_sum_abs",
    "BertSumExt": "tfsum.models.bert_sum_ext",
    "Transformer": "tfsum.models.transformer",
}

__all__ = [
    "__version__",
    "Error",
    "DataError",
    "CheckpointError",
    "RecipeError",
    "ExportError",
    "Stopped",
    *_LAZY,
]


def __getattr__(name: str) -> Any:
    """Import the module behind a public name at its first use."""
    if name not in _LAZY:
        raise AttributeError(
            f"module 'tfsum' has no attribute {name!r}; it offers {', '.join(__all__)}"
        )
    with contextlib.nullcontext() if "tensorflow" in sys.modules else quiet():
        value = getattr(importlib.import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
