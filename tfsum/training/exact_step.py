"""The exact train step: the same losses, gradients and weights on one device, on many, and in micro-batches.

Stock Keras averages per-replica means, counts padding, clips before the all-reduce and takes the norm of an
embedding's gradient over unsummed slices. Here the loss of a step is one sum over the real targets of the global
batch, divided by their number before the backward pass; gradients are made dense and summed over micro-batches
and replicas; and only then does the optimizer clip and apply them.

These functions are the body of `tfsum.models.model.Model`'s `fit` and `evaluate` under TensorFlow.
"""

import time
from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from tfsum.errors import Error
from tfsum.layers import dropout_step
from tfsum.models.model import Model

NOT_SUPPORTED = (
    tf.distribute.TPUStrategy,
    tf.distribute.experimental.ParameterServerStrategy,
    tf.distribute.experimental.CentralStorageStrategy,
)
SUM = tf.distribute.ReduceOp.SUM


def take_reduced_gradients(optimizer: keras.optimizers.Optimizer) -> None:
    """Marks the gradients of an optimizer as global sums, which it must not reduce over replicas again.

    Args:
        optimizer: a Keras optimizer, or one that wraps another (`LossScaleOptimizer`).

    Example:
        >>> take_reduced_gradients(keras.optimizers.SGD())
    """
    inner = getattr(optimizer, "inner_optimizer", optimizer)
    inner._all_reduce_sum_gradients = list  # a private method of Keras 3.15; tests/training pins it


def train_step(model: Model, data: Any) -> dict:
    """Takes one optimizer step from inside a replica.

    Args:
        model: a compiled `tfsum.models.model.Model`.
        data: this replica's part of the batch: a dict of tensors, or (dict, labels); dimension 0 is the batch.

    Returns:
        dict of `loss_sum`, `weight`, `tokens` and `positions` (padding included) of this replica's part, to be summed
        over replicas; of several workers also `stop`, above 0 where this one is to stop.

    Example:
        >>> strategy.run(lambda batch: train_step(model, batch), args=(data,))  # doctest: +SKIP
    """
    x, y = _unpack(model, data)
    _update_metrics(model, x, y)  # of the weights before the step, as Keras measures
    context = tf.distribute.get_replica_context()
    weight = model.loss_weight(x, y)
    scale = model.loss_scale(context.all_reduce(SUM, weight))  # known before the backward pass
    loss_sum, gradients = _gradients(model, x, y, scale, context)
    gradients = context.all_reduce(SUM, gradients)
    model.optimizer.apply(gradients, model.trainable_variables)
    stop = (
        {} if model.stop_requested is None else {"stop": tf.convert_to_tensor(model.stop_requested)}
    )
    ids = x.get("token_ids", x.get("source_ids"))  # the source alone, for the progress line
    return {
        "loss_sum": loss_sum,
        "weight": weight,
        "tokens": tf.math.count_nonzero(ids, dtype=tf.float32),
        "positions": tf.cast(tf.size(ids), tf.float32),
        **stop,
    }


def _gradients(
    model: Model, x: Any, y: Any, scale: tf.Tensor, context: Any
) -> tuple[tf.Tensor, list[tf.Tensor]]:
    """The summed loss of this replica's rows and its dense gradients, in `model.micro_batches` parts."""
    variables = [v.value for v in model.trainable_variables]
    parts = model.micro_batches
    replica = tf.cast(context.replica_id_in_sync_group, tf.int64)
    step = tf.cast(model.optimizer.iterations.value, tf.int64)
    number = (step * context.num_replicas_in_sync + replica) * parts

    def part(i: tf.Tensor, xs: Any, ys: Any) -> tuple[tf.Tensor, list[tf.Tensor]]:
        with tf.GradientTape() as tape, dropout_step(number + tf.cast(i, tf.int64)):
            loss_sum = model.summed_loss(xs, ys, training=True)
            loss = tf.reduce_sum(loss_sum * scale)  # inside the tape
            if model.losses:  # of layers; each part adds its share of the first term's weight
                share = tf.reshape(scale * model.loss_weight(xs, ys), [-1])[0]
                loss += tf.add_n(model.losses) * share
            loss = model.optimizer.scale_loss(loss)
        gradients = tape.gradient(
            loss, variables, unconnected_gradients=tf.UnconnectedGradients.ZERO
        )
        return loss_sum, [tf.convert_to_tensor(g) for g in gradients]  # IndexedSlices become dense

    if model.jit_compile and not _is_compiled_whole(model, context.num_replicas_in_sync):
        part = tf.function(part, autograph=False, jit_compile=True)
    if parts == 1:
        return part(tf.constant(0), x, y)
    rows = tf.shape(tf.nest.flatten(x)[0])[0]
    size = -(-rows // parts)

    def body(i: tf.Tensor, loss_sum: tf.Tensor, total: list[tf.Tensor]) -> tuple:
        xs, ys = tf.nest.map_structure(
            lambda t: None if t is None else t[i * size : (i + 1) * size], (x, y)
        )
        more, gradients = part(i, xs, ys)
        return i + 1, loss_sum + more, [a + g for a, g in zip(total, gradients)]

    zeros = [tf.zeros(v.shape, v.dtype) for v in variables]
    # One micro-batch at a time, so that only its activations are in memory.
    start = (0, tf.zeros_like(model.loss_weight(x, y)), zeros)
    _, loss_sum, total = tf.while_loop(
        lambda i, *_: i * size < rows, body, start, parallel_iterations=1
    )
    return loss_sum, total


def _is_compiled_whole(model: Model, replicas: int) -> bool:
    """Whether XLA compiles a step as one, and not the loss and the gradients of each part alone.

    It cannot reach the variables of another device; and a slice of as many rows as are left, as the last part is, has
    as many as the others under XLA, filled up by zeros, which would count as rows.
    """
    return replicas == 1 and model.micro_batches == 1


def _test_step(model: Model, data: Any) -> dict[str, tf.Tensor]:
    x, y = _unpack(model, data)
    _update_metrics(model, x, y)
    return {"loss_sum": model.summed_loss(x, y, training=False), "weight": model.loss_weight(x, y)}


def _unpack(model: Model, data: Any) -> tuple[Any, Any]:
    x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
    model.refuse_sample_weight(sample_weight)
    return x, y


def _update_metrics(model: Model, x: Any, y: Any) -> None:
    """Updates the metrics that a user compiled the model with, on the real targets of this replica's rows."""
    metrics = model._compile_metrics
    if metrics is None:
        return
    true, predicted, real = model.metric_inputs(x, y)
    if real is not None:
        true, predicted = tf.boolean_mask(true, real), tf.boolean_mask(predicted, real)
    if predicted.shape.rank == 1:
        true, predicted = true[:, tf.newaxis], predicted[:, tf.newaxis]
    metrics.update_state(true, predicted)


def train_function(model: Model) -> Callable:
    """Returns the function that `fit` calls once per step: an iterator in, logs out.

    Args:
        model: a compiled `tfsum.models.model.Model`.

    Example:
        >>> logs = train_function(model)(iterator)  # doctest: +SKIP
    """
    return _function(model, train_step)


def test_function(model: Model) -> Callable:
    """Returns the function that `evaluate` calls once per step: an iterator in, logs out.

    Args:
        model: a compiled `tfsum.models.model.Model`.

    Example:
        >>> logs = test_function(model)(iterator)  # doctest: +SKIP
    """
    return _function(model, _test_step)


def _function(model: Model, step: Callable) -> Callable:
    strategy, tracker = model.distribute_strategy, model._loss_tracker
    if isinstance(strategy, NOT_SUPPORTED):
        raise Error(
            f"{type(strategy).__name__}: training under it is not supported; expected one device, "
            "MirroredStrategy or MultiWorkerMirroredStrategy. Build and compile the model under one of these"
        )

    def run(data: Any) -> dict[str, tf.Tensor]:
        sums = strategy.run(lambda batch: step(model, batch), args=(data,))
        logs = {k: strategy.reduce(SUM, v, axis=None) for k, v in sums.items()}
        loss_sum, weight = logs.pop("loss_sum"), logs.pop("weight")
        terms = loss_sum * model.loss_scale(weight)
        if model.loss_terms:
            model.follow_terms(terms, weight)
            tracker.reset_state()  # the loss is a sum of means over different numbers
            tracker.update_state(tf.add_n([mean.result() for mean in model.loss_terms]))
        else:
            is_mean = model.loss_reduction == "mean"
            tracker.update_state(terms, sample_weight=weight if is_mean else tf.ones_like(weight))
        followed = {m.name: m.result() for m in [*model.loss_terms, *model.measures]}
        if model._compile_metrics is not None:
            followed |= model._compile_metrics.result()
        return {"loss": tracker.result(), **followed, **logs}

    call: Any = run
    if not model.run_eagerly:
        jit = model.jit_compile and _is_compiled_whole(model, strategy.num_replicas_in_sync)
        call = tf.function(run, autograph=False, reduce_retracing=True, jit_compile=jit)
    traced: Any = None

    def function(iterator: Any) -> dict[str, tf.Tensor]:
        nonlocal traced
        spec = getattr(
            iterator, "element_spec", traced
        )  # Keras's train_on_batch gives a plain generator
        if not model.run_eagerly and spec != traced:
            # Trace for the declared shapes of the data set, not for its first batch's: a resumed run, whose first batch
            # differs, would use another graph with other rounding.
            traced = spec
            call.get_concrete_function(traced)
        logs: Any = None
        for _ in range(model.steps_per_execution):
            begin = time.perf_counter()
            try:
                data = next(iterator)
            except StopIteration:
                if logs is None:
                    raise
                break
            model.seconds_waiting += time.perf_counter() - begin
            logs = call(data)
        return logs

    return function
