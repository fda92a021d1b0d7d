"""BLEU by the `sacrebleu` package, always with the signature of its settings."""

from collections.abc import Sequence

from sacrebleu.metrics import BLEU

from tfsum.errors import Error


def score_translations(
    translations: Sequence[str], references: Sequence[str], tokenize: str = "13a"
) -> tuple[float, str]:
    """Scores a corpus of translations, one reference each.

    Args:
        translations: (N,) plain texts, not tokenized.
        references: (N,) texts.
        tokenize: see `score_with_interval`.

    Returns:
        BLEU, 0 to 100, and sacrebleu's signature.

    Raises:
        Error: the numbers of texts differ, or there are none.

    Example:
        >>> score, signature = score_translations(
        ...     ["The cat sat on the mat."], ["The cat sat on the mat."]
        ... )
        >>> round(score, 2)
        100.0
    """
    scores = score_with_interval(translations, references, samples=1, tokenize=tokenize)
    return float(scores["score"]), str(scores["signature"])


def score_with_interval(
    translations: Sequence[str],
    references: Sequence[str],
    samples: int = 1000,
    tokenize: str = "13a",
) -> dict[str, float | str]:
    """Scores a corpus of translations, with the 95 % interval of sacrebleu's own bootstrap.

    Args:
        translations: (N,) plain texts, not tokenized.
        references: (N,) texts.
        samples: of the bootstrap, whose seed is in the signature; 1 for none.
        tokenize: sacrebleu's tokenizer: "13a", "intl", "zh" (Chinese), "char" or "none".

    Returns:
        `score`, 0 to 100, the ends of the interval, `low` and `high` (without one the score itself), and
        sacrebleu's `signature`.

    Raises:
        Error: the numbers of texts differ, or there are none.

    Source: Papineni et al. 2002; Post 2018, "A Call for Clarity in Reporting BLEU Scores".

    Example:
        >>> scores = score_with_interval(
        ...     ["The cat sat on the mat."] * 3, ["The cat sat on a mat."] * 3, samples=10
        ... )
        >>> round(scores["score"], 1)
        48.9
    """
    if len(translations) != len(references) or not references:
        raise Error(
            f"BLEU: {len(translations)} translations and {len(references)} references; expected as many of "
            "both, and at least one"
        )
    bleu = BLEU(tokenize=tokenize)
    found = bleu.corpus_score(list(translations), [list(references)], n_bootstrap=samples)
    mean, half = (found._mean, found._ci) if samples > 1 else (found.score, 0.0)
    return {
        "score": found.score,
        "low": mean - half,
        "high": mean + half,
        "signature": str(bleu.get_signature()),
    }
