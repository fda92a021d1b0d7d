"""The embeddings of sentences from which a `BertSumExt` learns its own."""

import pathlib

import numpy as np
import tensorflow as tf
import tqdm

from tfsum.atomic_files import atomic_path
from tfsum.data.batcher import TokenBudgetBatcher, padded
from tfsum.data.documents.windows import load_windows
from tfsum.data.records import load_columns, shard_paths
from tfsum.errors import RecipeError, require
from tfsum.formats.model_folder import local_folder
from tfsum.models import Bert
from tfsum.terminal_size import bar_size
from tfsum.text.word_piece import WordPiece

PREFIX = "query: "  # which the e5 encoders were trained with (Wang et al. 2024)
TOKENS = 4096  # of a batch
WINDOWS = 1  # of a document are embedded: enough to learn from, and soon done
# What is taken from each vector, as a share of their mean: those of e5 lie in a cone, in which a
# small error of the model hides which sentences mean the same.
CENTRE = 0.6


def sentence_embeddings(
    records: pathlib.Path, folder: str, word_piece: WordPiece, longest: int
) -> np.ndarray:
    """The mean vectors that a BERT gives the first sentences of documents, each read alone.

    They are kept beside each shard, so that a call that was stopped goes on, and another finds
    them.

    Args:
        records: Folder of the records.
        folder: Folder of the BERT, as a recipe names it.
        word_piece: Tokenizer of the records.
        longest: Tokens of a window, and of a sentence that are read.

    Returns:
        (S, D) int8: of each sentence of the records in order the direction of its vector, less
        `CENTRE` of the mean direction; its largest number is 127. 0 for a sentence beyond the first
        window.

    Raises:
        RecipeError: The BERT has another vocabulary.
    """
    teacher = local_folder(folder)
    require(
        WordPiece.from_file(teacher / "vocab.txt").vocabulary == word_piece.vocabulary,
        f"[model] embedding_teacher: {folder} has another vocabulary than the encoder; expected"
        " the same vocab.txt, since the records hold its pieces",
        RecipeError,
    )

    files = {path: path.with_suffix(f".{teacher.name}.npy") for path in shard_paths(records)}
    if missing := [path for path, file in files.items() if not file.is_file()]:
        bert = Bert.from_pretrained(teacher)

        @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int32)], autograph=False)
        def embed(ids: tf.Tensor) -> tf.Tensor:
            """The summed vectors (B, D) of the tokens of rows (B, T), padded with 0."""
            real = tf.cast(ids != 0, tf.float32)[..., tf.newaxis]
            vectors = tf.cast(bert.encode(ids, tf.zeros_like(ids)), tf.float32)
            return tf.reduce_sum(vectors * real, 1)

        before = [word_piece.cls_id, *word_piece.tokenize([PREFIX])[0].numpy()]
        for path in tqdm.tqdm(missing, unit=" shards of embeddings", **bar_size()):
            (pieces, _), (counts, _) = load_columns(path, "pieces", "piece_counts")
            of_shard = np.zeros((len(counts), bert.config["hidden_size"]), np.int8)
            read = load_windows(path, longest, WINDOWS).number
            lengths = np.minimum(counts[read] + len(before) + 1, longest)
            batcher = TokenBudgetBatcher(lengths, TOKENS)
            for batch in batcher.plan():
                rows = read[batch]
                ids = padded(pieces, counts, rows, before, [word_piece.sep_id])[:, :longest]
                short = batcher.width(lengths, batch) - ids.shape[1]
                of_shard[rows] = as_int8(embed(np.pad(ids, [(0, 0), (0, short)])).numpy())
            with atomic_path(files[path]) as part, part.open("wb") as file:
                np.save(file, of_shard)

    stored = [np.load(file) for file in files.values()]
    number = sum(np.count_nonzero(rows.any(1)) for rows in stored)
    mean = sum(directions(rows).sum(0) for rows in stored) / max(1, number)
    return np.concatenate(
        [as_int8(directions(rows) - CENTRE * mean) * rows.any(1, keepdims=True) for rows in stored]
    )


def directions(vectors: np.ndarray) -> np.ndarray:
    """Vectors (N, D) as float32 of length 1; those that are 0 stay so."""
    vectors = vectors.astype(np.float32)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1.0)


def as_int8(vectors: np.ndarray) -> np.ndarray:
    """Vectors (N, D) as int8 of the same directions, whose largest number is 127."""
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    return np.rint(127.0 * vectors / np.where(largest > 0, largest, 1.0)).astype(np.int8)
