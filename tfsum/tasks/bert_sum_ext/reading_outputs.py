"""What is kept of texts that were read, so that they can be asked again without another pass."""

from collections.abc import Callable

import tensorflow as tf

from tfsum.request import DOCUMENT_SEPARATOR
from tfsum.tasks.bert_sum_ext.read import Read
from tfsum.tasks.bert_sum_ext.read_once import OF_PARTS, OF_SENTENCES
from tfsum.text.rows import Rows, repeat
from tfsum.text.selection import Traits

ABOUT = ("coverage", "known", "frequent", "newline", "unpunctuated")  # what every answer says


def reading_outputs(read: Read, embeddings: tf.Tensor | None) -> dict[str, tf.Tensor]:
    """Texts (B,) that were read, as outputs of a signature.

    Args:
        read: The texts.
        embeddings: The embeddings of their sentences, (N, W); None where the model has none.

    Returns:
        Of each sentence (B, S): its first byte `start` and the byte after it `end`, its `score` and
        `logit`, the number of its `document` in the text, the number of its `pieces`,
        `embedding` (B, S, W), the bytes of its `dateline`, its `costs` (B, S, 3) for a limit,
        whether it is an `anaphor`, `may_be_chosen` and is `english`, and the number of sentences
        that have its `names` in full. Of all word pieces (B, P): `piece`, and `rate` (B, P, 2),
        what a word head expects. The sentences (B, E) with the names in full: `name`.
        `sentences` (B,), joined by `DOCUMENT_SEPARATOR`, since a host takes a while to hand over
        thousands of strings; their `count` (B,), and what every answer says of its text. Rows are
        padded.
    """
    rows = Rows.of(read.per_text(read.start))
    document = tf.cast(read.documents.owner, tf.int32)
    first = -rows.max(-document)
    sentence, named = tf.unstack(read.traits.names, axis=1)
    names = Rows(sentence, tf.size(document, tf.int64)).sum(tf.ones_like(sentence, tf.int32))
    lengths = tf.cast(read.pieces.row_lengths(), tf.int32)

    of_sentences = {
        "logit": read.logits,
        "document": document - rows.to_values(first),
        "pieces": lengths,
        "dateline": read.dateline,
        "costs": read.costs,
        "anaphor": read.anaphor,
        "may_be_chosen": read.traits.may_be_chosen,
        "english": read.traits.english,
        "names": names,
    }
    if embeddings is not None:
        of_sentences["embedding"] = embeddings
    found = {name: read.per_text(values).to_tensor() for name, values in of_sentences.items()}

    def of_parts(values: tf.Tensor, numbers: tf.Tensor) -> tf.Tensor:
        numbers = rows.sum(tf.cast(numbers, tf.int64))
        return tf.RaggedTensor.from_row_lengths(values, numbers, validate=False).to_tensor()

    found["piece"] = of_parts(read.pieces.flat_values, lengths)
    if read.rates is not None:
        found["rate"] = of_parts(read.rates, lengths)
    begin = tf.gather(rows.to_values(rows.first()), sentence)
    found["name"] = of_parts(tf.cast(named - begin, tf.int32), names)
    return {
        **read.scores(),
        **found,
        "sentences": tf.strings.reduce_join(
            read.per_text(read.sentences), -1, separator=DOCUMENT_SEPARATOR
        ),
    }


def read_again(outputs: dict[str, tf.Tensor]) -> tuple[Read, Callable[[], tf.Tensor]]:
    """The inverse of `reading_outputs`: the texts, and the embeddings of their sentences where they
    are asked for.

    Args:
        outputs: Its result.
    """
    count = outputs["count"]

    def flat(name: str, lengths: tf.Tensor) -> tf.Tensor:
        return tf.RaggedTensor.from_tensor(outputs[name], tf.cast(lengths, tf.int64)).flat_values

    sentences = {
        name: flat(name, count) for name in OF_SENTENCES if name in outputs and name != "embedding"
    }
    sentence = tf.strings.split(outputs["sentences"], DOCUMENT_SEPARATOR).flat_values
    sentence = tf.boolean_mask(sentence, sentence != "")  # that of a text without any
    rows = Rows.of(tf.RaggedTensor.from_tensor(outputs["document"], tf.cast(count, tf.int64)))
    parts = {
        name: flat(name, rows.sum(sentences[of]))
        for of, names in OF_PARTS.items()
        for name in names
        if name in outputs
    }
    lengths = tf.cast(sentences["pieces"], tf.int64)

    told = tf.reduce_sum(lengths), tf.reduce_sum(tf.cast(count, tf.int64))
    for size, values in zip(told, (parts["piece"], sentence), strict=True):
        tf.debugging.assert_equal(size, tf.size(values, tf.int64), "not what `read` returned")

    # (B,) documents of each text
    number = tf.maximum(rows.max(sentences["document"]) + 1, 0)
    before = tf.cumsum(number, exclusive=True)
    owner = sentences["document"] + rows.to_values(before)
    # (E,) sentences with a name alone
    naming = repeat(rows.places(), sentences["names"])
    named = tf.gather(rows.to_values(rows.first()), naming) + tf.cast(parts["name"], tf.int64)
    read = Read(
        sentence,
        tf.RaggedTensor.from_row_lengths(parts["piece"], lengths, validate=False),
        sentences["start"],
        sentences["end"],
        sentences["dateline"],
        sentences["costs"],
        sentences["anaphor"],
        Traits(sentences["may_be_chosen"], sentences["english"], tf.stack([naming, named], axis=1)),
        sentences["logit"],
        parts.get("rate"),
        Rows(tf.cast(owner, tf.int64), tf.cast(tf.reduce_sum(number), tf.int64)),
        count,
        _about(outputs),
    )
    return read, lambda: flat("embedding", count)


def _about(outputs: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    """What every answer says of its text."""
    return {name: outputs[name] for name in ABOUT if name in outputs}
