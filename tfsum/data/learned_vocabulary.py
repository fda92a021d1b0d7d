"""Vocabularies learned once from a corpus and found again through a manifest."""

import pathlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from tfsum.data.manifest import Manifest, digest
from tfsum.text.vocabulary import learn_vocabulary, write_vocabulary


class RereadTexts:
    """Texts that are read again with each loop.

    Args:
        read: begins to read them.

    Example:
        >>> texts = RereadTexts(lambda: iter(["It rained."]))
        >>> list(texts), list(texts)
        (['It rained.'], ['It rained.'])
    """

    def __init__(self, read: Callable[[], Iterator[str]]) -> None:
        self._read = read

    def __iter__(self) -> Iterator[str]:
        return self._read()


def learned_vocabularies(
    folder: str | pathlib.Path,
    settings: dict[str, Any],
    files: Mapping[str, str | pathlib.Path | None],
    wanted: Mapping[str, tuple[Iterable[str], int]],
    **options: Any,
) -> list[pathlib.Path]:
    """Learns vocabularies; a second call finds them done.

    Args:
        folder: where they are written, beside a manifest.
        settings: everything that decides what they hold, but for the files.
        files: those that do, by their name in the settings; None where there is none.
        wanted: file name -> texts and number of pieces.
        **options: see `learn_vocabulary`.

    Returns:
        The files.

    Raises:
        Error: `folder` holds vocabularies that were learned otherwise, or see `learn_vocabulary`.

    Example:
        >>> import tempfile
        >>> wanted = {"vocab.txt": (["it rained", "it rained"], 400)}
        >>> (file,) = learned_vocabularies(
        ...     tempfile.mkdtemp(), {"size": 400}, {}, wanted, lowercase=True
        ... )
        >>> file.name, file.read_text().split()[0]
        ('vocab.txt', '[PAD]')
    """
    digests = {name: None if file is None else digest(file) for name, file in files.items()}
    manifest = Manifest.open(folder, digests | settings)
    manifest.forget_missing(list(wanted))
    for name, (texts, size) in wanted.items():
        if name not in manifest.shards:
            pieces = learn_vocabulary(texts, size, **options)
            write_vocabulary(pieces, manifest.folder / name)
            manifest.add(name, {"pieces": len(pieces)})
    if not manifest.counts:
        manifest.finish({})
    return [manifest.folder / name for name in wanted]
