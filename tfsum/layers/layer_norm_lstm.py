"""An LSTM with layer normalization (Ba et al. 2016, "Layer Normalization", equations 20 to 22)."""

from typing import Any

import keras
from keras import ops

from tfsum.tensor import Tensor

EPSILON = 1e-5  # of torch's normalization, which the original uses


@keras.saving.register_keras_serializable("tfsum")
class LayerNormLSTM(keras.layers.Layer):
    """One layer of an LSTM in one direction: (B, T, D) -> (B, T, U).

    The sums of a step are LN(W x + b) + LN(V h + c); their four parts are the input, forget and output gate and the
    candidate, in this order (not that of Keras's LSTM). The output is o * tanh(LN(cell)). A position that is not
    visible changes neither cell nor output, so that padding at either end of a row has no effect.

    Args:
        units: U, the size of the cell.
        go_backwards: read from the last position to the first; outputs stay in the order of the inputs.

    Source: nlpyang/BertSum, models/rnn.py, `LayerNormLSTMCell`.

    Example:
        >>> import numpy as np
        >>> from tfsum.layers import LayerNormLSTM
        >>> tuple(LayerNormLSTM(4)(np.ones((2, 3, 8), "float32")).shape)
        (2, 3, 4)
    """

    def __init__(self, units: int, go_backwards: bool = False, **kwargs: Any):
        super().__init__(**kwargs)
        self.units, self.go_backwards = units, go_backwards

        def dense(name):
            return keras.layers.Dense(4 * units, name=name, dtype=self.dtype_policy)

        def norm(name):
            return keras.layers.LayerNormalization(
                epsilon=EPSILON, name=name, dtype=self.dtype_policy
            )

        self.input_projection, self.input_norm = dense("input_projection"), norm("input_norm")
        self.recurrent_projection, self.recurrent_norm = (
            dense("recurrent_projection"),
            norm("recurrent_norm"),
        )
        self.cell_norm = norm("cell_norm")

    def build(self, input_shape: tuple) -> None:
        self.input_projection.build(input_shape)
        self.recurrent_projection.build((None, self.units))
        self.input_norm.build((None, None, 4 * self.units))
        self.recurrent_norm.build((None, 4 * self.units))
        self.cell_norm.build((None, self.units))
        self.built = True

    def call(self, x: Tensor, visible: Tensor | None = None) -> Tensor:
        """Reads the rows.

        Args:
            x: float tensor (B, T, D).
            visible: bool tensor (B, T), True at the positions that are read; all by default.

        Returns:
            float tensor (B, T, U): the output after each position.
        """
        x = self.input_norm(self.input_projection(x))
        visible = ops.ones(ops.shape(x)[:2], "bool") if visible is None else visible
        # The mask is a column of the inputs, and a position that is not visible is added: ops.scan of TensorFlow's
        # backend takes one sequence of unknown length, and cannot stack the outputs of an empty one.
        steps = ops.pad(
            ops.concatenate([x, ops.cast(visible, x.dtype)[..., None]], axis=-1),
            ((0, 0), (0, 1), (0, 0)),
        )
        steps = ops.transpose(steps, (1, 0, 2))  # (T + 1, B, 4 U + 1)
        start = ops.zeros((ops.shape(x)[0], self.units), x.dtype)
        _, (outputs, _) = ops.scan(
            self._step, (start, start), ops.flip(steps, 0) if self.go_backwards else steps
        )
        outputs = ops.flip(outputs, 0) if self.go_backwards else outputs
        return ops.transpose(outputs, (1, 0, 2))[:, :-1]

    def _step(self, states, step):
        """One position: the states (B, U) before it, and those after it, twice."""
        output, cell = states
        sums = step[:, :-1] + self.recurrent_norm(self.recurrent_projection(output))
        gates, candidate = (
            ops.sigmoid(sums[:, : 3 * self.units]),
            ops.tanh(sums[:, 3 * self.units :]),
        )
        enter, keep, leave = ops.split(gates, 3, axis=-1)
        new_cell = keep * cell + enter * candidate
        new_output = leave * ops.tanh(self.cell_norm(new_cell))
        read = step[:, -1:] > 0
        states = ops.where(read, new_output, output), ops.where(read, new_cell, cell)
        return states, states

    def get_config(self) -> dict:
        return {**super().get_config(), "units": self.units, "go_backwards": self.go_backwards}
