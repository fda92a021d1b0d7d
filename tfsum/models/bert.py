"""BERT (Devlin et al. 2019, "BERT: Pre-training of Deep Bidirectional Transformers", section 3)."""

import os
from typing import Any

import keras
import numpy as np
from keras import ops

from tfsum.errors import Error, require
from tfsum.formats import (
    assign_weights,
    config_json,
    model_folder,
    open_folder,
    weight_names,
)
from tfsum.layers import Dropout, Encoder, padding_mask
from tfsum.layers.known_values import check_ids
from tfsum.models.model import check_backend
from tfsum.tensor import Tensor

ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_tanh": "gelu_tanh",
    "relu": "relu",
}


@keras.saving.register_keras_serializable("tfsum")
class Bert(keras.Model):
    """The encoder of BERT: from token ids to one vector per token.

    Embedding = word + position + segment, normalized; then post-norm encoder layers.
    `pooled_output` is tanh(dense(the vector of the first token)). The arguments have the names of
    Hugging Face's `config.json`.

    Args:
        vocab_size: Number of word pieces V.
        hidden_size: D.
        num_hidden_layers: Number of encoder layers.
        num_attention_heads: H.
        intermediate_size: F.
        hidden_act: "gelu" (erf, Hugging Face's), "gelu_new" (tanh, Google's; "gelu_tanh" and
            "gelu_pytorch_tanh" are other names of it) or "relu".
        hidden_dropout_prob: Dropout after the embedding and before each residual.
        attention_probs_dropout_prob: Dropout on the attention weights.
        max_position_embeddings: Number of positions, the longest T.
        type_vocab_size: Number of segments.
        initializer_range: Standard deviation of the truncated normal that initializes every matrix.
        layer_norm_eps: Epsilon of the normalizations.

    Raises:
        Error: An unknown `hidden_act`, or a backend of Keras that is not supported.

    Example:
        >>> import numpy as np
        >>> import tfsum
        >>> bert = tfsum.Bert(
        ...     vocab_size=30,
        ...     hidden_size=8,
        ...     num_hidden_layers=1,
        ...     num_attention_heads=2,
        ...     intermediate_size=16,
        ...     max_position_embeddings=12,
        ... )
        >>> outputs = bert(
        ...     {
        ...         "token_ids": np.array([[2, 7, 9, 3, 0]]),
        ...         "segment_ids": np.array([[0, 0, 0, 0, 0]]),
        ...     }
        ... )
        >>> tuple(outputs["sequence_output"].shape), tuple(outputs["pooled_output"].shape)
        ((1, 5, 8), (1, 8))
    """

    def __init__(
        self,
        vocab_size: int = 30522,
        hidden_size: int = 768,
        num_hidden_layers: int = 12,
        num_attention_heads: int = 12,
        intermediate_size: int = 3072,
        hidden_act: str = "gelu",
        hidden_dropout_prob: float = 0.1,
        attention_probs_dropout_prob: float = 0.1,
        max_position_embeddings: int = 512,
        type_vocab_size: int = 2,
        initializer_range: float = 0.02,
        layer_norm_eps: float = 1e-12,
        name: str = "bert",
        **kwargs: object,
    ):
        check_backend()
        super().__init__(name=name, **kwargs)
        require(
            not isinstance(vocab_size, dict),
            "Bert: vocab_size is a dict; expected a whole number. A config gives its settings"
            " by their names: Bert(**config)",
        )
        if hidden_act not in ACTIVATIONS:
            raise Error(f"Bert: hidden_act is {hidden_act!r}; known are {', '.join(ACTIVATIONS)}")
        self.config: dict[str, Any] = {
            "vocab_size": vocab_size,
            "hidden_size": hidden_size,
            "num_hidden_layers": num_hidden_layers,
            "num_attention_heads": num_attention_heads,
            "intermediate_size": intermediate_size,
            "hidden_act": hidden_act,
            "hidden_dropout_prob": hidden_dropout_prob,
            "attention_probs_dropout_prob": attention_probs_dropout_prob,
            "max_position_embeddings": max_position_embeddings,
            "type_vocab_size": type_vocab_size,
            "initializer_range": initializer_range,
            "layer_norm_eps": layer_norm_eps,
        }

        policy = self.dtype_policy
        self.word_embeddings = self._embedding("word_embeddings", vocab_size)
        self.position_embeddings = self._embedding("position_embeddings", max_position_embeddings)
        self.segment_embeddings = self._embedding("segment_embeddings", type_vocab_size)
        self.embedding_norm = keras.layers.LayerNormalization(
            epsilon=layer_norm_eps, name="embedding_norm", dtype=policy
        )
        self.embedding_drop = Dropout(hidden_dropout_prob, name="embedding_dropout", dtype=policy)
        self.encoder = Encoder(
            num_hidden_layers,
            d_model=hidden_size,
            num_heads=num_attention_heads,
            feed_forward_width=intermediate_size,
            activation=ACTIVATIONS[hidden_act],
            norm="post",
            dropout=hidden_dropout_prob,
            attention_dropout=attention_probs_dropout_prob,
            epsilon=layer_norm_eps,
            kernel_initializer=self._normal(),
            name="encoder",
            dtype=policy,
        )
        self.pooler = keras.layers.Dense(
            hidden_size, "tanh", kernel_initializer=self._normal(), name="pooler", dtype=policy
        )

    @property
    def sizes_of_ids(self) -> dict[str, int]:
        """Input -> the number of its embeddings."""
        config = self.config
        return {"token_ids": config["vocab_size"], "segment_ids": config["type_vocab_size"]}

    def _normal(self) -> keras.initializers.Initializer:
        """One for each matrix: an initializer gives the same values every time."""
        return keras.initializers.TruncatedNormal(stddev=self.config["initializer_range"])

    def _embedding(self, name: str, rows: int) -> keras.layers.Embedding:
        return keras.layers.Embedding(
            rows, self.config["hidden_size"], self._normal(), name=name, dtype=self.dtype_policy
        )

    def build(self, input_shape: object = None) -> None:
        if self.built:
            return

        for layer in (
            self.word_embeddings,
            self.position_embeddings,
            self.segment_embeddings,
            self.embedding_norm,
            self.encoder,
            self.pooler,
        ):
            layer.build((None, None, self.config["hidden_size"]))

    def call(
        self,
        token_ids: Tensor | dict,
        segment_ids: Tensor | None = None,
        training: bool | None = None,
        return_all: bool = False,
    ) -> dict[str, Any]:
        """Encodes token ids.

        Args:
            token_ids: Int tensor (B, T); 0 is padding. Or a dict of `token_ids` and `segment_ids`.
            segment_ids: Int tensor (B, T); zeros by default.
            return_all: Also return every layer's output and attention weights.

        Returns:
            Dict of `sequence_output` (B, T, D) and `pooled_output` (B, D); with `return_all` also
            `hidden_states`, the embedding and each layer's output, and `attentions`, each layer's
            (B, H, T, T).

        Raises:
            Error: T is larger than `max_position_embeddings`, or the ids are no whole numbers (B,
                T) below `vocab_size` and `type_vocab_size`.
        """
        if isinstance(token_ids, dict):
            if "token_ids" not in token_ids:
                raise Error(
                    f"Bert: token_ids is missing, the inputs have {', '.join(token_ids)}; expected"
                    " a dict of token_ids (batch, tokens) and segment_ids (batch, tokens)"
                )
            token_ids, segment_ids = token_ids["token_ids"], token_ids.get("segment_ids")

        encoded = self.encode(token_ids, segment_ids, training, return_all)
        sequence, *every_layer = encoded if return_all else (encoded,)
        return {
            "sequence_output": sequence,
            "pooled_output": self.pooler(sequence[:, 0]),
            **dict(zip(("hidden_states", "attentions"), every_layer)),
        }

    def encode(
        self,
        token_ids: Tensor,
        segment_ids: Tensor | None = None,
        training: bool | None = None,
        return_all: bool = False,
    ) -> Tensor:
        """Encodes token ids without the pooler.

        Args:
            token_ids: Int tensor (B, T); 0 is padding.
            segment_ids: Int tensor (B, T); zeros by default.
            training: Whether dropout is applied.
            return_all: Also return every layer's output and attention weights, as `Encoder` does.

        Returns:
            Float tensor (B, T, D); undefined at padding.
        """
        mask = padding_mask(token_ids)
        return self.encoder(
            self.embed(token_ids, segment_ids, training),
            key_mask=mask,
            training=training,
            return_all=return_all,
        )

    def encode_windows(
        self,
        token_ids: Tensor,
        segment_ids: Tensor,
        window_length: int,
        training: bool | None = None,
    ) -> Tensor:
        """Encodes the full windows of each row, then the last partial one, each by itself.

        Args:
            token_ids, segment_ids: Int tensors (B, T); each window is padded to its length except
                the last.
            window_length: Tokens in a window.
            training: Whether dropout is applied.

        Returns:
            Float tensor (B, T, D).

        Example:
            >>> import numpy as np
            >>> bert = Bert(10, 8, 1, 2, 16, max_position_embeddings=3)
            >>> ids = np.array([[2, 7, 3, 2, 8]])
            >>> tuple(bert.encode_windows(ids, np.zeros_like(ids), 3).shape)
            (1, 5, 8)
        """
        total = ops.shape(token_ids)[1]
        # a Python int if T is known; then an empty part is omitted
        whole = total // window_length * window_length
        parts = []

        # The full windows as rows of their own: (B, W * L) -> (B * W, L) -> (B, W * L, D)
        if not (isinstance(whole, int) and whole == 0):
            ids = ops.reshape(token_ids[:, :whole], (-1, window_length))
            segments = ops.reshape(segment_ids[:, :whole], (-1, window_length))
            shape = (ops.shape(token_ids)[0], whole, self.config["hidden_size"])  # whole may be 0
            parts.append(ops.reshape(self.encode(ids, segments, training), shape))

        # The last, partial window: (B, T - W * L) -> (B, T - W * L, D)
        if not (isinstance(whole, int) and whole == total):
            parts.append(self.encode(token_ids[:, whole:], segment_ids[:, whole:], training))

        return ops.concatenate(parts, axis=1)

    def embed(
        self, token_ids: Tensor, segment_ids: Tensor | None = None, training: bool | None = None
    ) -> Tensor:
        """Computes the normalized sum of the three embeddings: int tensors (B, T) -> (B, T, D).

        Raises:
            Error: T is larger than `max_position_embeddings`, or an id is out of range.
        """
        length = ops.shape(token_ids)[1]
        longest = self.config["max_position_embeddings"]
        if isinstance(length, int) and length > longest:
            raise Error(
                f"Bert: {length} tokens in a row, and the model has positions for {longest}; cut"
                " the text into windows, or load the model with max_position_embeddings=..."
            )
        if segment_ids is None:
            segment_ids = ops.zeros_like(token_ids)
        given = {"token_ids": token_ids, "segment_ids": segment_ids}
        check_ids("Bert", given, self.sizes_of_ids)

        if training:
            # A product as in Google's BERT: the gradient of a lookup would add all tokens to the
            # same two rows, which on a GPU happens one after another.
            table = ops.cast(self.segment_embeddings.embeddings, self.compute_dtype)
            rows = ops.one_hot(segment_ids, self.config["type_vocab_size"], dtype=table.dtype)
            segments = ops.matmul(rows, table)
        else:
            segments = self.segment_embeddings(segment_ids)

        x = self.word_embeddings(token_ids) + segments
        x = self.embedding_norm(x + self.position_embeddings(ops.arange(length)))
        return self.embedding_drop(x, training=training)

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike, **changes: Any) -> "Bert":
        """Reads a BERT of tfsum, Hugging Face or Google.

        Args:
            folder: A folder of tfsum or Hugging Face (config.json; model.safetensors, its shards or
                pytorch_model.bin), a folder of Google's (bert_config.json, bert_model.ckpt.*) or
                the prefix of its checkpoint, a name on Hugging Face's hub (package
                huggingface_hub), or "package:NAME/FOLDER" inside an installed Python package. Heads
                are ignored.
            **changes: Arguments that differ from the folder's config: dropout rates, or
                `max_position_embeddings`, whose further rows repeat the last one (nlpyang/PreSumm,
                `max_pos`).

        Returns:
            A built `Bert` with the folder's weights.

        Raises:
            CheckpointError: A file or a tensor is missing, unknown, broken or of another shape.
        """
        return cls.from_stored(open_folder.open_folder(folder), **changes)

    @classmethod
    def from_stored(cls, stored: weight_names.StoredModel, **changes: Any) -> "Bert":
        """`from_pretrained` for a model that `open_folder` read."""
        config = {**stored.config, **changes}
        arrays = assign_weights.bert_arrays(config, stored)
        with config_json.errors_named(stored.source):
            bert = cls(**config)
            bert.build()
        assign_weights.assign_arrays(weight_names.variables_by_path(bert), arrays)
        return bert

    def tensors(self) -> dict[str, np.ndarray]:
        """Returns the weights under Hugging Face's names."""
        return weight_names.bert_tensors(self)

    def folder_config(self) -> dict:
        """Returns the content of config.json."""
        return {"model_type": "bert", "architectures": ["BertModel"], **self.config}

    def save_pretrained(self, folder) -> None:
        """Writes config.json and model.safetensors, which Hugging Face's `BertModel` reads too."""
        model_folder.save_model(self, folder)

    def get_config(self) -> dict:
        return {**super().get_config(), **self.config}
