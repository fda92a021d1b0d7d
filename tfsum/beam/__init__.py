"""Apache Beam pipelines that summarize, generate and classify corpora too large for one machine.

Importing this package loads neither TensorFlow nor Apache Beam (extra `beam`). The first use of a
name imports its module.

Example:
    >>> from tfsum.beam import FailedDocument
    >>> FailedDocument("news.jsonl:7", "not JSON", "{").key
    'news.jsonl:7'
"""

from tfsum.loading import lazy_names

_LAZY = {
    "Summarize": "tfsum.beam.transforms",
    "Generate": "tfsum.beam.transforms",
    "Classify": "tfsum.beam.transforms",
    "SavedModelHandler": "tfsum.beam.saved_model_handler",
    "SummaryRow": "tfsum.beam.rows",
    "GeneratedRow": "tfsum.beam.rows",
    "ClassifiedRow": "tfsum.beam.rows",
    "FailedDocument": "tfsum.beam.rows",
    "ReadDocuments": "tfsum.beam.transforms",
    "WriteAnswers": "tfsum.beam.files",
    "summarize_files": "tfsum.beam.files",
    "prepare": "tfsum.beam.preparation",
}

__all__ = [*_LAZY]
__getattr__ = lazy_names(__name__, _LAZY, "beam")
