"""The SavedModel: raw strings in, answers out, wherever TensorFlow runs."""

import importlib

_LAZY = {  # TensorFlow is loaded by the first use
    "export_extractive": "tfsum.export.saved_model",
    "verify": "tfsum.export.verification",
    "load": "tfsum.export.summarizer",
    "Summarizer": "tfsum.export.summarizer",
    "Summary": "tfsum.export.summarizer",
}

__all__ = list(_LAZY)


def __getattr__(name: str):
    if name not in _LAZY:
        raise AttributeError(
            f"module 'tfsum.export' has no attribute {name!r}; it offers {', '.join(__all__)}"
        )
    return getattr(importlib.import_module(_LAZY[name]), name)
