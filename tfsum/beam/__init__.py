"""Apache Beam pipelines: summaries, generated texts and labels of corpora that outgrow a machine.

Importing it loads neither TensorFlow nor Apache Beam (extra `beam`); each name is imported at its first use.

Example:
    >>> from tfsum.beam import FailedDocument
    >>> FailedDocument("news.jsonl:7", "not JSON", "{").key
    'news.jsonl:7'
"""

import importlib
from typing import Any

from tfsum.errors import Error

_LAZY = {
    "Summarize": "tfsum.beam.transforms",
    "Generate": "tfsum.beam.transforms",
    "Classify": "tfsum.beam.transforms",
    "SavedModelHandler": "tfsum.beam.saved_model_handler",
    "SummaryRow": "tfsum.beam.rows",
    "GeneratedRow": "tfsum.beam.rows",
    "ClassifiedRow": "tfsum.beam.rows",
    "FailedDocument": "tfsum.beam.rows",
    "ReadDocuments": "tfsum.beam.documents",
    "WriteAnswers": "tfsum.beam.outputs",
    "summarize_files": "tfsum.beam.files",
    "prepare": "tfsum.beam.preparation",
}

__all__ = [*_LAZY]


def __getattr__(name: str) -> Any:
    """Imports the module behind a public name at its first use."""
    if name not in _LAZY:
        raise AttributeError(
            f"module 'tfsum.beam' has no attribute {name!r}; it offers {', '.join(__all__)}"
        )
    try:
        value = getattr(importlib.import_module(_LAZY[name]), name)
    except ModuleNotFoundError as error:
        if error.name != "apache_beam":
            raise
        raise Error("pipelines need the package apache_beam; pip install 'tfsum[beam]'") from None
    globals()[name] = value
    return value
