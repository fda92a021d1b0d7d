"""BertSum's LSTM head (Liu 2019, section 2.3): as it was meant, and as it was computed."""

from keras import layers, ops, saving

from tfsum.errors import require
from tfsum.layers import Dropout
from tfsum.layers.layer import Layer
from tfsum.models.sentence_heads import HEADS
from tfsum.tensor import Tensor

EPSILON = 1e-5  # Of torch's normalization, which the original uses.


@saving.register_keras_serializable("tfsum")
class LayerNormLSTM(Layer):
    """One layer of an LSTM with layer normalization, in one direction: (B, T, D) -> (B, T, U).

    The sums of a step are LN(W x + b) + LN(V h + c); their four parts are the input, forget and
    output gate and the candidate, in this order (not that of Keras's LSTM). The output is o *
    tanh(LN(cell)). A position that is not visible changes neither cell nor output, so that padding
    at either end of a row has no effect.

    Args:
        units: Size U of the cell.
        go_backwards: Whether to read from the last position to the first; outputs stay in the order
            of the inputs.

    Source: Ba et al. 2016, "Layer Normalization", equations 20 to 22; nlpyang/BertSum,
        models/rnn.py, `LayerNormLSTMCell`.

    Example:
        >>> import numpy as np
        >>> from tfsum.papers.lstm_head import LayerNormLSTM
        >>> tuple(LayerNormLSTM(4)(np.ones((2, 3, 8), "float32")).shape)
        (2, 3, 4)
    """

    def __init__(self, units: int, go_backwards: bool = False, **kwargs: object):
        super().__init__(**kwargs)
        self.units, self.go_backwards = units, go_backwards

        def dense(name):
            return layers.Dense(4 * units, name=name, dtype=self.dtype_policy)

        def norm(name):
            return layers.LayerNormalization(epsilon=EPSILON, name=name, dtype=self.dtype_policy)

        self.input_projection, self.input_norm = dense("input_projection"), norm("input_norm")
        self.recurrent_projection = dense("recurrent_projection")
        self.recurrent_norm = norm("recurrent_norm")
        self.cell_norm = norm("cell_norm")

    def build(self, input_shape: tuple) -> None:
        for layer, shape in (
            (self.input_projection, input_shape),
            (self.recurrent_projection, (None, self.units)),
            (self.input_norm, (None, None, 4 * self.units)),
            (self.recurrent_norm, (None, 4 * self.units)),
            (self.cell_norm, (None, self.units)),
        ):
            layer.build(shape)

    def call(self, x: Tensor, visible: Tensor | None = None) -> Tensor:
        """Reads the rows.

        Args:
            x: Float tensor (B, T, D).
            visible: Bool tensor (B, T), True at the positions that are read; all by default.

        Returns:
            The output after each position, a float tensor (B, T, U).
        """
        x = self.input_norm(self.input_projection(x))
        if visible is None:
            visible = ops.ones(ops.shape(x)[:2], "bool")

        # The mask is a column of the inputs, and a position that is not visible is added: ops.scan
        # of TensorFlow's backend takes one sequence of unknown length, and cannot stack the outputs
        # of an empty one.
        steps = ops.pad(
            ops.concatenate([x, ops.cast(visible, x.dtype)[..., None]], axis=-1),
            ((0, 0), (0, 1), (0, 0)),
        )
        steps = ops.transpose(steps, (1, 0, 2))  # (T + 1, B, 4 U + 1)
        if self.go_backwards:
            steps = ops.flip(steps, 0)

        start = ops.zeros((ops.shape(x)[0], self.units), x.dtype)
        _, (outputs, _) = ops.scan(self._step, (start, start), steps)

        if self.go_backwards:
            outputs = ops.flip(outputs, 0)

        return ops.transpose(outputs, (1, 0, 2))[:, :-1]

    def _step(self, states, step):
        """One position: the states (B, U) before it, and those after it, twice."""
        output, cell = states
        sums = step[:, :-1] + self.recurrent_norm(self.recurrent_projection(output))
        gates = ops.sigmoid(sums[:, : 3 * self.units])  # (B, 3 U)
        candidate = ops.tanh(sums[:, 3 * self.units :])  # (B, U)
        enter, keep, leave = ops.split(gates, 3, axis=-1)

        new_cell = keep * cell + enter * candidate
        new_output = leave * ops.tanh(self.cell_norm(new_cell))
        visible = step[:, -1:] > 0
        states = ops.where(visible, new_output, output), ops.where(visible, new_cell, cell)

        return states, states


@saving.register_keras_serializable("tfsum")
class LSTMHead(Layer):
    """A bidirectional LSTM over the sentences of a document.

    The vector of a sentence is added to the outputs of both directions at its place, which are half
    as wide each. The original, by a slip, gives every sentence the same output (forward: after the
    last position, backward: after the first), and its recurrence runs through padding, so that a
    score depends on the batch.

    Args:
        d_model: Size D of the sentence vectors, an even number.
        dropout: Fraction of the outputs of the LSTM set to 0 in training.
        legacy: Whether to compute what the original computes, for checkpoints trained so.

    Raises:
        Error: `d_model` is odd.

    Source: nlpyang/BertSum, models/encoder.py, `RNNEncoder`.

    Example:
        >>> from keras import ops
        >>> tuple(LSTMHead(8)(ops.ones((2, 5, 8)), ops.ones((2, 5), "bool")).shape)
        (2, 5)
    """

    def __init__(self, d_model: int, dropout: float = 0.1, legacy: bool = False, **kwargs: object):
        super().__init__(**kwargs)
        require(
            d_model % 2 == 0,
            f"LSTMHead: d_model is {d_model}; it must be even, half of it for each direction",
        )

        self.d_model, self.legacy = d_model, legacy
        self.forward_lstm = LayerNormLSTM(d_model // 2, name="forward", dtype=self.dtype_policy)
        self.backward_lstm = LayerNormLSTM(
            d_model // 2, go_backwards=True, name="backward", dtype=self.dtype_policy
        )
        self.drop = Dropout(dropout, name="dropout", dtype=self.dtype_policy)
        self.score = layers.Dense(1, dtype="float32", name="score")

    def build(self, input_shape: object = None) -> None:
        for layer in (self.forward_lstm, self.backward_lstm, self.score):
            layer.build((None, None, self.d_model))

    def call(
        self,
        vectors: Tensor,
        sentence_mask: Tensor,
        first_position: Tensor | None = None,
        training: bool | None = None,
    ) -> Tensor:
        """Sentence vectors (B, S, D) and their bool mask (B, S) -> float32 logits (B, S)."""
        x = vectors * ops.cast(sentence_mask, vectors.dtype)[..., None]
        visible = None if self.legacy else sentence_mask
        forward, backward = self.forward_lstm(x, visible), self.backward_lstm(x, visible)
        if self.legacy:
            forward, backward = forward[:, -1:], backward[:, :1]

        # (B, S, D), or (B, 1, D) where all sentences get the same.
        outputs = self.drop(ops.concatenate([forward, backward], axis=-1), training=training)

        return self.score(x + outputs)[..., 0]


HEADS["lstm"] = LSTMHead
