"""Percentile bootstrap intervals of means over documents (Efron 1979; for summaries, Lin 2004)."""

from collections.abc import Callable

import numpy as np

from tfsum.errors import Error


def bootstrap_intervals(
    values: np.ndarray,
    samples: int = 1000,
    seed: int = 0,
    statistic: Callable[[np.ndarray], np.ndarray] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Computes 95 % intervals of the means of several columns, all from the same resampled documents.

    A column may be a difference of two systems: it is then the paired bootstrap of that difference.

    Args:
        values: (D, ...), one row per document.
        samples: resamples of D documents with replacement.
        seed: of the resamples.
        statistic: for a function of means instead of a mean, such as F1: from (samples, ...) means
            of the columns to (samples, ...) values.

    Returns:
        The lower and the upper ends, each of the shape of a row, or of a value of `statistic`.

    Raises:
        Error: there is no document or no sample.

    Example:
        >>> low, high = bootstrap_intervals(np.array([[1.0, 5.0], [3.0, 5.0], [2.0, 5.0]]))
        >>> bool(1 <= low[0] < 2 < high[0] <= 3), low[1].item(), high[1].item()
        (True, 5.0, 5.0)
    """
    values = np.asarray(values, np.float64)
    if not len(values) or samples < 1:
        raise Error(
            f"bootstrap: {len(values)} documents, {samples} samples; expected 1 or more of both"
        )
    random = np.random.default_rng(seed)
    columns = values.reshape(len(values), -1)
    # The count of each document is sufficient, and makes a mean a product.
    even = np.full(len(values), 1 / len(values))
    means = np.stack(
        [random.multinomial(len(values), even) @ columns for _ in range(samples)]
    ) / len(values)
    means = means.reshape(samples, *values.shape[1:])
    means = means if statistic is None else statistic(means)
    return tuple(np.quantile(means, [0.025, 0.975], axis=0))
