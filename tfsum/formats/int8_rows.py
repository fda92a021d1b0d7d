"""A word embedding's rows in 8 bits: a quarter of the bytes of float32, one scale a row."""

import numpy as np


def quantize_rows(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rounds each row to int8 times a scale of its own.

    Args:
        table: float array (V, D).

    Returns:
        int8 (V, D) in -127..127 and float32 scales (V,); row i is about rows[i] * scales[i].

    Example:
        >>> rows, scales = quantize_rows(np.array([[1.0, -0.5], [0.0, 0.0]], np.float32))
        >>> rows.tolist()
        [[127, -64], [0, 0]]
    """
    scales = np.abs(table).max(axis=1) / 127.0
    divisors = np.where(scales > 0, scales, 1.0)[:, None]
    return np.rint(table / divisors).astype(np.int8), scales.astype(np.float32)


def rounded_rows(table: np.ndarray) -> np.ndarray:
    """Rounds a table to what `quantize_rows` stores, float32 (V, D); rounding is idempotent.

    A model trained on a frozen rounded table is exact when the table is stored in int8.

    Example:
        >>> rounded_rows(np.array([[127.0, -63.6]], np.float32)).tolist()
        [[127.0, -64.0]]
    """
    rows, scales = quantize_rows(table)
    return rows * scales[:, None]
