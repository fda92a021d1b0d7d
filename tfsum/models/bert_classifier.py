"""BERT that classifies a text or a pair of texts (Devlin et al. 2019, section 4.1)."""

import os
from collections.abc import Sequence
from typing import Any, ClassVar

from keras import initializers, layers, metrics, ops, saving

from tfsum.errors import CheckpointError, require
from tfsum.formats import assign_weights, open_folder, weight_names
from tfsum.layers import Dropout
from tfsum.models.bert import Bert
from tfsum.models.with_bert import WithBert, summed_cross_entropy
from tfsum.tensor import Tensor

# Models of transformers whose dense layer has the same name but does not classify a text.
OTHERS = ("BertForTokenClassification", "BertForMultipleChoice")
HEAD = weight_names.rows_of([("classifier", "classifier", weight_names.DENSE)])


@saving.register_keras_serializable("tfsum")
class BertClassifier(WithBert):
    """BERT, dropout on its pooled output, and a dense layer that scores each label.

    Inputs are a dict of `token_ids` (B, T) and `segment_ids` (B, T), 1 for the second of two texts;
    for training also `labels` (B,), the indices of the true labels in `label_names`. `fit` and
    `evaluate` also report `accuracy`.

    Args:
        bert: A `Bert`, or the dict of its arguments.
        label_names: Labels in the order of the scores, at least two.
        classifier_dropout: Dropout on the pooled output; the encoder's `hidden_dropout_prob` by
            default.

    Raises:
        Error: Fewer than two labels, or one of them twice.

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
        >>> model = tfsum.BertClassifier(bert, ["bad", "good"])
        >>> ids = np.array([[2, 7, 9, 3, 0], [2, 8, 3, 0, 0]])
        >>> probabilities = model.predict(
        ...     {"token_ids": ids, "segment_ids": np.zeros_like(ids)}, verbose=0
        ... )
        >>> probabilities.shape
        (2, 2)
    """

    input_names_of_call = ("token_ids", "segment_ids")
    input_axes: ClassVar = {
        "token_ids": ("batch", "tokens"),
        "segment_ids": ("batch", "tokens"),
        "labels": ("batch",),
    }
    optional_inputs = ("segment_ids",)

    def __init__(
        self,
        bert: Bert | dict,
        label_names: Sequence[str],
        classifier_dropout: float | None = None,
        name: str = "bert_classifier",
        **kwargs: object,
    ):
        super().__init__(bert, name=name, **kwargs)
        names = tuple(label_names)
        self.label_names, self.classifier_dropout = names, classifier_dropout
        self.config = {"label_names": names, "classifier_dropout": classifier_dropout}
        self.refuse_if(
            len(names) < 2 or len(set(names)) < len(names),
            "label_names",
            "two labels or more, each once",
        )

        config = self.bert.config
        rate = config["hidden_dropout_prob"] if classifier_dropout is None else classifier_dropout
        self.drop = Dropout(rate, name="dropout", dtype=self.dtype_policy)
        self.classifier = layers.Dense(
            len(names),
            kernel_initializer=initializers.TruncatedNormal(stddev=config["initializer_range"]),
            name="classifier",
            dtype=self.dtype_policy,
        )
        self.measures = [metrics.Mean("accuracy")]

    def build_head(self) -> None:
        self.classifier.build((None, self.bert.config["hidden_size"]))

    def call(self, inputs: dict[str, Tensor], training: bool | None = None) -> Tensor:
        """Scores the labels.

        Args:
            inputs: Dict of `token_ids` (B, T) and optionally `segment_ids` (B, T).

        Returns:
            Float32 logits (B, C) of the C labels.
        """
        outputs = self.bert(inputs["token_ids"], inputs.get("segment_ids"), training=training)
        pooled = self.drop(outputs["pooled_output"], training=training)  # (B, D)
        return ops.cast(self.classifier(pooled), "float32")

    def predict_outputs(self, inputs: dict[str, Tensor]) -> Tensor:
        """Probabilities of the labels, float32 (B, C): what `predict` returns."""
        return ops.softmax(self(inputs, training=False))

    def metric_inputs(self, x: dict, y: Tensor | None) -> tuple[Tensor, Tensor, None]:
        """The labels (B,) and the probabilities (B, C)."""
        return self.labels_of(x, y), self.predict_outputs(x), None

    def summed_loss(self, x: dict, y: Tensor | None, training: bool) -> Tensor:
        """Cross-entropy summed over the texts."""
        labels, logits = self.labels_of(x, y), self(x, training=training)
        every = ops.ones_like(labels, "float32")
        return summed_cross_entropy(labels, logits, every, self.measures[0])

    def loss_weight(self, x: dict, y: Tensor | None) -> Tensor:
        """The number of texts: float32 scalar."""
        return ops.cast(ops.shape(x["token_ids"])[0], "float32")

    @classmethod
    def from_pretrained(
        cls,
        folder: str | os.PathLike,
        label_names: Sequence[str] | None = None,
        classifier_dropout: float | None = None,
        **changes: Any,
    ) -> "BertClassifier":
        """Reads a classifier of tfsum, of Hugging Face (`BertForSequenceClassification`) or of
        Google.

        Args:
            folder: Folder, file or name, as in `Bert.from_pretrained`; it must have the dense layer
                too. For an encoder alone: `BertClassifier(Bert.from_pretrained(folder),
                label_names)`.
            label_names: Other names for the labels, in their order. By default those of the
                folder's config.json; where it has none (Google's never has) LABEL_0, LABEL_1 and so
                on, as transformers calls them.
            classifier_dropout: Dropout on the pooled output; the folder's by default.
            **changes: Arguments of `Bert` that differ from the folder's config.

        Returns:
            A built `BertClassifier`.

        Raises:
            CheckpointError: A file or a tensor is missing, unknown, broken or of another shape; not
                as many names as rows of the dense layer; or a layer that scores tokens, several
                labels at once or a number.
        """
        return cls.from_stored(
            open_folder.open_folder(folder), label_names, classifier_dropout, **changes
        )

    @classmethod
    def from_stored(
        cls,
        stored: weight_names.StoredModel,
        label_names: Sequence[str] | None = None,
        classifier_dropout: float | None = None,
        **changes: Any,
    ) -> "BertClassifier":
        """`from_pretrained` for a model that `open_folder` read."""
        names = weight_names.names_in(stored, HEAD)
        head = {name: stored.tensors[name] for name, _, _ in names if name in stored.tensors}
        encoder = "BertClassifier(Bert.from_pretrained(folder), label_names)"
        require(
            head,
            f"{stored.source}: has no {names[0][0]}, it is no classifier; it holds "
            f"{stored.parts()}; for an encoder that is to become one: {encoder}",
            CheckpointError,
        )
        if why := other_head(stored):
            raise CheckpointError(
                f"{stored.source}: {why}; a BertClassifier chooses one of two labels or more for a "
                f"text. The encoder alone may become one: {encoder}"
            )

        rows = next(iter(head.values())).shape[0]
        stored_names, dropout = _label_names(stored, rows)
        if label_names is not None and len(label_names) != rows:
            raise CheckpointError(
                f"{stored.source}: scores {rows} labels ({', '.join(stored_names)}), and "
                f"label_names are {len(label_names)}: {', '.join(label_names)}; expected a name "
                "for each"
            )

        model = cls.with_stored_bert(
            stored,
            changes,
            label_names=label_names or stored_names,
            classifier_dropout=dropout if classifier_dropout is None else classifier_dropout,
        )
        assign_weights.assign(model.head_variables(), names, head, stored.source)
        return model

    def head_names(self) -> list[tuple[str, str, bool]]:
        """Lists (Hugging Face's name, path, transposed) of these weights."""
        return HEAD

    def head_config(self) -> dict:
        """The fields of config.json for the head, named as Hugging Face names them."""
        return {
            "classifier_dropout": self.classifier_dropout,
            "id2label": {str(i): name for i, name in enumerate(self.label_names)},
            "label2id": {name: i for i, name in enumerate(self.label_names)},
        }

    def folder_config(self) -> dict:
        """Returns the content of config.json; transformers' `BertForSequenceClassification` reads
        the folder too."""
        return {
            "model_type": "bert",
            "architectures": ["BertForSequenceClassification"],
            **self.bert.config,
            **self.head_config(),
        }


def other_head(stored: weight_names.StoredModel) -> str | None:
    """Describes the dense layer of a file if it is not that of a `BertClassifier`; None if it is.

    Example:
        >>> import numpy as np
        >>> tensors, fields = (
        ...     {"bert.pooler.dense.bias": np.zeros(8)},
        ...     {"problem_type": "regression"},
        ... )
        >>> other_head(weight_names.StoredModel("a folder", {}, tensors, fields=fields))
        "its classifier.weight is trained for problem_type 'regression'"
    """
    name, _ = stored.name(HEAD[0][0], True)
    kinds, problem = str(stored.fields.get("architectures")), stored.fields.get("problem_type")
    reasons = {
        **{f"is of a {kind}": kind in kinds for kind in OTHERS},
        "is applied to each token (the file has no pooler)": (
            not any("pooler" in tensor for tensor in stored.tensors)
        ),
        f"is trained for problem_type {problem!r}": (
            problem not in (None, "single_label_classification")
        ),
        "has 1 row, which gives a number": (
            name in stored.tensors and stored.tensors[name].shape[:1] == (1,)
        ),
    }
    return next((f"its {name} {reason}" for reason, applies in reasons.items() if applies), None)


def _label_names(stored: weight_names.StoredModel, rows: int) -> tuple[list[str], float | None]:
    """The label names and the dropout in the configuration of a folder; both are optional there."""
    names = stored.fields.get("id2label") or {str(i): f"LABEL_{i}" for i in range(rows)}
    require(
        isinstance(names, dict) and sorted(names) == sorted(map(str, range(rows))),
        f"{stored.source}: id2label is {names!r}; the classifier has {rows} rows, expected a"
        f" name for each of 0 to {rows - 1}",
        CheckpointError,
    )
    return [str(names[str(i)]) for i in range(rows)], stored.fields.get("classifier_dropout")
