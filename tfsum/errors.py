"""The exceptions of tfsum: one class to catch, a few children that say where to look."""


class Error(Exception):
    """Any mistake that tfsum can name: the thing, what was found, what was expected and how to fix it.

    Example:
        >>> import tfsum
        >>> try:
        ...     tfsum.load("no/such/model")
        ... except tfsum.Error as error:
        ...     print(type(error).__name__)
        ExportError
    """


class DataError(Error):
    """A corpus, a record or a text that cannot be read as what it should be.

    Example:
        >>> from tfsum.data.readers import read_corpus
        >>> list(read_corpus("no_such_corpus.jsonl"))  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        tfsum.errors.DataError: no_such_corpus.jsonl: ...
    """


class CheckpointError(Error):
    """Weights, a configuration or a vocabulary that are missing, broken or do not fit each other.

    Example:
        >>> import tfsum
        >>> tfsum.BertSumExt.from_pretrained("no/such/folder")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        tfsum.errors.CheckpointError: no/such/folder/config.json: no such file; ...
    """


class RecipeError(Error):
    """A recipe with an unknown key, a wrong value or a missing section.

    Example:
        >>> import tfsum
        >>> tfsum.train("no_such_recipe.toml")
        Traceback (most recent call last):
        tfsum.errors.RecipeError: no_such_recipe.toml: no such recipe; the shipped ones are in training/
    """


class ExportError(Error):
    """A SavedModel that cannot be written, loaded or verified.

    Example:
        >>> import tfsum
        >>> tfsum.verify("no/such/model")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        tfsum.errors.ExportError: no/such/model: no SavedModel ...
    """


class Stopped(Error):
    """A run that was asked to stop and has saved its state.

    Example:
        >>> import tfsum
        >>> try:  # doctest: +SKIP
        ...     tfsum.train("training/bert_sum_ext_news.toml")
        ... except tfsum.Stopped:
        ...     print("run it again to resume")
    """
