"""Teaches the embedding of a `BertSumExt` which texts mean the same, from translations.

    python training/multilingual/settle.py MODEL TEACHER CORPORA TEXTS OUTPUT

MODEL is a model folder with embeddings and a length input; the others are those of `distil.py`. The
embedding, a linear map of a sentence's vector, is all that learns, so no score of a sentence
changes. It no longer sees the two directions in which a function of the sentence length moves: the
head needs that function, and it sends long texts to one place. What it reads are pairs: English and
French of Tatoeba, lines of TEXTS that translate one another, and sentences within a window beside
the same alone. It learns to tell the other half of a pair from those of the batch (Feng et al.
2022, "Language-agnostic BERT Sentence Embedding", without their margin), and to stay near the
vectors of the teacher by `embedding_loss`. What is written is a mean of what it has learned and of
what it began with, without those two directions.
"""

import argparse
import collections
import itertools
import json
import pathlib
import random
import re
from collections.abc import Callable, Sequence

import keras
import numpy as np
import tensorflow as tf
from corpus import read
from distil import PIECES, SEED, TOKENS, found_pairs, lines_of, padded, texts_of, windows_of
from keras import ops

import tfsum
from tfsum.formats.text_settings import read_text_settings
from tfsum.models.sentence_heads import embedding_loss
from tfsum.text.word_piece import WordPiece

TATOEBA, LINES, WINDOWS = 30_000, 40_000, 1600  # pairs, pairs, and documents
MOST = 25  # pairs of languages of a file
DOUBTFUL = 0.2  # share of the pairs of lines that are left out, those least alike for the teacher
SHARES = (1, 2, 1)  # how often a step reads translations of Tatoeba, lines, and windows
STEPS, PAIRS, RATE = 1000, 384, 1e-3
TEMPERATURE = 0.02
KEPT = 0.4  # share of the embedding that it began with, which answers questions better
STORY = re.compile(r"(/\d{4})_.*")  # whose files are named by their titles

Vectors = np.ndarray  # (N, D)
Pair = tuple[str, str]


def translated_lines(folder: pathlib.Path) -> list[Pair]:
    """Lines of a file of a repository in two languages, which have equally many."""
    files: dict[str, dict[str, list[str]]] = collections.defaultdict(dict)
    for path in sorted(folder.glob("*.jsonl.gz")):
        name = path.name.partition(".")[0]
        language = re.compile(rf"(?i)(?<![a-z]){name}([-_][a-z]{{2,4}})?(?![a-z])")
        for row in read(path):
            if row["licence"].startswith("NLOD"):  # as in distil.py
                continue
            place = language.sub("%", re.sub(r"@\w+", "", row["source"]))
            files[STORY.sub(r"\1", place)][name] = row["text"].split("\n")

    draw, found = random.Random(SEED), []
    for _, texts in sorted(files.items()):
        alike = [
            (texts[one], texts[other])
            for one, other in itertools.combinations(sorted(texts), 2)
            if len(texts[one]) == len(texts[other]) > 1
        ]
        for left, right in draw.sample(alike, min(MOST, len(alike))):
            found += [pair for pair in zip(left, right) if could_translate(*pair)]
    print(f"{len(found):,} pairs of lines", flush=True)
    return draw.sample(found, min(LINES, len(found)))


def could_translate(left: str, right: str) -> bool:
    """Whether two lines are long enough, and of lengths as translations have."""
    short, long = sorted((len(left), len(right)))
    return left != right and short >= 8 and long <= min(600, 7 * short)


def translated_sentences(corpora: pathlib.Path) -> list[Pair]:
    """Sentences of Tatoeba in English and French."""
    lines = lines_of(corpora / "tatoeba_fra_eng/train.tsv.gz")
    pairs = [tuple(line.split("\t")[:2]) for line in lines]
    # Paraphrases, which have the same French line, are kept for `python -m benchmarks meaning`.
    number = collections.Counter(french for _, french in pairs)
    once = [pair for pair in pairs if number[pair[1]] == 1]
    return random.Random(SEED).sample(once, TATOEBA)


def without_doubtful(pairs: tuple[Vectors, ...]) -> tuple[Vectors, ...]:
    """The pairs, four arrays (N, D), whose vectors of the teacher, the last two, are most alike."""
    left, right = (side / np.linalg.norm(side, axis=1)[:, None] for side in pairs[2:])
    alike = np.sum(left * right, 1)
    return tuple(vectors[alike > np.quantile(alike, DOUBTFUL)] for vectors in pairs)


class Encoders:
    """The vectors that a student, before its embedding, and its teacher give texts.

    Args:
        student: Model with embeddings.
        teacher: The encoder that it learned from.
        word_piece: The tokenizer of both.
    """

    def __init__(
        self, student: tfsum.BertSumExt, teacher: tfsum.Bert, word_piece: WordPiece
    ) -> None:
        self._word_piece = word_piece
        self._prefix = word_piece.tokenize(["query: "])[0].numpy().tolist()
        ids = tf.TensorSpec([None, None], tf.int32)

        def pooled(ids: tf.Tensor, segments: tf.Tensor, starts: tf.Tensor) -> tf.Tensor:
            """The vectors (B, S, D) of sentences that start (B, S) in rows (B, T)."""
            sequence = student.bert.encode(ids, segments)
            return ops.cast(student.pool_sentences(sequence, ids, starts), "float32")

        def mean(ids: tf.Tensor) -> tf.Tensor:
            """The mean vectors (B, D) of the teacher for rows (B, T)."""
            real = ops.cast(ids != 0, "float32")[..., None]
            return ops.sum(ops.cast(teacher.encode(ids), "float32") * real, 1) / ops.sum(real, 1)

        self._pooled = tf.function(pooled, input_signature=[ids] * 3, autograph=False)
        self._mean = tf.function(mean, input_signature=[ids], autograph=False)

    def pieces(self, texts: Sequence[str]) -> list[list[int]]:
        """The pieces of texts."""
        return [pieces[:PIECES] for pieces in self._word_piece.tokenize(texts).to_list()]

    def own(self, texts: Sequence[Sequence[int]]) -> Vectors:
        """The student's vectors of pieces, each text alone."""
        return self._in_batches(
            texts, [], lambda ids: self._pooled(ids, 0 * ids, 0 * ids[:, :1])[:, 0]
        )

    def theirs(self, texts: Sequence[Sequence[int]]) -> Vectors:
        """The teacher's vectors of pieces."""
        return self._in_batches(texts, self._prefix, self._mean)

    def in_window(self, sentences: Sequence[Sequence[int]]) -> Vectors:
        """The student's vectors of the sentences of a window."""
        cls, sep = self._word_piece.cls_id, self._word_piece.sep_id
        parts = [[cls, *pieces, sep] for pieces in sentences]
        sizes = np.array([len(part) for part in parts])
        ids = padded([np.concatenate(parts)])
        segments = padded([np.repeat(np.arange(len(parts)) % 2, sizes)], ids.shape[1])
        starts = (np.cumsum(sizes) - sizes)[None].astype(np.int32)
        return self._pooled(ids, segments, starts)[0].numpy()

    def _in_batches(
        self,
        texts: Sequence[Sequence[int]],
        prefix: list[int],
        vectors: Callable[[np.ndarray], tf.Tensor],
    ) -> Vectors:
        """The vectors of texts, those of about equal length together."""
        cls, sep = self._word_piece.cls_id, self._word_piece.sep_id
        order, done, found = np.argsort([len(text) for text in texts], kind="stable"), 0, []
        while done < len(order):
            longest = len(texts[order[min(done + 200, len(order) - 1)]]) + len(prefix) + 2
            rows = order[done : done + max(1, TOKENS // longest)]
            ids = padded([[cls, *prefix, *texts[row], sep] for row in rows])
            found.append(vectors(ids).numpy())
            done += len(rows)
        return np.concatenate(found)[np.argsort(order)]


def learn(student: tfsum.BertSumExt, kinds: list[tuple[Vectors, ...]]) -> None:
    """Fits the embedding to pairs: two vectors (N, D) of the student, and two of the teacher."""
    # (D, 2) an orthonormal basis of the directions of the length
    along = np.linalg.qr(student.length.kernel.numpy().T)[0]
    without = np.eye(len(along), dtype=np.float32) - along @ along.T
    kinds = [(left @ without, right @ without, *theirs) for left, right, *theirs in kinds]
    embedding = student.embedding
    first = embedding.get_weights()

    optimizer = keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(RATE, STEPS))
    variables = embedding.trainable_variables
    optimizer.build(variables)

    def step(*pairs: tf.Tensor) -> None:
        """Learns from pairs: four tensors (B, D)."""
        with tf.GradientTape() as tape:
            left, right = (ops.normalize(embedding(side), axis=-1) for side in pairs[:2])
            similar = ops.matmul(left, ops.transpose(right)) / TEMPERATURE
            own = ops.diagonal(similar)
            apart = ops.logsumexp(similar, 0) + ops.logsumexp(similar, 1) - 2 * own
            far = sum(
                embedding_loss(side[:, None], wanted[:, None])[:, 0]
                for side, wanted in zip((left, right), pairs[2:], strict=True)
            )
            loss = ops.mean(apart + far)
        optimizer.apply(tape.gradient(loss, variables), variables)

    update, draw = tf.function(step, autograph=False), np.random.default_rng(SEED)
    turns = np.repeat(np.arange(len(kinds)), SHARES)
    for _ in range(STEPS):
        kind = kinds[draw.choice(turns)]
        rows = draw.choice(len(kind[0]), PAIRS, replace=False)
        update(*(tf.constant(vectors[rows], tf.float32) for vectors in kind))

    learned = embedding.get_weights()
    kernel, bias = (KEPT * old + (1 - KEPT) * new for old, new in zip(first, learned))
    embedding.set_weights([without @ kernel, bias])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=pathlib.Path, help="model folder to read")
    parser.add_argument("teacher", type=pathlib.Path, help="folder of the encoder to stay near")
    parser.add_argument("corpora", type=pathlib.Path, help="folder of the corpora")
    parser.add_argument("texts", type=pathlib.Path, help="folder of the texts by language")
    parser.add_argument("output", type=pathlib.Path, help="model folder to write")
    options = parser.parse_args()
    keras.utils.set_random_seed(SEED)
    keras.config.set_dtype_policy("mixed_bfloat16")

    student = tfsum.BertSumExt.from_pretrained(options.model)
    case = read_text_settings(options.model, None, None)
    word_piece = WordPiece.from_file(options.model / "vocab.txt", **case)
    encoders = Encoders(student, tfsum.Bert.from_pretrained(options.teacher), word_piece)

    def both(pairs: Sequence[Pair]) -> tuple[Vectors, ...]:
        sides = [encoders.pieces(side) for side in zip(*pairs, strict=True)]
        print(f"{len(pairs):,} pairs of texts", flush=True)
        return (*map(encoders.own, sides), *map(encoders.theirs, sides))

    tatoeba = both(translated_sentences(options.corpora))
    parallel = without_doubtful(both(translated_lines(options.texts)))

    _, documents = texts_of(options.corpora, options.texts)
    windows = windows_of(documents[:WINDOWS], word_piece)
    print(f"{len(windows):,} windows", flush=True)
    sentences = [pieces for window in windows for pieces in window]
    wanted = encoders.theirs(sentences)
    within = np.concatenate([encoders.in_window(window) for window in windows])
    learn(student, [tatoeba, parallel, (within, encoders.own(sentences), wanted, wanted)])

    def vectors(texts: Sequence[str]) -> Vectors:
        values = student.embedding(encoders.own(encoders.pieces(texts)))
        return ops.normalize(ops.cast(values, "float32"), axis=-1).numpy()

    validation = lines_of(options.corpora / "tatoeba_fra_eng/validation.tsv.gz")
    found = found_pairs(vectors, [line.split("\t")[:2] for line in validation[:1000]])
    print(f"{found} of pairs of validation data are found", flush=True)
    settings = json.loads((options.model / "tfsum.json").read_text("utf-8"))
    student.save_pretrained(options.output, word_piece.vocabulary, settings)


if __name__ == "__main__":
    main()
