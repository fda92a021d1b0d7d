"""Base class of the models: exact loss, `fit` on every strategy, `predict` on every backend."""

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import keras
import numpy as np
from keras import ops

from tfsum.errors import Error, require
from tfsum.formats import model_folder, weight_names
from tfsum.layers.known_values import check_ids
from tfsum.tensor import Tensor

if TYPE_CHECKING:
    from tfsum.trainer.exact_step import ExactTrainer

BACKENDS = ("tensorflow", "jax")


def check_backend() -> None:
    """Checks that Keras runs on a backend that the models are tested on.

    Raises:
        Error: Another backend, such as torch.

    Example:
        >>> check_backend()
    """
    name = keras.backend.backend()
    require(
        name in BACKENDS,
        f"the backend of Keras is {name!r}, which is not supported by tfsum's models; set"
        f" KERAS_BACKEND to one of {', '.join(BACKENDS)} before Keras is imported",
    )


class Model(keras.Model):
    """A `keras.Model` whose loss is a mean over the real targets of the global batch.

    Subclasses implement the summed loss (`summed_loss`) and its divisor (`loss_weight`); with
    `loss_reduction` "sum" the sum is not divided. Under TensorFlow `fit` and `evaluate` use the
    exact step of `tfsum.trainer.exact_step`: padding, replicas and micro-batches (`micro_batches`,
    set before `fit`) change neither losses nor gradients. Under JAX they use the trainer of Keras,
    without micro-batches; the loss of an epoch is the mean over its batches.

    If the loss has several terms, each with its own divisor, both functions return a vector;
    `loss_terms` are the `keras.metrics.Mean`s that track the terms and `measures` those of other
    measures computed in `summed_loss`. `fit` and `evaluate` report all of them with the loss.

    Raises:
        Error: The backend of Keras is neither TensorFlow nor JAX.

    Example:
        >>> class Total(Model):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.dense = keras.layers.Dense(1, kernel_initializer="ones")
        ...
        ...     def build(self, input_shape=None):
        ...         self.dense.build((None, 2))
        ...         self.built = True
        ...
        ...     def call(self, inputs, training=None):
        ...         return self.dense(inputs["x"])[:, 0]
        ...
        ...     def summed_loss(self, x, y, training):
        ...         return ops.sum(ops.abs(self(x) - x["labels"]))
        ...
        ...     def loss_weight(self, x, y):
        ...         return ops.cast(ops.shape(x["x"])[0], "float32")
        >>> model, x = Total(), np.array([[1, 2], [3, 4]], "float32")
        >>> float(model.compute_loss({"x": x, "labels": np.zeros(2, "float32")}))
        5.0
        >>> model.predict({"x": x}, verbose=0).tolist()
        [3.0, 7.0]
    """

    # Attributes of Keras, whose types mypy cannot see.
    built: bool
    train_function: Any
    test_function: Any

    # Keys of the dict that `call` takes: int32 tensors (B, T) or (B, S).
    input_names_of_call: Sequence[str] = ()
    # Inputs of `fit` and the names of their axes; equal names are equal sizes. The one called
    # `label_name` may also be given as y.
    input_axes: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    optional_inputs: Sequence[str] = ()
    label_name: str | None = "labels"
    micro_batches = 1
    loss_reduction = "mean"
    loss_terms: Sequence[keras.metrics.Mean] = ()
    measures: Sequence[keras.metrics.Mean] = ()
    has_metrics = False  # given to `compile`

    # What `fit` and `evaluate` do under TensorFlow; None is Keras's own trainer.
    trainer: "ExactTrainer | None" = None

    config: dict[str, Any]  # arguments of the class by name

    def __init__(self, **kwargs: object):
        check_backend()
        super().__init__(**kwargs)

    def __call__(self, inputs: dict, *args: object, **kwargs: object) -> Any:
        """Keras's `__call__`, with the inputs checked (`check_inputs`, `check_ids`)."""
        if self.input_names_of_call:
            self.check_inputs(inputs, names=self.input_names_of_call)
            check_ids(type(self).__name__, inputs, self.sizes_of_ids)
        return super().__call__(inputs, *args, **kwargs)

    def predict_outputs(self, inputs: Tensor | dict) -> Tensor | dict:
        """Computes what `predict` returns for a batch: by default the outputs of `call`.

        Args:
            inputs: Inputs of a batch; by default those of `call`.

        Returns:
            Tensor, or structure of tensors, whose dimension 0 is the batch.
        """
        return self(inputs, training=False)

    def predict_step(self, *arguments: Tensor | dict) -> Any:
        """Keras's hook of `predict`: takes (data) under TensorFlow and (state, data) under JAX."""
        *state, data = arguments
        inputs, _, _ = keras.utils.unpack_x_y_sample_weight(data)
        if not state:
            return self.predict_outputs(inputs)

        ((trainable, non_trainable),) = state
        variables = [*self.trainable_variables, *self.non_trainable_variables]
        with keras.StatelessScope(list(zip(variables, [*trainable, *non_trainable]))):
            return self.predict_outputs(inputs), non_trainable

    def summed_loss(self, x: dict, y: Tensor | None, training: bool) -> Tensor:
        """Sums the losses of the real targets of a batch.

        Args:
            x: Dict of tensors whose dimension 0 is the batch.
            y: Labels, or None if they are in `x`.
            training: Whether dropout is applied.

        Returns:
            Float32 scalar tensor, or a vector with an element for each of `loss_terms`.
        """
        raise NotImplementedError

    def loss_weight(self, x: dict, y: Tensor | None) -> Tensor:
        """Computes the divisor of the summed loss: a float32 tensor of its shape."""
        raise NotImplementedError

    def loss_scale(self, weight: Tensor) -> Tensor:
        """Returns the factor of the global batch's summed loss, from its `loss_weight`."""
        if self.loss_reduction == "sum":
            return ops.ones_like(weight)
        return ops.where(weight > 0.0, 1.0 / ops.where(weight > 0.0, weight, 1.0), 0.0)

    def compute_loss(
        self,
        x: dict,
        y: Tensor | None = None,
        y_pred: Tensor | None = None,
        sample_weight: Tensor | None = None,
        training: bool = True,
    ) -> Tensor:
        """Computes the loss of one batch, which backends without the exact step minimize."""
        self.refuse(sample_weight=sample_weight)
        self.check_inputs(x, y)

        weight = self.loss_weight(x, y)
        terms = self.summed_loss(x, y, training) * self.loss_scale(weight)
        self.follow_terms(terms, weight)
        return ops.sum(terms)

    def refuse(self, **given: object) -> None:
        """Rejects arguments of `compile`, `fit` and `evaluate` for which the loss has no use.

        Args:
            **given: Arguments that must be None.

        Raises:
            Error: An argument is not None.
        """
        if names := [name for name, value in given.items() if value is not None]:
            raise Error(
                f"{type(self).__name__}: {', '.join(names)} was given; expected none: the loss is"
                " the model's own, a sum over the real targets divided by their number. Leave it"
                " out, or override summed_loss in a subclass"
            )

    def refuse_if(self, wrong: object, argument: str, expected: str) -> None:
        """Raises an Error that names an argument of the class where it is wrong."""
        found = f"{type(self).__name__}: {argument} is {self.config[argument]!r}"
        require(not wrong, f"{found}; it must be {expected}")

    @property
    def sizes_of_ids(self) -> dict[str, int]:
        """Input of ids -> the number of its embeddings."""
        return {}

    def labels_of(self, x: dict, y: Tensor | None) -> Tensor:
        """Returns the labels of a batch: `y`, or the input called `label_name`."""
        if y is None:
            return x[self.label_name]
        return y

    def check_inputs(self, x: dict, y: Tensor | None = None, names: Sequence[str] = ()) -> None:
        """Checks the names, shapes and dtypes of a batch (`input_axes`).

        Args:
            x: Dict of tensors.
            y: Labels, or None if they are in `x`.
            names: Names of the inputs; by default all those of `fit` and `evaluate`.

        Raises:
            Error: An input is missing or has another shape or dtype than the model expects.
        """
        model = type(self).__name__
        axes_of = {name: self.input_axes[name] for name in names or self.input_axes}
        shapes = {name: str(axes).replace("'", "") for name, axes in axes_of.items()}
        expected = "expected a dict of " + ", ".join(f"{name} {shapes[name]}" for name in shapes)
        if self.label_name in axes_of:
            expected += f"; {self.label_name} may be given as y"
        if axes_of and not isinstance(x, dict):
            found = "one array" if hasattr(x, "shape") else f"a {type(x).__name__}"
            raise Error(f"{model}: the inputs are {found}; {expected}")
        if y is not None and self.label_name is not None:
            x = {**x, self.label_name: y}

        given = {name: x[name] for name in axes_of if x.get(name) is not None}
        needed = [name for name in axes_of if name not in self.optional_inputs]
        if missing := [name for name in needed if name not in given]:
            raise Error(
                f"{model}: {missing[0]} is missing, the inputs have {', '.join(x)}; {expected}"
            )

        sizes: dict[str, tuple[int, str]] = {}  # axis -> its size, and the input that has it
        for name, value in given.items():
            if not hasattr(value, "dtype"):
                raise Error(f"{model}: {name} is a {type(value).__name__}; expected an array")
            axes, shape = axes_of[name], tuple(value.shape)
            dtype = keras.backend.standardize_dtype(value.dtype)
            problem = f"{model}: {name} has shape {shape} and dtype {dtype}; expected"
            if dtype == "string" or len(shape) != len(axes):
                raise Error(f"{problem} numbers of shape {shapes[name]}")
            if name in self.input_names_of_call and "int" not in dtype:
                raise Error(f"{problem} whole numbers, such as int32")
            for axis, size in zip(axes, shape, strict=True):
                first_size, first_name = sizes.setdefault(axis, (size, name))
                if None not in (size, first_size) and size != first_size:
                    raise Error(f"{problem} {first_size} {axis}, as {first_name} has")

    def follow_terms(self, terms: Tensor, weight: Tensor) -> None:
        """Updates the running means of `loss_terms` with the terms of a global batch's loss."""
        for i, mean in enumerate(self.loss_terms):
            mean.update_state(terms[i], sample_weight=weight[i])

    def tensors(self) -> dict[str, np.ndarray]:
        """Returns the weights by their names in model.safetensors: by default their paths."""
        variables = weight_names.variables_by_path(self)
        return weight_names.named_tensors(variables, weight_names.dotted_names(variables))

    def folder_config(self) -> dict:
        """Returns the content of config.json."""
        raise NotImplementedError

    def save_pretrained(
        self, folder, vocabulary: Sequence[str] | None = None, settings: dict | None = None
    ) -> None:
        """Writes a model folder, which `from_pretrained` and, for a BERT, transformers read.

        Args:
            folder: Path of the model folder; created if it does not exist.
            vocabulary: Word pieces, for vocab.txt.
            settings: Content of tfsum.json: text settings under "text", recipe, scores.

        Raises:
            CheckpointError: A file cannot be written.
        """
        model_folder.save_model(self, folder, vocabulary, settings)

    def compile(
        self,
        optimizer="rmsprop",
        loss=None,
        loss_weights=None,
        metrics=None,
        weighted_metrics=None,
        trainer: "ExactTrainer | None" = None,
        **kwargs,
    ) -> None:
        """Keras's `compile`, with the model's own loss.

        Args:
            optimizer: Optimizer or its name, as in Keras.
            loss: None; the models compute their loss from the inputs (`summed_loss`).
            loss_weights: None.
            metrics: Metrics, as in Keras. They compare the real targets (no padding) with their
                probabilities, which costs a second forward pass. TensorFlow's backend only.
            weighted_metrics: None; there are no sample weights.
            trainer: What takes the steps under TensorFlow; by default a new `ExactTrainer`.
            **kwargs: Other arguments of Keras's `compile`.

        Raises:
            Error: An argument that must be None is not, or the model takes no metrics.
        """
        self.refuse(loss=loss, loss_weights=loss_weights, weighted_metrics=weighted_metrics)
        takes_metrics = type(self).metric_inputs is not Model.metric_inputs
        own = ", ".join(mean.name for mean in [*self.loss_terms, *self.measures]) or "the loss"
        require(
            not metrics or (takes_metrics and _on_tensorflow()),
            f"{type(self).__name__}.compile: metrics is {metrics!r}; expected none for this"
            f" model and backend; fit and evaluate report {own}",
        )

        self.has_metrics = bool(metrics)
        super().compile(optimizer=optimizer, metrics=metrics, **kwargs)
        if _on_tensorflow():
            # In here: the other backends do without TensorFlow.
            from tfsum.trainer.exact_step import ExactTrainer, take_reduced_gradients

            self.trainer = trainer or ExactTrainer()
            if self.optimizer is not None:
                take_reduced_gradients(self.optimizer)

    # Keras drops sample weights silently if the labels are among the inputs (y is None).
    @functools.wraps(keras.Model.fit)
    def fit(self, *args, **kwargs):
        self.refuse(
            sample_weight=kwargs.get("sample_weight"), class_weight=kwargs.get("class_weight")
        )
        return super().fit(*args, **kwargs)

    @functools.wraps(keras.Model.evaluate)
    def evaluate(self, *args, **kwargs):
        self.refuse(sample_weight=kwargs.get("sample_weight"))
        return super().evaluate(*args, **kwargs)

    def compile_from_config(self, config: dict) -> None:
        """Keras's hook of `load_model`: compiles as the saved model was, so that `fit` goes on."""
        self.compile(**keras.saving.deserialize_keras_object(config))
        if self.optimizer is not None and self.built:
            self.optimizer.build(self.trainable_variables)

    def metric_inputs(self, x: dict, y: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
        """Computes what the metrics of `compile` compare, in the models that take metrics.

        Args:
            x: Dict of tensors.
            y: Labels, or None if they are in `x`.

        Returns:
            Labels; their probabilities, or those of each class; and a bool tensor of the labels'
            shape, True for the real ones, or None if all are real.
        """
        raise NotImplementedError

    def export(
        self, filepath, format="tf_saved_model", verbose=None, input_signature=None, **kwargs
    ):
        """Keras's `export`, without an earlier call of the model.

        A `Transformer` or `BertSumAbs` gets what `call` does, with the target given; docs/python.md
        has its generation beside it. `tfsum.export_model` exports a model that takes raw strings.
        """
        if input_signature is None and self.input_names_of_call:
            ids = keras.layers.InputSpec(shape=(None, None), dtype="int32")
            input_signature = [dict.fromkeys(self.input_names_of_call, ids)]
        return super().export(
            filepath, format=format, verbose=verbose, input_signature=input_signature, **kwargs
        )

    def make_train_function(self, force=False):
        if self.trainer is None:
            return super().make_train_function(force)
        if self.train_function is None or force:
            self.train_function = self.trainer.train_function(self)

    def make_test_function(self, force=False):
        if self.trainer is None:
            return super().make_test_function(force)
        if self.test_function is None or force:
            self.test_function = self.trainer.test_function(self)

    def _maybe_symbolic_build(self, iterator=None, data_batch=None):
        # Keras averages the first batch over the replicas, which fails if their shapes differ.
        if not _on_tensorflow():
            return super()._maybe_symbolic_build(iterator=iterator, data_batch=data_batch)
        with self.distribute_strategy.scope():
            if not self.built:
                self.build()  # the models know their sizes without a batch
            if self.optimizer is not None and not self.optimizer.built:
                self.optimizer.build(self.trainable_variables)


def _on_tensorflow():
    return keras.backend.backend() == "tensorflow"
