"""Loads TensorFlow without the log lines that its libraries write before any log level is read."""

import os
import sys
import tempfile


def load_tensorflow() -> None:
    """Imports TensorFlow and TF Text, suppressing what they write to standard error.

    The lines (oneDNN, CUDA's stub) come from C++ and bypass `sys.stderr`, so the descriptor itself is
    redirected. They are shown when the import fails, since they may then explain why.

    Raises:
        ImportError: TensorFlow or TF Text cannot be imported.

    Example:
        >>> load_tensorflow()
        >>> import sys
        >>> "tensorflow_text" in sys.modules
        True
    """
    sys.stderr.flush()
    aside = os.dup(2)
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            import tensorflow  # noqa: F401
            import tensorflow_text  # noqa: F401
        except BaseException:
            held.seek(0)
            os.write(aside, held.read())
            raise
        finally:
            os.dup2(aside, 2)
            os.close(aside)
