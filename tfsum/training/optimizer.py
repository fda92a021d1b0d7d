"""The papers' optimizers: Adam as in torch, warm-up schedules, learning rates by group."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import keras
from keras import ops

from tfsum.private_names import check_private_names
from tfsum.tensor import Tensor
from tfsum.training.settings import OptimizerSettings

PRIVATE = ("_clip_gradients", "_apply_weight_decay", "_get_variable_index", "_use_weight_decay")
"""Private methods of Keras's optimizers that `Adam` overrides or calls."""
Value = TypeVar("Value")
NOT_DECAYED = ("bias", "gamma", "beta")
"""Names of the weights that BERT does not decay: biases and normalizations.

Source: google-research/bert, optimization.py.
"""


class PeakSchedule(keras.optimizers.schedules.LearningRateSchedule):
    """Base class of the schedules that grow to a peak rate.

    Args:
        peak: Learning rate at the end of the growth, above 0.
        warmup_steps: Number of steps of growth.
        total_steps: Step at which the rate is 0.
    """

    def __init__(self, peak: float, warmup_steps: int, total_steps: int | None = None) -> None:
        self.peak, self.warmup_steps, self.total_steps = peak, warmup_steps, total_steps

    def get_config(self) -> dict:
        """Returns the arguments of the schedule."""
        return {
            "peak": self.peak,
            "warmup_steps": self.warmup_steps,
            "total_steps": self.total_steps,
        }


@keras.saving.register_keras_serializable("tfsum")
class WarmUp(PeakSchedule):
    """Linear warm-up, then a linear fall to 0, or decay with the inverse square root of the step.

    Source: Vaswani et al. 2017, section 5.3, for the inverse square root.

    Without `total_steps`, lr(t) = peak * min(t / warmup, sqrt(warmup / t)) with t counted from 1.
    BertSum writes the same curve as lr0 * min(t^-0.5, t * warmup^-1.5): its peak is lr0 /
    sqrt(warmup).

    Args:
        peak: Learning rate at t = `warmup_steps`.
        warmup_steps: Number of steps of linear growth, at least 1.
        total_steps: Step at which the rate has fallen to 0 linearly; None for the inverse square
            root.

    Example:
        >>> schedule = WarmUp(1e-3, warmup_steps=100)
        >>> [round(float(schedule(step)), 5) for step in (0, 99, 399)]
        [1e-05, 0.001, 0.0005]
    """

    def __call__(self, step: Tensor) -> Tensor:
        t = ops.cast(step, "float32") + 1.0
        warmup = float(max(1, self.warmup_steps))
        later = ops.sqrt(warmup / t)
        if self.total_steps is not None:
            left = (self.total_steps + 1.0 - t) / max(1.0, self.total_steps + 1.0 - warmup)
            later = ops.maximum(0.0, left)
        return self.peak * ops.minimum(t / warmup, later)


@keras.saving.register_keras_serializable("tfsum")
class BertWarmUp(PeakSchedule):
    """Linear decay to 0, with linear growth in its first steps (google-research/bert,
    optimization.py).

    With s steps done: peak * s / warmup before the warm-up ends, so that the first step changes
    nothing; then peak * (1 - s / total), which begins below the peak.

    Args:
        peak: Target rate of the growth.
        warmup_steps: Number of steps of growth; 0 for none.
        total_steps: Step at which the rate is 0.

    Example:
        >>> schedule = BertWarmUp(1e-3, warmup_steps=10, total_steps=100)
        >>> [round(float(schedule(step)), 5) for step in (0, 5, 50, 100)]
        [0.0, 0.0005, 0.0005, 0.0]
    """

    def __call__(self, step: Tensor) -> Tensor:
        s = ops.cast(step, "float32")
        growth, decay = s / max(1, self.warmup_steps), ops.maximum(0.0, 1.0 - s / self.total_steps)
        return self.peak * ops.where(s < self.warmup_steps, growth, decay)


@keras.saving.register_keras_serializable("tfsum")
class Adam(keras.optimizers.Adam):
    """Adam (Kingma and Ba 2015, algorithm 1) with learning rates by layer.

    Epsilon is added to the bias-corrected root, as in the paper and in torch; Keras's own adds it
    before the correction, which differs for weights with tiny gradients.

    Args:
        learning_rate: Rate or schedule.
        factors: Component of a weight's path (such as "head") -> factor of its learning rate, and
            so of its decay, which is the rate times `weight_decay` (Loshchilov and Hutter 2019,
            algorithm 2). The innermost component with a factor counts.
        epsilon: Small number added to the root.
        bias_correction: Whether the moments are corrected. google-research/bert does not
            (optimization.py); with epsilon 1e-6, weight_decay 0.01, global_clipnorm 1.0 and
            `exclude_from_weight_decay(var_names=NOT_DECAYED)` this is its optimizer.
        groups: Component of a weight's path (such as "bert") -> learning rate or schedule in the
            place of `learning_rate`. The weights of a group are clipped by the norm of their own
            gradients, as if each group had an optimizer of its own (nlpyang/PreSumm,
            train_abstractive.py, `sep_optim`).
        name: Name of the optimizer. It is fixed: Keras would number it in a process, and
            checkpoints would not match.
        **kwargs: Other arguments of `keras.optimizers.Adam`.

    Example:
        >>> optimizer = Adam(1e-3, factors={"bert": 0.05}, weight_decay=0.01)
        >>> optimizer.exclude_from_weight_decay(var_names=NOT_DECAYED)
    """

    def __init__(
        self,
        learning_rate: float | keras.optimizers.schedules.LearningRateSchedule = 1e-3,
        factors: dict[str, float] | None = None,
        epsilon: float = 1e-9,
        bias_correction: bool = True,
        groups: dict[str, Any] | None = None,
        name: str = "adam",
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, epsilon=epsilon, name=name, **kwargs)
        self.factors = dict(factors or {})
        self.groups = {
            part: keras.saving.deserialize_keras_object(rate) if isinstance(rate, dict) else rate
            for part, rate in (groups or {}).items()
        }
        self.bias_correction = bias_correction

    def build(self, variables: Sequence[keras.Variable]) -> None:
        """Creates the moments, and looks up the factor and decay of each variable."""
        check_private_names("keras", keras.optimizers.Adam, *PRIVATE)
        if self.built:
            return
        super(keras.optimizers.Adam, self).build(variables)
        # Named as Keras's Adam names them, so that checkpoints are those of any Adam.
        self._momentums, self._velocities = self.add_optimizer_variables(
            variables, ["momentum", "velocity"]
        )

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
    def _innermost(values: Mapping[str, Value], path: str, default: Value) -> Value:
        return next((values[part] for part in reversed(path.split("/")) if part in values), default)

    def _clip_gradients(self, gradients: list[Tensor]) -> list[Tensor]:
        """Clips each group by itself."""
        clipped: dict[int, Tensor] = {}
        for group in ("", *self.groups):
            indices = [i for i, other in enumerate(self._groups_now) if other == group]
            clipped.update(zip(indices, super()._clip_gradients([gradients[i] for i in indices])))
        return [clipped[i] for i in range(len(gradients))]

    def _apply_weight_decay(self, variables: Sequence[keras.Variable]) -> None:
        """Does nothing: Keras decays all weights by one rate; `update_step` decays instead."""

    def apply(
        self, grads: Sequence[Tensor], trainable_variables: Sequence[keras.Variable] | None = None
    ) -> None:
        """Applies gradients; computes once what is the same for all variables of a type."""
        groups = self._group_of
        if trainable_variables:
            groups = [groups[self._get_variable_index(v)] for v in trainable_variables]
        self._groups_now = [group for gradient, group in zip(grads, groups) if gradient is not None]

        # The bias corrections of each dtype, and the rate of each group.
        self._corrections: dict[str, tuple[Tensor, Tensor]] = {}
        if self.bias_correction:
            for kind in {keras.backend.standardize_dtype(m.dtype) for m in self._momentums}:
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

    def update_step(self, gradient: Tensor, variable: Tensor, learning_rate: Tensor) -> None:
        """Updates one variable by its gradient and its decay."""
        index = self._get_variable_index(variable)
        m, v = self._momentums[index], self._velocities[index]
        rate = self._rates.get(self._group_of[index], learning_rate)
        rate = ops.cast(rate, variable.dtype) * self._factor_of[index]
        gradient = ops.cast(gradient, variable.dtype)

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


def warm_up(settings: OptimizerSettings, decay: str = "linear") -> WarmUp:
    """Makes the schedule of a recipe.

    Args:
        settings: Section [train] of the recipe.
        decay: Fall of the rate, "linear" or "sqrt".

    Example:
        >>> warm_up(OptimizerSettings(folder="runs/news", steps=1000)).total_steps
        1000
    """
    ends = {"linear": settings.steps, "sqrt": None}
    return WarmUp(settings.learning_rate, settings.warmup_steps, ends[decay])


def make_adam(
    model: keras.Model,
    settings: OptimizerSettings,
    learning_rate: PeakSchedule | None = None,
    **options: Any,
) -> Adam:
    """Makes the optimizer of a recipe, under the strategy of the model.

    Args:
        model: Model to train.
        settings: Section [train] of the recipe.
        learning_rate: Schedule; `warm_up` of the section by default.
        **options: Further arguments of `Adam`.
    """
    with model.distribute_strategy.scope():
        return Adam(
            learning_rate or warm_up(settings),
            global_clipnorm=settings.clip_norm or None,
            weight_decay=settings.weight_decay or None,
            **options,
        )
