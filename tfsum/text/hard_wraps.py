r"""What new lines mean: recognizes hard-wrapped texts in the graph by the widths of their lines.

A program that wraps text ends a line where the next word does not fit. So in wrapped text every
line, but the last of a paragraph, would be too long with the first word of the line that follows
it; of lines that are sentences, items or verses few are. The widest line says how long is too long;
a line's indentation counts, since programs wrap at a column. Who wraps by hand leaves more room:
there most lines are nearly as wide as the widest, end in no sentence's end, and the next one begins
with a small letter.
"""

import tensorflow as tf

from tfsum.text.rows import Rows, after

# a line may end after each
IDEOGRAPH = r"[\p{Han}\p{Hiragana}\p{Katakana}\x{3000}-\x{303F}\x{FF00}-\x{FF60}]"
WIDE = rf"(?:{IDEOGRAPH}|\p{{Hangul}})"  # two columns each
# columns of a line; what is wider was not wrapped for a screen or for mail
NARROWEST, WIDEST = 40, 120
FULL = 0.7  # share of the lines, the widest aside, that must be full
OPEN_ENDED = 0.5  # share of the lines that must not end a sentence
NARROW = 0.8  # share of the lines that must be no wider than WIDEST
# of the widest line: what ends a paragraph, such as a greeting, is no evidence if another follows
SHORT = 0.5
EVIDENCE = 0.5  # share of the lines that must be left then
BY_HAND = 0.7  # of the widest line: what may be wrapped by hand
GOES_ON = 0.4  # share of the lines that must be followed by a small letter then
OUTLIERS = 20  # one in so many lines may be wider than the wrap
TAB = 8  # columns
_END = r"(?s:.*)[.!?…。！？][\"'”’»)\]」』]*\s*"
# or an option; letters from I on are initials, and so are those before an abbreviation
_ITEM = (
    r"\s*(?:(?:[-*•–—·‣]|\((?:\d{1,3}|[A-Za-z]|[ivx]{1,4})\)|(?:\d{1,2}|[A-Ha-z]|[ivx]{1,4})[.)])\s"
    r"|--?[A-Za-z])(?s:.*)"
)
_INITIAL = r"\s*(?:[A-H]\.\s(?:[A-Z][a-z]{0,5}\.|§)|v\.\s[A-Z])(?s:.*)"
_BEFORE = r"(?s:.*)(?:[¶§№]|\b[A-Z]\.)"  # what goes on with a number, or an initial
_BROKEN = r"(?s:.*)\p{L}[-\x{2010}\x{AD}]"  # a word
_FIELD = r"[A-Z][A-Za-z-]{1,15}:\s(?s:.*)"  # of a mail's header
_FIRST_WORD = rf"^({IDEOGRAPH}|[^\s]+)(?s:.*)$"


def join_hard_wraps(text: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    r"""Replaces the new lines that only break a line by spaces.

    Args:
        text: Texts in UTF-8, (B,) string.

    Returns:
        The texts (B,), each with as many bytes as before, and bool (B,): which of them are
        hard-wrapped. The others are unchanged. In a hard-wrapped text the last line of a paragraph,
        short lines (headings, signatures) and those before an item of a list keep their new lines.

    Example:
        >>> words = "The bridge was closed on Monday, since engineers found cracks in it."
        >>> import textwrap
        >>> texts = [textwrap.fill(words, 60), "One line.\nAnother line."]
        >>> joined, wrapped = join_hard_wraps(tf.constant(texts))
        >>> wrapped.numpy().tolist(), joined[0].numpy().decode() == words
        ([True, False], True)
    """
    # (L,) of all lines: text, text without white space around it, whether it is the text's last
    lines = tf.strings.split(text, "\n")
    line, texts = lines.flat_values, Rows.of(lines)
    bare = tf.strings.regex_replace(line, r"^\s+|\s+$", "")
    last = after(~texts.continues(), True)

    word = tf.strings.regex_replace(bare, _FIRST_WORD, r"\1")
    shown = tf.strings.regex_replace(line, r"\s+$", "")
    shown = tf.strings.regex_replace(shown, r"\t", " " * TAB)
    full, wrapped = _full_lines(lines, bare, last, shown, word)
    # Most programs count characters, some the columns of a screen.
    shown, word = (tf.strings.regex_replace(each, WIDE, "xx") for each in (shown, word))
    full_columns, wrapped_columns = _full_lines(lines, bare, last, shown, word)
    full_columns &= texts.to_values(wrapped_columns)
    joined = tf.where(texts.to_values(wrapped), full, full_columns)
    wrapped |= wrapped_columns

    parts = tf.where(joined, tf.strings.regex_replace(line, r"\r$", " "), line)
    ends = tf.where(joined, " ", tf.where(last, "", "\n"))
    whole = tf.strings.reduce_join(lines.with_flat_values(tf.strings.join([parts, ends])), axis=-1)
    return tf.where(wrapped, whole, text), wrapped


def _full_lines(
    lines: tf.RaggedTensor, bare: tf.Tensor, last: tf.Tensor, shown: tf.Tensor, word: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Tells the lines that would be too long with the next word, and the hard-wrapped texts.

    Args:
        lines: Lines of the texts, (B, L) string.
        bare: Lines without white space around them, (N,) string, N the lines of all texts.
        last: Whether a line is the last of its text, (N,) bool.
        shown: Each line with its indentation, as wide as it is shown, (N,) string.
        word: The first word of each line, likewise, (N,) string.

    Returns:
        bool (N,) and bool (B,).
    """
    texts = Rows.of(lines)
    count = texts.count_of
    width = tf.strings.length(shown, "UTF8_CHAR")
    next_word = after(tf.strings.length(word, "UTF8_CHAR"), 0)

    def matches(pattern: str) -> tf.Tensor:
        return tf.strings.regex_full_match(bare, pattern)

    # (N,) lines that a wrap may have ended
    begins = (matches(_ITEM) & ~matches(_INITIAL)) | matches(_FIELD)
    begins_next = after(begins, False) & ~matches(_BEFORE)
    followed = ~last & (width > 0) & (next_word > 0) & ~begins_next
    inner = followed & (width <= WIDEST) & matches(rf"(?s:.*)(?:\s|{WIDE})(?s:.*)")
    open_ended = inner & ~matches(_END)

    # (N,) those that are full, and how wide they are beside the widest
    lengths = count(inner)
    widest = _widest(tf.where(inner, width, 0), lines, lengths)
    widest_line = texts.to_values(widest)
    full = inner & (width + 1 + next_word > widest_line)
    next_is_small = after(matches(r"\p{Ll}(?s:.*)"), False)
    share = tf.cast(width, tf.float32) / tf.maximum(tf.cast(widest_line, tf.float32), 1.0)

    # (N,) lines that are evidence; (B,) texts wrapped by a program, or by hand
    judged = inner & ((share >= SHORT) | next_is_small)
    judged &= texts.to_values(count(judged) >= EVIDENCE * lengths)
    number = count(judged)
    by_program = count(full & judged) - 1.0 >= FULL * (number - 1.0)
    by_program &= count(open_ended & judged) >= OPEN_ENDED * number
    nearly = judged & (share >= BY_HAND)
    by_hand = (
        (number > 2.5)
        & (count(nearly) >= FULL * number)
        & (count(open_ended & next_is_small) >= GOES_ON * number)
        & (count(open_ended & judged) >= FULL * number)
    )

    alone = count(open_ended & next_is_small) > 0  # where one line is all there is to judge by
    narrow = (lengths >= NARROW * count(followed)) & (widest >= NARROWEST)
    next_is_indented = after(tf.strings.regex_full_match(shown, r" +\p{Ll}(?s:.*)"), False)
    goes_on = open_ended & (next_is_indented | (next_is_small & matches(_BROKEN)))
    joined = full | goes_on | (nearly & open_ended & texts.to_values(by_hand))
    return joined, narrow & tf.where(number > 1.5, by_program | by_hand, alone)


def _widest(width: tf.Tensor, lines: tf.RaggedTensor, lengths: tf.Tensor) -> tf.Tensor:
    """The width (B,) int32 that only one in `OUTLIERS` of a text's lines exceeds."""
    rows = Rows.of(lines).owner * (WIDEST + 1)
    widths = rows - tf.sort(rows - tf.cast(width, tf.int64))  # of each text the widest first
    place = lines.row_splits[:-1] + tf.cast(lengths, tf.int64) // OUTLIERS
    return tf.cast(tf.gather(widths, place), tf.int32)
