"""The type that an exported model computes in: float32, or bfloat16 where the processor has it.

In bfloat16 TensorFlow's optimizer makes the products of matrices and what lies between them
bfloat16; softmax, sums and normalization stay float32 (`auto_mixed_precision_onednn_bfloat16`). The
weights are those of the export, so that any export can be computed in either type.
"""

import pathlib

from tfsum.errors import Error

TYPES = ("float32", "bfloat16", "auto")
INSTRUCTIONS = {"avx512_bf16", "amx_bf16", "bf16"}  # of x86, and of ARM


def computed_in(compute: str) -> str:
    """The type to compute in on this machine.

    Args:
        compute: "float32", "bfloat16", or "auto": bfloat16 where the processor has instructions for
            it.

    Returns:
        "float32" or "bfloat16".

    Raises:
        Error: Another type, or the processor has no instructions for bfloat16.

    Example:
        >>> computed_in("float32")
        'float32'
    """
    if compute not in TYPES:
        raise Error(f"compute is {compute!r}; expected one of {', '.join(TYPES)}")
    if compute == "bfloat16" and not has_bfloat16():
        raise Error(
            "compute is 'bfloat16', and this processor has no instructions for it (none of"
            f" {', '.join(sorted(INSTRUCTIONS))} in /proc/cpuinfo); take 'auto' or 'float32'"
        )

    if compute == "auto":
        return "bfloat16" if has_bfloat16() else "float32"
    return compute


def has_bfloat16() -> bool:
    """Whether the processor multiplies in bfloat16, as far as Linux tells.

    Example:
        >>> has_bfloat16() in (True, False)
        True
    """
    file = pathlib.Path("/proc/cpuinfo")
    return file.is_file() and not INSTRUCTIONS.isdisjoint(file.read_text().split())
