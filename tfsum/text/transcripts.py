r"""Texts with hardly any full stop, such as transcripts of speech, split by conjunctions and by length."""

import tensorflow as tf

LETTERS_A_MARK = 500  # from so many bytes for each end mark on, a text counts as unpunctuated
SHORTEST, LONGEST = 12, 40  # words of a piece
_NO_MARK = r"[^.!?…。！？।؟]+|[.!?…。！？।؟][\d.]+"  # also of a number
_CONJUNCTIONS = (
    "and|but|so|because|then|now|well|okay|ok|yeah|also|however|which|when|while|although|"
    "und|aber|denn|weil|dann|et|mais|donc|car|puis|y|pero|porque|entonces|luego|"
    "그리고|그런데|그래서|하지만|그러나|그러니까|근데"
)


def split_unpunctuated(text: tf.Tensor, begin: str) -> tuple[tf.Tensor, tf.Tensor]:
    """Marks where the pieces of unpunctuated texts begin.

    Args:
        text: (B,) string, in which sentences are marked already.
        begin: the mark.

    Returns:
        The texts (B,) with more marks, those with punctuation unchanged; and bool (B,): which have none.

    Example:
        >>> words = tf.constant([" ".join(["we went there and it was late"] * 30)])
        >>> marked, unpunctuated = split_unpunctuated(words, "|")
        >>> marked.numpy()[0].count(b"|") > 5, unpunctuated.numpy().tolist()
        (True, [True])
    """
    marks = tf.strings.length(tf.strings.regex_replace(text, _NO_MARK, ""), "UTF8_CHAR")
    unpunctuated = tf.strings.length(text) > LETTERS_A_MARK * (marks + 1)
    word = rf"[^\s{begin}]+[\s]+"
    # A match takes the conjunction, so the next piece is counted from the word after it.
    conjunction = rf"((?:{word}){{{SHORTEST},{LONGEST}}}?)((?i:{_CONJUNCTIONS})\s)"

    def cut() -> tf.Tensor:
        pieces = tf.strings.regex_replace(
            tf.where(unpunctuated, text, ""), conjunction, rf"\1{begin}\2"
        )
        pieces = tf.strings.regex_replace(pieces, rf"((?:{word}){{{LONGEST}}})", rf"\1{begin}")
        return tf.where(unpunctuated, pieces, text)

    return tf.cond(tf.reduce_any(unpunctuated), cut, lambda: text), unpunctuated
