"""The vocabularies of source and target: files that somebody gives, or learned from the training pairs."""

import pathlib
from collections.abc import Iterator

from tfsum.data.manifest import Manifest, digest
from tfsum.data.vocabulary_file import vocabulary_file
from tfsum.errors import Error
from tfsum.tasks.abstractive.prepare import read_pairs
from tfsum.text.vocabulary import learn_vocabulary, write_vocabulary

NAMES = ("vocab.txt", "target_vocab.txt")


def pair_vocabularies(
    corpus: str | pathlib.Path,
    folder: str | pathlib.Path,
    *,
    target_corpus: str | pathlib.Path | None = None,
    source: str = "source",
    target: str = "target",
    vocabulary: str | None = None,
    target_vocabulary: str | None = None,
    vocabulary_size: int | None = None,
    target_vocabulary_size: int | None = None,
    lowercase: bool = False,
    strip_accents: bool | None = None,
) -> tuple[pathlib.Path, pathlib.Path]:
    """Finds or learns the vocabularies of a corpus of pairs; a second call finds the learned ones done.

    Args:
        corpus, target_corpus, source, target: the training pairs, see `read_pairs`.
        folder: where learned vocabularies are written.
        vocabulary: a vocab.txt, or the folder that holds one; that of both sides, or of the source alone.
        target_vocabulary: that of the target, where it is another one.
        vocabulary_size: pieces to learn, where no file is given.
        target_vocabulary_size: pieces of the target's own vocabulary; without it one is learned from both sides.
        lowercase, strip_accents: see `learn_vocabulary`.

    Returns:
        The files of source and target; the same file twice where they share one.

    Raises:
        Error: files and sizes are mixed or both missing, or `folder` holds a vocabulary learned otherwise.
    """
    files, sizes = (vocabulary, target_vocabulary), (vocabulary_size, target_vocabulary_size)
    if (files[0] is None) == (sizes[0] is None) or (files[1] and sizes[0]) or (files[0] and sizes[1]):
        raise Error(f"[text] vocabulary {files[0]!r}, target_vocabulary {files[1]!r}, vocabulary_size {sizes[0]}, "
                    f"target_vocabulary_size {sizes[1]}: expected files or sizes, the target's only where it has "
                    "a vocabulary of its own")
    if files[0]:
        found = [vocabulary_file(file) for file in files if file is not None]
        return found[0], found[-1]
    settings = {"corpus": digest(corpus), "target_corpus": None if target_corpus is None else digest(target_corpus),
                "source": source, "target": target, "sizes": [size for size in sizes if size is not None],
                "lowercase": lowercase, "strip_accents": lowercase if strip_accents is None else strip_accents}
    manifest = Manifest.open(folder, settings)
    names = NAMES[: len(settings["sizes"])]
    manifest.forget_missing(list(names))
    for side, (name, size) in enumerate(zip(names, settings["sizes"])):
        if name not in manifest.shards:
            texts = _Texts((0, 1) if len(names) == 1 else (side,), corpus, target_corpus, source, target)
            pieces = learn_vocabulary(texts, size, lowercase=lowercase, strip_accents=strip_accents)
            write_vocabulary(pieces, manifest.folder / name)
            manifest.add(name, {"pieces": len(pieces)})
    manifest.finish({})
    return manifest.folder / names[0], manifest.folder / names[-1]


class _Texts:
    """The texts of some sides of a corpus of pairs, read anew with each loop."""

    def __init__(self, sides: tuple[int, ...], corpus, target_corpus, source: str, target: str):
        self._sides, self._corpora, self._columns = sides, (corpus, target_corpus), (source, target)

    def __iter__(self) -> Iterator[str]:
        for pair in read_pairs(*self._corpora, source=self._columns[0], target=self._columns[1]):
            yield from (pair[side] for side in self._sides)
