"""BertSumExt: BERT that scores the sentences of a document (Liu 2019, "Fine-tune BERT for Extractive
Summarization"; Liu and Lapata 2019, "Text Summarization with Pretrained Encoders", section 3.1)."""

import os
from typing import Any

import keras
import numpy as np
from keras import ops

from tfsum.errors import CheckpointError, Error
from tfsum.formats import assign_weights, model_folder, weight_names
from tfsum.formats.bert_config import read_bert_config
from tfsum.layers import padding_mask
from tfsum.models.bert import Bert
from tfsum.models.model import Model
from tfsum.models.sentence_heads import ClassifierHead, InterSentenceTransformer, LSTMHead
from tfsum.models.windows import encode_windows
from tfsum.tensor import Tensor

POOLINGS = ("cls", "mean")
HEADS = ("classifier", "transformer", "lstm")


@keras.saving.register_keras_serializable("tfsum")
class BertSumExt(Model):
    """BERT, one vector for each sentence, and a head that scores them.

    Inputs are a dict of `token_ids` (B, T), `segment_ids` (B, T) and `sentence_starts` (B, S), the position of
    each sentence's [CLS], -1 for none; for training also `labels` (B, S). A row longer than `window_length` consists
    of windows that are encoded independently, each `window_length` long (padded with 0) except the last;
    `sentence_starts` are positions in the whole row, and the head sees all its sentences.

    Args:
        bert: a `Bert`, or the dict of its arguments.
        head: "classifier", "transformer" or "lstm".
        pooling: "cls", the vector of a sentence's [CLS] (the papers'), or "mean", the mean over its tokens from
            its [CLS] to its [SEP].
        length_input: add to each sentence's vector a learned function of the logarithm of its number of tokens, which
            is not in the vector of either pooling.
        window_length: tokens in a window; the encoder's `max_position_embeddings` by default.
        head_layers: layers of the transformer head.
        head_num_heads: its attention heads.
        head_feed_forward_width: its feed-forward width.
        head_dropout: its dropout, or that of the LSTM head.
        legacy: for the LSTM head: compute what the original computes, see `LSTMHead`.
        loss_reduction: "mean" over the real sentences of the global batch, or "sum" (the original's).

    Raises:
        Error: an unknown head, pooling or reduction, or windows longer than the encoder.

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

    input_names_of_call = ("token_ids", "segment_ids", "sentence_starts")

    def __init__(
        self,
        bert: Bert | dict,
        head: str = "transformer",
        pooling: str = "cls",
        length_input: bool = False,
        window_length: int | None = None,
        head_layers: int = 2,
        head_num_heads: int = 8,
        head_feed_forward_width: int = 2048,
        head_dropout: float = 0.1,
        legacy: bool = False,
        loss_reduction: str = "mean",
        name: str = "bert_sum_ext",
        **kwargs: Any,
    ):
        super().__init__(name=name, **kwargs)
        for argument, value, known in (
            ("head", head, HEADS),
            ("pooling", pooling, POOLINGS),
            ("loss_reduction", loss_reduction, ("mean", "sum")),
        ):
            if value not in known:
                raise Error(f"BertSumExt: {argument} is {value!r}; known are {', '.join(known)}")
        if legacy and head != "lstm":
            raise Error(
                f"BertSumExt: legacy is true and head is {head!r}; the original's slips, which legacy repeats, "
                "are in the head 'lstm' alone; leave legacy out"
            )
        if isinstance(bert, dict):
            bert = Bert(**{"dtype": self.dtype_policy, **bert, "name": "bert"})
        self.bert = bert
        longest = self.bert.config["max_position_embeddings"]
        self.window_length = window_length or longest
        if self.window_length > longest:
            raise Error(
                f"BertSumExt: windows of {self.window_length} tokens, and the encoder has positions for "
                f"{longest}; take fewer, or load it with max_position_embeddings={self.window_length}"
            )
        self.pooling = pooling
        self.loss_reduction = loss_reduction
        self.config: dict[str, Any] = {
            "head": head,
            "pooling": pooling,
            "length_input": length_input,
            "window_length": self.window_length,
            "head_layers": head_layers,
            "head_num_heads": head_num_heads,
            "head_feed_forward_width": head_feed_forward_width,
            "head_dropout": head_dropout,
            "legacy": legacy,
            "loss_reduction": loss_reduction,
        }
        width = self.bert.config["hidden_size"]
        if head == "classifier":
            self.head = ClassifierHead(width, name="head", dtype=self.dtype_policy)
        elif head == "lstm":
            self.head = LSTMHead(width, head_dropout, legacy, name="head", dtype=self.dtype_policy)
        else:
            self.head = InterSentenceTransformer(
                width,
                head_layers,
                head_num_heads,
                head_feed_forward_width,
                head_dropout,
                name="head",
                dtype=self.dtype_policy,
            )
        self.length = None
        if length_input:
            self.length = keras.layers.Dense(
                width, use_bias=False, name="length", dtype=self.dtype_policy
            )

    def build(self, input_shape: Any = None) -> None:
        if not self.built:
            self.bert.build()
            self.head.build(None)
            if self.length is not None:
                self.length.build((None, None, 2))
            self.built = True

    def call(self, inputs: dict[str, Tensor], training: bool | None = None) -> Tensor:
        """Scores sentences.

        Args:
            inputs: dict of `token_ids` (B, T), `segment_ids` (B, T), `sentence_starts` (B, S).

        Returns:
            float32 logits (B, S); those without a sentence are undefined.
        """
        starts = inputs["sentence_starts"]
        vectors = self.sentence_vectors(
            inputs["token_ids"], inputs["segment_ids"], starts, training=training
        )
        return self.score_sentences(vectors, starts >= 0, training=training)

    def sentence_vectors(
        self,
        token_ids: Tensor,
        segment_ids: Tensor,
        sentence_starts: Tensor,
        training: bool | None = None,
    ) -> Tensor:
        """Encodes the windows and pools the tokens of each sentence.

        Args:
            token_ids: int tensor (B, T), T at most `window_length`, or rows of windows (see the class).
            segment_ids: int tensor (B, T).
            sentence_starts: int tensor (B, S), -1 for none.

        Returns:
            float tensor (B, S, D), 0 where there is no sentence.
        """
        sentence_starts = ops.cast(sentence_starts, "int32")
        sequence = encode_windows(
            self.bert, token_ids, segment_ids, self.window_length, training
        )  # (B, T, D)
        return self.pool_sentences(sequence, token_ids, sentence_starts)

    def pool_sentences(
        self, sequence: Tensor, token_ids: Tensor, sentence_starts: Tensor
    ) -> Tensor:
        """The vector of each sentence: (B, T, D), ids (B, T), int32 starts (B, S) -> (B, S, D), 0 where none."""
        inside = _tokens_of_sentences(padding_mask(token_ids), sentence_starts)  # (B, S, T)
        count = ops.maximum(
            ops.sum(ops.cast(inside, "float32"), axis=-1, keepdims=True), 1.0
        )  # (B, S, 1)
        if self.pooling == "cls":
            vectors = ops.take_along_axis(
                sequence, ops.maximum(sentence_starts, 0)[..., None], axis=1
            )
        else:
            total = ops.matmul(ops.cast(inside, sequence.dtype), sequence)
            vectors = ops.cast(ops.cast(total, "float32") / count, sequence.dtype)
        if self.length is not None:
            vectors += self.length(_length_features(count))
        return vectors * ops.cast(sentence_starts >= 0, sequence.dtype)[..., None]

    def score_sentences(
        self,
        vectors: Tensor,
        sentence_mask: Tensor,
        first_position: Tensor | None = None,
        training: bool | None = None,
    ) -> Tensor:
        """Applies the head: vectors (B, S, D), bool mask (B, S), positions (B,) -> float32 logits (B, S)."""
        return self.head(vectors, sentence_mask, first_position=first_position, training=training)

    def predict_outputs(self, inputs: dict[str, Tensor]) -> Tensor:
        """Probabilities (B, S), 0 where there is no sentence: what `predict` returns."""
        probabilities = ops.sigmoid(self(inputs, training=False))
        return probabilities * ops.cast(inputs["sentence_starts"] >= 0, probabilities.dtype)

    def metric_inputs(self, x: dict, y: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """The labels and the probabilities of the sentences (B, S), and which of them there are."""
        return (x["labels"] if y is None else y), self.predict_outputs(x), x["sentence_starts"] >= 0

    def summed_loss(self, x: dict, y: Tensor | None, training: bool) -> Tensor:
        """Binary cross-entropy summed over the real sentences; labels between 0 and 1 are allowed."""
        labels = ops.cast(x["labels"] if y is None else y, "float32")
        logits = ops.cast(self(x, training=training), "float32")
        # -(y ln p + (1-y) ln(1-p)) with p = sigmoid(logit), in the form that never overflows
        loss = ops.maximum(logits, 0.0) - logits * labels + ops.log1p(ops.exp(-ops.abs(logits)))
        return ops.sum(ops.where(x["sentence_starts"] >= 0, loss, 0.0))

    def loss_weight(self, x: dict, y: Tensor | None) -> Tensor:
        """The number of real sentences: float32 scalar."""
        return ops.sum(ops.cast(x["sentence_starts"] >= 0, "float32"))

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike, **changes: Any) -> "BertSumExt":
        """Reads a model folder.

        Args:
            folder: path of a folder that `save_pretrained` wrote.
            **changes: arguments of the class that differ from the folder's.

        Returns:
            a built `BertSumExt`.

        Raises:
            CheckpointError: a file or a tensor is missing, unknown, broken or of another shape.
        """
        config = model_folder.read_json(f"{folder}/config.json")
        if "bert_sum_ext" not in config:
            raise CheckpointError(
                f"{folder}/config.json: not a BertSumExt ('bert_sum_ext' is missing); "
                "Bert.from_pretrained reads an encoder alone"
            )
        with model_folder.errors_named(folder):
            model = cls(read_bert_config(folder), **{**config["bert_sum_ext"], **changes})
            model.build()
        tensors = model_folder.read_safetensors(f"{folder}/model.safetensors")
        head = {k: v for k, v in tensors.items() if k.startswith(("head.", "length."))}
        encoder = {k: v for k, v in tensors.items() if k not in head}
        assign_weights.assign_bert(
            model.bert, weight_names.StoredModel(str(folder), config, encoder)
        )
        assign_weights.assign(model.head_variables(), model.head_names(), head, folder)
        return model

    def head_variables(self) -> dict:
        """The weights above the encoder by their path."""
        layers = {"head": self.head} | ({} if self.length is None else {"length": self.length})
        return {
            f"{name}/{path}": variable
            for name, layer in layers.items()
            for path, variable in weight_names.variables_by_path(layer).items()
        }

    def head_names(self) -> list[tuple[str, str, bool]]:
        """(name in the file, path of the variable, transposed) of the weights above the encoder."""
        return [(path.replace("/", "."), path, False) for path in self.head_variables()]

    def tensors(self) -> dict[str, np.ndarray]:
        """Returns the encoder's weights under Hugging Face's names, and those above it."""
        head = weight_names.named_tensors(self.head_variables(), self.head_names())
        return weight_names.bert_tensors(self.bert, "bert.") | head

    def folder_config(self) -> dict:
        """Returns the content of config.json."""
        return {"model_type": "bert", **self.bert.config, "bert_sum_ext": self.config}

    def get_config(self) -> dict:
        return {**super().get_config(), "name": self.name, "bert": self.bert.config, **self.config}


def _tokens_of_sentences(real, starts):
    """Which tokens belong to which sentence: bool (B, T), int32 starts (B, S) -> bool (B, S, T)."""
    length = ops.shape(real)[1]
    # A sentence ends where the next begins; the last one where the row does. Padding between windows is not real.
    later = ops.where(starts >= 0, starts, length)
    ends = ops.concatenate([later[:, 1:], ops.full_like(later[:, :1], length)], axis=1)
    position = ops.arange(length)[None, None, :]
    return (position >= starts[..., None]) & (position < ends[..., None]) & real[:, None, :]


def _length_features(count):
    """ln(count) and its square, moved to about 0 for sentences of 20 tokens: (B, S, 1) -> (B, S, 2)."""
    from_twenty = ops.log(count) - 3.0
    return ops.concatenate([from_twenty, from_twenty * from_twenty - 0.5], axis=-1)
