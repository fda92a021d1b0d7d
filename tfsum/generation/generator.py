"""An exported abstractive model in Python: texts in, answers and their attention out."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import overload

import numpy as np

from tfsum.errors import require
from tfsum.inference.exported_model import ExportedModel
from tfsum.inference.saved_model import read_vocabularies
from tfsum.inference.texts import KNOWN_ENOUGH, check_texts
from tfsum.request import AnswerWarning, warnings_of


@dataclasses.dataclass(frozen=True)
class Generated:
    """The answer to one text.

    Attributes:
        summary: The generated text: a summary, a translation, whatever the model was trained to
            generate.
        log_probability: Log-probability of the answer; closer to 0 is more certain.
        coverage: Share of the text's non-space bytes that the model read.
        ended: False if the answer was cut at the maximum length.
        warnings: Warnings about this answer; see `tfsum.request.sentence_of`.

    Example:
        >>> print(Generated("It rained.", -0.5, 1.0, True, []))
        It rained.
    """

    summary: str
    log_probability: float
    coverage: float
    ended: bool
    warnings: list[AnswerWarning]

    def __str__(self) -> str:
        return self.summary


def generated_of(text: str, outputs: Mapping) -> Generated:
    """The answer to a text from the outputs of its row.

    Args:
        text: The text.
        outputs: Name of an output of the signature -> its value for this text.

    Example:
        >>> outputs = {
        ...     "summary": b"Il pleut.",
        ...     "log_probability": -0.5,
        ...     "coverage": 1.0,
        ...     "known": 1.0,
        ...     "ended": True,
        ... }
        >>> generated_of("It rains.", outputs).summary
        'Il pleut.'
    """
    coverage, known = float(outputs["coverage"]), float(outputs["known"])
    return Generated(
        outputs["summary"].decode("utf-8"),
        float(outputs["log_probability"]),
        coverage,
        bool(outputs["ended"]),
        warnings_of(
            {
                "empty": (not text.strip(), {}),
                "language": (known < KNOWN_ENOUGH, {"known": known}),
                "long_text": (coverage < 1, {"coverage": coverage}),
                "unended": (not outputs["ended"], {}),
            }
        ),
    )


@dataclasses.dataclass(frozen=True)
class CrossAttention:
    """The attention from each token of the answer to each token of the text.

    Attributes:
        source_ids: The Ts source tokens, including [CLS] and [SEP].
        source_vocabulary: The word pieces by source id.
        ids: The L tokens of the answer, including the end token.
        vocabulary: The word pieces by answer id.
        attention: Float32 (L, Ts), the cross-attention, mean over layers and heads; a row sums to
            1.

    Example:
        >>> attention = CrossAttention(
        ...     [1], ["[PAD]", "cold"], [1], ["[PAD]", "froid"], np.ones((1, 1), np.float32)
        ... )
        >>> attention.vocabulary[attention.ids[0]]
        'froid'
    """

    source_ids: list[int]
    source_vocabulary: list[str]
    ids: list[int]
    vocabulary: list[str]
    attention: np.ndarray


@dataclasses.dataclass(frozen=True)
class Attention:
    """The weights of all layers and heads of one kind of attention.

    Attributes:
        kind: Name of the attention, such as "cross-attention".
        weights: float32 array (L, H, Tq, Tk); the weights of a query over the keys sum to 1.
        queries: Query tokens, Tq of them.
        keys: Key tokens, Tk of them.

    Example:
        >>> attention = Attention("self-attention", np.ones((1, 2, 1, 1)), ["a"], ["a"])
        >>> attention.select(layer=0).shape, attention.select(layer=0, head=1).tolist()
        ((2, 1, 1), [[1.0]])
    """

    kind: str
    weights: np.ndarray
    queries: list[str]
    keys: list[str]

    def select(self, layer: int, head: int | None = None) -> np.ndarray:
        """Selects the weights of a layer (H, Tq, Tk) or of one of its heads (Tq, Tk).

        Args:
            layer: Index of the layer, from 0.
            head: Index of the head, from 0; None selects all heads.

        Returns:
            The weights.

        Raises:
            Error: There is no such layer or head.
        """
        for name, number, count in zip(("layer", "head"), (layer, head), self.weights.shape):
            require(
                number is None or 0 <= number < count,
                f"{self.kind}: {name} is {number}; expected a whole number from 0 to {count - 1}",
            )
        return self.weights[layer if head is None else (layer, head)]


class Generator(ExportedModel):
    """Generates answers to texts with an exported abstractive model.

    The arguments are those of `ExportedModel`.
    """

    @overload
    def __call__(  # type: ignore[overload-overlap]  # a str is a sequence of str
        self, texts: str
    ) -> Generated: ...

    @overload
    def __call__(self, texts: Sequence[str]) -> list[Generated]: ...

    def __call__(self, texts: str | Sequence[str]) -> Generated | list[Generated]:
        """Generates an answer to each text, as the model was exported.

        Decoding strategy and maximum length are those of the export.

        Args:
            texts: One text or a sequence of them.

        Returns:
            A `Generated`, or a list of them for a sequence.

        Raises:
            Error: An element is not a str.
        """
        if isinstance(texts, str):
            return self([texts])[0]
        texts = check_texts(texts)
        return list(map(generated_of, texts, self._ask("serving_default", {"text": texts})))

    def attend(self, text: str) -> CrossAttention:
        """Returns the cross-attention of the answer to a text.

        Raises:
            Error: `text` is not a str, or the model was exported without the signature `attend`.
        """
        (answer,) = self._ask("attend", {"text": check_texts([text])})
        source_ids, ids, attention = (answer[name] for name in ("source_ids", "ids", "attention"))
        written, read = np.count_nonzero(ids), np.count_nonzero(source_ids)
        words, target_words = read_vocabularies(self.path)

        return CrossAttention(
            source_ids[:read].tolist(),
            words,
            ids[:written].tolist(),
            target_words,
            attention[:written, :read],
        )
