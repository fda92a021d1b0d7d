"""The exported graph of an abstractive model: strings in, summaries out.

See `tfsum.generation.sources` for how text is read, and `stored_weights` for how the weights
are stored.
"""

import dataclasses
from typing import Any

import tensorflow as tf

from tfsum.decoding import Sampling, Strategy
from tfsum.decoding.strategy import ids_of
from tfsum.errors import ExportError
from tfsum.export.groups import in_groups
from tfsum.export.model_card import Card
from tfsum.export.stored_weights import StoredWeights
from tfsum.generation import golden
from tfsum.generation.sources import DocumentSource, RowSource, at_least
from tfsum.inference.allowed_operations import FOLDED
from tfsum.layers import Cache
from tfsum.models.encoder_decoder import EncoderDecoder
from tfsum.text.detokenizer import Detokenizer
from tfsum.text.true_case import TrueCase

ALTERNATIVES = 5  # tokens that `attend` returns for each place of an answer
TABLES = (
    "embedding/embeddings",
    "source_embedding/embeddings",
    "target_embedding/embeddings",
    "output_kernel",
)


def _one_or_all(parts: dict[str, Any]) -> Any:
    """A source of one part is that part; one of several is all of them by their names."""
    if len(parts) == 1:
        return next(iter(parts.values()))
    return parts


class AbstractiveSummarizer(tf.Module):
    """The exported graph of a `Transformer` or a `BertSumAbs`.

    Args:
        model: The built model, whose weights are stored (see `StoredWeights`).
        source: Reads texts as the model was trained to; its tokenizer's `ops` decide which hosts
            can load the export.
        detokenizer: Detokenizer of the target's vocabulary.
        strategy: The decoding strategy; the best answer of a source is returned.
        max_length: L, the most tokens of an answer, the end token among them; None is the model's.
        storage: Storage of the weights, as in `StoredWeights`.
        true_case: Restores the case of answers; None leaves them as the model writes them.

    Raises:
        ExportError: An invalid length, or one that does not fit the strategy, or an unknown
            storage.

    Example:
        >>> import tfsum
        >>> from tfsum.decoding import Greedy
        >>> words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "rain"]
        >>> model = tfsum.Transformer(
        ...     5,
        ...     5,
        ...     num_encoder_layers=1,
        ...     num_decoder_layers=1,
        ...     d_model=8,
        ...     num_heads=2,
        ...     feed_forward_width=16,
        ...     start_id=2,
        ...     end_id=3,
        ... )
        >>> model.build()
        >>> source = RowSource(tfsum.WordPiece(words), 16)
        >>> module = AbstractiveSummarizer(model, source, Detokenizer(words), Greedy(), 4)
        >>> sorted(module.serve(tf.constant(["rain rain"])))
        ['coverage', 'ended', 'known', 'log_probability', 'summary']
    """

    def __init__(
        self,
        model: EncoderDecoder,
        source: RowSource | DocumentSource,
        detokenizer: Detokenizer,
        strategy: Strategy,
        max_length: int | None = None,
        storage: str = "float32",
        true_case: TrueCase | None = None,
    ) -> None:
        super().__init__(name="abstractive_summarizer")
        if (n_best := getattr(strategy, "n_best", 1)) > 1:
            raise ExportError(
                f"n_best is {n_best}; an export answers with the best alone: leave it at 1"
            )

        if max_length is None:
            max_length = model.max_length
        at_least(max(1, strategy.min_length), max_length, "max_length")
        if isinstance(strategy, Sampling) and max_length * strategy.n_samples > FOLDED:
            raise ExportError(
                f"max_length is {max_length} and n_samples {strategy.n_samples}: their product, the"
                f" random numbers of an export, is above {FOLDED}; lower one of them"
            )

        self.source, self.detokenizer = source, detokenizer
        self.strategy, self.max_length = strategy, max_length
        self.true_case = true_case
        self.source_vocabulary_size, self.start_id = model.source_vocabulary_size, model.start_id
        self.end_id, self.source_names = model.end_id, model.source_names
        self.weights = StoredWeights(model, storage, TABLES, pooler=False)
        specs = {
            name: tf.TensorSpec([None, None], tf.int32, name=name) for name in self.source_names
        }
        self._generate = tf.function(
            self._search, input_signature=[_one_or_all(specs)], autograph=False
        )
        self.generate_ids = tf.function(
            self._generate_given, input_signature=list(specs.values()), autograph=False
        )

    def search_settings(self) -> dict[str, Any]:
        """The search and its length, for assets.extra/tfsum.json."""
        search = {"strategy": type(self.strategy).__name__, **dataclasses.asdict(self.strategy)}
        search.pop("vocabulary", None)
        return {"search": search, "max_length": self.max_length}

    def signatures(self) -> dict:
        """The signatures of the SavedModel, by name."""
        return {
            "serving_default": self.serve,
            "generate_ids": self.generate_ids,
            "attend": self.attend,
        }

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")], autograph=False)
    def serve(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """Generates the answer to each text (B,); without words it is empty."""
        read = self.source.read(text)
        generated, not_empty = self._generate(read["source"]), read["not_empty"]
        summary = self.detokenizer.detokenize(generated["ids"])
        if self.true_case is not None:
            summary = self.true_case.restore(summary, text)
        return {
            "summary": tf.where(not_empty, summary, ""),
            "log_probability": tf.where(not_empty, generated["log_probability"], 0.0),
            "coverage": read["coverage"],
            "ended": ~not_empty | tf.reduce_any(generated["ids"] == self.end_id, axis=1),
            "known": read["known"],
        }

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")], autograph=False)
    def attend(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """Generates as `serve` does, and returns attention and alternatives.

        `attention` (B, L, Ts) is that from output tokens to source tokens, the mean over layers and
        heads. `alternatives` (B, L, K) are the most probable tokens at each place after those
        before it, the most probable first, and `alternative_probability` (B, L, K) their
        probabilities. All texts form one batch: give a few.
        """
        read = self.source.read(text)
        source = read["source"]
        ids = tf.where(read["not_empty"][:, tf.newaxis], self._generate(source)["ids"], 0)
        before = tf.pad(ids[:, :-1], [[0, 0], [1, 0]], constant_values=self.start_id)
        with self.weights.model(self.weights.read()) as model:
            memory, mask = model.read(source, training=False)
            x = model.target_positions(model.target_embedding(before), training=False)
            x, *_, attention = model.decoder(
                x,
                memory,
                source_mask=mask,
                training=False,
                return_all=True,
            )
            probability = tf.nn.softmax(
                model.logits(x, model.copying(source, memory, mask, before))
            )

        best, alternatives = tf.math.top_k(probability, min(ALTERNATIVES, probability.shape[-1]))
        written = (ids != 0)[:, :, tf.newaxis]
        source_ids = ids_of(source)

        # Padding between windows goes to the end, so that the tokens of a source are its first.
        order = tf.argsort(tf.cast(source_ids == 0, tf.int32), axis=1, stable=True)
        mean = tf.gather(tf.reduce_mean(tf.stack(attention), [0, 2]), order, axis=2, batch_dims=1)

        return {
            "source_ids": tf.gather(source_ids, order, axis=1, batch_dims=1),
            "ids": ids,
            "attention": mean,
            "alternatives": tf.where(written, alternatives, 0),
            "alternative_probability": tf.where(written, best, 0.0),
        }

    def _generate_given(self, *ids: tf.Tensor) -> dict[str, tf.Tensor]:
        """Generates the answer to each of the sources (B, Ts), whose ids include [CLS] and [SEP];
        nothing is cut."""
        source_ids, size = ids[0], self.source_vocabulary_size
        inside = tf.reduce_all((source_ids >= 0) & (source_ids < size))
        message = f"source_ids: expected ids from 0 to {size - 1}, found"
        with tf.control_dependencies([tf.debugging.Assert(inside, [message, source_ids])]):
            # Sources of no length are of padding.
            padded = [
                tf.pad(part, [[0, 0], [0, tf.maximum(1 - tf.shape(part)[1], 0)]]) for part in ids
            ]

        return self._generate(_one_or_all(dict(zip(self.source_names, padded, strict=True))))

    def _search(self, source: Any) -> dict[str, tf.Tensor]:
        """Searches for the best answers to sources (B, Ts), Ts at least 1, those of like length
        together."""
        source_ids = ids_of(source)
        place = tf.range(1, tf.shape(source_ids)[1] + 1)
        lengths = tf.reduce_max(tf.where(source_ids != 0, place, 1), axis=1)
        order = tf.argsort(lengths, stable=True)
        values = self.weights.read()

        def generate(rows: tf.Tensor) -> tuple[tf.Tensor, ...]:
            longest = tf.reduce_max(tf.gather(lengths, rows))
            group = tf.nest.map_structure(lambda ids: tf.gather(ids, rows)[:, :longest], source)
            with self.weights.model(values) as model:
                generated = self.strategy(InPlace(model), group, self.max_length)
            return tuple(part[:, 0] for part in generated)

        specs = (
            tf.TensorSpec([None, self.max_length], tf.int32),
            tf.TensorSpec([None], tf.float32),
            tf.TensorSpec([None], tf.int32),
        )

        generated = in_groups(generate, order, self.source.at_once, specs)
        back = tf.argsort(order, stable=True)
        names = ("ids", "log_probability", "length")
        return {name: tf.gather(part, back) for name, part in zip(names, generated, strict=True)}


def card_of(description: dict, rows: dict[str, object]) -> Card:
    """The part of a writer's model card.

    Args:
        description: Content of assets.extra/tfsum.json.
        rows: Rows of the table that the model's own configuration gives.
    """
    (_, strategy), *options = description["search"].items()
    search = ", ".join(f"{name}={value!r}" for name, value in options)
    return Card(
        "An abstractive model for TensorFlow",
        "the generated text",
        {
            **rows,
            "signatures": ", ".join(golden.signatures(description)),
            "answer": f"at most {description['max_length']} tokens, by {strategy}({search})",
        },
    )


class InPlaceCache(Cache):
    """A cache that is written in place, for exported graphs of TensorFlow only.

    TensorFlow's scatter, which `Cache.write` uses, copies its input on a CPU. The operation used
    here does not, and it does not compile under XLA.

    Example:
        >>> cache = InPlaceCache(tf.zeros((1, 1, 3, 1, 1))).write(1, tf.ones((1, 1, 1, 1, 1)))
        >>> tf.reshape(cache.tensor, [-1]).numpy().tolist()
        [0.0, 1.0, 0.0]
    """

    def write(self, position: tf.Tensor, values: tf.Tensor) -> Cache:
        """Sets one position as `Cache.write`, in place where nothing needs the old cache."""
        _, _, length, beams, size = self.tensor.shape
        # In three dimensions: the time of this operation is spent on the indices that it computes
        # for each number.
        written = tf.raw_ops.TensorStridedSliceUpdate(
            input=tf.reshape(self.tensor, [-1, length, beams * size]),
            value=tf.reshape(values, [-1, 1, beams * size]),
            # all of dimension 0
            begin=[0, position],
            end=[0, position + 1],
            strides=[1, 1],
            begin_mask=1,
            end_mask=1,
        )
        return type(self)(tf.reshape(written, [-1, *self.tensor.shape[1:]]))


class InPlace:
    """What a strategy needs of a Transformer (see `Strategy`), with caches of class `InPlaceCache`.

    Args:
        model: A `Transformer`.

    Example:
        >>> import tfsum
        >>> from tfsum.decoding import Greedy
        >>> model = tfsum.Transformer(
        ...     9,
        ...     9,
        ...     num_encoder_layers=1,
        ...     num_decoder_layers=1,
        ...     d_model=8,
        ...     num_heads=2,
        ...     feed_forward_width=16,
        ...     start_id=2,
        ...     end_id=3,
        ... )
        >>> ids, *_ = Greedy()(InPlace(model), tf.constant([[2, 5, 3]]), 4)
        >>> tuple(ids.shape)
        (1, 1, 4)
    """

    def __init__(self, model: EncoderDecoder) -> None:
        self._model, self.step = model, model.step
        self.start_id, self.end_id = model.start_id, model.end_id

    def start(self, source_ids: tf.Tensor, max_length: int, num_beams: int) -> dict[str, Any]:
        """See `Transformer.start`."""
        state = self._model.start(source_ids, max_length, num_beams)
        layers = {
            layer: {
                name: InPlaceCache(*part) if isinstance(part, Cache) else part
                for name, part in parts.items()
            }
            for layer, parts in state["layers"].items()
        }
        return {**state, "layers": layers}
