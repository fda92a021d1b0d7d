"""What is kept of texts that were read, so that they can be asked again without another pass."""

import tensorflow as tf

from tfsum.request import DOCUMENT_SEPARATOR
from tfsum.tasks.bert_sum_ext.read_once import OF_PIECES, OF_SENTENCES
from tfsum.tasks.bert_sum_ext.reading import Read
from tfsum.text.rows import Rows


def reading_outputs(read: Read, embeddings: tf.Tensor | None) -> dict[str, tf.Tensor]:
    """Texts (B,) that were read, as outputs of a signature.

    Args:
        read: The texts.
        embeddings: The embeddings of their sentences, (N, W); None where the model has none.

    Returns:
        Of each sentence (B, S): its first byte `start` and the byte after it `end`, its `score` and
        `logit`, the number of its `document` in the text, the number of its `pieces`, and
        `embedding` (B, S, W). Of all word pieces (B, P): `piece`, and `rate` (B, P, 2), what a word
        head expects. `sentences` (B,), joined by `DOCUMENT_SEPARATOR`, since a host takes a while
        to hand over thousands of strings; their `count` (B,), and what every answer says of its
        text. Rows are padded.
    """
    rows = Rows.of(read.per_text(read.start))
    document = tf.cast(read.documents.owner, tf.int32)
    first = -rows.max(-document)
    lengths = read.pieces.row_lengths()

    found = read.scores() | {
        "sentences": tf.strings.reduce_join(
            read.per_text(read.sentences), -1, separator=DOCUMENT_SEPARATOR
        ),
        "logit": read.per_text(read.logits).to_tensor(0.0),
        "document": read.per_text(document - rows.to_values(first)).to_tensor(0),
        "pieces": read.per_text(tf.cast(lengths, tf.int32)).to_tensor(0),
    }
    if embeddings is not None:
        found["embedding"] = read.per_text(embeddings).to_tensor(0.0)

    def of_pieces(values: tf.Tensor) -> tf.Tensor:
        ragged = tf.RaggedTensor.from_row_lengths(values, rows.sum(lengths), validate=False)
        return ragged.to_tensor()

    found["piece"] = of_pieces(read.pieces.flat_values)
    if read.rates is not None:
        found["rate"] = of_pieces(read.rates)
    return found


def read_again(outputs: dict[str, tf.Tensor]) -> tuple[Read, tf.Tensor | None]:
    """The inverse of `reading_outputs`: the texts, without the vectors that the head reads, and the
    embeddings of their sentences.

    Args:
        outputs: Its result.
    """
    count = outputs["count"]
    sentences = {
        name: tf.RaggedTensor.from_tensor(outputs[name], tf.cast(count, tf.int64)).flat_values
        for name in OF_SENTENCES
        if name in outputs
    }
    sentence = tf.strings.split(outputs["sentences"], DOCUMENT_SEPARATOR).flat_values
    sentence = tf.boolean_mask(sentence, sentence != "")  # that of a text without any
    rows = Rows.of(tf.RaggedTensor.from_tensor(outputs["document"], tf.cast(count, tf.int64)))
    lengths = tf.cast(sentences["pieces"], tf.int64)
    pieces = {
        name: tf.RaggedTensor.from_tensor(outputs[name], rows.sum(lengths)).flat_values
        for name in OF_PIECES
        if name in outputs
    }

    told = tf.reduce_sum(lengths), tf.reduce_sum(tf.cast(count, tf.int64))
    for size, values in zip(told, (pieces["piece"], sentence), strict=True):
        tf.debugging.assert_equal(size, tf.size(values, tf.int64), "not what `read` returned")

    # (B,) documents of each text
    number = tf.maximum(rows.max(sentences["document"]) + 1, 0)
    before = tf.cumsum(number, exclusive=True)
    owner = sentences["document"] + rows.to_values(before)
    read = Read(
        sentence,
        tf.RaggedTensor.from_row_lengths(pieces["piece"], lengths, validate=False),
        sentences["start"],
        sentences["end"],
        tf.zeros([tf.size(owner), 0]),
        sentences["logit"],
        pieces.get("rate"),
        Rows(tf.cast(owner, tf.int64), tf.cast(tf.reduce_sum(number), tf.int64)),
        count,
        {
            name: value
            for name, value in outputs.items()
            if name not in (*OF_SENTENCES, *OF_PIECES, "sentences", "count")
        },
    )
    return read, sentences.get("embedding")
