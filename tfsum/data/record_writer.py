"""Records of documents, made by a task and written as shards."""

import collections
import pathlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any


class RecordWriter:
    """Makes records of documents and writes them as shards; one a process.

    A subclass gives `count_names` and `records`.

    Args:
        settings: Settings that the task's `prepare` collects; `lowercase` and `strip_accents` are
            those of the tokenizers.
        vocabularies: Files of their word pieces.

    Attributes:
        count_names: Names of the counts, in the order of the manifest.
        settings: Settings of the preparation.
        word_pieces: A tokenizer for each vocabulary.

    Example:
        >>> import tempfile
        >>> class Bytes(RecordWriter):
        ...     count_names = ("bytes",)
        ...
        ...     def records(self, name, documents, counts):
        ...         for document in documents:
        ...             counts["bytes"] += len(document)
        ...             yield document
        >>> writer = Bytes({"lowercase": True, "strip_accents": True}, [])
        >>> writer.write(tempfile.mkdtemp() + "/a.tfrecord", [b"abc", b"d"])
        {'bytes': 4, 'read': 2}
    """

    count_names: tuple[str, ...] = ()

    def __init__(self, settings: Mapping[str, Any], vocabularies: Sequence[str]) -> None:
        from tfsum.text.word_piece import WordPiece

        self.settings = settings
        case = {name: settings[name] for name in ("lowercase", "strip_accents")}
        self.word_pieces = [WordPiece.from_file(file, **case) for file in vocabularies]

    def records(
        self, name: str, documents: Iterator[Any], counts: collections.Counter
    ) -> Iterator[bytes]:
        """Makes the records of a shard.

        Args:
            name: The file name of the shard.
            documents: Documents of the shard.
            counts: Counts to add to.

        Yields:
            Serialized records.
        """
        raise NotImplementedError

    def write(self, path: str, documents: Iterable[Any]) -> dict[str, int]:
        """Writes a shard whole; returns its counts, the documents as `read` among them."""
        from tfsum.data.records import write_shard

        counts = collections.Counter(dict.fromkeys((*self.count_names, "read"), 0))

        def read() -> Iterator[Any]:
            for document in documents:
                counts["read"] += 1
                yield document

        write_shard(path, self.records(pathlib.Path(path).name, read(), counts))
        return dict(counts)
