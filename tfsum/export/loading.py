"""`tfsum.load`: an exported model of any kind as a callable of Python."""

from tfsum.export.classifying import Classifier
from tfsum.export.exported_model import newest
from tfsum.export.generator import Generator
from tfsum.export.shipped import shipped_model
from tfsum.export.summarizer import Summarizer
from tfsum.export.verification import read_description

KINDS = {"extractive": Summarizer, "abstractive": Generator, "classifier": Classifier}


def load(path=None) -> Summarizer | Generator | Classifier:
    """Loads an exported model.

    Args:
        path: its folder `.../NAME/VERSION` or `.../NAME`; the shipped extractive model by default.

    Returns:
        A callable: a `Summarizer` for an extractive model, a `Generator` for an abstractive one, a `Classifier`.

    Raises:
        ExportError: there is no such model, or it is broken.
    """
    folder = newest(shipped_model() if path is None else path)
    return KINDS[read_description(folder)["kind"]](folder)
