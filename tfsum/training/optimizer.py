"""The papers' optimizer: Adam in torch's form, the Transformer's warm-up schedule, learning rates by group."""

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from tfsum.errors import Error

NOT_DECAYED = ("bias", "gamma", "beta")
"""Names of the weights that BERT's weight decay excludes: biases and normalizations (google-research/bert,
optimization.py)."""


def check_rate(learning_rate: float) -> None:
    """Checks a peak learning rate.

    Raises:
        Error: it is not above 0.

    Example:
        >>> check_rate(1e-4)
    """
    if not learning_rate > 0:
        raise Error(f"learning_rate is {learning_rate}; expected more than 0")


def encoder_factor(encoder_learning_rate: float, learning_rate: float) -> float:
    """The factor of an encoder's own learning rate (which may be 0) in `Adam`.

    Raises:
        Error: a rate is not positive (the encoder's: negative).

    Example:
        >>> round(encoder_factor(5e-5, 1e-3), 3)
        0.05
    """
    check_rate(learning_rate)
    if not encoder_learning_rate >= 0:
        raise Error(f"encoder_learning_rate is {encoder_learning_rate}; expected 0 or more")
    return encoder_learning_rate / learning_rate


@keras.saving.register_keras_serializable("tfsum")
class WarmUp(keras.optimizers.schedules.LearningRateSchedule):
    """Linear warm-up, then decay with the inverse square root of the step (Vaswani et al. 2017, section 5.3).

    lr(t) = peak * min(t / warmup, sqrt(warmup / t)) with t counted from 1. BertSum writes the same curve as
    lr0 * min(t^-0.5, t * warmup^-1.5): its peak is lr0 / sqrt(warmup).

    Args:
        peak: the learning rate at t = `warmup_steps`.
        warmup_steps: number of steps of linear growth, at least 1.
        total_steps: where given, the rate also falls linearly to 0 at this step, instead of with
            the square root.

    Example:
        >>> schedule = WarmUp(1e-3, warmup_steps=100)
        >>> [round(float(schedule(step)), 5) for step in (0, 99, 399)]
        [1e-05, 0.001, 0.0005]
    """

    def __init__(self, peak: float, warmup_steps: int, total_steps: int | None = None) -> None:
        check_rate(peak)
        self.peak = peak
        self.warmup_steps = warmup_steps
        self.total_steps = total_steps

    def __call__(self, step: Any) -> Any:
        t = ops.cast(step, "float32") + 1.0
        warmup = float(max(1, self.warmup_steps))
        if self.total_steps is None:
            later = ops.sqrt(warmup / t)
        else:
            later = ops.maximum(
                0.0, (self.total_steps + 1.0 - t) / max(1.0, self.total_steps + 1.0 - warmup)
            )
        return self.peak * ops.minimum(t / warmup, later)

    def get_config(self) -> dict:
        """Returns the arguments of the schedule."""
        return {
            "peak": self.peak,
            "warmup_steps": self.warmup_steps,
            "total_steps": self.total_steps,
        }


@keras.saving.register_keras_serializable("tfsum")
class BertWarmUp(keras.optimizers.schedules.LearningRateSchedule):
    """Linear decay to 0, with linear growth in its first steps (google-research/bert, optimization.py).

    With s steps done: peak * s / warmup before the warm-up ends, so that the first step changes nothing; then
    peak * (1 - s / total), which begins below the peak.

    Args:
        peak: the target rate of the growth.
        warmup_steps: number of steps of growth; 0 for none.
        total_steps: the step at which the rate is 0.

    Example:
        >>> schedule = BertWarmUp(1e-3, warmup_steps=10, total_steps=100)
        >>> [round(float(schedule(step)), 5) for step in (0, 5, 50, 100)]
        [0.0, 0.0005, 0.0005, 0.0]
    """

    def __init__(self, peak: float, warmup_steps: int, total_steps: int) -> None:
        check_rate(peak)
        self.peak = peak
        self.warmup_steps = warmup_steps
        self.total_steps = total_steps

    def __call__(self, step: Any) -> Any:
        s = ops.cast(step, "float32")
        growth, decay = s / max(1, self.warmup_steps), ops.maximum(0.0, 1.0 - s / self.total_steps)
        return self.peak * ops.where(s < self.warmup_steps, growth, decay)

    def get_config(self) -> dict:
        """Returns the arguments of the schedule."""
        return {
            "peak": self.peak,
            "warmup_steps": self.warmup_steps,
            "total_steps": self.total_steps,
        }


@keras.saving.register_keras_serializable("tfsum")
class Adam(keras.optimizers.Adam):
    """Adam (Kingma and Ba 2015, algorithm 1) with learning rates by layer.

    Epsilon is added to the bias-corrected root, as in the paper and in torch; Keras's own adds it before the
    correction, which differs for weights with tiny gradients.

    Args:
        learning_rate: float or schedule.
        factors: maps a component of a weight's path (such as "head") to a factor of its learning rate and
            so of its decay, which is the rate times `weight_decay` (Loshchilov and Hutter 2019, algorithm 2); the
            innermost component with a factor wins.
        groups: maps a component of a weight's path (such as "bert") to a learning rate, or a schedule, in the place of
            `learning_rate`; the weights of a group are clipped by the norm of their own gradients, so that each group
            is trained as by an optimizer of its own (nlpyang/PreSumm, train_abstractive.py, `sep_optim`).
        bias_correction: False omits the correction of the moments, as google-research/bert does (optimization.py); with
            epsilon 1e-6, weight_decay 0.01, global_clipnorm 1.0 and
            `exclude_from_weight_decay(var_names=NOT_DECAYED)` it is the original's optimizer.
        weight_decay, global_clipnorm, beta_1, beta_2, epsilon: as in `keras.optimizers.Adam`.

    Example:
        >>> optimizer = Adam(1e-3, factors={"bert": 0.05}, weight_decay=0.01)
        >>> optimizer.exclude_from_weight_decay(var_names=NOT_DECAYED)
    """

    def __init__(
        self,
        learning_rate: Any = 1e-3,
        factors: dict[str, float] | None = None,
        epsilon: float = 1e-9,
        bias_correction: bool = True,
        groups: dict[str, Any] | None = None,
        name: str = "adam",
        **kwargs: Any,
    ) -> None:
        # A fixed name: Keras would number it per process, and checkpoints would not match.
        super().__init__(learning_rate=learning_rate, epsilon=epsilon, name=name, **kwargs)
        self.factors = dict(factors or {})
        self.groups = {
            part: keras.saving.deserialize_keras_object(rate) if isinstance(rate, dict) else rate
            for part, rate in (groups or {}).items()
        }
        self.bias_correction = bias_correction

    def build(self, variables: Sequence[keras.Variable]) -> None:
        """Creates the moments, and looks up the factor and decay of each variable."""
        super().build(variables)
        # By index: under TensorFlow an update sees the backend's variable, which has no path.
        self._factor_of = [
            self._innermost(self.factors, variable.path, 1.0) for variable in variables
        ]
        names = {part: part for part in self.groups}
        self._group_of = [self._innermost(names, variable.path, "") for variable in variables]
        self._decay_of = [
            self.weight_decay if self.weight_decay and self._use_weight_decay(v) else 0.0
            for v in variables
        ]

    @staticmethod
    def _innermost(values: dict, path: str, default: Any) -> Any:
        return next((values[part] for part in reversed(path.split("/")) if part in values), default)

    def _clip_gradients(self, gradients: list[Any]) -> list[Any]:
        """Keras's, which is private, for each group by itself; tests/training pins it."""
        clipped = list(gradients)
        for group in ("", *self.groups):
            here = [i for i, other in enumerate(self._groups_now) if other == group]
            for i, gradient in zip(
                here, super()._clip_gradients([gradients[i] for i in here]), strict=True
            ):
                clipped[i] = gradient
        return clipped

    def _apply_weight_decay(self, variables: Sequence[keras.Variable]) -> None:
        """Does nothing: Keras 3.15 (where it is private) decays all by one rate; `update_step` decays instead."""

    def apply(
        self, grads: Sequence[Any], trainable_variables: Sequence[keras.Variable] | None = None
    ) -> None:
        """Applies gradients; what is the same for all variables of a type is computed once, not for each."""
        variables = trainable_variables or self._trainable_variables
        self._groups_now = [
            self._group_of[self._get_variable_index(variable)]
            for gradient, variable in zip(grads, variables)
            if gradient is not None
        ]
        self._corrections: dict[str, tuple[Any, Any]] = {}
        if self.bias_correction:
            for kind in {
                keras.backend.standardize_dtype(v.dtype)
                for v in trainable_variables or self._momentums
            }:
                step = ops.cast(self.iterations + 1, kind)
                self._corrections[kind] = (
                    1 - ops.power(ops.cast(self.beta_1, kind), step),
                    1 - ops.power(ops.cast(self.beta_2, kind), step),
                )
        self._rates = {
            part: rate(self.iterations) if callable(rate) else rate
            for part, rate in self.groups.items()
        }
        super().apply(grads, trainable_variables)

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        """Updates one variable by its gradient and its decay."""
        index = self._get_variable_index(variable)
        rate = self._rates.get(self._group_of[index], learning_rate)
        rate = ops.cast(rate, variable.dtype) * self._factor_of[index]
        gradient = ops.cast(gradient, variable.dtype)
        m, v = self._momentums[index], self._velocities[index]
        self.assign_add(m, (gradient - m) * (1 - self.beta_1))
        self.assign_add(v, (ops.square(gradient) - v) * (1 - self.beta_2))
        if self.bias_correction:
            first, second = self._corrections[keras.backend.standardize_dtype(variable.dtype)]
            m, v = m / first, v / second
        change = rate * m / (ops.sqrt(v) + self.epsilon)
        if self._decay_of[index]:
            change = change + rate * self._decay_of[index] * variable
        self.assign_sub(variable, change)

    def get_config(self) -> dict:
        """Returns the arguments of the optimizer."""
        groups = {
            part: keras.saving.serialize_keras_object(rate) if callable(rate) else rate
            for part, rate in self.groups.items()
        }
        return {
            **super().get_config(),
            "factors": self.factors,
            "bias_correction": self.bias_correction,
            "groups": groups,
        }
