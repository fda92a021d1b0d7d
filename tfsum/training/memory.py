"""The memory that a process has used."""

import sys

import tensorflow as tf


def peak_memory() -> str:
    """The most memory that was used so far, in words: of each GPU, or of this process where there is none.

    Example:
        >>> peak_memory()  # doctest: +ELLIPSIS
        '... MB of this process'
    """
    gpus = tf.config.list_logical_devices("GPU")
    if gpus:
        peaks = [
            tf.config.experimental.get_memory_info(gpu.name.removeprefix("/device:"))["peak"]
            for gpu in gpus
        ]
        return f"{max(peaks) / 2**20:,.0f} MB of a GPU"
    try:
        import resource
    except ImportError:  # Windows
        return "not known"
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes on macOS, elsewhere kB
    return f"{most / (2**20 if sys.platform == 'darwin' else 2**10):,.0f} MB of this process"
