"""The summarizer of Python: texts in, `Summary` objects out, by an exported model."""

import dataclasses
import pathlib
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tfsum.errors import Error, ExportError
from tfsum.export.verification import load_model, read_description

TEXTS_AT_ONCE, BYTES_AT_ONCE = 32, 1 << 19
KNOWN_ENOUGH = 0.6  # share of whole words; English news has 0.9 to 1, Spanish or French read by its vocabulary 0.55


@dataclasses.dataclass(frozen=True)
class Summary:
    """The answer to one text.

    Attributes:
        summary: the chosen sentences, joined by a space.
        sentences: the chosen sentences in the order of the text.
        scores: the score of each, between 0 and 1.
        offsets: (start, end) of each in the text, in characters: `text[start:end]` is the sentence.
        coverage: share of the text's non-space bytes that the model read.
        warnings: what the reader of this answer should know.
    """

    summary: str
    sentences: list[str]
    scores: list[float]
    offsets: list[tuple[int, int]]
    coverage: float
    warnings: list[str]

    def __str__(self) -> str:
        return self.summary


class Summarizer:
    """Summarizes texts by an exported extractive model; `tfsum.load` makes it.

    Args:
        path: the model's folder `.../NAME/VERSION`, or `.../NAME` for its newest version.
    """

    def __init__(self, path):
        self.path = newest(path)
        self.description = read_description(self.path)
        self._model = load_model(self.path, self.description)

    def __call__(
        self, texts: str | Sequence[str], sentences: int = 3, block_trigrams: bool | None = None
    ) -> Summary | list[Summary]:
        """Summarizes.

        Args:
            texts: one text or a sequence of them.
            sentences: at most so many in a summary.
            block_trigrams: whether to skip a sentence that repeats a word trigram of the summary; as the model was
                exported by default.

        Returns:
            A `Summary`, or a list of them for a sequence.

        Raises:
            Error: something is no text, or `sentences` is beyond the model's limit.
        """
        if isinstance(texts, str):
            return self([texts], sentences, block_trigrams)[0]
        texts = self._check(texts, sentences)
        block = self.description["block_trigrams"] if block_trigrams is None else bool(block_trigrams)

        def summarize(text: tf.Tensor) -> dict:
            rows = tf.shape(text)
            return self._model.signatures["summarize"](
                text=text, max_sentences=tf.fill(rows, sentences), block_trigrams=tf.fill(rows, block)
            )

        return answer_each(texts, summarize, _summary)

    def score(self, text: str) -> Summary:
        """Scores every sentence of a text: a `Summary` that leaves none out.

        Raises:
            Error: it is no text.
        """
        return answer_each(self._check([text], sentences=1), self._model.signatures["score"], _summary)[0]

    def _check(self, texts, sentences: int) -> list[str]:
        limit = self.description["max_sentences"]
        if isinstance(sentences, bool) or not isinstance(sentences, int) or not 1 <= sentences <= limit:
            raise Error(
                f"sentences={sentences!r}: expected a whole number from 1 to {limit}, which this model was "
                "exported with; export it with a larger max_sentences for more"
            )
        return check_texts(texts)


def check_texts(texts) -> list[str]:
    """The texts as a list.

    Raises:
        Error: it is no sequence, or something in it is no text.
    """
    if isinstance(texts, bytes | bytearray) or not hasattr(texts, "__iter__"):
        raise Error(f"texts is {type(texts).__name__}; expected a str or a sequence of str (decode bytes first)")
    texts = list(texts)
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise Error(f"texts[{i}] is {type(text).__name__}; expected str (decode bytes first)")
    return texts


def batches(sizes: Sequence[int]) -> list[list[int]]:
    """Groups texts by size: their places, at most `TEXTS_AT_ONCE` and about `BYTES_AT_ONCE` in a group."""
    groups: list[list[int]] = []
    room = 0
    for i in sorted(range(len(sizes)), key=lambda i: sizes[i]):
        if not groups or len(groups[-1]) == TEXTS_AT_ONCE or sizes[i] > room:
            groups.append([])
            room = BYTES_AT_ONCE
        groups[-1].append(i)
        room -= sizes[i]
    return groups


def answer_each(texts: list[str], ask: Callable[[tf.Tensor], dict], answer: Callable[[str, bytes, dict], Any]) -> list:
    """Asks in groups.

    Args:
        texts: any number.
        ask: takes texts (B,) and gives tensors with a row for each.
        answer: makes the answer to a text of it, its bytes and its rows.

    Returns:
        An answer for each text.
    """
    encoded = [text.encode("utf-8", errors="replace") for text in texts]
    answers: list[Any] = [None] * len(texts)
    for rows in batches([len(data) for data in encoded]):
        given = ask(tf.constant([encoded[i] for i in rows], tf.string))
        given = {name: value.numpy() for name, value in given.items()}
        for place, i in enumerate(rows):
            answers[i] = answer(texts[i], encoded[i], {name: value[place] for name, value in given.items()})
    return answers


def newest(path) -> pathlib.Path:
    """The folder `.../NAME/VERSION` of an exported model, for itself or for `.../NAME`.

    Raises:
        ExportError: there is no version in it.
    """
    path = pathlib.Path(path)
    if (path / "saved_model.pb").is_file() or not path.is_dir():
        return path
    versions = [
        p
        for p in path.iterdir()
        if p.name.isascii() and p.name.isdigit() and (p / "saved_model.pb").is_file()
    ]
    if not versions:
        raise ExportError(
            f"{path}: holds no SavedModel and no version of one; expected NAME or NAME/VERSION that "
            "`tfsum export` wrote"
        )
    return max(versions, key=lambda p: int(p.name))


def _summary(text: str, data: bytes, given: dict) -> Summary:
    count = int(given["count"])
    offsets = [
        (_characters(data, start), _characters(data, end))
        for start, end in zip(given["start"][:count].tolist(), given["end"][:count].tolist())
    ]
    sentences = [text[start:end] for start, end in offsets]
    return Summary(
        " ".join(sentences),
        sentences,
        given["score"][:count].tolist(),
        offsets,
        float(given["coverage"]),
        _warnings(count, float(given["known"]), float(given["coverage"])),
    )


def _characters(data: bytes, offset: int) -> int:
    """How many characters lie before a byte offset."""
    return len(data[:offset].decode("utf-8"))


def _warnings(count: int, known: float, coverage: float) -> list[str]:
    found = []
    if not count:
        found.append("there is no sentence in the text")
    if known < KNOWN_ENOUGH:
        found.append(
            f"only {known:.0%} of the words are in the model's vocabulary: the text seems to be in a language "
            "that the model was not trained on, and the choice of sentences means little"
        )
    if coverage < 1:
        found.append(f"the model read {coverage:.1%} of the text: sentences longer than its window were cut")
    return found
