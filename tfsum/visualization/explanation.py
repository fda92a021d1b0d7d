"""Why these sentences: every sentence of a text with its score by an exported model, and those that it chose."""

import dataclasses

from tfsum.export.summarizer import Summarizer, Summary


@dataclasses.dataclass(frozen=True)
class Explanation:
    """What an extractive model thinks of a text.

    Attributes:
        text: the text.
        every: all its sentences, as if all were chosen.
        summary: the answer of the model.
        chosen: places of the summary's sentences among all, from 0.
        model: NAME/VERSION of the model.
        rule: how the model chooses among the sentences.
    """

    text: str
    every: Summary
    summary: Summary
    chosen: list[int]
    model: str
    rule: str


def explain(text: str, summarizer: Summarizer, sentences: int = 3) -> Explanation:
    """Asks a model for its summary of a text and for the scores of all sentences.

    Args:
        text: the text.
        summarizer: what `tfsum.load` gave.
        sentences: at most so many in the summary.

    Returns:
        An `Explanation`.

    Raises:
        Error: `text` is no str, or `sentences` is beyond the model's limit.
    """
    summary, every = summarizer(text, sentences), summarizer.score(text)
    place = {offsets: i for i, offsets in enumerate(every.offsets)}
    return Explanation(text, every, summary, [place[offsets] for offsets in summary.offsets],
                       "/".join(summarizer.path.resolve().parts[-2:]), _rule(sentences, summarizer.description))


def _rule(sentences: int, description: dict) -> str:
    """What `tfsum.export.extractive` does with the scores, in words."""
    rank = {"score": "score", "expected_rouge": "the ROUGE expected of them together"}[description["selection"]]
    blocked = ", none that repeats a trigram of the others" if description["block_trigrams"] else ""
    return f"at most {sentences} by {rank}{blocked}"
