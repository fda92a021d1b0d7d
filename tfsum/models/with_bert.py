"""Base classes of the models that consist of a `Bert` and further layers."""

import os
from typing import Any, Self

import numpy as np
from keras import metrics, ops

from tfsum.errors import CheckpointError, require
from tfsum.formats import assign_weights, config_json, model_folder, weight_names
from tfsum.models.bert import Bert
from tfsum.models.model import Model
from tfsum.tensor import Tensor


class WithBert(Model):
    """A model of a `Bert`, its attribute `bert`, and further layers, which a subclass adds.

    Args:
        bert: A `Bert`, or the dict of its arguments.

    Example:
        >>> import tfsum
        >>> issubclass(tfsum.BertClassifier, WithBert)
        True
    """

    def __init__(self, bert: Bert | dict, **kwargs: object):
        super().__init__(**kwargs)
        if isinstance(bert, dict):
            bert = Bert(**{"dtype": self.dtype_policy, **bert, "name": "bert"})
        self.bert = bert
        self.config = {}  # the other arguments of the class

    def build(self, input_shape: object = None) -> None:
        if not self.built:
            self.bert.build()
            self.build_head()

    @property
    def sizes_of_ids(self) -> dict[str, int]:
        """Input of ids -> the number of its embeddings."""
        return super().sizes_of_ids | self.bert.sizes_of_ids

    def build_head(self) -> None:
        """Builds the further layers; the encoder is built."""
        raise NotImplementedError

    @classmethod
    def with_stored_bert(
        cls, stored: weight_names.StoredModel, changes: dict[str, Any], **arguments: Any
    ) -> Self:
        """Makes a built model whose encoder has the weights of a checkpoint.

        Args:
            stored: Contents of a checkpoint.
            changes: Arguments of `Bert` that differ from the checkpoint's.
            **arguments: Further arguments of the class.

        Raises:
            CheckpointError: A tensor is missing, unknown, broken or of another shape, or an
                argument is wrong.
        """
        bert = Bert.from_stored(stored, **{"dtype": arguments.get("dtype"), **changes})
        with config_json.errors_named(stored.source):
            model = cls(bert, **arguments)
            model.build()
        return model

    def head_variables(self) -> dict:
        """Returns the weights above the encoder by their path."""
        encoder = set(map(id, self.bert.variables))
        return {
            path: weight
            for path, weight in weight_names.variables_by_path(self).items()
            if id(weight) not in encoder
        }

    def head_names(self) -> list[tuple[str, str, bool]]:
        """Lists (name in the file, path, transposed) of these weights: by default their paths."""
        return weight_names.dotted_names(self.head_variables())

    def tensors(self) -> dict[str, np.ndarray]:
        """Returns the encoder's weights under Hugging Face's names, and those above it."""
        head = weight_names.named_tensors(self.head_variables(), self.head_names())
        return weight_names.bert_tensors(self.bert, "bert.") | head

    def get_config(self) -> dict:
        return {**super().get_config(), "bert": self.bert.config, **self.config}


def summed_cross_entropy(
    labels: Tensor, logits: Tensor, weights: Tensor, accuracy: metrics.Mean
) -> Tensor:
    """Sums the cross-entropy of labels, and updates the accuracy of the highest logits.

    Args:
        labels: Int tensor (...).
        logits: Float32 tensor (..., C).
        weights: Float32 tensor (...), those of the labels.
        accuracy: Running mean.

    Returns:
        Float32 scalar.
    """
    labels = ops.cast(labels, "int32")
    right = ops.equal(ops.cast(ops.argmax(logits, axis=-1), "int32"), labels)
    accuracy.update_state(ops.reshape(right, (-1,)), sample_weight=ops.reshape(weights, (-1,)))

    loss = ops.sparse_categorical_crossentropy(labels, logits, from_logits=True)
    return ops.sum(loss * weights)


class BertSum(WithBert):
    """A `WithBert` whose arguments have a section of their own in config.json.

    Args:
        bert: A `Bert`, or the dict of its arguments.
        window_length: Tokens in a window; the encoder's `max_position_embeddings` by default.

    Raises:
        Error: Windows longer than the encoder.

    Example:
        >>> import tfsum
        >>> tfsum.BertSumExt.section
        'bert_sum_ext'
    """

    section: str  # key of config.json

    def __init__(self, bert: Bert | dict, window_length: int | None = None, **kwargs: object):
        super().__init__(bert, **kwargs)
        longest = self.bert.config["max_position_embeddings"]
        self.window_length = window_length or longest
        require(
            self.window_length <= longest,
            f"{type(self).__name__}: windows of {self.window_length} tokens, and the encoder"
            f" has positions for {longest}; take fewer, or load it with"
            f" max_position_embeddings={self.window_length}",
        )

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike, **changes: Any) -> Self:
        """Reads a model folder.

        Args:
            folder: Path of a folder that `save_pretrained` wrote.
            **changes: Arguments of the class that differ from the folder's.

        Returns:
            A built model of the class.

        Raises:
            CheckpointError: A file or a tensor is missing, unknown, broken or of another shape.
        """
        path = f"{folder}/config.json"
        config = config_json.read_json(path)
        require(
            cls.section in config,
            f"{path}: not a {cls.__name__} ({cls.section!r} is missing); Bert.from_pretrained"
            " reads an encoder alone",
            CheckpointError,
        )

        arguments = config[cls.section]
        require(
            isinstance(arguments, dict),
            f"{path}: {cls.section} is a {type(arguments).__name__}; it must be an object with"
            f" the arguments of {cls.__name__}",
            CheckpointError,
        )

        every = config_json.with_defaults(cls, arguments, f"{path}: {cls.section}") | changes
        bert = config_json.read_bert_config(folder)
        tensors = model_folder.read_safetensors(f"{folder}/model.safetensors")
        encoder = {name: tensors.pop(name) for name in [*tensors] if name.startswith("bert.")}
        stored = weight_names.StoredModel(str(folder), bert, encoder)
        assign_weights.check_sizes(
            cls.head_sizes(every, bert["hidden_size"], tensors), tensors, folder
        )

        model = cls.with_stored_bert(stored, {}, **(arguments | changes))
        assign_weights.assign(model.head_variables(), model.head_names(), tensors, folder)
        return model

    @classmethod
    def head_sizes(cls, arguments: dict, width: int, tensors: dict) -> dict[str, tuple]:
        """Returns shapes that show the sizes of the further layers; none where they all are the
        encoder's.

        Args:
            arguments: Arguments of the class by name.
            width: Width of the encoder.
            tensors: Arrays above the encoder by name.

        Returns:
            Shapes by the names of tensors, for `assign_weights.check_sizes`.
        """
        return {}

    def folder_config(self) -> dict:
        """Returns the content of config.json."""
        return {"model_type": "bert", **self.bert.config, self.section: self.config}
