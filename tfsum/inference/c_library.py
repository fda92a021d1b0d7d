"""TensorFlow's C library, the one in TensorFlow's own package, called by ctypes.

Source: tensorflow/c/c_api.h, tf_tensor.h and tf_tstring.h.
"""

import ctypes
import functools
import importlib.util
import pathlib
from collections.abc import Callable
from typing import Any


def library_files() -> list[pathlib.Path]:
    """The two shared libraries in TensorFlow's package; there are none for Windows."""
    spec = importlib.util.find_spec("tensorflow")
    folder = pathlib.Path(spec.origin).parent if spec and spec.origin else pathlib.Path()
    names = ("libtensorflow_framework", "libtensorflow_cc")
    return [file for name in names for file in [*folder.glob(f"{name}.*")][:1]]


# Letter -> a type of C; of a function's letters the first is its result's.
LETTERS = {
    "v": None,
    "p": ctypes.c_void_p,
    "i": ctypes.c_int,
    "l": ctypes.c_int64,
    "n": ctypes.c_size_t,
    "s": ctypes.c_char_p,
}
FUNCTIONS = {
    "TF_AllocateTensor": "pipin",
    "TF_CloseDeprecatedSession": "vpp",
    "TF_DeleteDeprecatedSession": "vpp",
    "TF_DeleteSessionOptions": "vp",
    "TF_DeleteStatus": "vp",
    "TF_DeleteTensor": "vp",
    "TF_Dim": "lpi",
    "TF_ExtendGraph": "vpsnp",
    "TF_GetCode": "ip",
    "TF_Message": "sp",
    "TF_NewDeprecatedSession": "ppp",
    "TF_NewSessionOptions": "p",
    "TF_NewStatus": "p",
    "TF_NumDims": "ip",
    "TF_Run": "vppppippipipp",
    "TF_SetConfig": "vpsnp",
    "TF_StringCopy": "vpsn",
    "TF_StringDealloc": "vp",
    "TF_StringGetDataPointer": "pp",
    "TF_StringGetSize": "np",
    "TF_StringInit": "vp",
    "TF_TensorData": "pp",
    "TF_TensorType": "ip",
}


class _Library:
    """TensorFlow's C library, loaded when a function is called first, with the types of these."""

    @functools.cached_property
    def _library(self) -> ctypes.CDLL:
        # Not RTLD_GLOBAL: numpy.random then takes symbols from it, and crashes.
        return ctypes.CDLL(str(library_files()[1]))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function = getattr(self._library, name)
        function.restype, *function.argtypes = (LETTERS[letter] for letter in FUNCTIONS[name])
        setattr(self, name, function)  # so that it is looked for once
        return function


tf = _Library()
