"""Teaches a `BertSumExt` the vectors of its teacher, from sentences in thirty languages.

    python training/multilingual/distil.py MODEL TEACHER CORPORA TEXTS OUTPUT

MODEL is a model folder with embeddings, TEACHER the twelve layers that `encoder.py` writes. CORPORA
and TEXTS are those of `corpus.py`, and CORPORA also holds `tatoeba_fra_eng` (CC BY 2.0 FR), of
which the lines of the training split are taken, each alone. A step reads 4,096 tokens: sentences,
titles and short passages, each alone, or windows of sentences, as documents are read, of which the
teacher reads each sentence alone. The student learns what the teacher says
at each token, in its last layer and in every second one before, since a sentence has twenty tokens
and one vector; and by `embedding_loss` the vector of the whole, which tells it from the others of
the batch. After the last step a part of the mean vector is taken from all, as
`tfsum.tasks.bert_sum_ext.teacher` does.

SIGTERM writes OUTPUT and ends; the same command with MODEL = OUTPUT and fewer steps goes on. Every
hundred steps and at the end it prints how many translations of validation pairs are found.
"""

import argparse
import collections
import gzip
import json
import pathlib
import random
import re
import signal
from collections.abc import Callable, Iterator, Sequence

import keras
import numpy as np
import tensorflow as tf
from corpus import read
from keras import ops

import tfsum
from tfsum.formats.text_settings import read_text_settings
from tfsum.models.sentence_heads import embedding_loss
from tfsum.tasks.bert_sum_ext.teacher import CENTRE
from tfsum.text.word_piece import WordPiece

SENTENCES = 12_000  # of a language, of English four times as many, and three times of Tatoeba
CHARACTERS, PIECES = 1000, 222  # of a text alone, at most
WINDOWS, WINDOW, PART = 500, 480, 46  # windows of a language, their tokens, those of a sentence
TOKENS = 4096  # of a step, padding included
NEAR = 20_000  # texts among which those of about equal length make batches
TOKEN_LOSS = 5.0  # beside the loss of the whole text
SEED = 5

Row = list[list[int]]  # the pieces of the sentences that are read together
ENDS = re.compile(r"(?<=[.!?。！？।؟;])\s*")
TOGETHER = (1, 1, 1, 1, 1, 1, 2, 3, 9)  # sentences of a text, each number as likely


def passages(draw: random.Random, text: str) -> Iterator[str]:
    """The sentences of a text, some of them alone and some together with those that follow."""
    for line in text.split("\n"):
        sentences = [part for part in map(str.strip, ENDS.split(line)) if part]
        while sentences:
            number = draw.choice(TOGETHER)
            yield " ".join(sentences[:number])[:CHARACTERS]
            sentences = sentences[number:]


def lines_of(path: pathlib.Path) -> list[str]:
    """The lines of a compressed file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [line.rstrip("\n") for line in lines]


def texts_of(corpora: pathlib.Path, folder: pathlib.Path) -> tuple[list[str], list[str]]:
    """What the student reads in a mixed order: texts, and documents for windows."""
    draw = random.Random(SEED)
    found: list[str] = []
    documents: list[str] = []

    def take(texts: Sequence[str], number: int) -> None:
        each = sorted({text for text in texts if len(text) >= 6})
        found.extend(draw.sample(each, min(number, len(each))))

    for path in sorted(folder.glob("*.jsonl.gz")):
        rows = [row for row in read(path) if not row["licence"].startswith("NLOD")]
        sentences = [text for row in rows for text in passages(draw, row["text"])]
        take([row["title"].strip() for row in rows] + sentences, SENTENCES)
        documents += [row["text"] for row in draw.sample(rows, min(WINDOWS, len(rows)))]

    # without CC BY-SA, as in corpus.py
    design = read(corpora / "free_docs/train.jsonl.gz")[::3]
    english = [row for row in design if row["licence"] != "CC-BY-SA-4.0"]
    english += read(corpora / "openstax/train.jsonl.gz")[::2]
    take([text for row in english for text in passages(draw, row["text"])], 4 * SENTENCES)
    documents += [row["text"] for row in draw.sample(english, 4 * WINDOWS)]

    # Paraphrases, which have the same French line, are kept for `python -m benchmarks meaning`.
    pairs = [line.split("\t")[:2] for line in lines_of(corpora / "tatoeba_fra_eng/train.tsv.gz")]
    number = collections.Counter(french for _, french in pairs)
    take([text for pair in pairs if number[pair[1]] == 1 for text in pair], 3 * SENTENCES)
    draw.shuffle(found)
    draw.shuffle(documents)
    return found, documents


def windows_of(documents: Sequence[str], word_piece: WordPiece) -> list[Row]:
    """A window of each document: its sentences from somewhere on, in pieces."""
    draw = random.Random(SEED)
    found: list[Row] = []
    for text in documents:
        sentences = [part for part in ENDS.split(text.replace("\n", " ")) if part.strip()]
        first = draw.randrange(max(1, len(sentences) - 20))
        window, size = [], 0
        for pieces in word_piece.tokenize(sentences[first : first + 40]).to_list():
            pieces = pieces[:PART]
            if size + len(pieces) + 2 > WINDOW:
                break
            window.append(pieces)
            size += len(pieces) + 2
        if window:
            found.append(window)
    return found


def padded(rows: Sequence[Sequence[int]], width: int = 0, fill: int = 0) -> np.ndarray:
    """Rows of numbers as an array (B, T), padded to a multiple of 8, or to a width."""
    width = width or -(-max(map(len, rows)) // 8) * 8
    return np.array([[*row, *[fill] * (width - len(row))] for row in rows], np.int32)


def batches(lengths: np.ndarray) -> Iterator[np.ndarray]:
    """Numbers of texts of about equal length, for ever."""
    draw = np.random.default_rng(SEED)
    while True:
        order = draw.permutation(len(lengths))
        for some in np.split(order, range(NEAR, len(order), NEAR)):
            some = some[np.argsort(lengths[some], kind="stable")]
            rows = TOKENS // (-(-lengths[some] // 8) * 8)  # of the length of each text
            found, first = [], 0
            while first < len(some):
                last = first + 1
                while last < len(some) and last - first < rows[last]:
                    last += 1
                found.append(some[first:last])
                first = last
            draw.shuffle(order := np.arange(len(found)))
            yield from (found[number] for number in order)


def relative_error(values: tf.Tensor, wanted: tf.Tensor, real: tf.Tensor) -> tf.Tensor:
    """The squared error of vectors (B, T, D) at real tokens (B, T), 1 for those that give the mean
    of what is wanted."""
    values, weight = ops.cast(values, "float32"), real[..., None] / ops.sum(real)
    centre = ops.sum(wanted * weight, axis=(0, 1))
    spread = ops.sum(ops.square(wanted - centre) * weight)
    return ops.sum(ops.square(values - wanted) * weight) / spread


class Distillation:
    """A student, its teacher, and a step of its training.

    Args:
        student: Model with embeddings as wide as the teacher's vectors.
        teacher: The encoder with twice as many layers.
        word_piece: The tokenizer of both.
        steps: Steps until the learning rate is a fiftieth.
        learning_rate: That of the first step.
    """

    def __init__(
        self,
        student: tfsum.BertSumExt,
        teacher: tfsum.Bert,
        word_piece: WordPiece,
        steps: int,
        learning_rate: float,
    ) -> None:
        self.student, self.teacher, self._word_piece = student, teacher, word_piece
        before = word_piece.tokenize(["query: "])[0].numpy().tolist()
        self._prefix = [word_piece.cls_id, *before]  # of the teacher, whose vectors need it

        bert = student.bert
        kept = [bert.word_embeddings, bert.position_embeddings, bert.segment_embeddings]
        kept += [bert.embedding_norm, bert.pooler, student.head, student.words, student.length]
        for layer in kept:
            layer.trainable = False
        self._variables = student.trainable_variables
        rate = keras.optimizers.schedules.PolynomialDecay(learning_rate, steps, learning_rate / 50)
        self._optimizer = keras.optimizers.AdamW(
            rate, weight_decay=0.01, beta_2=0.98, global_clipnorm=1.0
        )
        self._optimizer.build(self._variables)

        ids = tf.TensorSpec([None, None], tf.int32)
        self._update = tf.function(self._step, input_signature=[ids] * 6, autograph=False)
        self._embed = tf.function(
            lambda ids: self._read(ids, tf.zeros_like(ids), tf.zeros_like(ids[:, :1]))[1][:, 0],
            input_signature=[ids],
            autograph=False,
        )

    def step(self, rows: Sequence[Row]) -> np.ndarray:
        """Learns from rows of sentences; returns the loss of tokens and of sentences."""
        cls, sep = self._word_piece.cls_id, self._word_piece.sep_id
        sentences = [pieces for row in rows for pieces in row]
        theirs = padded([[*self._prefix, *pieces, sep] for pieces in sentences])

        # of each token its place among those of the teacher, which reads the prefix after its [CLS]
        before, width, number = len(self._prefix), theirs.shape[1], 0
        own, segments, starts, places, numbers = [], [], [], [], []
        for row in rows:
            parts = [[cls, *pieces, sep] for pieces in row]
            sizes = np.array([len(part) for part in parts])
            numbers.append(np.arange(number, number + len(row)))
            own.append(np.concatenate(parts))
            segments.append(np.repeat(np.arange(len(row)) % 2, sizes))
            starts.append(np.cumsum(sizes) - sizes)
            places.append(
                np.concatenate(
                    [
                        n * width + np.r_[0, before : before + size - 1]
                        for n, size in zip(numbers[-1], sizes)
                    ]
                )
            )
            number += len(row)

        length, most = padded(own).shape[1], max(map(len, rows))
        arrays = [padded(own), padded(segments, length), theirs, padded(places, length)]
        arrays += [padded(starts, most, -1), padded(numbers, most, -1)]
        return np.array([loss.numpy() for loss in self._update(*arrays)])

    def vectors(self, texts: Sequence[str]) -> np.ndarray:
        """The vectors of texts, (N, W)."""
        cls, sep = self._word_piece.cls_id, self._word_piece.sep_id
        rows = [row[:PIECES] for row in self._word_piece.tokenize(texts).to_list()]
        parts = [rows[first : first + 64] for first in range(0, len(rows), 64)]
        return np.concatenate(
            [self._embed(padded([[cls, *row, sep] for row in part])) for part in parts]
        )

    def _read(
        self, ids: tf.Tensor, segments: tf.Tensor, starts: tf.Tensor
    ) -> tuple[list[tf.Tensor], tf.Tensor]:
        """The output of each layer (B, T, D), and the vectors of the sentences (B, S, W)."""
        sequence, states, _ = self.student.bert.encode(ids, segments, return_all=True)
        vectors = self.student.pool_sentences(sequence, ids, starts)
        return states[1:], self.student.embed_sentences(vectors)

    def _step(
        self,
        own: tf.Tensor,
        segments: tf.Tensor,
        theirs: tf.Tensor,
        places: tf.Tensor,
        starts: tf.Tensor,
        numbers: tf.Tensor,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """A step from tokens (B, T) in segments, the teacher's tokens (R, U), their place (B, T) of
        each token, and the starts (B, S) of sentences and their row (B, S) there."""
        _, states, _ = self.teacher.encode(theirs, return_all=True, training=False)
        states = [ops.cast(state, "float32") for state in states[1:][1::2]]
        weight = ops.cast(theirs != 0, "float32")[..., None]
        mean = ops.sum(states[-1] * weight, axis=1)  # (R, D)
        mean = tf.gather(mean, tf.maximum(numbers, 0))  # (B, S, D)
        is_sentence = ops.cast(numbers >= 0, "float32")

        width = states[-1].shape[-1]
        wanted = [tf.gather(tf.reshape(state, [-1, width]), places) for state in states]
        real = ops.cast(own != 0, "float32")

        with tf.GradientTape() as tape:
            layers, vectors = self._read(own, segments, starts)
            # the embedding is linear: that of a mean is the mean of those of the tokens
            layers[-1] = self.student.embedding(ops.cast(layers[-1], "float32"))
            *lower, last = [relative_error(*pair, real) for pair in zip(layers, wanted)]
            far = embedding_loss(vectors, mean * is_sentence[..., None])
            of_sentences = ops.sum(ops.where(numbers >= 0, far, 0.0)) / ops.sum(is_sentence)
            loss = ops.sum(lower) + TOKEN_LOSS * last + of_sentences

        gradients = tape.gradient(loss, self._variables)
        self._optimizer.apply(gradients, self._variables)
        return last, of_sentences

    def centre(self, pieces: Sequence[Sequence[int]]) -> None:
        """Takes a part of the mean vector of texts from every vector, as the records do."""
        cls, sep, embedding = (
            self._word_piece.cls_id,
            self._word_piece.sep_id,
            self.student.embedding,
        )
        pieces, vectors = sorted(pieces, key=len), []
        for first in range(0, len(pieces), 64):
            ids = padded([[cls, *row, sep] for row in pieces[first : first + 64]])
            sequence = self.student.bert.encode(ids)
            starts = np.zeros((len(ids), 1), np.int32)
            vectors.append(self.student.pool_sentences(sequence, ids, starts)[:, 0])
        # the embedding is linear: the mean of those of vectors is that of their mean
        mean = ops.mean(ops.cast(ops.concatenate(vectors), "float32"), axis=0, keepdims=True)
        embedding.bias.assign_sub(CENTRE * embedding(mean)[0])


def found_pairs(vectors: Callable[[Sequence[str]], np.ndarray], pairs: list[list[str]]) -> str:
    """Shares of the lines whose other half is the nearest, from left to right and back."""
    left, right = (vectors(list(side)) for side in zip(*pairs))
    similar, right_ones = left @ right.T, np.arange(len(pairs))
    return " / ".join(f"{(similar.argmax(axis) == right_ones).mean():.1%}" for axis in (1, 0))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=pathlib.Path, help="model folder to begin with")
    parser.add_argument("teacher", type=pathlib.Path, help="folder of the encoder to learn from")
    parser.add_argument("corpora", type=pathlib.Path, help="folder of the corpora")
    parser.add_argument("texts", type=pathlib.Path, help="folder of the texts by language")
    parser.add_argument("output", type=pathlib.Path, help="model folder to write")
    parser.add_argument("--steps", type=int, default=1100, help="steps of 4,096 tokens")
    parser.add_argument("--rate", type=float, default=5e-4, help="learning rate at first")
    options = parser.parse_args()
    keras.utils.set_random_seed(SEED)
    keras.config.set_dtype_policy("mixed_bfloat16")

    student = tfsum.BertSumExt.from_pretrained(options.model)
    vocabulary = options.teacher / "vocab.txt"
    word_piece = WordPiece.from_file(vocabulary, **read_text_settings(options.teacher, None, None))
    teacher = tfsum.Bert.from_pretrained(options.teacher)
    training = Distillation(student, teacher, word_piece, options.steps, options.rate)

    texts, documents = texts_of(options.corpora, options.texts)
    alone = [pieces[:PIECES] for pieces in word_piece.tokenize(texts).to_list()]
    rows = [[pieces] for pieces in alone] + windows_of(documents, word_piece)
    lengths = np.array([sum(len(pieces) + 2 for pieces in row) for row in rows])
    print(f"{len(rows):,} rows of {lengths.sum():,} tokens", flush=True)
    lines = lines_of(options.corpora / "tatoeba_fra_eng/validation.tsv.gz")
    pairs = list({line.split("\t")[0]: line.split("\t")[:2] for line in lines[:1000]}.values())

    stopped: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stopped.append(number))
    settings = json.loads((options.model / "tfsum.json").read_text("utf-8"))
    losses = []
    for done, batch in enumerate(batches(lengths), 1):
        losses.append(training.step([rows[number] for number in batch]))
        ends = done == options.steps or bool(stopped)
        if ends or done % 100 == 0:
            token, text = np.mean(losses[-100:], 0)
            if done == options.steps:
                training.centre(alone[:4000])
            found = found_pairs(training.vectors, pairs)
            print(f"{done}: {token:.3f} tokens, {text:.3f} sentences; {found}", flush=True)
            student.save_pretrained(options.output, word_piece.vocabulary, settings)
        if ends:
            break


if __name__ == "__main__":
    main()
