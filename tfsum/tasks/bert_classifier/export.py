"""A BertClassifier's model folder to a SavedModel that takes raw strings, one or two a text, and
returns labels with probabilities.

Text is packed as `tfsum.tasks.bert_classifier.batches` packs it, so that serving and training treat
a text alike; see `stored_weights` for how the weights are stored.
"""

import pathlib

import tensorflow as tf

from tfsum.errors import ExportError, require
from tfsum.export.groups import in_groups
from tfsum.export.model_card import Card
from tfsum.export.saved_model import read_settings, read_word_piece, version_folder, write_export
from tfsum.export.stored_weights import StoredWeights
from tfsum.models import BertClassifier
from tfsum.tasks.bert_classifier import golden
from tfsum.text.known_words import KnownWords
from tfsum.text.packing import pack
from tfsum.text.rows import Rows
from tfsum.text.word_piece import WordPiece

# padding included; attention weights of 8 rows of 512 and 12 heads are 100 MB
TOKENS_AT_ONCE = 4096


def export_model(
    folder: str | pathlib.Path,
    destination: str | pathlib.Path,
    ops: str = "core",
    pair: bool | None = None,
    max_length: int | None = None,
    storage: str = "float32",
) -> pathlib.Path:
    """Writes a BertClassifier as a SavedModel that takes raw strings, and verifies it before it
    gets its name.

    Args:
        folder: A model folder (`BertClassifier.save_pretrained`) with vocab.txt and tfsum.json.
        destination, ops, storage: As in `tfsum.tasks.bert_sum_ext.export.export_model`.
        pair: Whether `serving_default` takes `text_pair` beside `text`; by default as the model was
            trained.
        max_length: Tokens read of a text, special ones among them; what is beyond is cut, which
            `coverage` reports. By default as the model was trained, else what the encoder has
            positions for.

    Returns:
        The folder written.

    Raises:
        ExportError, CheckpointError: As `tfsum.tasks.bert_sum_ext.export.export_model`.
    """
    source, destination = pathlib.Path(folder), version_folder(destination)
    settings = read_settings(source)
    text = {"pair": False, **settings["text"]}
    model = BertClassifier.from_pretrained(source)
    word_piece = read_word_piece(source, text, ops, model.bert.config["vocab_size"])
    longest = text.get("max_length") or model.bert.config["max_position_embeddings"]
    text |= {"pair": text["pair"] if pair is None else pair, "max_length": max_length or longest}
    module = TextClassifier(model, word_piece, text["max_length"], text["pair"], storage)

    return write_export(
        module,
        golden,
        card,
        source,
        destination,
        settings,
        {
            "kind": "classifier",
            "ops": ops,
            "storage": storage,
            "text": text,
            "labels": module.label_names,
        },
    )


def card(description: dict) -> Card:
    """The part of a classifier's model card; see `tfsum.tasks.bert_sum_ext.export.card`."""
    config = description["config"]
    (inputs,) = golden.signatures(description).values()
    return Card(
        "A classifier for TensorFlow",
        "labels with their probabilities",
        {
            "kind": "classifier (BertClassifier)",
            "labels": ", ".join(description["labels"]),
            "encoder": f"{config['num_hidden_layers']} layers, width {config['hidden_size']},"
            f" {config['vocab_size']} word pieces",
            "signatures": f"serving_default, of {' and '.join(inputs)}",
            "text": f"at most {description['text']['max_length']} tokens; what is beyond is cut,"
            " which `coverage` reports",
        },
    )


class TextClassifier(tf.Module):
    """The exported graph of a `BertClassifier`.

    Args:
        model: A built `BertClassifier`, whose weights are stored (see `StoredWeights`).
        word_piece: Tokenizer; its `ops` decide which hosts can load the export.
        max_length: Tokens of a row at most; what is beyond is cut, from the longer of two texts
            first.
        pair: Whether a text has a second one, `text_pair`.
        storage: Storage of the weights, an argument of `StoredWeights`.

    Raises:
        ExportError: An unknown storage, or rows longer than the encoder.

    Example:
        >>> import tfsum
        >>> model = tfsum.BertClassifier(
        ...     {
        ...         "vocab_size": 5,
        ...         "hidden_size": 8,
        ...         "num_hidden_layers": 1,
        ...         "num_attention_heads": 2,
        ...         "intermediate_size": 16,
        ...     },
        ...     ["no", "yes"],
        ... )
        >>> model.build()
        >>> module = TextClassifier(
        ...     model, WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "rain"]), max_length=16
        ... )
        >>> module.serve(tf.constant(["rain"]))["labels"].numpy().tolist()
        [[b'no', b'yes']]
    """

    def __init__(
        self,
        model: BertClassifier,
        word_piece: WordPiece,
        max_length: int,
        pair: bool = False,
        storage: str = "float32",
    ) -> None:
        super().__init__(name="text_classifier")
        longest = model.bert.config["max_position_embeddings"]
        require(
            3 <= max_length <= longest,
            f"max_length is {max_length}; expected 3 to {longest}, the positions of the encoder",
            ExportError,
        )

        self.word_piece, self.max_length, self.pair = word_piece, max_length, pair
        self.label_names = list(model.label_names)
        self.known_words = KnownWords(word_piece.vocabulary, word_piece.unk_id)
        self.weights = StoredWeights(model, storage)
        names = golden.signatures({"text": {"pair": pair}})["serving_default"]
        self.serve = tf.function(
            self._classify,
            autograph=False,
            input_signature=[tf.TensorSpec([None], tf.string, n) for n in names],
        )

    def signatures(self) -> dict:
        """The signatures of the SavedModel, by name."""
        return {"serving_default": self.serve}

    def _classify(
        self, text: tf.Tensor, text_pair: tf.Tensor | None = None
    ) -> dict[str, tf.Tensor]:
        """Labels texts (B,), or pairs of texts, with the probability of every label in the order of
        `labels`."""
        pieces, pair = self.word_piece.tokenize(text), None
        if text_pair is not None:
            tf.debugging.assert_equal(
                tf.shape(text_pair), tf.shape(text), "text_pair: expected one for each text"
            )
            pair = self.word_piece.tokenize(text_pair)

        rows = pack(pieces, self.max_length, self.word_piece.cls_id, self.word_piece.sep_id, pair)
        probability = self._probabilities(rows)
        labels = tf.constant(self.label_names)
        cut, total = rows["pieces_cut"], pieces.row_lengths()
        known = self._known(pieces)

        if pair is not None:
            cut, total = cut + rows["pair_pieces_cut"], total + pair.row_lengths()
            known = tf.minimum(known, self._known(pair))

        return {
            "label": tf.gather(labels, tf.argmax(probability, axis=1)),
            "probability": probability,
            "labels": tf.tile(labels[tf.newaxis], [tf.size(text), 1]),
            "coverage": 1.0 - tf.cast(cut, tf.float32) / tf.cast(tf.maximum(total, 1), tf.float32),
            "known": known,
        }

    def _known(self, pieces: tf.RaggedTensor) -> tf.Tensor:
        """The share of each text's words that the vocabulary holds: float32 (B,)."""
        texts = pieces.nrows(tf.int32)
        return self.known_words.shares(pieces, Rows(tf.range(texts), texts))["known"]

    def _probabilities(self, packed: dict) -> tf.Tensor:
        """The probabilities of packed rows, those of like length together: float32 (B, C)."""
        lengths = tf.math.count_nonzero(packed["mask"], axis=1, dtype=tf.int32)
        order = tf.argsort(lengths, stable=True)
        group = TOKENS_AT_ONCE // tf.reduce_max(tf.concat([lengths, [2]], 0))
        values = self.weights.read()

        def score(rows: tf.Tensor) -> list[tf.Tensor]:
            longest = tf.reduce_max(tf.gather(lengths, rows))
            given = {
                name: tf.gather(packed[name], rows)[:, :longest]
                for name in ("token_ids", "segment_ids")
            }
            with self.weights.model(values) as model:
                return [tf.nn.softmax(model(given, training=False))]

        (found,) = in_groups(
            score, order, group, [tf.TensorSpec([None, len(self.label_names)], tf.float32)]
        )
        return tf.gather(found, tf.argsort(order, stable=True))
