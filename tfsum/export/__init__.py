"""The SavedModel: raw strings in, answers out, wherever TensorFlow runs."""

import importlib

_LAZY = {  # TensorFlow is loaded by the first use
    "export_model": "tfsum.export.exporting",
    "export_extractive": "tfsum.export.saved_model",
    "export_abstractive": "tfsum.export.abstractive_model",
    "export_classifier": "tfsum.export.classifier_model",
    "verify": "tfsum.export.verification",
    "load": "tfsum.export.loading",
    "Summarizer": "tfsum.export.summarizer",
    "Summary": "tfsum.export.summarizer",
    "Generator": "tfsum.export.generator",
    "Generated": "tfsum.export.generator",
    "Classifier": "tfsum.export.classifying",
    "Classified": "tfsum.export.classifying",
}

__all__ = list(_LAZY)


def __getattr__(name: str):
    if name not in _LAZY:
        raise AttributeError(
            f"module 'tfsum.export' has no attribute {name!r}; it offers {', '.join(__all__)}"
        )
    return getattr(importlib.import_module(_LAZY[name]), name)
