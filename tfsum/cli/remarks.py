"""What `tfsum summarize` remarks on documents, on standard error."""

import collections
import sys

from tqdm import tqdm

from tfsum.cli.options import printable

FEW = 3  # rows of which a remark of one kind is printed


class Remarks:
    """Prints remarks above a bar; of a kind that many documents have, the first ones alone.

    Args:
        bar: Bar that shows how far the documents are.
        most: Number of documents for which remarks of one kind are printed.

    Attributes:
        bar: The bar.

    Example:
        >>> with Remarks(tqdm(disable=True), most=1) as remarks:
        ...     for number in range(3):
        ...         remarks.add(f"a.csv:{number}", "is empty", "is empty")
    """

    def __init__(self, bar: tqdm, most: float) -> None:
        self.bar, self._most = bar, most
        self._counts = collections.Counter[str]()

    def __enter__(self) -> "Remarks":
        return self

    def __exit__(self, *_: object) -> None:
        for kind, count in self._counts.items():
            if count > self._most:
                more = f"tfsum: {count - self._most} more rows: {kind}"
                print(printable(more), file=sys.stderr)

    def add(self, name: str, remark: str, kind: str) -> None:
        """Prints a remark, or counts it.

        Args:
            name: Name of the document.
            remark: What is to be said of it.
            kind: What remarks of the same kind have in common.
        """
        self._counts[kind] += 1
        if self._counts[kind] <= self._most:
            self.bar.write(printable(f"tfsum: {name}: {remark}"), file=sys.stderr)
