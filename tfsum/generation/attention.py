"""Attention weights of a model, with the tokens that they are of."""

import dataclasses

import numpy as np

from tfsum.errors import Error


@dataclasses.dataclass(frozen=True)
class Attention:
    """The weights of all layers and heads of one kind of attention.

    Attributes:
        kind: Name of the attention, such as "cross-attention".
        weights: float32 array (L, H, Tq, Tk); the weights of a query over the keys sum to 1.
        queries: Query tokens, Tq of them.
        keys: Key tokens, Tk of them.

    Example:
        >>> attention = Attention("self-attention", np.ones((1, 2, 1, 1)), ["a"], ["a"])
        >>> attention.select(layer=0).shape, attention.select(layer=0, head=1).tolist()
        ((2, 1, 1), [[1.0]])
    """

    kind: str
    weights: np.ndarray
    queries: list[str]
    keys: list[str]

    def select(self, layer: int, head: int | None = None) -> np.ndarray:
        """Selects the weights of a layer (H, Tq, Tk) or of one of its heads (Tq, Tk).

        Args:
            layer: Index of the layer, from 0.
            head: Index of the head, from 0; None selects all heads.

        Returns:
            The weights.

        Raises:
            Error: There is no such layer or head.
        """
        for name, number, count in zip(("layer", "head"), (layer, head), self.weights.shape):
            if number is not None and not 0 <= number < count:
                raise Error(
                    f"{self.kind}: {name} is {number}; expected a whole number from 0 to"
                    f" {count - 1}"
                )
        return self.weights[layer if head is None else (layer, head)]
