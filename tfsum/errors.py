"""The exceptions of tfsum: one class to catch, a few children that say where to look."""


class Error(Exception):
    """Any mistake that tfsum can name: the thing, what was found, what was expected and how to fix it."""


class DataError(Error):
    """A corpus, a record or a text that cannot be read as what it should be."""


class CheckpointError(Error):
    """Weights, a configuration or a vocabulary that are missing, broken or do not fit each other."""


class RecipeError(Error):
    """A recipe with an unknown key, a wrong value or a missing section."""


class ExportError(Error):
    """A SavedModel that cannot be written, loaded or verified."""


class Stopped(Error):
    """A run that was asked to stop and has saved its state."""
