"""Length normalizations of beam search: what a log-probability is divided by, so that long answers stand a chance."""

from keras import ops


def gnmt(length, alpha: float):
    """Gives ((5 + length) / 6) ** alpha.

    Source: Wu et al. 2016, "Google's Neural Machine Translation System", section 7, equation 14, without its
    coverage penalty; Vaswani et al. 2017 (section 6.1) take it with alpha 0.6. PreSumm's is the same.
    """
    return ops.power((5.0 + ops.cast(length, "float32")) / 6.0, alpha)


def division_by_length(length, alpha: float):
    """Gives length ** alpha: with alpha 1 a hypothesis is scored by its mean log-probability a token.

    Source: Jean et al. 2015, "Montreal Neural Machine Translation Systems for WMT'15" (alpha 1); with alpha,
    fairseq's `--lenpen` and Hugging Face's `length_penalty`.
    """
    return ops.power(ops.cast(length, "float32"), alpha)


NORMALIZATIONS = {"gnmt": gnmt, "length": division_by_length}
