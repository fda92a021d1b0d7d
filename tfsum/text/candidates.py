"""Which pieces of a text may stand in a summary: no headings, labels, headers and quotes of mail, or rows of signs."""

import tensorflow as tf

from tfsum.text.repeat import row_ids

PUNCTUATED = 0.5  # share of a text's sentences that end with a mark, from which one without is taken for a heading
_END = r"(?s:.*)(?:[.!?…‽。！？｡．।؟。][\"'”’»)\]」』}]*|[.!?…]\s*\[[0-9, ]+\])"
_NO_LETTER = r"[^\p{L}]*"
_HEADER = (
    r"(?:From|To|Cc|Bcc|Subject|Date|Sent|Reply-To|Message-I[Dd]|In-Reply-To|References|Received|Return-Path|"
    r"MIME-Version|Content-[A-Za-z-]+|X-[A-Za-z-]+|Von|An|Betreff|De|À|Objet|Para|Asunto|보낸사람|보낸 사람|"
    r"받는사람|받는 사람|제목|날짜|差出人|宛先|件名|日時|发件人|收件人|主题|日期) ?[:：](?s:.*)"
)
_QUOTE = r">(?s:.*)"
_LABEL = r"(?:\S+\s+){0,5}\S+ ?[:：]"  # "Ingredients:", "ANNA:"
_SHORT = r"(?:\S+\s+){0,8}\S+"  # up to nine words ...
_SHORT_WIDE = r"(?s:.{1,60})"  # ... and of letters without spaces as few


def may_be_chosen(texts: tf.RaggedTensor) -> tf.Tensor:
    """Tells sentences from what only stands between them.

    A piece without a letter, a header of mail, a line that it quotes and a label that ends with a colon are never
    chosen; a short piece without an end mark (a heading, a link, a signature) is not where most of the text's pieces
    have one. Of a text in which nothing would be left, everything may be chosen.

    Args:
        texts: (B, S) string, the sentences of each text, without white space at their ends.

    Returns:
        bool (number of all sentences,).

    Example:
        >>> texts = tf.ragged.constant(
        ...     [["ABSTRACT", "It rained.", "The river rose.", "-----"], ["only a line"]]
        ... )
        >>> may_be_chosen(texts).numpy().tolist()
        [False, True, True, False, True]
    """
    flat, owner, documents = texts.flat_values, row_ids(texts), texts.nrows()

    def matches(pattern: str) -> tf.Tensor:
        return tf.strings.regex_full_match(flat, pattern)

    def count(flags: tf.Tensor) -> tf.Tensor:
        return tf.gather(
            tf.math.unsorted_segment_sum(tf.cast(flags, tf.float32), owner, documents), owner
        )

    never = matches(_NO_LETTER) | matches(_HEADER) | matches(_QUOTE) | matches(_LABEL)
    ended = ~never & matches(_END)
    punctuated = count(ended) >= PUNCTUATED * count(~never)
    heading = punctuated & ~ended & matches(_SHORT) & matches(_SHORT_WIDE)
    chosen = ~(never | heading)
    return chosen | (count(chosen) <= 0.0)
