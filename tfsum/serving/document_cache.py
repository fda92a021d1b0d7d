"""What models have read of the last documents, so that a further question about one is cheap."""

import collections
import hashlib

from tfsum.serving.servable import Arrays, Servable, byte_count

Key = tuple[int, bytes]  # the number of a loaded model, and the hash of a text


class DocumentCache:
    """The outputs of the signature `read` for the documents asked about last.

    Args:
        limit: Bytes of all that is kept.

    Attributes:
        size: Bytes of what is kept now.

    Example:
        >>> import numpy as np
        >>> cache = DocumentCache(limit=20)
        >>> for number in range(3):
        ...     cache.keep((number, b""), {"score": np.zeros(2, np.float32)})
        >>> [cache.find((number, b"")) is not None for number in range(3)], cache.size
        ([False, True, True], 16)
    """

    def __init__(self, limit: int) -> None:
        self._limit, self.size = limit, 0
        self._kept: collections.OrderedDict[Key, Arrays] = collections.OrderedDict()

    def key(self, servable: Servable, text: bytes) -> Key:
        """The key of a document.

        Args:
            servable: The model that reads it.
            text: Its text.
        """
        return servable.number, hashlib.sha256(text).digest()

    def find(self, key: Key) -> Arrays | None:
        """What was kept of a document; None where it was not, or not until now.

        Args:
            key: Key of the document.
        """
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def keep(self, key: Key, outputs: Arrays) -> None:
        """Keeps what was read of a document; those asked about longest ago make room.

        Args:
            key: Key of the document.
            outputs: Outputs of the signature `read`.
        """
        if key in self._kept or byte_count(outputs) > self._limit:
            return
        self._kept[key] = outputs
        self.size += byte_count(outputs)
        while self.size > self._limit:
            _, oldest = self._kept.popitem(last=False)
            self.size -= byte_count(oldest)
