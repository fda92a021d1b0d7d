"""BLEU by the `sacrebleu` package, with the signature of its settings."""

import json
from collections.abc import Sequence

from sacrebleu.metrics import BLEU

from tfsum.errors import require

DIGITS = 12  # after the point, of the numbers that sacrebleu writes


def score_with_interval(
    translations: Sequence[str],
    references: Sequence[str],
    samples: int = 1000,
    tokenize: str = "13a",
) -> dict[str, float | str]:
    """Scores a corpus of translations, with the 95 % interval of sacrebleu's bootstrap.

    Args:
        translations: Texts (N,), not tokenized.
        references: Texts (N,).
        samples: Number of samples of the bootstrap; 1 computes no interval.
        tokenize: Tokenizer of sacrebleu: "13a", "intl", "zh" (Chinese), "char" or "none".

    Returns:
        `score`, 0 to 100, the ends of its interval `low` and `high` (the score itself without an
        interval), and sacrebleu's `signature`, which contains the seed.

    Raises:
        Error: The numbers of texts differ, or there are none.

    Source: Papineni et al. 2002; Post 2018, "A Call for Clarity in Reporting BLEU Scores".

    Example:
        >>> scores = score_with_interval(
        ...     ["The cat sat on the mat."] * 3, ["The cat sat on a mat."] * 3, samples=10
        ... )
        >>> round(scores["score"], 1)
        48.9
    """
    require(
        len(translations) == len(references) and references,
        f"BLEU: {len(translations)} translations and {len(references)} references; expected as"
        " many of both, and at least one",
    )

    bleu = BLEU(tokenize=tokenize)
    result = bleu.corpus_score(list(translations), [list(references)], n_bootstrap=samples)
    signature, mean, half_width = str(bleu.get_signature()), result.score, 0.0
    if samples > 1:
        told = json.loads(result.format(DIGITS, signature=signature, is_json=True))
        # it says nothing of an interval around 0
        mean, half_width = told.get("confidence_mean", 0.0), told.get("confidence_var", 0.0)
    return {
        "score": result.score,
        "low": mean - half_width,
        "high": mean + half_width,
        "signature": signature,
    }
