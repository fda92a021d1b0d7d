"""Token-budget batches of documents for extractive training, a pure function of (records, seed, epoch)."""

import pathlib
from collections.abc import Iterator, Sequence

import numpy as np
import tensorflow as tf

from tfsum.data.epoch_plan import batches_of_epochs, bucket, check_lengths, plan
from tfsum.data.ragged import ragged_places
from tfsum.tasks.extractive.windows import WindowedDocuments, load_windows

_SIGNATURE = {
    "token_ids": tf.TensorSpec((None, None), tf.int32),
    "segment_ids": tf.TensorSpec((None, None), tf.int32),
    "sentence_starts": tf.TensorSpec((None, None), tf.int32),
    "labels": tf.TensorSpec((None, None), tf.float32),
}


def extractive_batches(
    paths: str | pathlib.Path | Sequence[str | pathlib.Path] | WindowedDocuments,
    *,
    tokens_per_batch: int,
    window_length: int = 512,
    max_windows: int = 1,
    cls_id: int,
    sep_id: int,
    training: bool,
    seed: int = 0,
    epochs: int | None = None,
    skip_batches: int = 0,
    bucket_width: int = 32,
) -> tf.data.Dataset:
    """Batches of documents of about equal length, as many as a budget of padded tokens holds.

    Each sentence is `[CLS] pieces [SEP]`, its segment the place in its window modulo 2. A document of one
    window is padded to the longest of its batch. One of K > 1 windows has them side by side, each but the
    last padded to `window_length`, and shares its batch only with documents of K windows; `sentence_starts`
    index the whole row. The records are held in memory (4 bytes a piece), which makes a resume exact and
    free: `skip_batches` are planned and not built.

    Args:
        paths: a folder of shards, a shard or several; or what `load_windows` made of them, read once for many
            datasets.
        tokens_per_batch: rows * positions of a batch at most, padding included.
        window_length: positions of a window; a longer sentence is cut.
        max_windows: windows read of a document; sentences beyond are left out. `batches_report` counts both.
        cls_id: id of [CLS].
        sep_id: id of [SEP].
        training: whether to shuffle documents and batches, in another order each epoch.
        seed: of the shuffles.
        epochs: passes over the documents; None is one pass, or no end in training.
        skip_batches: batches already seen, counted from the first batch of epoch 0.
        bucket_width: documents whose lengths round up to the same multiple of this are in random order in
            training.

    Returns:
        A dataset of dicts: `token_ids` and `segment_ids` (B, T) int32, `sentence_starts` (B, S) int32 with -1
        for none, `labels` (B, S) float32 with 0 there.

    Raises:
        DataError: if the longest document alone exceeds the budget, or a size is impossible.
    """
    documents = paths
    if not isinstance(paths, WindowedDocuments):
        documents = load_windows(paths, window_length, max_windows)
    check_budget(documents, tokens_per_batch, bucket_width)

    def generate() -> Iterator[dict[str, np.ndarray]]:
        def plan_of(shuffle: tuple[int, int] | None) -> list[np.ndarray]:
            return plan_epoch(documents, tokens_per_batch, bucket_width, shuffle)

        passes = {"training": training, "seed": seed, "epochs": epochs, "skip_batches": skip_batches}
        for rows in batches_of_epochs(plan_of, **passes):
            yield assemble(documents, rows, cls_id, sep_id)

    return tf.data.Dataset.from_generator(generate, output_signature=_SIGNATURE).prefetch(4)


def batches_report(
    paths: str | pathlib.Path | Sequence[str | pathlib.Path],
    *,
    tokens_per_batch: int,
    window_length: int = 512,
    max_windows: int = 1,
    bucket_width: int = 32,
) -> dict[str, int | float]:
    """What one pass of `extractive_batches` with the same arguments holds, cuts and wastes.

    Args:
        paths: a folder of shards, a shard or several.
        tokens_per_batch: as there, and so the others.

    Returns:
        documents, sentences, batches, tokens, padded_tokens, padding (share of the padded tokens),
        sentences_cut and pieces_cut (longer than a window), sentences_dropped, windows_dropped,
        documents_shortened (beyond max_windows).
    """
    documents = load_windows(paths, window_length, max_windows)
    check_budget(documents, tokens_per_batch, bucket_width)
    plan = plan_epoch(documents, tokens_per_batch, bucket_width, None)
    tokens = int(documents.used.sum())
    padded = sum(len(rows) * int(documents.length[rows].max()) for rows in plan)
    return documents.counts | {
        "batches": len(plan),
        "tokens": tokens,
        "padded_tokens": padded,
        "padding": 1.0 - tokens / padded,
    }


def check_budget(documents: WindowedDocuments, tokens_per_batch: int, bucket_width: int) -> None:
    """Raises DataError if no batch can hold the longest document."""
    check_lengths(documents.length, tokens_per_batch, bucket_width, "document", "window_length or max_windows")


def plan_epoch(
    documents: WindowedDocuments, tokens_per_batch: int, bucket_width: int, seed: tuple[int, int] | None
) -> list[np.ndarray]:
    """The batches of an epoch as arrays of document numbers.

    Args:
        documents: all documents.
        tokens_per_batch: rows * positions at most.
        bucket_width: see `extractive_batches`.
        seed: (seed, epoch) of the shuffles; None keeps documents of a bucket in order and batches from short
            to long.

    Returns:
        One array a batch.
    """
    kinds = (documents.windows, bucket(documents.length, bucket_width))
    return plan(documents.length, kinds, tokens_per_batch, seed, apart=documents.windows)


def assemble(
    documents: WindowedDocuments, rows: np.ndarray, cls_id: int, sep_id: int
) -> dict[str, np.ndarray]:
    """The arrays of one batch.

    Args:
        documents: all documents.
        rows: (B,) document numbers.
        cls_id: id of [CLS].
        sep_id: id of [SEP].

    Returns:
        `token_ids`, `segment_ids` (B, T) int32, `sentence_starts` (B, S) int32, `labels` (B, S) float32.
    """
    first, last = documents.first_sentence[rows], documents.first_sentence[rows + 1]
    sentence_counts = last - first
    row, column = ragged_places(sentence_counts)  # (n,) for the n sentences of the batch
    sentence = first[row] + column
    counts, start = documents.piece_counts[sentence], documents.start[sentence]
    of, inside = ragged_places(counts)  # (p,) for the p pieces of the batch
    token_ids = np.zeros((len(rows), int(documents.length[rows].max())), np.int32)
    token_ids[row, start] = cls_id
    token_ids[row[of], start[of] + 1 + inside] = documents.pieces[
        documents.first_piece[sentence][of] + inside
    ]
    token_ids[row, start + 1 + counts] = sep_id
    segment_ids = np.zeros_like(token_ids)
    of, inside = ragged_places(counts + 2)
    segment_ids[row[of], start[of] + inside] = documents.place[sentence][of] % 2
    sentence_starts = np.full((len(rows), int(sentence_counts.max())), -1, np.int32)
    sentence_starts[row, column] = start
    labels = np.zeros(sentence_starts.shape, np.float32)
    labels[row, column] = documents.labels[sentence]
    return {
        "token_ids": token_ids,
        "segment_ids": segment_ids,
        "sentence_starts": sentence_starts,
        "labels": labels,
    }
