"""The writer of Python: texts in, `Generated` objects out, by an exported abstractive model."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from tfsum.errors import ExportError
from tfsum.inference.exported_model import KNOWN_ENOUGH, ExportedModel, check_texts
from tfsum.text.word_piece import Vocabulary


@dataclasses.dataclass(frozen=True)
class Generated:
    """The answer to one text.

    Attributes:
        summary: what the model wrote: a summary, a translation, whatever it was trained to write.
        log_probability: of the answer, by the model; the nearer to 0, the surer it was.
        coverage: share of the text that the model read, of its bytes but white space.
        ended: False where the answer stops because it may not be longer.
        warnings: what the reader of this answer should know.
    """

    summary: str
    log_probability: float
    coverage: float
    ended: bool
    warnings: list[str]

    def __str__(self) -> str:
        return self.summary


@dataclasses.dataclass(frozen=True)
class Looks:
    """How much each token that was written looked at each token of the text.

    Attributes:
        source_ids: the Ts tokens read, [CLS] and [SEP] among them.
        source_vocabulary: what they are.
        ids: the L tokens written, the end token among them.
        vocabulary: what those are.
        attention: float32 (L, Ts), the cross-attention, mean over layers and heads; a row sums to 1.
    """

    source_ids: list[int]
    source_vocabulary: list[str]
    ids: list[int]
    vocabulary: list[str]
    attention: np.ndarray


class Generator(ExportedModel):
    """Writes answers to texts by an exported abstractive model; for the arguments see `ExportedModel`."""

    def __call__(self, texts: str | Sequence[str]) -> Generated | list[Generated]:
        """Writes an answer to each text, by the search and up to the length that the model was exported with.

        Args:
            texts: one text or a sequence of them.

        Returns:
            A `Generated`, or a list of them for a sequence.

        Raises:
            Error: something is no text.
        """
        if isinstance(texts, str):
            return self([texts])[0]
        texts = check_texts(texts)
        return list(map(_generated, texts, self._ask("serving_default", {"text": texts})))

    def attend(self, text: str) -> Looks:
        """Tells where the answer to a text looked.

        Raises:
            Error: it is no text.
            ExportError: the model was exported without the signature `attend`.
        """
        if "attend" not in self._model.signatures:
            raise ExportError(f"{self.path}: has no signature 'attend'; export the model again by this tfsum")
        (given,) = self._ask("attend", {"text": check_texts([text])})
        source_ids, ids, attention = (given[name] for name in ("source_ids", "ids", "attention"))
        written, read = np.count_nonzero(ids), np.count_nonzero(source_ids)
        assets = self.path / "assets"
        words = Vocabulary.from_file(assets / "vocab.txt").words
        other = assets / "target_vocab.txt"
        return Looks(source_ids[:read].tolist(), words, ids[:written].tolist(),
                     Vocabulary.from_file(other).words if other.is_file() else words, attention[:written, :read])


def _generated(text: str, given: dict) -> Generated:
    coverage, known, found = float(given["coverage"]), float(given["known"]), []
    if not text.strip():
        found.append("there is no word in the text")
    if known < KNOWN_ENOUGH:
        found.append(
            f"the model knows {known:.0%} of the pieces of the text: it seems to be in a language or script that the "
            "model was not trained on, and the answer means little"
        )
    if coverage < 1:
        found.append(f"the model read {coverage:.1%} of the text: what is beyond its length was cut")
    if not given["ended"]:
        found.append("the answer is as long as this export lets it be, and stops there: it may lack its end")
    return Generated(given["summary"].decode("utf-8"), float(given["log_probability"]), coverage,
                     bool(given["ended"]), found)
