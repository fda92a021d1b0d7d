"""An exported abstractive model in Python: texts in, `Generated` objects out."""

import dataclasses
from collections.abc import Sequence
from typing import overload

import numpy as np

from tfsum.errors import ExportError
from tfsum.generation.generated import Generated, generated_of
from tfsum.inference.exported_model import ExportedModel
from tfsum.inference.saved_model import read_vocabularies
from tfsum.inference.texts import check_texts


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
            Error: `text` is not a str.
            ExportError: Model was exported without the signature `attend`.
        """
        if "attend" not in self._model.signatures:
            raise ExportError(
                f"{self.path}: has no signature 'attend'; export the model again by this tfsum"
            )

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
