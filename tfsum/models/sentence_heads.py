"""The heads of BertSumExt: from sentence vectors to one logit per sentence.

A head is a Keras layer and an entry of `HEADS`. For recipes to name it, add it also to `head` in
`tfsum/tasks/bert_sum_ext/settings.py`, and run `tests/fixtures/make_recipe_schemas.py`. Its
constructor takes `d_model` and those of `num_layers`, `num_heads`, `feed_forward_width`, `dropout`
and `legacy` that it has a use for. Its `call(vectors, sentence_mask, first_position, training)`
scores the sentences.

Source: Liu 2019, "Fine-tune BERT for Extractive Summarization", section 2.3.
"""

from keras import layers, ops, saving

from tfsum.layers import Encoder, PositionalEncoding
from tfsum.layers.layer import Layer
from tfsum.tensor import Tensor


@saving.register_keras_serializable("tfsum")
class ClassifierHead(Layer):
    """One linear unit: each sentence is scored independently (nlpyang/BertSum, `Classifier`).

    Args:
        d_model: Size D of the sentence vectors.

    Example:
        >>> from keras import ops
        >>> from tfsum.models.sentence_heads import ClassifierHead
        >>> tuple(ClassifierHead(8)(ops.ones((2, 5, 8)), ops.ones((2, 5), "bool")).shape)
        (2, 5)
    """

    def __init__(self, d_model: int, **kwargs: object):
        super().__init__(**kwargs)
        self.d_model = d_model
        self.score = layers.Dense(1, dtype="float32", name="score")

    def build(self, input_shape: object = None) -> None:
        self.score.build((None, None, self.d_model))

    def call(
        self,
        vectors: Tensor,
        sentence_mask: Tensor,
        first_position: Tensor | None = None,
        training: bool | None = None,
    ) -> Tensor:
        """Sentence vectors (B, S, D) and their bool mask (B, S) -> float32 logits (B, S)."""
        return self.score(vectors)[..., 0]


@saving.register_keras_serializable("tfsum")
class InterSentenceTransformer(Layer):
    """A pre-norm encoder over the sentences of a document (nlpyang/BertSum,
    `TransformerInterEncoder`).

    Positions are added without scaling, the attention input of the first layer is not normalized,
    the feed-forward network uses the tanh approximation of GELU, and epsilon is 1e-6.

    Args:
        d_model: Size D of the sentence vectors.
        num_layers: Number of encoder layers.
        num_heads: Number of attention heads H.
        feed_forward_width: F.
        dropout: All dropout rates of the layers.

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
        **kwargs: object,
    ):
        super().__init__(**kwargs)
        self.d_model = d_model
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
        self.score = layers.Dense(1, dtype="float32", name="score")

    def build(self, input_shape: object = None) -> None:
        self.encoder.build(None)
        self.score.build((None, None, self.d_model))

    def call(
        self,
        vectors: Tensor,
        sentence_mask: Tensor,
        first_position: Tensor | None = None,
        training: bool | None = None,
    ) -> Tensor:
        """Scores the sentences of a document jointly.

        Args:
            vectors: Float tensor (B, S, D).
            sentence_mask: Bool tensor (B, S), True where there is a sentence.
            first_position: Int tensor (B,), the position in its document of each row's first
                sentence; 0 by default.

        Returns:
            Float32 logits (B, S).
        """
        x = vectors * ops.cast(sentence_mask, vectors.dtype)[..., None]
        x = self.positions(x, first_position=first_position)
        x = self.encoder(x, key_mask=sentence_mask, training=training)
        return self.score(x)[..., 0]


# Value of `head` in `BertSumExt` and in recipes -> class; `import tfsum.papers` adds "lstm".
HEADS: dict[str, type[layers.Layer]] = {
    "classifier": ClassifierHead,
    "transformer": InterSentenceTransformer,
}
