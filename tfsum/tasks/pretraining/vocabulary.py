"""The vocabulary of a corpus of documents, learned once and found again."""

import pathlib
from collections.abc import Iterator

from tfsum.data.manifest import Manifest, digest
from tfsum.data.readers import read_documents
from tfsum.text.vocabulary import learn_vocabulary, write_vocabulary

_NAME = "vocab.txt"


def corpus_vocabulary(corpus: str | pathlib.Path, folder: str | pathlib.Path, text: str, size: int,
                      **options) -> pathlib.Path:
    """Learns the word pieces of a corpus; a second call finds them done.

    Args:
        corpus, text: see `tfsum.data.readers.read_documents`.
        folder: where vocab.txt is written.
        size: pieces of the vocabulary.
        **options: see `tfsum.text.vocabulary.learn_vocabulary`.

    Returns:
        The vocab.txt.

    Raises:
        Error: `folder` holds a vocabulary that was learned otherwise, or see `learn_vocabulary`.
    """
    manifest = Manifest.open(folder, {"corpus": digest(corpus), "text": text, "size": size, **options})
    manifest.forget_missing([_NAME])
    if _NAME not in manifest.shards:
        pieces = learn_vocabulary(_Documents(corpus, text), size, **options)
        write_vocabulary(pieces, manifest.folder / _NAME)
        manifest.add(_NAME, {"pieces": len(pieces)})
        manifest.finish({})
    return manifest.folder / _NAME


class _Documents:
    """The documents of a corpus, read anew with each loop."""

    def __init__(self, corpus: str | pathlib.Path, text: str):
        self._corpus, self._text = corpus, text

    def __iter__(self) -> Iterator[str]:
        return read_documents(self._corpus, self._text)
