"""Base class of the models: an exact loss, `fit` that is exact on every strategy, and `predict` on every backend."""

import functools
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from tfsum.errors import Error
from tfsum.formats import model_folder
from tfsum.tensor import Tensor

BACKENDS = ("tensorflow", "jax")


def check_backend() -> None:
    """Checks that Keras runs on a backend that the models are tested on.

    Raises:
        Error: another backend, such as torch.

    Example:
        >>> check_backend()
    """
    name = keras.backend.backend()
    if name not in BACKENDS:
        raise Error(
            f"the backend of Keras is {name!r}, which is not supported by tfsum's models; set KERAS_BACKEND to "
            f"one of {', '.join(BACKENDS)} before Keras is imported"
        )


class Model(keras.Model):
    """A `keras.Model` whose loss is a sum over real targets divided by their number in the global batch.

    Subclasses implement the sum (`summed_loss`) and its divisor (`loss_weight`); with `loss_reduction` "sum" the
    sum is not divided. Under TensorFlow `fit` and `evaluate` use the exact step of `tfsum.training.exact_step`:
    padding, replicas and micro-batches (`micro_batches`, set before `fit`) change neither losses nor gradients.
    Under JAX they use the trainer of Keras, without micro-batches; the loss of an epoch is the mean over its batches.

    If the loss has several terms, each with its own divisor, both functions return a vector; `loss_terms` are the
    `keras.metrics.Mean`s that track the terms and `measures` those of other measures computed in `summed_loss`.
    `fit` and `evaluate` report all of them with the loss.

    Raises:
        Error: the backend of Keras is neither TensorFlow nor JAX.

    Example:
        >>> import keras
        >>> import numpy as np
        >>> from keras import ops
        >>> from tfsum.models.model import Model
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

    # Keras's own, whose types mypy cannot see.
    built: bool
    train_function: Any
    test_function: Any

    input_names_of_call: Sequence[
        str
    ] = ()  # of the dict that `call` takes; int32 tensors (B, T) or (B, S)
    micro_batches = 1
    stop_requested: Any = None  # a variable of this worker; the step adds it up over all workers
    seconds_waiting = 0.0  # for data, in all steps of `fit`
    loss_reduction = "mean"
    loss_terms: Sequence[keras.metrics.Mean] = ()
    measures: Sequence[keras.metrics.Mean] = ()

    def __init__(self, **kwargs: Any):
        check_backend()
        super().__init__(**kwargs)

    def predict_outputs(self, inputs: Any) -> Any:
        """Computes what `predict` returns for a batch: by default the outputs of `call`.

        Args:
            inputs: the inputs of a batch, those of `call` unless a subclass says otherwise.

        Returns:
            a tensor or a structure of tensors, with the batch as dimension 0.
        """
        return self(inputs, training=False)

    def predict_step(self, *arguments: Any) -> Any:
        """Keras's hook of `predict`: takes the data under TensorFlow, and the state and the data under JAX."""
        *state, data = arguments
        inputs, _, _ = keras.utils.unpack_x_y_sample_weight(data)
        if not state:
            return self.predict_outputs(inputs)
        ((trainable, non_trainable),) = state
        values = zip(
            (*self.trainable_variables, *self.non_trainable_variables), (*trainable, *non_trainable)
        )
        with keras.StatelessScope(state_mapping=list(values)):
            return self.predict_outputs(inputs), non_trainable

    def summed_loss(self, x: dict, y: Tensor | None, training: bool) -> Tensor:
        """Sums the losses of the real targets of a batch.

        Args:
            x: the inputs, a dict of tensors whose dimension 0 is the batch.
            y: the labels, or None if they are in `x`.
            training: whether dropout is applied.

        Returns:
            float32 scalar tensor, or a vector with an element for each of `loss_terms`.
        """
        raise NotImplementedError

    def loss_weight(self, x: dict, y: Tensor | None) -> Tensor:
        """Computes the divisor of the summed loss: float32 tensor of the shape of `summed_loss`."""
        raise NotImplementedError

    def loss_scale(self, weight: Tensor) -> Tensor:
        """The factor of the summed loss of the global batch, from its `loss_weight`."""
        if self.loss_reduction == "sum":
            return ops.ones_like(weight)
        return ops.where(weight > 0.0, 1.0 / ops.where(weight > 0.0, weight, 1.0), 0.0)

    def compute_loss(
        self,
        x: Any = None,
        y: Any = None,
        y_pred: Any = None,
        sample_weight: Any = None,
        training: bool = True,
    ) -> Tensor:
        """The loss of one batch, which backends without the exact step minimize."""
        self.refuse_sample_weight(sample_weight)
        weight = self.loss_weight(x, y)
        terms = self.summed_loss(x, y, training) * self.loss_scale(weight)
        self.follow_terms(terms, weight)
        return ops.sum(terms)

    def refuse_sample_weight(self, sample_weight: Any) -> None:
        """Checks that `fit` or `evaluate` was given no `sample_weight`.

        Raises:
            Error: it was.
        """
        if sample_weight is not None:
            raise Error(
                f"{type(self).__name__}: sample_weight was given; expected none: the loss is a sum over the "
                "real targets divided by their number. Leave it out, or override summed_loss in a subclass"
            )

    def follow_terms(self, terms: Tensor, weight: Tensor) -> None:
        """Adds the terms of a global batch's loss to the running means of `loss_terms`."""
        for i, mean in enumerate(self.loss_terms):
            mean.update_state(terms[i], sample_weight=weight[i])

    def tensors(self) -> dict[str, np.ndarray]:
        """Returns the weights under their names in model.safetensors, where they have Hugging Face's form."""
        raise NotImplementedError

    def folder_config(self) -> dict:
        """Returns the content of config.json."""
        raise NotImplementedError

    def save_pretrained(
        self, folder, vocabulary: Sequence[str] | None = None, settings: dict | None = None
    ) -> None:
        """Writes a model folder, which `from_pretrained` and, for a BERT, transformers read.

        Args:
            folder: path; created if it does not exist.
            vocabulary: the word pieces, for vocab.txt.
            settings: the content of tfsum.json (text settings under "text", recipe, scores).

        Raises:
            CheckpointError: a file cannot be written.
        """
        model_folder.save_model(self, folder, vocabulary, settings)

    def compile(
        self,
        optimizer="rmsprop",
        loss=None,
        loss_weights=None,
        metrics=None,
        weighted_metrics=None,
        **kwargs,
    ) -> None:
        """Keras's `compile`, whose loss is the model's own.

        Args:
            optimizer: as in Keras.
            loss: None; the models compute their loss from the inputs (`summed_loss`).
            loss_weights: None.
            metrics: as in Keras; they are given the real targets alone (no padding) and their probabilities, which
                costs a second forward pass. TensorFlow's backend only.
            weighted_metrics: None; there are no sample weights.
            **kwargs: the other arguments of Keras's `compile`.

        Raises:
            Error: an argument that is None here was given, or the model takes no metrics.
        """
        given = {"loss": loss, "loss_weights": loss_weights, "weighted_metrics": weighted_metrics}
        if wrong := [name for name, value in given.items() if value is not None]:
            raise Error(
                f"{type(self).__name__}.compile: {wrong[0]} is {given[wrong[0]]!r}; expected none: the loss is "
                "the model's own, computed by summed_loss from its inputs; leave it out, or override "
                "summed_loss in a subclass"
            )
        if metrics and (
            keras.backend.backend() != "tensorflow"
            or type(self).metric_inputs is Model.metric_inputs
        ):
            own = ", ".join(mean.name for mean in [*self.loss_terms, *self.measures]) or "the loss"
            raise Error(
                f"{type(self).__name__}.compile: metrics is {metrics!r}; expected none for this model and "
                f"backend; fit and evaluate report {own}"
            )
        super().compile(optimizer=optimizer, metrics=metrics, **kwargs)
        if keras.backend.backend() == "tensorflow" and self.optimizer is not None:
            _exact_step().take_reduced_gradients(self.optimizer)

    # Keras itself drops sample weights in silence where the labels are among the inputs (y is None).
    @functools.wraps(keras.Model.fit)
    def fit(self, *args, **kwargs):
        self.refuse_sample_weight(kwargs.get("sample_weight"))
        return super().fit(*args, **kwargs)

    @functools.wraps(keras.Model.evaluate)
    def evaluate(self, *args, **kwargs):
        self.refuse_sample_weight(kwargs.get("sample_weight"))
        return super().evaluate(*args, **kwargs)

    def compile_from_config(self, config: dict) -> None:
        """Keras's hook of `load_model`: compiles as the saved model was, so that `fit` continues."""
        self.compile(**keras.saving.deserialize_keras_object(config))
        if self.optimizer is not None and self.built:
            self.optimizer.build(self.trainable_variables)

    def metric_inputs(self, x: dict, y: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
        """What the metrics of `compile` compare, in the models that take metrics.

        Args:
            x: the inputs, a dict of tensors.
            y: the labels, or None if they are in `x`.

        Returns:
            the labels; their probabilities, or those of each class; and bool of the labels' shape, which are real, or
            None for all.
        """
        raise NotImplementedError

    def export(
        self, filepath, format="tf_saved_model", verbose=None, input_signature=None, **kwargs
    ):
        """Keras's `export`, which needs no earlier call of the model; for raw strings see `tfsum.export_model`."""
        if input_signature is None and self.input_names_of_call:
            input_signature = [
                {
                    name: keras.layers.InputSpec(shape=(None, None), dtype="int32")
                    for name in self.input_names_of_call
                }
            ]
        return super().export(
            filepath, format=format, verbose=verbose, input_signature=input_signature, **kwargs
        )

    def make_train_function(self, force=False):
        if keras.backend.backend() != "tensorflow":
            return super().make_train_function(force)
        if self.train_function is None or force:
            self.train_function = _exact_step().train_function(self)
        return self.train_function

    def make_test_function(self, force=False):
        if keras.backend.backend() != "tensorflow":
            return super().make_test_function(force)
        if self.test_function is None or force:
            self.test_function = _exact_step().test_function(self)
        return self.test_function

    def _maybe_symbolic_build(self, iterator=None, data_batch=None):
        # Keras averages the first batch over the replicas, which fails if their shapes differ.
        if keras.backend.backend() != "tensorflow":
            return super()._maybe_symbolic_build(iterator=iterator, data_batch=data_batch)
        if not self.built:
            with self.distribute_strategy.scope():
                self.build()  # our models know their sizes without a batch
        if self.optimizer is not None and not self.optimizer.built:
            with self.distribute_strategy.scope():
                self.optimizer.build(self.trainable_variables)


def _exact_step():
    # The only import from models to training, when a model is compiled under TensorFlow.
    from tfsum.training import exact_step

    return exact_step
