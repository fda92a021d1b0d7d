"""Shares of summaries with faults that a reader meets, counted by the rules of
`tfsum.text.readability`, and how much a summary repeats itself.

They see single sentences alone. Whether a summary misleads takes a reader (Zhang et al. 2023,
"Extractive is not Faithful: An Investigation of Broad Unfaithfulness Problems in Extractive
Summarization", whose "incomplete coreference" and "incomplete discourse" have rules here).
"""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from tfsum.text.english import is_english
from tfsum.text.readability import faults

FAULTS = ("dateline", "pronoun", "connective", "quotes", "no_end_mark", "short")


def fault_shares(
    summaries: Sequence[Sequence[str]], follows: Sequence[Sequence[bool]]
) -> dict[str, float]:
    """Counts the summaries with each fault.

    Args:
        summaries: Sentences of each summary.
        follows: For each sentence, whether the one before it in the document is chosen too, or
            there is none.

    Returns:
        For each of `FAULTS` the share of the summaries with it, 0 to 1; "dateline" is the name
        "(CNN", and a pronoun or a connective at the start counts where the sentence before is not
        chosen.

    Example:
        >>> shares = fault_shares(
        ...     [["(CNN) -- A ship with forty men sank.", "He left."], []], [[True, False], []]
        ... )
        >>> {name: share for name, share in shares.items() if share}
        {'dateline': 0.5, 'pronoun': 0.5, 'short': 0.5}
    """
    texts = tf.ragged.constant(summaries, tf.string, ragged_rank=1)
    flat = texts.flat_values
    found = {name: flags.numpy() for name, flags in faults(flat, is_english(texts)).items()}
    found["dateline"] = tf.strings.regex_full_match(flat, r"(?is).*\(cnn\b.*").numpy()
    alone = ~np.array([flag for summary in follows for flag in summary], bool)
    found |= {name: found[name] & alone for name in ("pronoun", "connective")}

    owner = np.repeat(np.arange(len(summaries)), [len(summary) for summary in summaries])
    faulty = {name: len(np.unique(owner[found[name]])) for name in FAULTS}
    return {name: number / max(len(summaries), 1) for name, number in faulty.items()}


def repeated_pairs(summary: Sequence[str]) -> float:
    """The share of the pairs of neighbouring words that a summary has had before.

    Args:
        summary: Sentences.

    Returns:
        0 to 1; 0 for a summary without a pair of words.

    Example:
        >>> repeated_pairs(["The bridge was closed.", "The bridge fell."])
        0.2
    """
    words = [sentence.lower().split() for sentence in summary]
    pairs = [pair for sentence in words for pair in zip(sentence, sentence[1:])]
    return (len(pairs) - len(set(pairs))) / max(len(pairs), 1)
