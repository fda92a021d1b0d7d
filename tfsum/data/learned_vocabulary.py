"""Vocabularies learned once from a corpus and found again through a manifest."""

import pathlib
from collections.abc import Iterable, Mapping
from typing import Any

from tfsum.data.corpus_files import file_digests
from tfsum.data.manifest import Manifest
from tfsum.text.vocabulary import learn_vocabulary, write_vocabulary


def learned_vocabularies(
    folder: str | pathlib.Path,
    settings: dict[str, Any],
    files: Mapping[str, str | pathlib.Path | None],
    vocabularies: Mapping[str, tuple[Iterable[str], int]],
    **options: Any,
) -> list[pathlib.Path]:
    """Learns vocabularies; a second call finds them done.

    Args:
        folder: Directory of the pieces and their manifest.
        settings: Everything that decides what they hold, but for the files.
        files: Files that do, by their name in the settings; None where there is none.
        vocabularies: File name -> texts and number of pieces.
        **options: Arguments of `learn_vocabulary`.

    Returns:
        The files.

    Raises:
        Error: `folder` holds vocabularies that were learned otherwise, or see `learn_vocabulary`.

    Example:
        >>> import tempfile
        >>> vocabularies = {"vocab.txt": (["it rained", "it rained"], 400)}
        >>> (file,) = learned_vocabularies(
        ...     tempfile.mkdtemp(), {"size": 400}, {}, vocabularies, lowercase=True
        ... )
        >>> file.name, file.read_text().split()[0]
        ('vocab.txt', '[PAD]')
    """
    manifest = Manifest.open(folder, file_digests(files) | settings)
    manifest.forget_missing(list(vocabularies))
    for name, (texts, size) in vocabularies.items():
        if name not in manifest.shards:
            pieces = learn_vocabulary(texts, size, **options)
            write_vocabulary(pieces, manifest.folder / name)
            manifest.add(name, {"pieces": len(pieces)}, editable=True)
    if not manifest.counts:
        manifest.finish({})

    return [manifest.folder / name for name in vocabularies]
