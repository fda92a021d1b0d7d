"""TFRecord shards of documents and pairs: their fields, writing and fast reading."""

import pathlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfsum.atomic_files import atomic_path
from tfsum.errors import DataError, Error

Paths = str | pathlib.Path | Sequence[str | pathlib.Path]
"""Records: a folder of `*.tfrecord` files, a file or several files."""
_READ_TOGETHER = 64  # documents parsed by one op: many times faster than one by one

_FEATURES = {
    "id": tf.io.FixedLenFeature([], tf.string),
    "pieces": tf.io.RaggedFeature(tf.int64),
    "piece_counts": tf.io.RaggedFeature(tf.int64),
    "labels": tf.io.RaggedFeature(tf.float32),
    "sentences": tf.io.RaggedFeature(tf.string),
    "summary": tf.io.FixedLenFeature([], tf.string),
    "summary_pieces": tf.io.RaggedFeature(tf.int64),
    # of a pair
    "source": tf.io.RaggedFeature(tf.int64),
    "target": tf.io.RaggedFeature(tf.int64),
    "source_text": tf.io.FixedLenFeature([], tf.string),
    "target_text": tf.io.FixedLenFeature([], tf.string),
    # of a sentence pair, beside its pieces
    "first_pieces": tf.io.FixedLenFeature([], tf.int64),
    "next_sentence_label": tf.io.FixedLenFeature([], tf.int64),
}


def make_record(
    id: str,
    pieces: Sequence[Sequence[int]],
    labels: Sequence[float],
    sentences: Sequence[bytes],
    summary: str,
    summary_pieces: Sequence[int] = (),
) -> bytes:
    """One document as a serialized `tf.train.Example`.

    Args:
        id: Its name.
        pieces: (S,) lists of word piece ids, without [CLS] and [SEP].
        labels: (S,) oracle labels, 0 to 1.
        sentences: (S,) the sentences' text, UTF-8.
        summary: Its summary, one sentence a line.
        summary_pieces: Word piece ids of the summary, which a word head learns from.

    Returns:
        The bytes: features `id`, `pieces` (flat), `piece_counts`, `labels`, `sentences`,
        `summary`, `summary_pieces`.

    Raises:
        DataError: If the numbers of pieces, labels and sentences differ.

    Example:
        >>> record = make_record("a", [[5, 6]], [1.0], [b"It rained."], "Rain.")
        >>> tf.train.Example.FromString(record).features.feature["pieces"].int64_list.value
        [5, 6]
    """
    if not len(pieces) == len(labels) == len(sentences):
        raise DataError(
            f"document {id!r}: {len(pieces)} lists of pieces, {len(labels)} labels and "
            f"{len(sentences)} sentences; expected one of each a sentence"
        )

    return serialized(
        id=[id.encode()],
        pieces=[int(piece) for sentence in pieces for piece in sentence],
        piece_counts=[len(sentence) for sentence in pieces],
        labels=labels,
        sentences=sentences,
        summary=[summary.encode()],
        summary_pieces=summary_pieces,
    )


def make_pair_record(
    source: Sequence[int], target: Sequence[int], source_text: str, target_text: str
) -> bytes:
    """Serializes a pair of texts as a `tf.train.Example`.

    It holds the word piece ids, without special tokens, and the texts.

    Example:
        >>> record = make_pair_record([5, 6], [7], "the cat", "chat")
        >>> tf.train.Example.FromString(record).features.feature["target_text"].bytes_list.value
        [b'chat']
    """
    return serialized(
        source=source,
        target=target,
        source_text=[source_text.encode()],
        target_text=[target_text.encode()],
    )


def serialized(**features: Sequence[Any]) -> bytes:
    """A serialized `tf.train.Example`.

    Args:
        **features: Values of each feature: word piece ids without special tokens, numbers, texts in
            UTF-8. A pair of segments has the `pieces` of both, how many of them are `first_pieces`,
            and its `next_sentence_label`: 0 where the second follows the first, 1 where it does
            not, -1 for one segment.

    Example:
        >>> record = serialized(pieces=[5, 6, 7], first_pieces=[2], next_sentence_label=[0])
        >>> tf.train.Example.FromString(record).features.feature["first_pieces"].int64_list.value
        [2]
    """
    example = tf.train.Example()
    for name, values in features.items():
        feature = example.features.feature[name]
        if _FEATURES[name].dtype == tf.string:
            feature.bytes_list.value.extend(values)
        elif _FEATURES[name].dtype == tf.float32:
            feature.float_list.value.extend(values)
        else:
            feature.int64_list.value.extend(np.asarray(values, np.int64))
    return example.SerializeToString(deterministic=True)


def write_shard(path: str | pathlib.Path, records: Iterable[bytes]) -> int:
    """Writes a shard under a temporary name and renames it when it is whole.

    Args:
        path: Name of the finished file.
        records: Serialized examples.

    Returns:
        How many were written. Nothing is left under `path` if `records` fails.

    Raises:
        Error: The file cannot be written.

    Example:
        >>> import tempfile
        >>> write_shard(tempfile.mkdtemp() + "/a.tfrecord", [b"one", b"two"])
        2
    """
    count = 0
    try:
        with atomic_path(path) as part, tf.io.TFRecordWriter(str(part)) as writer:
            for record in records:
                writer.write(record)
                count += 1
    except (OSError, tf.errors.OpError) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise Error(
            f"{path}: cannot be written ({reason}); make room, or choose another folder, and call"
            " again: the finished shards are kept"
        ) from None
    return count


def read_records(paths: Paths, features: Sequence[str]) -> tf.data.Dataset:
    """Reads shards in the order of their names, some documents at a time.

    Args:
        paths: Folder of shards, a shard or several.
        features: Names of the features to read.

    Returns:
        A dataset of dicts of RaggedTensors (N, None) and, for `id`, `summary`, the texts of pairs
        and what is one number a record, tensors (N,).

    Raises:
        DataError: If a file is missing or a folder holds no shard.

    Example:
        >>> import tempfile
        >>> path = tempfile.mkdtemp() + "/a.tfrecord"
        >>> write_shard(path, [make_record("a", [[5, 6]], [1.0], [b"It rained."], "Rain.")])
        1
        >>> [batch["pieces"].to_list() for batch in read_records(path, ["pieces"])]
        [[[5, 6]]]
    """
    wanted = {name: _FEATURES[name] for name in features}
    records = tf.data.TFRecordDataset(list(map(str, shard_paths(paths)))).batch(_READ_TOGETHER)
    return records.map(lambda batch: tf.io.parse_example(batch, wanted)).prefetch(2)


def load_columns(paths: Paths, *features: str) -> list[Any]:
    """Reads some features of all records into memory, 4 bytes a word piece.

    Args:
        paths: Folder of shards, a shard or several.
        features: Their names.

    Returns:
        For each feature its values over all records, (N,); for one with a list in each record the
        values of all lists end to end, (V,), integers as int32, and the lengths of the lists, (N,).

    Raises:
        DataError: There are no records.

    Example:
        >>> import tempfile
        >>> path = tempfile.mkdtemp() + "/a.tfrecord"
        >>> write_shard(
        ...     path,
        ...     [
        ...         serialized(pieces=[5, 6, 7], next_sentence_label=[1]),
        ...         serialized(pieces=[8], next_sentence_label=[-1]),
        ...     ],
        ... )
        2
        >>> (pieces, counts), labels = load_columns(path, "pieces", "next_sentence_label")
        >>> pieces.tolist(), counts.tolist(), labels.tolist()
        ([5, 6, 7, 8], [3, 1], [1, -1])
    """
    parts = list(read_records(paths, features))
    if not parts:
        raise DataError(f"{paths}: the records are empty; look at the counts of `tfsum prepare`")

    columns = [[part[name] for part in parts] for name in features]
    return [
        _ragged_column(column) if isinstance(column[0], tf.RaggedTensor) else np.concatenate(column)
        for column in columns
    ]


def _ragged_column(parts: list[tf.RaggedTensor]) -> tuple[np.ndarray, np.ndarray]:
    values = [part.values.numpy() for part in parts]
    if values[0].dtype == np.int64:
        values = [part.astype(np.int32) for part in values]
    return np.concatenate(values), np.concatenate([part.row_lengths() for part in parts])


def shard_paths(paths: Paths) -> list[pathlib.Path]:
    """The shards that `paths` names (a folder, a file or several files), in order.

    Raises:
        DataError: If one is missing or a folder holds none.

    Example:
        >>> shard_paths("no_such_file.tfrecord")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        tfsum.errors.DataError: records: no *.tfrecord found at no_such_file.tfrecord; ...
    """
    given = [paths] if isinstance(paths, str | pathlib.Path) else paths
    files = [
        file
        for path in map(pathlib.Path, given)
        for file in sorted(path.glob("*.tfrecord")) or [path]
    ]
    if missing := [str(path) for path in files if not path.is_file()]:
        raise DataError(
            f"records: no *.tfrecord found at {', '.join(missing)}; write them with `tfsum prepare`"
        )
    return files
