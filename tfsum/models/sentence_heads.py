"""What BertSumExt has above its encoder: a vector for each sentence, the heads, from these vectors
to one logit per sentence, and the losses of its outputs.

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

# The vectors of e5 lie in a cone, any two at a cosine of 0.86, so that their mean alone is at a
# distance of 0.07 from each: this makes it 1.
CONE = 14.0
TEMPERATURE = 0.02  # of similarities, so that those in the cone differ by up to seven nats


def first_tokens(sequence: Tensor, real: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
    """Takes the vector of each sentence's first token, its [CLS], as the papers do.

    Args:
        sequence: Float tensor (B, T, D), a vector for each token.
        real: Bool tensor (B, T), False for padding.
        starts: Int32 tensor (B, S), the position of each sentence's first token; -1 for none.

    Returns:
        Float tensor (B, S, D), and the number of each sentence's tokens, float32 (B, S, 1), at
        least 1.

    Example:
        >>> import numpy as np
        >>> sequence, real = np.array([[[1.0], [3.0], [5.0]]]), np.array([[True, True, True]])
        >>> vectors, count = first_tokens(sequence, real, np.array([[0, 2]], "int32"))
        >>> vectors.numpy().tolist(), count.numpy().tolist()
        ([[[1.0], [5.0]]], [[[2.0], [1.0]]])
    """
    vectors = ops.take_along_axis(sequence, ops.maximum(starts, 0)[..., None], axis=1)
    return vectors, _count(_inside(real, starts))


def mean_tokens(sequence: Tensor, real: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
    """Takes the mean of each sentence's tokens, from its [CLS] to its [SEP].

    Args:
        sequence, real, starts: As for `first_tokens`.

    Returns:
        As `first_tokens`.

    Example:
        >>> import numpy as np
        >>> sequence, real = np.array([[[1.0], [3.0], [5.0]]]), np.array([[True, True, True]])
        >>> mean_tokens(sequence, real, np.array([[0, 2]], "int32"))[0].numpy().tolist()
        [[[2.0], [5.0]]]
    """
    inside = _inside(real, starts)
    count = _count(inside)
    total = ops.matmul(ops.cast(inside, sequence.dtype), sequence)
    return ops.cast(ops.cast(total, "float32") / count, sequence.dtype), count


def _inside(real, starts):
    """Which tokens belong to which sentence: bool (B, T), int32 starts (B, S) -> bool (B, S, T)."""
    length = ops.shape(real)[1]

    # A sentence ends where the next begins; the last one where the row does. Padding between
    # windows is not real.
    later = ops.where(starts >= 0, starts, length)
    ends = ops.concatenate([later[:, 1:], ops.full_like(later[:, :1], length)], axis=1)

    position = ops.arange(length)[None, None, :]
    return (position >= starts[..., None]) & (position < ends[..., None]) & real[:, None, :]


def _count(inside):
    return ops.maximum(ops.sum(ops.cast(inside, "float32"), axis=-1, keepdims=True), 1.0)


# Value of `pooling` in `BertSumExt` and in recipes -> function.
POOLINGS = {"cls": first_tokens, "mean": mean_tokens}


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


def label_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Computes the binary cross-entropy of labels from 0 to 1.

    Args:
        logits: Float tensor (B, S).
        labels: Float32 tensor (B, S).

    Returns:
        Float32 tensor (B, S).

    Example:
        >>> import numpy as np
        >>> label_loss(np.array([0.0, -900.0]), np.array([1.0, 0.0])).numpy().round(4).tolist()
        [0.6930999755859375, 0.0]
    """
    logits = ops.cast(logits, "float32")
    # -(y ln p + (1-y) ln(1-p)) with p = sigmoid(logit), in the form that never overflows
    return ops.maximum(logits, 0.0) - logits * labels + ops.log1p(ops.exp(-ops.abs(logits)))


def embedding_loss(embeddings: Tensor, wanted: Tensor) -> Tensor:
    """Computes how far embeddings are from the wanted ones.

    That is one less their cosine, and how much worse than the wanted one an embedding tells its
    sentence from the others of the batch: the divergence of its similarities with all that are
    wanted (Fang et al. 2021, "SEED: Self-supervised Distillation for Visual Representation"). The
    cosine alone says little of it, since the vectors of e5 lie in a cone. Each replica compares the
    sentences of its own part, so here the number of replicas and parts changes the loss.

    Args:
        embeddings: Float32 tensor (B, S, W) of unit length.
        wanted: Tensor (B, S, W) of any length, 0 where there is none.

    Returns:
        Float32 tensor (B, S), undefined where none is wanted.

    Example:
        >>> import numpy as np
        >>> wanted = np.array([[[0, 5], [0, 0]]])
        >>> loss = embedding_loss(np.array([[[0.6, 0.8], [1, 0]]], "float32"), wanted)
        >>> round(float(loss[0, 0]), 2)  # 14 * (1 - 0.8); there is no other
        2.8
    """
    direction = ops.normalize(ops.cast(wanted, "float32"), axis=-1)
    far = 1.0 - ops.sum(embeddings * direction, axis=-1)

    width = direction.shape[-1]
    every = ops.reshape(direction, (-1, width))  # (B * S, W)
    absent = -1e9 * ops.cast(ops.all(every == 0, axis=-1), "float32")
    # of what is wanted and of what the model gives: (B * S, B * S), a sentence a row
    similar = [
        ops.log_softmax(ops.matmul(vectors, ops.transpose(every)) / TEMPERATURE + absent)
        for vectors in (every, ops.reshape(embeddings, (-1, width)))
    ]
    divergence = ops.sum(ops.exp(similar[0]) * (similar[0] - similar[1]), axis=-1)
    return CONE * far + ops.reshape(divergence, ops.shape(far))


def word_loss(rates: Tensor, grams: Tensor, gram_counts: Tensor) -> Tensor:
    """Computes the loss of the n-grams of documents: how unlikely are their numbers in the summary?

    Args:
        rates: Float32 tensor (B, T, 2), `BertSumExt.word_rates`.
        grams: Int tensor (B, T, 2), the numbers of these n-grams in the document; -1 for none.
        gram_counts: Float tensor (B, U), how often the summary holds each n-gram; -1 for padding.

    Returns:
        Float32 tensor (B, U): -ln p of the count under a Poisson distribution whose mean is the sum
        of the n-gram's rates, but for the part that depends on the count alone; 0 for padding.

    Example:
        >>> import numpy as np
        >>> rates, grams = np.array([[[0.5, 0.0], [1.5, 0.0]]]), np.array([[[0, -1], [0, -1]]])
        >>> loss = word_loss(rates.astype("float32"), grams, np.array([[1.0, -1.0]]))
        >>> round(float(loss[0, 0]), 3), float(loss[0, 1])  # 2 - ln 2, and the padding
        (1.307, 0.0)
    """
    rows, number = ops.shape(gram_counts)
    # (B, U + 1) sums; what is no n-gram goes to the last column
    column = ops.where(grams < 0, number, ops.cast(grams, "int32"))
    cells = ops.arange(rows, dtype="int32")[:, None, None] * (number + 1) + column
    mean = ops.segment_sum(
        ops.reshape(rates, (-1,)), ops.reshape(cells, (-1,)), rows * (number + 1)
    )
    mean = ops.reshape(mean, (rows, number + 1))[:, :-1]

    counts = ops.cast(gram_counts, "float32")
    loss = mean - counts * ops.log(mean + 1e-6)
    return ops.where(counts >= 0.0, loss, 0.0)
