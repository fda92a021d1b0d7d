"""Loads a model given as a callable, an exported model, or a model folder."""

import contextlib
import pathlib
import tempfile
from collections.abc import Iterator
from typing import Any

from tfsum.errors import ExportError
from tfsum.inference.exported_model import ExportedModel
from tfsum.tasks.load import load


@contextlib.contextmanager
def loaded(
    model: ExportedModel | str | pathlib.Path, search: dict[str, Any] | None = None
) -> Iterator[Any]:
    """Loads a model; a model folder is exported temporarily, for the duration of the block.

    Args:
        model: a result of `tfsum.load`, an exported model's folder, or a model folder.
        search: options of the export of a model folder.

    Yields:
        The Python callable.

    Raises:
        ExportError: the model cannot be read or exported, or `search` is given for one that is exported already.

    Example:
        >>> with loaded(load()) as summarize:
        ...     print(summarize("It rained.", sentences=1))
        It rained.
    """
    path = pathlib.Path(model) if isinstance(model, str | pathlib.Path) else model.path
    if not isinstance(model, str | pathlib.Path) or not (path / "config.json").is_file():
        if search:
            raise ExportError(
                f"{path}: was exported with its own decoding strategy; leave out "
                f"{', '.join(sorted(search))}, or give the model folder"
            )
        yield load(model) if isinstance(model, str | pathlib.Path) else model
        return
    from tfsum.tasks.export import export_model

    with tempfile.TemporaryDirectory() as folder:
        # TF Text's operations give the same bytes faster, and this process has them.
        yield load(
            export_model(path, pathlib.Path(folder) / "model" / "1", ops="text", **(search or {}))
        )
