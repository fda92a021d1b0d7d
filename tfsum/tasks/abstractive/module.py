"""The abstractive summarizer as one module: strings in, the Transformer's texts out.

Text is read as `tfsum.tasks.abstractive.prepare` reads it, so that serving and training treat a source
alike; see `stored_weights` for how the weights are stored.
"""

import tensorflow as tf

from tfsum.decoding import Sampling
from tfsum.decoding.strategy import Strategy
from tfsum.errors import ExportError
from tfsum.export.allowed_operations import FOLDED
from tfsum.export.groups import in_groups
from tfsum.export.stored_weights import StoredWeights
from tfsum.models import Transformer
from tfsum.tasks.abstractive.in_place import InPlace
from tfsum.text.compose import Compose
from tfsum.text.detokenizer import Detokenizer, bytes_said
from tfsum.text.known_words import known_words
from tfsum.text.repeat import row_ids
from tfsum.text.word_piece import WordPiece

ALTERNATIVES = 5  # tokens that `attend` returns for each place of an answer
SOURCES_AT_ONCE = 64  # a cache of 64 beams of 4, 6 layers of 512 and 64 tokens is 400 MB
TABLES = ("embedding/embeddings", "source_embedding/embeddings", "target_embedding/embeddings", "output_kernel")
_BLANK = r"[\s\x0b\x1c-\x1f\x{85}\p{Z}]"  # what Python's strip takes from the ends of a text


class AbstractiveSummarizer(tf.Module):
    """The exported graph of a `Transformer`.

    Args:
        model: a built `Transformer`, which the module takes over (see `StoredWeights`).
        word_piece: the tokenizer of sources; its `ops` decide which hosts can load the export.
        detokenizer: of the target's vocabulary.
        strategy: the decoding strategy; the best answer of a source is returned.
        max_source_length: tokens read of a source, [CLS] and [SEP] among them.
        max_length: L, the most tokens of an answer, the end token among them.
        storage: see `StoredWeights`.

    Raises:
        ExportError: an invalid length, or one that does not fit the strategy, or an unknown storage.

    Example:
        >>> import tfsum
        >>> from tfsum.decoding import Greedy
        >>> words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "rain"]
        >>> model = tfsum.Transformer(5, 5, num_encoder_layers=1, num_decoder_layers=1, d_model=8, num_heads=2,
        ...                           feed_forward_width=16, start_id=2, end_id=3)
        >>> model.build()
        >>> module = AbstractiveSummarizer(model, WordPiece(words), Detokenizer(words), Greedy(), 16, 4)
        >>> sorted(module.serve(tf.constant(["rain rain"])))
        ['coverage', 'ended', 'known', 'log_probability', 'summary']
    """

    def __init__(
        self,
        model: Transformer,
        word_piece: WordPiece,
        detokenizer: Detokenizer,
        strategy: Strategy,
        max_source_length: int,
        max_length: int,
        storage: str = "float32",
    ) -> None:
        super().__init__(name="abstractive_summarizer")
        if (n_best := getattr(strategy, "n_best", 1)) > 1:
            raise ExportError(f"n_best is {n_best}; an export answers with the best alone: leave it at 1")
        shortest = max(1, strategy.min_length)
        for name, value, least in (("max_source_length", max_source_length, 3), ("max_length", max_length, shortest)):
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ExportError(f"{name} is {value!r}; expected a whole number of at least {least}")
        if isinstance(strategy, Sampling) and max_length * strategy.n_samples > FOLDED:
            raise ExportError(
                f"max_length is {max_length} and n_samples {strategy.n_samples}: their product, the random numbers of "
                f"an export, is above {FOLDED}; lower one of them"
            )
        self.word_piece, self.detokenizer = word_piece, detokenizer
        self.strategy, self.max_source_length, self.max_length = strategy, max_source_length, max_length
        self.source_vocabulary_size, self.start_id = model.config["source_vocabulary_size"], model.start_id
        self.weights = StoredWeights(model, storage, TABLES)
        self.known_words = known_words(word_piece.vocabulary, word_piece.unk_id)
        self.end_id, self._bytes = model.end_id, tf.constant(bytes_said(word_piece.vocabulary))
        # Training used NFC, so serving does; the escape of a reversible vocabulary composes by itself.
        self._compose = None if word_piece.reversible else Compose()

    def signatures(self) -> dict:
        """The signatures of the SavedModel, by name."""
        return {"serving_default": self.serve, "generate_ids": self.generate_ids, "attend": self.attend}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")], autograph=False)
    def serve(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """Generates the answer to each of the texts (B,); a text without words gets an empty one."""
        pieces = self._tokenize(text)
        found, texts = self._generate(self._frame(pieces)), tf.size(text)
        not_empty = pieces.row_lengths() > 0
        return {
            "summary": tf.where(not_empty, self.detokenizer.detokenize(found["ids"]), ""),
            "log_probability": tf.where(not_empty, found["log_probability"], 0.0),
            "coverage": self._coverage(pieces),
            "ended": ~not_empty | tf.reduce_any(found["ids"] == self.end_id, axis=1),
            "known": self.known_words.share(pieces, tf.range(texts), texts),
        }

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int32, name="source_ids")], autograph=False)
    def generate_ids(self, source_ids: tf.Tensor) -> dict[str, tf.Tensor]:
        """Generates the answer to each of the sources (B, Ts), whose ids include [CLS] and [SEP]; nothing is cut."""
        inside = (source_ids >= 0) & (source_ids < self.source_vocabulary_size)
        last = self.source_vocabulary_size - 1
        message = f"source_ids: expected ids from 0 to {last}, found"
        with tf.control_dependencies([tf.debugging.Assert(tf.reduce_all(inside), [message, source_ids])]):
            # Sources of no length are of padding.
            source_ids = tf.pad(source_ids, [[0, 0], [0, tf.maximum(1 - tf.shape(source_ids)[1], 0)]])
        return self._generate(source_ids)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")], autograph=False)
    def attend(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """Generates as `serve` does, and returns what the model looked at and considered as it wrote.

        `attention` (B, L, Ts) is that from output tokens to source tokens, the mean over layers and heads.
        `alternatives` (B, L, K) are the most probable tokens at each place after those before it, the most probable
        first, and `alternative_probability` (B, L, K) their probabilities. All texts form one batch: give a few.
        """
        pieces = self._tokenize(text)
        source_ids = self._frame(pieces)
        ids = tf.where(pieces.row_lengths()[:, tf.newaxis] > 0, self._generate(source_ids)["ids"], 0)
        before = tf.pad(ids[:, :-1], [[0, 0], [1, 0]], constant_values=self.start_id)
        with self.weights.model(self.weights.read()) as model:
            source = model.encode(source_ids, training=False)
            x = model.target_positions(model.target_embedding(before), training=False)
            mask = (source_ids != 0)[:, tf.newaxis, tf.newaxis, :]
            x, *_, attention = model.decoder(x, source, source_mask=mask, training=False, return_all=True)
            probability = tf.nn.softmax(model.logits(x))
        best, alternatives = tf.math.top_k(probability, min(ALTERNATIVES, probability.shape[-1]))
        written = (ids != 0)[:, :, tf.newaxis]
        return {"source_ids": source_ids, "ids": ids, "attention": tf.reduce_mean(tf.stack(attention), [0, 2]),
                "alternatives": tf.where(written, alternatives, 0),
                "alternative_probability": tf.where(written, best, 0.0)}

    def _tokenize(self, text: tf.Tensor) -> tf.RaggedTensor:
        """Texts (B,) to pieces (B, P), as training read them."""
        text = tf.strings.unicode_transcode(text, "UTF-8", "UTF-8", errors="ignore")
        text = tf.strings.regex_replace(text, f"^{_BLANK}+|{_BLANK}+$", "")
        return self.word_piece.tokenize(text if self._compose is None else self._compose.compose_texts(text))

    def _coverage(self, pieces: tf.RaggedTensor) -> tf.Tensor:
        """The share of each text's bytes, white space not counted, that the model reads of its pieces (B, P): (B,)."""
        rows, starts = row_ids(pieces), tf.cast(pieces.row_starts(), tf.int32)
        place, texts = tf.range(tf.size(rows)) - tf.gather(starts, rows), tf.size(starts)
        size = tf.cast(tf.gather(self._bytes, pieces.flat_values), tf.float32)
        total = tf.math.unsorted_segment_sum(size, rows, texts)
        read = tf.math.unsorted_segment_sum(tf.where(place < self.max_source_length - 2, size, 0.0), rows, texts)
        return tf.where(total > 0.0, read / tf.maximum(total, 1.0), 1.0)

    def _frame(self, pieces: tf.RaggedTensor) -> tf.Tensor:
        """Cuts pieces (B, P) to what the model reads, with [CLS] before and [SEP] after: (B, Ts)."""
        room = self.max_source_length - 2
        read = tf.minimum(tf.cast(pieces.row_lengths(), tf.int32), room)
        longest = tf.reduce_max(tf.concat([read, [0]], 0))
        ids = tf.pad(pieces.to_tensor(0, shape=[None, room])[:, :longest], [[0, 0], [1, 1]])
        place, end = tf.range(longest + 2), read[:, tf.newaxis] + 1
        ids = tf.where(place == end, self.word_piece.sep_id, ids)
        return tf.where(place == 0, self.word_piece.cls_id, ids)

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int32, name="source_ids")], autograph=False)
    def _generate(self, source_ids: tf.Tensor) -> dict[str, tf.Tensor]:
        """Searches for the best answers to sources (B, Ts), Ts at least 1, those of like length together."""
        place = tf.range(1, tf.shape(source_ids)[1] + 1)
        lengths = tf.reduce_max(tf.where(source_ids != 0, place, 1), axis=1)
        order = tf.argsort(lengths, stable=True)
        values = self.weights.read()

        def generate(rows: tf.Tensor) -> tuple[tf.Tensor, ...]:
            longest = tf.reduce_max(tf.gather(lengths, rows))
            with self.weights.model(values) as model:
                found = self.strategy(InPlace(model), tf.gather(source_ids, rows)[:, :longest], self.max_length)
            return tuple(part[:, 0] for part in found)

        specs = ([None, self.max_length], tf.int32), ([None], tf.float32), ([None], tf.int32)
        found = in_groups(generate, order, SOURCES_AT_ONCE, [tf.TensorSpec(*spec) for spec in specs])
        back = tf.argsort(order, stable=True)
        ids, log_probability, length = (tf.gather(part, back) for part in found)
        return {"ids": ids, "length": length, "log_probability": log_probability}
