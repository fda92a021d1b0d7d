"""How much memory the activations of a training step take, from the graph of its gradients, without running it."""

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tfsum.layers import dropout_step
from tfsum.models.model import Model

VIEWS = {
    "Reshape",
    "Identity",
    "Squeeze",
    "ExpandDims",
    "StopGradient",
    "PreventGradient",
    "ReadVariableOp",
}
"""Operations whose output is the memory of their input."""
NOT_STORED = {"Const", "Placeholder", "VarHandleOp"}
"""Operations whose output is there without the activations: constants, the batch, the weights."""


def activation_bytes(model: Model, batch: Any) -> int:
    """The bytes that the forward pass of a part of a batch stores for the backward pass, with its largest gradient.

    The loss and its gradients are traced for these shapes. What counts is each tensor of the forward pass that an
    operation of the backward pass reads, once, and the largest tensor of the backward pass, which comes beside them
    at first. Tensors whose size only the data decides are left out, so this is an estimate.

    Args:
        model: built, under the strategy of the training.
        batch: as the training gives it to one device, in one part: a dict of tensors, or (dict, labels).

    Returns:
        Their number.

    Example:
        >>> from tfsum.models import BertClassifier
        >>> model = BertClassifier(
        ...     {
        ...         "vocab_size": 30,
        ...         "hidden_size": 8,
        ...         "num_hidden_layers": 1,
        ...         "num_attention_heads": 2,
        ...         "intermediate_size": 16,
        ...     },
        ...     ["no", "yes"],
        ... )
        >>> model.build()
        >>> def part(rows):
        ...     ids = np.ones((rows, 16), np.int32)
        ...     return {
        ...         "token_ids": ids,
        ...         "segment_ids": 0 * ids,
        ...         "labels": np.zeros(rows, np.int32),
        ...     }
        >>> 1.9 < activation_bytes(model, part(64)) / activation_bytes(model, part(32)) < 2.1
        True
    """
    found: list[int] = []

    def step(data: Any) -> tf.Tensor:
        if not found:  # on the first device alone
            found.append(_stored_in_step(model, data))
        return tf.constant(0)

    def trace(data: Any) -> Any:
        return model.distribute_strategy.run(step, args=(data,))

    specs = tf.nest.map_structure(lambda x: tf.TensorSpec(np.shape(x), tf.as_dtype(x.dtype)), batch)
    tf.function(trace, autograph=False).get_concrete_function(specs)
    return found[0]


def _stored_in_step(model: Model, data: Any) -> int:
    x, y, _ = keras.utils.unpack_x_y_sample_weight(data)
    graph = tf.compat.v1.get_default_graph()
    with tf.GradientTape() as tape, dropout_step(tf.constant(0, tf.int64)):
        loss = tf.reduce_sum(model.summed_loss(x, y, training=True))
        forward = {operation.name for operation in graph.get_operations()}
        weights = [variable.value for variable in model.trainable_variables]
    tape.gradient(loss, weights)
    backward = [operation for operation in graph.get_operations() if operation.name not in forward]
    read = {
        _memory(tensor).ref()
        for operation in backward
        for tensor in operation.inputs
        if tensor.op.name in forward
    }
    stored = sum(
        _bytes(tensor.deref()) for tensor in read if tensor.deref().op.type not in NOT_STORED
    )
    return stored + max(
        (_bytes(tensor) for operation in backward for tensor in operation.outputs), default=0
    )


def _memory(tensor: tf.Tensor) -> tf.Tensor:
    """The tensor that this one is a view of."""
    while tensor.op.type in VIEWS and tensor.op.inputs:
        tensor = tensor.op.inputs[0]
    return tensor


def _bytes(tensor: tf.Tensor) -> int:
    if tensor.dtype in (tf.resource, tf.variant, tf.string) or not tensor.shape.is_fully_defined():
        return 0
    return tensor.shape.num_elements() * tensor.dtype.size
