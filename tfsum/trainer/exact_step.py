"""The exact train step: the same weights on one device, on many, and in micro-batches.

Stock Keras averages per-replica means, counts padding, clips before the all-reduce and takes the
norm of an embedding's gradient over unsummed slices. Here the loss of a step is one sum over the
real targets of the global batch, divided by their number before the backward pass; gradients are
made dense and summed over micro-batches and replicas; and only then does the optimizer clip and
apply them.

An `ExactTrainer` is given to `compile` of a `tfsum.models.model.Model`, which takes one of its own
under TensorFlow. This module imports no model: `model` stands for any `Model`.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import keras
import tensorflow as tf

from tfsum.errors import Error
from tfsum.layers import dropout_step
from tfsum.private_names import check_private_names

NOT_SUPPORTED = (
    tf.distribute.TPUStrategy,
    tf.distribute.experimental.ParameterServerStrategy,
    tf.distribute.experimental.CentralStorageStrategy,
)
SUM = tf.distribute.ReduceOp.SUM

Inputs = dict[str, tf.Tensor]
Batch = Inputs | tuple[Inputs, tf.Tensor]
"""Rows: a dict of tensors, or (dict, labels); dimension 0 is the batch."""
Step = Callable[[keras.Model, Batch], dict[str, tf.Tensor]]
StepFunction = Callable[[Iterator], dict[str, tf.Tensor]]
"""What `fit` and `evaluate` call for each batch: data iterator in, logs out."""


def take_reduced_gradients(optimizer: keras.optimizers.Optimizer) -> None:
    """Stops an optimizer from summing gradients over replicas, since the exact step has done so.

    Args:
        optimizer: Keras optimizer, or one that wraps another (`LossScaleOptimizer`).

    Example:
        >>> take_reduced_gradients(keras.optimizers.SGD())
    """
    inner = getattr(optimizer, "inner_optimizer", optimizer)
    # Under another name it would go on to sum, and gradients would be summed twice.
    check_private_names("keras", type(inner), "_all_reduce_sum_gradients")
    inner._all_reduce_sum_gradients = list


def train_step(model: keras.Model, data: Batch) -> dict[str, tf.Tensor]:
    """Takes one optimizer step inside a replica.

    Args:
        model: Compiled model.
        data: Rows of this replica.

    Returns:
        Numbers to be summed over replicas: `loss_sum`, `weight`, and `tokens` and `positions`
        (padding included) of the source. With several workers also `stop`, positive if this worker
        was asked to stop.
    """
    x, y = _unpack(model, data)
    _update_metrics(model, x, y)  # with the weights before the step, as Keras does
    context = tf.distribute.get_replica_context()

    # The divisor of the global batch is known before the backward pass.
    weight = model.loss_weight(x, y)
    scale = model.loss_scale(context.all_reduce(SUM, weight))

    loss_sum, gradients = _gradients(model, x, y, scale, context)
    gradients = context.all_reduce(SUM, gradients)
    model.optimizer.apply(gradients, model.trainable_variables)

    ids = x.get("token_ids", x.get("source_ids"))
    sums = {
        "loss_sum": loss_sum,
        "weight": weight,
        "tokens": tf.math.count_nonzero(ids, dtype=tf.float32),
        "positions": tf.cast(tf.size(ids), tf.float32),
    }
    if model.trainer.stop_requested is not None:
        sums["stop"] = tf.convert_to_tensor(model.trainer.stop_requested)
    return sums


def _gradients(
    model: keras.Model,
    x: Inputs,
    y: tf.Tensor | None,
    scale: tf.Tensor,
    context: tf.distribute.ReplicaContext,
) -> tuple[tf.Tensor, list[tf.Tensor]]:
    """Returns the summed loss of this replica's rows and its dense gradients."""
    variables = [v.value for v in model.trainable_variables]
    parts = model.micro_batches
    replica = tf.cast(context.replica_id_in_sync_group, tf.int64)
    step = tf.cast(model.optimizer.iterations.value, tf.int64)
    first_seed = (step * context.num_replicas_in_sync + replica) * parts

    def part(i: tf.Tensor, xs: Inputs, ys: tf.Tensor | None) -> tuple[tf.Tensor, list[tf.Tensor]]:
        with tf.GradientTape() as tape, dropout_step(first_seed + tf.cast(i, tf.int64)):
            loss_sum = model.summed_loss(xs, ys, training=True)
            loss = tf.reduce_sum(loss_sum * scale)  # inside the tape
            if model.losses:  # regularizers: each part adds its share of the first term's weight
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

    # Micro-batches of `size` rows; their losses and gradients add up.
    rows = tf.shape(tf.nest.flatten(x)[0])[0]
    size = -(-rows // parts)

    def body(i: tf.Tensor, loss_sum: tf.Tensor, total: list[tf.Tensor]) -> tuple:
        xs, ys = tf.nest.map_structure(
            lambda t: None if t is None else t[i * size : (i + 1) * size], (x, y)
        )
        part_sum, gradients = part(i, xs, ys)
        return i + 1, loss_sum + part_sum, [a + g for a, g in zip(total, gradients)]

    zeros = [tf.zeros(v.shape, v.dtype) for v in variables]
    return tf.while_loop(
        lambda i, *_: i * size < rows,
        body,
        (0, tf.zeros_like(model.loss_weight(x, y)), zeros),
        parallel_iterations=1,  # only one micro-batch's activations are in memory
    )[1:]


def _is_compiled_whole(model: keras.Model, replicas: int) -> bool:
    """Whether XLA compiles the whole step, rather than the loss and gradients of each part.

    XLA cannot reach variables of another device. And it pads the last micro-batch, which may be
    shorter than the others, with rows of zeros that would count as rows.
    """
    return replicas == 1 and model.micro_batches == 1


def test_step(model: keras.Model, data: Batch) -> dict[str, tf.Tensor]:
    """Measures a batch inside a replica.

    Args:
        model: Compiled model.
        data: Rows of this replica, as in `train_step`.

    Returns:
        `loss_sum` and `weight`, to be summed over replicas.
    """
    x, y = _unpack(model, data)
    _update_metrics(model, x, y)
    return {"loss_sum": model.summed_loss(x, y, training=False), "weight": model.loss_weight(x, y)}


def _unpack(model: keras.Model, data: Batch) -> tuple[Inputs, tf.Tensor | None]:
    x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
    model.refuse(sample_weight=sample_weight)
    model.check_inputs(x, y)
    return x, y


def _update_metrics(model: keras.Model, x: Inputs, y: tf.Tensor | None) -> None:
    """Updates the metrics given to `compile`, on the real targets of this replica's rows."""
    if not model.has_metrics:
        return

    labels, predicted, real = model.metric_inputs(x, y)
    if real is not None:
        labels, predicted = tf.boolean_mask(labels, real), tf.boolean_mask(predicted, real)
    if predicted.shape.rank == 1:
        labels, predicted = labels[:, tf.newaxis], predicted[:, tf.newaxis]
    model.compute_metrics(x, labels, predicted)


class ExactTrainer:
    """Takes the exact steps of a model in `fit` and `evaluate`, and tells how the last one went.

    Args:
        stop_requested: Variable of this worker, which the step sums over all workers as `stop` of
            its logs; None if there is one worker.

    Attributes:
        seconds_waiting: Seconds for which all steps of `fit` have waited for data.
        last_tokens: Tokens of the sources of the last step's batch.
        last_positions: Tokens of these sources, padding included.

    Example:
        >>> ExactTrainer().seconds_waiting
        0.0
    """

    def __init__(self, stop_requested: tf.Variable | None = None) -> None:
        check_private_names("keras", keras.Model, "_maybe_symbolic_build")  # `Model` overrides it
        self.stop_requested = stop_requested
        self.seconds_waiting = 0.0
        self.last_tokens: Any = 0.0
        self.last_positions: Any = 0.0

    def train_function(self, model: keras.Model) -> StepFunction:
        """Makes the function that `fit` calls for each batch."""
        return self._function(model, train_step)

    def test_function(self, model: keras.Model) -> StepFunction:
        """Makes the function that `evaluate` calls for each batch."""
        return self._function(model, test_step)

    def _function(self, model: keras.Model, step: Step) -> StepFunction:
        """Makes the function of a compiled model: data iterator in, logs out.

        Raises:
            Error: The model was built under a strategy that is not supported.
        """
        call, traced = _step_of_all_replicas(model, step), None

        def function(iterator: Iterator) -> dict[str, tf.Tensor]:
            nonlocal traced
            spec = getattr(iterator, "element_spec", traced)  # train_on_batch has a plain generator

            logs: Any = None
            for _ in range(model.steps_per_execution):
                begin = time.perf_counter()
                try:
                    data = next(iterator)
                except StopIteration:
                    if logs is None:
                        raise
                    break
                self.seconds_waiting += time.perf_counter() - begin

                try:
                    if not model.run_eagerly and spec != traced:
                        # Trace for the declared shapes of the data set, not for its first batch's:
                        # a resumed run, whose first batch differs, would use another graph with
                        # other rounding.
                        call.get_concrete_function(spec)
                        traced = spec
                    logs = call(data)
                except Exception:
                    # A tf.function whose first trace fails can never create its variables.
                    model.train_function = model.test_function = None
                    raise
                self.last_tokens = logs.pop("tokens", 0.0)
                self.last_positions = logs.pop("positions", 0.0)
            return logs

        return function


def _step_of_all_replicas(model: keras.Model, step: Step) -> Any:
    """The step under the model's strategy, from a distributed batch to its logs, as a graph unless
    the model runs eagerly."""
    strategy = model.distribute_strategy
    if isinstance(strategy, NOT_SUPPORTED):
        raise Error(
            f"{type(strategy).__name__}: training under it is not supported; expected one device,"
            " MirroredStrategy or MultiWorkerMirroredStrategy. Build and compile the model under"
            " one of these"
        )

    def run(data: Batch) -> dict[str, tf.Tensor]:
        sums = strategy.run(lambda batch: step(model, batch), args=(data,))
        return _logs(model, {k: strategy.reduce(SUM, v, axis=None) for k, v in sums.items()})

    if model.run_eagerly:
        return run
    jit = model.jit_compile and _is_compiled_whole(model, strategy.num_replicas_in_sync)
    return tf.function(run, autograph=False, reduce_retracing=True, jit_compile=jit)


def _logs(model: keras.Model, sums: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    """The logs of a step, from its sums over all replicas; the means of the epoch are updated."""
    loss_sum, weight = sums.pop("loss_sum"), sums.pop("weight")
    terms = loss_sum * model.loss_scale(weight)
    tracker = next(metric for metric in model.metrics if metric.name == "loss")

    if model.loss_terms:
        model.follow_terms(terms, weight)
        tracker.reset_state()  # the loss is the sum of the terms' means
        tracker.update_state(tf.add_n([mean.result() for mean in model.loss_terms]))
    else:
        is_mean = model.loss_reduction == "mean"
        tracker.update_state(terms, sample_weight=weight if is_mean else tf.ones_like(weight))

    return {**model.get_metrics_result(), **sums}
