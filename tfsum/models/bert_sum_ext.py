"""BertSumExt: BERT that scores the sentences of a document, and with a word head also its words.

Source: Liu 2019, "Fine-tune BERT for Extractive Summarization"; Liu and Lapata 2019, "Text
    Summarization with Pretrained Encoders", section 3.1.
"""

import inspect
from collections.abc import Sequence
from typing import Any, ClassVar

from keras import initializers, layers, metrics, ops, saving

from tfsum.errors import Error
from tfsum.formats import assign_weights
from tfsum.layers import padding_mask
from tfsum.models.bert import Bert
from tfsum.models.sentence_heads import (
    HEADS,
    POOLINGS,
    embedding_loss,
    label_loss,
    word_loss,
)
from tfsum.models.with_bert import BertSum
from tfsum.tensor import Tensor

REDUCTIONS = ("mean", "sum")
# The mean loss of an n-gram beside that of a sentence, as the shipped model was trained: a tenth of
# each n-gram's, of which a document has some 25 a sentence.
WORD_LOSS_WEIGHT = 2.5


@saving.register_keras_serializable("tfsum")
class BertSumExt(BertSum):
    """BERT, one vector for each sentence, and a head that scores them.

    Inputs are a dict of `token_ids` (B, T), `segment_ids` (B, T) and `sentence_starts` (B, S), the
    position of each sentence's [CLS], -1 for none; for training also `labels` (B, S), -1 for a
    sentence without one. A row longer than `window_length` consists of windows that are encoded
    independently, each `window_length` long (padded with 0) except the last; `sentence_starts` are
    positions in the whole row, and the head sees all its sentences.

    With `word_head` the model also says of each token how often the summary can be expected to hold
    its word, and the pair of words that begins there (`word_rates`): some hundred labels for each
    document beside those of its sentences. A word-level selector helps an extractive model in
    Gehrmann et al. 2018, "Bottom-Up Abstractive Summarization"; here the numbers are the rates of
    Poisson distributions, so that those of the places where an n-gram stands add up. For training,
    `grams` (B, T, 2) then number the document's n-grams, the word at a token and the pair that
    begins there, -1 for none, and `gram_counts` (B, U) are their numbers in the summary, -1 for
    padding.

    With `embedding_width` the model also gives each sentence an embedding, a unit vector near those
    of sentences that mean the same. It learns them, by `embedding_loss`, from the vectors
    `sentence_embeddings` (B, S, W) that another encoder gives each sentence alone, 0 for none
    (Reimers and Gurevych 2020, "Making Monolingual Sentence Embeddings Multilingual using Knowledge
    Distillation").

    Args:
        bert: A `Bert`, or the dict of its arguments.
        head: Name of the head in `HEADS`: "classifier", "transformer", or "lstm" once
            `tfsum.papers` is imported.
        pooling: "cls", the vector of a sentence's [CLS] (the papers'), or "mean", the mean over its
            tokens from its [CLS] to its [SEP].
        word_head: Whether there is a word head.
        length_input: Add to each sentence's vector a learned function of the logarithm of its
            number of tokens, which is not in the vector of either pooling.
        embedding_width: W, the width of the sentences' embeddings; 0 for none.
        window_length: Tokens in a window; the encoder's `max_position_embeddings` by default.
        head_layers: Layers of the transformer head.
        head_num_heads: Number of its attention heads.
        head_feed_forward_width: Feed-forward width of its layers.
        head_dropout: Dropout rate of the head.
        legacy: Whether the LSTM head computes what the original computes
            (`tfsum.papers.LSTMHead`).
        loss_reduction: "mean" over the real sentences of the global batch, or "sum" (the
            original's).

    Raises:
        Error: An unknown head, pooling or reduction, or windows longer than the encoder.

    Example:
        >>> import numpy as np
        >>> import tfsum
        >>> bert = {
        ...     "vocab_size": 30,
        ...     "hidden_size": 8,
        ...     "num_hidden_layers": 1,
        ...     "num_attention_heads": 2,
        ...     "intermediate_size": 16,
        ...     "max_position_embeddings": 12,
        ... }
        >>> model = tfsum.BertSumExt(bert, head="classifier")
        >>> ids = np.array([[2, 7, 9, 3, 2, 8, 3, 0]])  # two sentences
        >>> inputs = {
        ...     "token_ids": ids,
        ...     "segment_ids": np.array([[0, 0, 0, 0, 1, 1, 1, 0]]),
        ...     "sentence_starts": np.array([[0, 4, -1]]),
        ... }
        >>> probabilities = model.predict(inputs, verbose=0)
        >>> probabilities.shape, float(probabilities[0, 2])
        ((1, 3), 0.0)
    """

    section = "bert_sum_ext"
    input_names_of_call = ("token_ids", "segment_ids", "sentence_starts")
    input_axes: ClassVar = {
        "token_ids": ("batch", "tokens"),
        "segment_ids": ("batch", "tokens"),
        "sentence_starts": ("batch", "sentences"),
        "labels": ("batch", "sentences"),
        "grams": ("batch", "tokens", "orders"),
        "gram_counts": ("batch", "grams"),
        "sentence_embeddings": ("batch", "sentences", "width"),
    }
    optional_inputs = ("grams", "gram_counts", "sentence_embeddings")

    def __init__(
        self,
        bert: Bert | dict,
        head: str = "transformer",
        pooling: str = "cls",
        word_head: bool = False,
        length_input: bool = False,
        embedding_width: int = 0,
        window_length: int | None = None,
        head_layers: int = 2,
        head_num_heads: int = 8,
        head_feed_forward_width: int = 2048,
        head_dropout: float = 0.1,
        legacy: bool = False,
        loss_reduction: str = "mean",
        name: str = "bert_sum_ext",
        **kwargs: object,
    ):
        super().__init__(bert, window_length, name=name, **kwargs)
        self.pooling, self.loss_reduction = pooling, loss_reduction
        self.config = {
            "head": head,
            "pooling": pooling,
            "word_head": word_head,
            "length_input": length_input,
            "embedding_width": embedding_width,
            "window_length": self.window_length,
            "head_layers": head_layers,
            "head_num_heads": head_num_heads,
            "head_feed_forward_width": head_feed_forward_width,
            "head_dropout": head_dropout,
            "legacy": legacy,
            "loss_reduction": loss_reduction,
        }

        self.refuse_if(
            head not in HEADS,
            "head",
            f"one of {', '.join(HEADS)} (`import tfsum.papers` adds the papers' lstm)",
        )
        self.refuse_if(pooling not in POOLINGS, "pooling", f"one of {', '.join(POOLINGS)}")
        self.refuse_if(loss_reduction not in REDUCTIONS, "loss_reduction", "one of mean, sum")

        head_arguments = inspect.signature(HEADS[head]).parameters
        self.refuse_if(
            legacy and "legacy" not in head_arguments,
            "legacy",
            f"left out where head is {head!r}: the original's slips, which legacy repeats, are in"
            " the head 'lstm' alone",
        )

        # The head takes the options that its constructor has.
        options = {
            "num_layers": head_layers,
            "num_heads": head_num_heads,
            "feed_forward_width": head_feed_forward_width,
            "dropout": head_dropout,
            "legacy": legacy,
        }.items()
        self._make_layers({name: value for name, value in options if name in head_arguments})

    def _make_layers(self, head_options: dict[str, Any]) -> None:
        width, policy = self.bert.config["hidden_size"], self.dtype_policy
        self.head = HEADS[self.config["head"]](width, **head_options, name="head", dtype=policy)

        self.length = None
        if self.config["length_input"]:
            self.length = layers.Dense(width, use_bias=False, name="length", dtype=policy)

        self.words: Any = None
        if self.config["word_head"]:
            few = initializers.Constant(-3.0)  # one n-gram in twenty is in a summary
            self.words = layers.Dense(2, bias_initializer=few, name="words", dtype="float32")

        self.embedding: Any = None
        if wanted := self.config["embedding_width"]:
            # the mean of the tokens itself at first, which is the teacher's way
            same = initializers.Identity()
            self.embedding = layers.Dense(
                wanted, kernel_initializer=same, name="embedding", dtype="float32"
            )

        further = {"word_loss": self.words, "embedding_loss": self.embedding}
        if names := [name for name, layer in further.items() if layer is not None]:
            self.loss_terms = list(map(metrics.Mean, ("sentence_loss", *names)))

    def build_head(self) -> None:
        self.head.build(None)
        if self.length is not None:
            self.length.build((None, None, 2))
        for layer in filter(None, (self.words, self.embedding)):
            layer.build((None, None, self.bert.config["hidden_size"]))

    def call(self, inputs: dict[str, Tensor], training: bool | None = None) -> Tensor:
        """Scores sentences.

        Args:
            inputs: Dict of `token_ids` (B, T), `segment_ids` (B, T), `sentence_starts` (B, S).

        Returns:
            Float32 logits (B, S); those without a sentence are undefined.
        """
        return self.read(inputs, training)[0]

    def read(
        self, inputs: dict[str, Tensor], training: bool | None = None
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Returns the logits (B, S), `word_rates` (B, T, 2) or None, and `embed_sentences` (B, S,
        W) or None, all float32; the inputs are those of `call`."""
        token_ids, starts = inputs["token_ids"], ops.cast(inputs["sentence_starts"], "int32")
        sequence = self.bert.encode_windows(
            token_ids, inputs["segment_ids"], self.window_length, training
        )
        vectors = self.pool_sentences(sequence, token_ids, starts)
        return (
            self.score_sentences(vectors, starts >= 0, training=training),
            self.words and self.word_rates(sequence),
            self.embedding and self.embed_sentences(vectors),
        )

    def sentence_vectors(
        self,
        token_ids: Tensor,
        segment_ids: Tensor,
        sentence_starts: Tensor,
        training: bool | None = None,
    ) -> Tensor:
        """Encodes the windows and pools the tokens of each sentence.

        Args:
            token_ids: Int tensor (B, T), T at most `window_length`, or rows of windows (see the
                class).
            segment_ids: Int tensor (B, T).
            sentence_starts: Int tensor (B, S), -1 for none.

        Returns:
            Float tensor (B, S, D), 0 where there is no sentence.
        """
        sequence = self.bert.encode_windows(token_ids, segment_ids, self.window_length, training)
        return self.pool_sentences(sequence, token_ids, ops.cast(sentence_starts, "int32"))

    def word_rates(self, sequence: Tensor) -> Tensor:
        """Computes how often the summary is expected to hold the n-grams of each token.

        Args:
            sequence: Float tensor (B, T, D), a vector for each token.

        Returns:
            Float32 tensor (B, T, 2): for the word at the token and for the pair of words that
            begins there.
        """
        return ops.softplus(self.words(ops.cast(sequence, "float32")))

    def embed_sentences(self, vectors: Tensor) -> Tensor:
        """Computes the embeddings of sentences.

        Args:
            vectors: Float tensor (..., D), a vector for each sentence.

        Returns:
            Float32 tensor (..., W) of unit length.
        """
        return ops.normalize(self.embedding(ops.cast(vectors, "float32")), axis=-1)

    def pool_sentences(
        self, sequence: Tensor, token_ids: Tensor, sentence_starts: Tensor
    ) -> Tensor:
        """Pools the tokens of each sentence.

        Args:
            sequence: Float tensor (B, T, D), a vector for each token.
            token_ids: Int tensor (B, T).
            sentence_starts: Int32 tensor (B, S), -1 for none.

        Returns:
            Float tensor (B, S, D), 0 where there is no sentence.
        """
        vectors, count = POOLINGS[self.pooling](sequence, padding_mask(token_ids), sentence_starts)
        if self.length is not None:
            # ln(count) and its square, about 0 at 20 tokens: (B, S, 1) -> (B, S, 2)
            from_twenty = ops.log(count) - 3.0
            vectors += self.length(
                ops.concatenate([from_twenty, from_twenty * from_twenty - 0.5], axis=-1)
            )
        return vectors * ops.cast(sentence_starts >= 0, sequence.dtype)[..., None]

    def score_sentences(
        self,
        vectors: Tensor,
        sentence_mask: Tensor,
        first_position: Tensor | None = None,
        training: bool | None = None,
    ) -> Tensor:
        """Applies the head.

        Args:
            vectors: Float tensor (B, S, D), a vector for each sentence.
            sentence_mask: Bool tensor (B, S), True where there is a sentence.
            first_position: Int tensor (B,), the position in its document of each row's first
                sentence; 0 by default.
            training: Whether dropout is applied.

        Returns:
            Float32 logits (B, S).
        """
        return self.head(vectors, sentence_mask, first_position=first_position, training=training)

    def predict_outputs(self, inputs: dict[str, Tensor]) -> Tensor:
        """Computes what `predict` returns: probabilities (B, S), 0 where there is no sentence."""
        probabilities = ops.sigmoid(self(inputs, training=False))
        return probabilities * ops.cast(inputs["sentence_starts"] >= 0, probabilities.dtype)

    def metric_inputs(self, x: dict, y: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """Computes the labels and probabilities of the sentences (B, S), and which are real."""
        return self.labels_of(x, y), self.predict_outputs(x), self._summed_over(x, y)[0]

    def summed_loss(self, x: dict, y: Tensor | None, training: bool) -> Tensor:
        """Sums the binary cross-entropy of the real sentences, whose labels may lie between 0 and
        1; with `loss_terms` a vector, also `word_loss` and `embedding_loss`."""
        labels = ops.cast(self.labels_of(x, y), "float32")
        logits, rates, embeddings = self.read(x, training=training)
        losses = [label_loss(logits, labels)]
        if rates is not None:
            losses.append(word_loss(rates, x["grams"], x["gram_counts"]))
        if embeddings is not None:
            losses.append(embedding_loss(embeddings, x["sentence_embeddings"]))
        pairs = zip(self._summed_over(x, y), losses, strict=True)
        terms = [ops.sum(ops.where(real, loss, 0.0)) for real, loss in pairs]
        return ops.stack(terms) if self.loss_terms else terms[0]

    def loss_weight(self, x: dict, y: Tensor | None) -> Tensor:
        """Counts the real sentences: float32 scalar; with `loss_terms` a vector, in which the
        weight of the n-grams is their number."""
        counts = [ops.sum(ops.cast(real, "float32")) for real in self._summed_over(x, y)]
        return ops.stack(counts) if self.loss_terms else counts[0]

    def _summed_over(self, x: dict, y: Tensor | None) -> list[Tensor]:
        """What each of the losses is summed over: the real ones of its sentences or n-grams."""
        real = [(x["sentence_starts"] >= 0) & (self.labels_of(x, y) >= 0)]
        if self.words is not None:
            real.append(x["gram_counts"] >= 0)
        if self.embedding is not None:
            real.append(ops.any(x["sentence_embeddings"] != 0, axis=-1))
        return real

    def loss_scale(self, weight: Tensor) -> Tensor:
        """The inverse of each weight, times the factor of each of `loss_terms`."""
        scale = super().loss_scale(weight)
        if not self.loss_terms:
            return scale
        factors = {"word_loss": WORD_LOSS_WEIGHT}
        return scale * ops.convert_to_tensor(
            [factors.get(term.name, 1.0) for term in self.loss_terms], "float32"
        )

    def check_inputs(self, x: dict, y: Tensor | None = None, names: Sequence[str] = ()) -> None:
        super().check_inputs(x, y, names)
        if names:  # of `call`, which the others are no use to
            return

        if self.words is not None and not {"grams", "gram_counts"} <= x.keys():
            raise Error(
                "BertSumExt: the model has a word head, and the inputs no grams and gram_counts;"
                " give ExtractiveBatches the summaries (or DocumentBatcher words), or make the"
                " model without word_head"
            )
        if self.embedding is not None and "sentence_embeddings" not in x:
            raise Error(
                "BertSumExt: the model gives embeddings of sentences, and the inputs no"
                " sentence_embeddings to learn them from; give DocumentBatcher embeddings, or make"
                " the model without embedding_width"
            )

    @classmethod
    def head_sizes(cls, arguments: dict, width: int, tensors: dict) -> dict[str, tuple]:
        """Returns the shapes of the transformer's layers; other heads are sized by the encoder."""
        if arguments["head"] != "transformer":
            return {}
        kernel = (width, arguments["head_feed_forward_width"])
        return assign_weights.layer_sizes("head.encoder", arguments["head_layers"], kernel, tensors)
