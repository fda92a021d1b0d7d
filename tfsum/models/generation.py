"""What a model that writes text offers: `predict`, which is greedy, and `generate`, by any strategy."""

import functools

import keras
import numpy as np

from tfsum.decoding import Greedy
from tfsum.errors import Error
from tfsum.models.model import Model


class GenerativeModel(Model):
    """A `Model` that a decoding strategy can drive.

    Subclasses have `start` and `step`, as `tfsum.decoding.Strategy` says, and the attributes `start_id`, `end_id`
    and `max_length`, the tokens of an answer of `predict`.

    Example:
        >>> from tfsum.models import Transformer
        >>> issubclass(Transformer, GenerativeModel)
        True
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        # In a cache and not in a dict, which Keras would take for a part of the model.
        self._compiled = functools.lru_cache(maxsize=8)(functools.partial(_Generation, self))

    def predict(self, x, batch_size=None, verbose="auto", steps=None, callbacks=None):
        self._build_for_jax()
        return super().predict(x, batch_size=batch_size, verbose=verbose, steps=steps, callbacks=callbacks)

    def predict_on_batch(self, x):
        self._build_for_jax()
        return super().predict_on_batch(x)

    def _build_for_jax(self):
        # Keras on JAX builds a model by calling it on the batch, and `call` needs more than the source.
        if keras.backend.backend() == "jax":
            self.build()

    def predict_outputs(self, inputs):
        """Greedy ids (B, max_length), padded with 0 after the end token: what `predict` returns.

        Args:
            inputs: source ids (B, Ts), or a dict with `source_ids`.
        """
        source_ids = inputs["source_ids"] if isinstance(inputs, dict) else inputs
        ids, _, _ = Greedy()(self, source_ids, self.max_length)
        return ids[:, 0]

    def generate(self, source_ids, strategy, max_length: int | None = None):
        """Writes targets for a batch of sources, in one compiled graph for each strategy and length.

        Within a graph of your own call `strategy(model, source_ids, max_length)`, which is the same.

        Args:
            source_ids: ints (B, Ts), padded with 0.
            strategy: such as `tfsum.decoding.BeamSearch(4)`.
            max_length: L, the most tokens of a target, the end token among them; that of `predict` by default.

        Returns:
            numpy arrays, the best of a source's N targets first: ids (B, N, L) int32, padded with 0 after the end
            token; log-probabilities (B, N) float32; lengths (B, N) int32.

        Raises:
            Error: `source_ids` are not rows of ids of the vocabulary, or a length or an argument of the strategy is out
                of range.
        """
        source_ids = np.asarray(source_ids)
        if source_ids.ndim != 2 or source_ids.dtype.kind not in "iu":
            raise Error(f"generate: source_ids are {source_ids.dtype} of shape {list(source_ids.shape)}; expected "
                        "whole numbers of shape [batch, tokens], each row padded with 0")
        size = self.config["source_vocabulary_size"]
        if source_ids.size and not 0 <= source_ids.min() <= source_ids.max() < size:
            raise Error(f"generate: source_ids lie from {source_ids.min()} to {source_ids.max()}; expected ids of the "
                        f"vocabulary, from 0 to {size - 1}")
        self.build()
        graph = self._compiled(strategy, self.max_length if max_length is None else max_length)
        return graph.predict_on_batch(source_ids.astype(np.int32))


class _Generation(Model):
    """A strategy applied to a model; Keras compiles it on every backend as it compiles `predict`."""

    def __init__(self, model, strategy, max_length):
        super().__init__(name="generation")
        self.model, self.strategy, self.max_length = model, strategy, max_length
        self.built = True

    def predict_outputs(self, inputs):
        return self.strategy(self.model, inputs, self.max_length)
