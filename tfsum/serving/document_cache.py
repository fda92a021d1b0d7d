"""What models have read of the last documents, so that a further question about one is cheap."""

import collections
from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class DocumentCache(Generic[T]):
    """What was read of the documents asked about last.

    Args:
        limit: Bytes of all that is kept.

    Attributes:
        size: Bytes of what is kept now.

    Example:
        >>> cache = DocumentCache(limit=20)
        >>> for number in range(3):
        ...     cache.keep(number, f"document {number}", size=10)
        >>> [cache.find(number) for number in range(3)], cache.size
        ([None, 'document 1', 'document 2'], 20)
    """

    def __init__(self, limit: int) -> None:
        self._limit, self.size = limit, 0
        self._kept: collections.OrderedDict[Hashable, tuple[T, int]] = collections.OrderedDict()

    def find(self, key: Hashable) -> T | None:
        """What was kept of a document; None where it was not, or not until now.

        Args:
            key: Key of the document.
        """
        if key not in self._kept:
            return None
        self._kept.move_to_end(key)
        return self._kept[key][0]

    def keep(self, key: Hashable, read: T, size: int) -> None:
        """Keeps what was read of a document; those asked about longest ago make room.

        Args:
            key: Key of the document.
            read: What was read of it.
            size: Its bytes.
        """
        if size > self._limit:
            return
        if key in self._kept:
            self.size -= self._kept.pop(key)[1]
        self._kept[key] = read, size
        self.size += size
        while self.size > self._limit:
            _, (_, oldest) = self._kept.popitem(last=False)
            self.size -= oldest

    def values(self) -> list[T]:
        """What is kept, of the document asked about longest ago first."""
        return [read for read, _ in self._kept.values()]
