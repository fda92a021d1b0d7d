"""What the models of tfsum share: an exact loss, and a `fit` that is exact on every strategy."""

from collections.abc import Sequence

import keras
import numpy as np
from keras import ops

from tfsum.errors import Error
from tfsum.formats import model_folder

BACKENDS = ("tensorflow", "jax")


def check_backend() -> None:
    """Checks that Keras runs on a backend that the models are tested on.

    Raises:
        Error: another backend, such as torch.

    >>> check_backend()
    """
    name = keras.backend.backend()
    if name not in BACKENDS:
        raise Error(f"the backend of Keras is {name!r}, which is not supported by tfsum's models; set KERAS_BACKEND to "
                    f"one of {', '.join(BACKENDS)} before Keras is imported")


class Model(keras.Model):
    """A `keras.Model` whose loss is a sum over real targets divided by their number in the global batch.

    Subclasses say what is summed (`summed_loss`) and what it is divided by (`loss_weight`); with `loss_reduction` "sum"
    nothing is divided. Under TensorFlow
    `fit` and `evaluate` then take the exact step of `tfsum.training.exact_step`: padding, replicas and
    micro-batches (`micro_batches`, set before `fit`) change neither losses nor gradients.

    A loss of several terms, each divided by a number of its own, is a vector in both; `loss_terms` are the
    `keras.metrics.Mean`s that follow them, `measures` those of anything else that `summed_loss` measures by the way.
    `fit` and `evaluate` report all of them beside the loss.

    Example:
        >>> from tfsum.models import BertClassifier
        >>> issubclass(BertClassifier, Model)
        True
    """

    micro_batches = 1
    loss_reduction = "mean"
    loss_terms: Sequence[keras.metrics.Mean] = ()
    measures: Sequence[keras.metrics.Mean] = ()

    def __init__(self, **kwargs):
        check_backend()
        super().__init__(**kwargs)

    def predict_outputs(self, inputs):
        """Computes what `predict` returns for a batch: by default the outputs of `call`.

        Args:
            inputs: the inputs of a batch, those of `call` unless a subclass says otherwise.

        Returns:
            a tensor or a structure of tensors, with the batch as dimension 0.
        """
        return self(inputs, training=False)

    def predict_step(self, *arguments):
        """Keras's hook of `predict`: takes the data under TensorFlow, and the state and the data under JAX."""
        *state, data = arguments
        inputs, _, _ = keras.utils.unpack_x_y_sample_weight(data)
        if not state:
            return self.predict_outputs(inputs)
        (trainable, non_trainable), = state
        values = zip((*self.trainable_variables, *self.non_trainable_variables), (*trainable, *non_trainable))
        with keras.StatelessScope(state_mapping=list(values)):
            return self.predict_outputs(inputs), non_trainable

    def summed_loss(self, x, y, training):
        """Sums the losses of the real targets of a batch.

        Args:
            x: the inputs, a dict of tensors whose dimension 0 is the batch.
            y: the labels, or None where `x` holds them.
            training: whether dropout is on.

        Returns:
            float32 scalar tensor, or one number for each of `loss_terms`.
        """
        raise NotImplementedError

    def loss_weight(self, x, y):
        """Counts what the summed loss is divided by: float32 tensor of the shape of `summed_loss`."""
        raise NotImplementedError

    def loss_scale(self, weight):
        """What the summed loss of the global batch is multiplied by, from its `loss_weight`."""
        if self.loss_reduction == "sum":
            return ops.ones_like(weight)
        return ops.where(weight > 0.0, 1.0 / ops.where(weight > 0.0, weight, 1.0), 0.0)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        """The loss of one batch (backends without the exact step train on it)."""
        weight = self.loss_weight(x, y)
        terms = self.summed_loss(x, y, training) * self.loss_scale(weight)
        self.follow_terms(terms, weight)
        return ops.sum(terms)

    def follow_terms(self, terms, weight):
        """Adds the terms of a global batch's loss to the running means of `loss_terms`."""
        for i, mean in enumerate(self.loss_terms):
            mean.update_state(terms[i], sample_weight=weight[i])

    def tensors(self) -> dict[str, np.ndarray]:
        """Returns the weights under their names in model.safetensors, where they have Hugging Face's form."""
        raise NotImplementedError

    def folder_config(self) -> dict:
        """Returns the content of config.json."""
        raise NotImplementedError

    def save_pretrained(self, folder, vocabulary: Sequence[str] | None = None, settings: dict | None = None) -> None:
        """Writes a model folder, which `from_pretrained` and, for a BERT, transformers read.

        Args:
            folder: path; created if it does not exist.
            vocabulary: the word pieces, for vocab.txt.
            settings: the content of tfsum.json (text settings under "text", recipe, scores).

        Raises:
            CheckpointError: a file cannot be written.
        """
        model_folder.save_model(self, folder, vocabulary, settings)

    def compile(self, *args, **kwargs):
        super().compile(*args, **kwargs)
        if keras.backend.backend() == "tensorflow" and self.optimizer is not None:
            _exact_step().take_reduced_gradients(self.optimizer)

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
        # Keras's own averages the first batch over the replicas, which fails where they differ in shape.
        if keras.backend.backend() != "tensorflow":
            return super()._maybe_symbolic_build(iterator=iterator, data_batch=data_batch)
        if not self.built:
            with self.distribute_strategy.scope():
                self.build()  # our models know their sizes without a batch
        if self.optimizer is not None and not self.optimizer.built:
            with self.distribute_strategy.scope():
                self.optimizer.build(self.trainable_variables)


def _exact_step():
    # The one way from models to training, taken only when a model is compiled under TensorFlow.
    from tfsum.training import exact_step

    return exact_step
