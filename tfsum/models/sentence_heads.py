"""The heads of BertSumExt: from sentence vectors to one logit per sentence (Liu 2019, section 2.3)."""

from typing import Any

import keras
from keras import ops

from tfsum.errors import Error
from tfsum.layers import Dropout, Encoder, LayerNormLSTM, PositionalEncoding
from tfsum.tensor import Tensor


@keras.saving.register_keras_serializable("tfsum")
class ClassifierHead(keras.layers.Layer):
    """One linear unit: each sentence is scored independently (nlpyang/BertSum, `Classifier`).

    Args:
        d_model: size D of the sentence vectors.

    Example:
        >>> from keras import ops
        >>> from tfsum.models.sentence_heads import ClassifierHead
        >>> tuple(ClassifierHead(8)(ops.ones((2, 5, 8)), ops.ones((2, 5), "bool")).shape)
        (2, 5)
    """

    def __init__(self, d_model: int, **kwargs: Any):
        super().__init__(**kwargs)
        self.d_model = d_model
        self.score = keras.layers.Dense(1, dtype="float32", name="score")

    def build(self, input_shape: Any = None) -> None:
        self.score.build((None, None, self.d_model))
        self.built = True

    def call(
        self,
        vectors: Tensor,
        sentence_mask: Tensor,
        first_position: Tensor | None = None,
        training: bool | None = None,
    ) -> Tensor:
        """Sentence vectors (B, S, D) and their bool mask (B, S) -> float32 logits (B, S)."""
        return self.score(vectors)[..., 0]

    def get_config(self) -> dict:
        return {**super().get_config(), "d_model": self.d_model}


@keras.saving.register_keras_serializable("tfsum")
class InterSentenceTransformer(keras.layers.Layer):
    """A pre-norm encoder over the sentences of a document (nlpyang/BertSum, `TransformerInterEncoder`).

    Positions are added without scaling, the attention input of the first layer is not normalized, the
    feed-forward network uses the tanh approximation of GELU, and epsilon is 1e-6.

    Args:
        d_model: size D of the sentence vectors.
        num_layers: number of encoder layers.
        num_heads: H.
        feed_forward_width: F.
        dropout: all dropout rates of the layers.

    Example:
        >>> from keras import ops
        >>> from tfsum.models.sentence_heads import InterSentenceTransformer
        >>> head = InterSentenceTransformer(8, num_layers=1, num_heads=2, feed_forward_width=16)
        >>> tuple(head(ops.ones((2, 5, 8)), ops.ones((2, 5), "bool")).shape)
        (2, 5)
    """

    def __init__(
        self,
        d_model: int,
        num_layers: int = 2,
        num_heads: int = 8,
        feed_forward_width: int = 2048,
        dropout: float = 0.1,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self._config = {
            "d_model": d_model,
            "num_layers": num_layers,
            "num_heads": num_heads,
            "feed_forward_width": feed_forward_width,
            "dropout": dropout,
        }
        self.positions = PositionalEncoding(name="positions", dtype=self.dtype_policy)
        self.encoder = Encoder(
            num_layers,
            normalize_first_input=False,
            d_model=d_model,
            num_heads=num_heads,
            feed_forward_width=feed_forward_width,
            activation="gelu_tanh",
            norm="pre",
            dropout=dropout,
            attention_dropout=dropout,
            activation_dropout=dropout,
            epsilon=1e-6,
            name="encoder",
            dtype=self.dtype_policy,
        )
        self.score = keras.layers.Dense(1, dtype="float32", name="score")

    def build(self, input_shape: Any = None) -> None:
        self.encoder.build(None)
        self.score.build((None, None, self._config["d_model"]))
        self.built = True

    def call(
        self,
        vectors: Tensor,
        sentence_mask: Tensor,
        first_position: Tensor | None = None,
        training: bool | None = None,
    ) -> Tensor:
        """Scores the sentences of a document jointly.

        Args:
            vectors: float tensor (B, S, D).
            sentence_mask: bool tensor (B, S), True where there is a sentence.
            first_position: int tensor (B,), the position in its document of each row's first sentence; 0 by default.

        Returns:
            float32 logits (B, S).
        """
        x = vectors * ops.cast(sentence_mask, vectors.dtype)[..., None]
        x = self.positions(x, first_position=first_position)
        x = self.encoder(x, attention_mask=sentence_mask[:, None, None, :], training=training)
        return self.score(x)[..., 0]

    def get_config(self) -> dict:
        return {**super().get_config(), **self._config}


@keras.saving.register_keras_serializable("tfsum")
class LSTMHead(keras.layers.Layer):
    """A bidirectional LSTM over the sentences of a document (nlpyang/BertSum, `RNNEncoder`).

    A sentence's vector is added to the outputs of both directions at its place, which are half as wide each. The
    original, by a slip, gives every sentence the same output (forward: after the last position, backward: after the
    first), and its recurrence runs through padding, so that a score depends on the batch; `legacy` computes that, for
    checkpoints that were trained so.

    Args:
        d_model: size D of the sentence vectors, an even number.
        dropout: fraction of the outputs of the LSTM set to 0 in training.
        legacy: compute what the original computes.

    Raises:
        Error: `d_model` is odd.

    Example:
        >>> from keras import ops
        >>> from tfsum.models.sentence_heads import LSTMHead
        >>> tuple(LSTMHead(8)(ops.ones((2, 5, 8)), ops.ones((2, 5), "bool")).shape)
        (2, 5)
    """

    def __init__(self, d_model: int, dropout: float = 0.1, legacy: bool = False, **kwargs: Any):
        super().__init__(**kwargs)
        if d_model % 2:
            raise Error(
                f"LSTMHead: d_model is {d_model}; it must be even, half of it for each direction"
            )
        self._config = {"d_model": d_model, "dropout": dropout, "legacy": legacy}
        self.legacy = legacy
        self.forward_lstm = LayerNormLSTM(d_model // 2, name="forward", dtype=self.dtype_policy)
        self.backward_lstm = LayerNormLSTM(
            d_model // 2, go_backwards=True, name="backward", dtype=self.dtype_policy
        )
        self.drop = Dropout(dropout, name="dropout", dtype=self.dtype_policy)
        self.score = keras.layers.Dense(1, dtype="float32", name="score")

    def build(self, input_shape: Any = None) -> None:
        for layer in (self.forward_lstm, self.backward_lstm, self.score):
            layer.build((None, None, self._config["d_model"]))
        self.built = True

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
        read = self.drop(ops.concatenate([forward, backward], axis=-1), training=training)
        return self.score(x + read)[..., 0]

    def get_config(self) -> dict:
        return {**super().get_config(), **self._config}
