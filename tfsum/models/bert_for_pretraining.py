"""BERT with the two heads it is pretrained with (Devlin et al. 2019, section 3.1)."""

import os
import warnings
from typing import Any, ClassVar

import numpy as np
from keras import initializers, layers, metrics, ops, saving

from tfsum.errors import CheckpointError, require
from tfsum.formats import assign_weights, open_folder, weight_names
from tfsum.layers.layer import Layer
from tfsum.layers.positionwise_feed_forward import ACTIVATIONS as FUNCTIONS
from tfsum.models.bert import ACTIVATIONS, Bert
from tfsum.models.with_bert import WithBert, summed_cross_entropy
from tfsum.tensor import Tensor

SIZES = {  # name -> layers, width
    "tiny": (2, 128),
    "mini": (4, 256),
    "small": (4, 512),
    "medium": (8, 512),
    "base": (12, 768),
    "large": (24, 1024),
}
PRESETS = {
    name: {
        "num_hidden_layers": depth,
        "hidden_size": width,
        "num_attention_heads": width // 64,
        "intermediate_size": 4 * width,
    }
    for name, (depth, width) in SIZES.items()
}
"""Arguments of `Bert` by size: base and large of the paper, the smaller ones of Turc et al. 2019
("Well-Read Students Learn Better"), as in
`BertForPretraining({**PRESETS["small"], "vocab_size": 8000})`."""

# Each head: (Hugging Face's name, path of the variable, transposed) of its weights.
HEADS = {
    "masked_lm": weight_names.rows_of(
        (
            ("cls.predictions.transform.dense", "masked_lm/transform", weight_names.DENSE),
            ("cls.predictions.transform.LayerNorm", "masked_lm/norm", weight_names.NORM),
            ("cls.predictions", "masked_lm", (("bias", "bias", False),)),
        )
    ),
    "next_sentence": weight_names.rows_of(
        [("cls.seq_relationship", "next_sentence", weight_names.DENSE)]
    ),
}


@saving.register_keras_serializable("tfsum")
class MaskedLanguageModel(Layer):
    """Predicts masked tokens: dense, activation, normalization, the transposed word embedding.

    Args:
        width: D.
        vocab_size: Number of word pieces V.
        activation: Activation of the dense layer, as in `PositionwiseFeedForward`.
        epsilon: Epsilon of the normalization.
        initializer_range: Standard deviation of the truncated normal that initializes the kernel.

    Example:
        >>> from keras import ops
        >>> from tfsum.models.bert_for_pretraining import MaskedLanguageModel
        >>> tuple(MaskedLanguageModel(8, 30)(ops.ones((2, 3, 8)), ops.ones((30, 8))).shape)
        (2, 3, 30)
    """

    def __init__(
        self,
        width: int,
        vocab_size: int,
        activation: str = "gelu",
        epsilon: float = 1e-12,
        initializer_range: float = 0.02,
        **kwargs: object,
    ):
        super().__init__(**kwargs)
        self.width, self.vocab_size = width, vocab_size
        self.transform = layers.Dense(
            width,
            FUNCTIONS[activation],
            kernel_initializer=initializers.TruncatedNormal(stddev=initializer_range),
            name="transform",
            dtype=self.dtype_policy,
        )
        self.norm = layers.LayerNormalization(epsilon=epsilon, name="norm", dtype=self.dtype_policy)

    def build(self, input_shape: object = None) -> None:
        self.transform.build((None, None, self.width))
        self.norm.build((None, None, self.width))
        self.bias = self.add_weight((self.vocab_size,), "zeros", name="bias")

    def call(self, vectors: Tensor, table: Tensor) -> Tensor:
        """Scores every piece of the vocabulary at each position.

        Args:
            vectors: Float tensor (B, P, D).
            table: Word embedding (V, D).

        Returns:
            Float32 logits (B, P, V).
        """
        x = self.norm(self.transform(vectors))
        scores = ops.matmul(x, ops.transpose(ops.cast(table, x.dtype)))
        return ops.cast(scores, "float32") + ops.cast(self.bias, "float32")


@saving.register_keras_serializable("tfsum")
class BertForPretraining(WithBert):
    """BERT, the masked-language-model head tied to its word embedding, and the next-sentence head.

    Inputs are a dict of `token_ids` (B, T), `segment_ids` (B, T) and `masked_lm_positions` (B, P),
    the positions to predict; all positions by default. For the loss also `masked_lm_ids` (B, P),
    the true pieces, `masked_lm_weights` (B, P), 0 where a row has fewer than P masks, and, for the
    next-sentence task, `next_sentence_labels` (B,): 0 is next, 1 is from elsewhere, -1 is no pair.

    The loss is the mean over the masks plus the mean over the pairs, each of the global batch
    (google-research/bert, run_pretraining.py); the second is multiplied by `next_sentence_weight`,
    the original's 1 unless it is set before `fit`. `fit` and `evaluate` also report both terms,
    `masked_lm_loss` and `next_sentence_loss`, and `masked_lm_accuracy` and
    `next_sentence_accuracy`.

    Args:
        bert: A `Bert`, or the dict of its arguments.

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
        >>> model = tfsum.BertForPretraining(bert)
        >>> outputs = model(
        ...     {"token_ids": np.array([[2, 7, 4, 3, 0]]), "masked_lm_positions": np.array([[2]])}
        ... )
        >>> tuple(outputs["masked_lm_logits"].shape), tuple(outputs["next_sentence_logits"].shape)
        ((1, 1, 30), (1, 2))
    """

    next_sentence_weight = 1.0

    input_names_of_call = ("token_ids", "segment_ids", "masked_lm_positions")
    input_axes: ClassVar = {
        "token_ids": ("batch", "tokens"),
        "segment_ids": ("batch", "tokens"),
        "masked_lm_positions": ("batch", "masks"),
        "masked_lm_ids": ("batch", "masks"),
        "masked_lm_weights": ("batch", "masks"),
    }
    optional_inputs = ("segment_ids", "masked_lm_positions")
    label_name = None

    def __init__(self, bert: Bert | dict, name: str = "bert_for_pretraining", **kwargs: object):
        super().__init__(bert, name=name, **kwargs)
        config = self.bert.config
        self.masked_lm = MaskedLanguageModel(
            config["hidden_size"],
            config["vocab_size"],
            ACTIVATIONS[config["hidden_act"]],
            config["layer_norm_eps"],
            config["initializer_range"],
            name="masked_lm",
            dtype=self.dtype_policy,
        )
        self.next_sentence = layers.Dense(
            2,
            kernel_initializer=initializers.TruncatedNormal(stddev=config["initializer_range"]),
            name="next_sentence",
            dtype=self.dtype_policy,
        )
        self.loss_terms = [metrics.Mean(name) for name in ("masked_lm_loss", "next_sentence_loss")]
        self.measures = [
            metrics.Mean(name) for name in ("masked_lm_accuracy", "next_sentence_accuracy")
        ]

    def build_head(self) -> None:
        self.masked_lm.build(None)
        self.next_sentence.build((None, self.bert.config["hidden_size"]))

    def call(self, inputs: dict[str, Tensor], training: bool | None = None) -> dict[str, Tensor]:
        """Encodes the tokens and applies both heads.

        Args:
            inputs: Dict of `token_ids` (B, T) and optionally `segment_ids` (B, T) and
                `masked_lm_positions` (B, P).

        Returns:
            Dict of `masked_lm_logits`, float32 (B, P, V), of the given positions or of all T,
            `next_sentence_logits`, float32 (B, 2), `sequence_output` (B, T, D) and `pooled_output`
            (B, D).
        """
        outputs = self.bert(inputs["token_ids"], inputs.get("segment_ids"), training=training)
        vectors = outputs["sequence_output"]
        if inputs.get("masked_lm_positions") is not None:
            places = ops.cast(inputs["masked_lm_positions"], "int32")[..., None]
            vectors = ops.take_along_axis(vectors, places, axis=1)  # (B, P, D)

        return {
            **outputs,
            "masked_lm_logits": self.masked_lm(vectors, self.bert.word_embeddings.embeddings),
            "next_sentence_logits": ops.cast(
                self.next_sentence(outputs["pooled_output"]), "float32"
            ),
        }

    def summed_loss(self, x: dict, y: Tensor | None, training: bool) -> Tensor:
        """Cross-entropies summed over the masks and over the pairs: float32 (2,)."""
        outputs = self(x, training=training)
        targets = (
            ("masked_lm_logits", x["masked_lm_ids"], ops.cast(x["masked_lm_weights"], "float32")),
            ("next_sentence_logits", *self._pairs(x)),
        )
        return ops.stack(
            [
                summed_cross_entropy(labels, outputs[name], weights, accuracy)
                for (name, labels, weights), accuracy in zip(targets, self.measures, strict=True)
            ]
        )

    def loss_weight(self, x: dict, y: Tensor | None) -> Tensor:
        """The summed weight of the masks, and the number of pairs: float32 (2,)."""
        return ops.stack(
            [ops.sum(ops.cast(x["masked_lm_weights"], "float32")), ops.sum(self._pairs(x)[1])]
        )

    def loss_scale(self, weight: Tensor) -> Tensor:
        """The inverse of each weight; the original adds 1e-5 to that of the masks
        (`get_masked_lm_output`)."""
        scale = super().loss_scale(weight + ops.convert_to_tensor([1e-5, 0.0], "float32"))
        return scale * ops.convert_to_tensor([1.0, self.next_sentence_weight], "float32")

    def _pairs(self, x):
        """Labels (B,) of the next-sentence task, and 1 where there is one."""
        labels = x.get("next_sentence_labels")
        if labels is None:
            labels = ops.full_like(x["token_ids"][:, 0], -1)
        labels = ops.reshape(labels, (-1,))  # the original stores them as (B, 1)
        return ops.maximum(labels, 0), ops.cast(labels >= 0, "float32")

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike, **changes: Any) -> "BertForPretraining":
        """Reads a BERT of tfsum, Hugging Face or Google with its heads.

        A head that is missing in the file keeps its initial weights, with a warning.

        Args:
            folder: Folder, file or name, as in `Bert.from_pretrained`.
            **changes: Arguments of `Bert` that differ from the folder's config.

        Returns:
            A built `BertForPretraining`.

        Raises:
            CheckpointError: A file or a tensor is missing, unknown, broken or of another shape, or
                the output matrix of the masked-language-model head is not the word embedding.
        """
        return cls.from_stored(open_folder.open_folder(folder), **changes)

    @classmethod
    def from_stored(
        cls, stored: weight_names.StoredModel, warn: bool = True, **changes: Any
    ) -> "BertForPretraining":
        """`from_pretrained` for a model that `open_folder` read; `warn` about missing heads."""
        model = cls.with_stored_bert(stored, changes)
        tensors = _untied_heads(stored)

        names = []
        for head, own_rows in HEADS.items():
            rows = weight_names.names_in(stored, own_rows)
            if any(name in tensors for name, _, _ in rows):
                names += rows
            elif warn:
                warnings.warn(
                    f"{stored.source}: has no {head} head ({rows[0][0]}); it is initialized at"
                    " random",
                    stacklevel=3,
                )

        assign_weights.assign(model.head_variables(), names, tensors, stored.source)
        return model

    def head_names(self) -> list[tuple[str, str, bool]]:
        """Lists (Hugging Face's name, path, transposed) of the heads' weights."""
        return [row for rows in HEADS.values() for row in rows]

    def folder_config(self) -> dict:
        """Returns the content of config.json; transformers' `BertForPreTraining` and `BertModel`
        read the folder."""
        return {"model_type": "bert", "architectures": ["BertForPreTraining"], **self.bert.config}


def _untied_heads(stored: weight_names.StoredModel) -> dict[str, np.ndarray]:
    """The heads' tensors without those that are stored twice, whose copies must be equal."""
    tensors = {k: v for k, v in stored.tensors.items() if k.startswith(("cls.", "cls/"))}
    for name, twin in weight_names.TIED.items():
        copy = tensors.pop(name, None)
        require(
            copy is None or np.array_equal(copy, stored.tensors.get(twin, copy)),
            f"{stored.source}: {name} is not {twin}; tfsum's masked-language-model head is tied"
            " to the word embedding, as BERT's is: tie the weights and save the model again",
            CheckpointError,
        )
    return tensors
