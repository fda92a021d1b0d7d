"""Summarize text with TensorFlow and Keras.

`import tfsum` is light: TensorFlow is loaded by the first use of a name that needs it (PEP 562).
Where Keras is imported already, it registers the models, so that `keras.models.load_model` reads
their .keras files; before Keras, `import tfsum.models` does.

Example:
    >>> import tfsum
    >>> summarize = tfsum.load()  # the shipped model
    >>> text = "The bridge was closed on Monday. Engineers found cracks. It rained."
    >>> print(summarize(text, sentences=1).summary)
    The bridge was closed on Monday.
"""

import importlib
import sys
from typing import Any

from tfsum.errors import CheckpointError, DataError, Error, ExportError, RecipeError, Stopped
from tfsum.loading import lazy_names

__version__ = "1.0.0"

# Public name -> the module that holds it.
_LAZY = {
    # what the command line does, too
    "load": "tfsum.tasks.load",
    "verify": "tfsum.tasks.load",
    "prepare": "tfsum.tasks.recipes",
    "train": "tfsum.tasks.recipes",
    "evaluate": "tfsum.tasks.load",
    "export_model": "tfsum.tasks.load",
    "convert": "tfsum.conversion.convert",
    # answers
    "Summarizer": "tfsum.tasks.bert_sum_ext.summarizer",
    "SummaryRequest": "tfsum.request",
    "SummaryAnswer": "tfsum.request",
    "Summary": "tfsum.request",
    "Keyword": "tfsum.request",
    "Generator": "tfsum.generation.generator",
    "Generated": "tfsum.generation.generator",
    "Classifier": "tfsum.tasks.bert_classifier.classifier",
    "Classified": "tfsum.tasks.bert_classifier.classified",
    "fill_mask": "tfsum.tasks.bert_pretraining.fill_mask",
    "ExtractiveBatches": "tfsum.tasks.bert_sum_ext.batches",
    # text
    "Detokenizer": "tfsum.text.detokenizer",
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

_value_of = lazy_names(__name__, _LAZY)


def __getattr__(name: str) -> Any:
    """Import the module behind a public name at its first use."""
    value = _value_of(name)
    if _LAZY[name].startswith(("tfsum.models.", "tfsum.conversion.")):
        importlib.import_module("tfsum.papers")  # adds its head and its formats to theirs
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


# Where Keras is loaded already, `keras.models.load_model` must know the classes of the models.
if sys.modules.get("keras"):  # None where something blocks its import
    importlib.import_module("tfsum.papers")  # which imports tfsum.models
