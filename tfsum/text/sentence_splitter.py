r"""Sentence boundaries inside the graph: byte-exact, linear, of core TensorFlow ops alone.

A fixed sequence of regular-expression replacements (`tfsum.text.splitting_rules`) writes 1-byte
marks into the text where a sentence may begin and removes those where none does; the text is split
at the marks that stay. A mark is no byte of a piece, so the lengths of the pieces are the text's
own and their running sum gives the offsets.
"""

from collections.abc import Sequence

import tensorflow as tf

from tfsum.errors import require
from tfsum.text.hard_wraps import join_hard_wraps
from tfsum.text.rows import Rows, repeat
from tfsum.text.splitting_rules import (
    BEGIN,
    MAYBE,
    SPACE,
    Rule,
    load_passes,
    load_patterns,
    load_rules,
)

# replaces the mark bytes that the text itself holds, while boundaries are looked for
STAND_IN = "\x03"
# a text in lower case all through, where case is no sign
NO_CAPITALS = r"[^\p{Lu}]*\p{Ll}[^\p{Lu}]*"

LETTERS_A_MARK = 500  # from so many bytes for each end mark on, a text counts as unpunctuated
SHORTEST, LONGEST = 12, 40  # words of a piece
_NO_MARK = r"[^.!?…。！？।؟]+|[.!?…。！？।؟][\d.]+"  # also of a number
_IDEOGRAPHIC = r"[\p{Han}\p{Hiragana}\p{Katakana}。！？｡]"
NEWLINES = ("auto", "line", "sentence", "paragraph", "space")


def _replace(text: tf.Tensor, rules: tuple[Rule, ...]) -> tf.Tensor:
    for rule in rules:
        for _ in range(rule.times):
            text = tf.strings.regex_replace(text, rule.pattern, rule.rewrite)
    return text


def _replace_where(text: tf.Tensor, letter: str, stage: str) -> tf.Tensor:
    """Applies rules that change only texts with one of the letters, if there is such a text."""
    has_letter = tf.reduce_any(tf.strings.regex_full_match(text, rf"(?s:.*){letter}(?s:.*)"))
    return tf.cond(has_letter, lambda: _replace(text, load_passes(stage)), lambda: text)


def _mark_lists(text: tf.Tensor) -> tf.Tensor:
    """Marks the items of lists in one line; only in lines that begin with a first item."""
    rules = load_rules()["lists"]

    def mark() -> tf.Tensor:
        lines = tf.strings.split(text, "\n")
        flat = lines.flat_values
        for rule in rules:
            is_list = tf.strings.regex_full_match(flat, rule.line)
            flat = tf.where(is_list, _replace(tf.where(is_list, flat, ""), (rule,)), flat)
        return tf.strings.reduce_join(lines.with_flat_values(flat), axis=-1, separator="\n")

    first_items = "|".join(rule.line for rule in rules)
    with_list = rf"(?:(?s:.*)\n)?(?:{first_items})(?:\n(?s:.*))?"
    return tf.cond(tf.reduce_any(tf.strings.regex_full_match(text, with_list)), mark, lambda: text)


def _mark_by_case(text: tf.Tensor) -> tf.Tensor:
    """Removes marks before lower-case letters, but not in texts that have no capital at all."""
    lower = tf.strings.regex_full_match(text, NO_CAPITALS)
    # no work on what the other rules decide
    cased = _replace(tf.where(lower, "", text), load_passes("cased"))
    return tf.cond(
        tf.reduce_any(lower),
        lambda: tf.where(lower, _replace(text, load_passes("uncased")), cased),
        lambda: cased,
    )


def _mark(text: tf.Tensor, newline: str) -> tf.Tensor:
    """Writes `BEGIN` into the texts (B,) wherever a sentence begins."""
    if newline == "line":
        return _replace(text, load_passes("newline_sentence"))

    text = _replace_where(_replace(text, load_passes("propose")), _IDEOGRAPHIC, "ideographic")
    text = _replace_where(text, r"\p{Hangul}", "korean")
    text = _mark_by_case(_replace(text, load_passes("tidy")))
    text = _mark_lists(_replace(text, load_passes("withdraw")))
    # a new line that is only a space has no rules
    return _replace(text, load_passes("decide") + load_passes(f"newline_{newline}"))


def split_unpunctuated(text: tf.Tensor, begin: str) -> tuple[tf.Tensor, tf.Tensor]:
    """Marks where the pieces of unpunctuated texts begin.

    Args:
        text: Texts in which sentences are marked already, (B,) string.
        begin: Mark of one byte.

    Returns:
        The texts (B,) with more marks, those with punctuation unchanged; and bool (B,): which have
        none.

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
    conjunction = (
        rf"((?:{word}){{{SHORTEST},{LONGEST}}}?)((?i:{load_patterns()['conjunctions']})\s)"
    )

    def cut() -> tf.Tensor:
        pieces = tf.where(unpunctuated, text, "")
        pieces = tf.strings.regex_replace(pieces, conjunction, rf"\1{begin}\2")
        pieces = tf.strings.regex_replace(pieces, rf"((?:{word}){{{LONGEST}}})", rf"\1{begin}")
        return tf.where(unpunctuated, pieces, text)

    return tf.cond(tf.reduce_any(unpunctuated), cut, lambda: text), unpunctuated


def _cut(text: tf.Tensor, pieces: tf.RaggedTensor) -> tf.Tensor:
    """Cuts `text` (B,) into the lengths of `pieces`, for the rare text that holds mark bytes."""
    letters = tf.strings.bytes_split(text).flat_values
    owner = repeat(tf.range(tf.size(pieces.flat_values)), tf.strings.length(pieces.flat_values))
    return tf.strings.unsorted_segment_join(letters, owner, tf.size(pieces.flat_values))


class SentenceSplitter(tf.Module):
    """Cuts texts into sentences with exact byte offsets.

    Works eagerly, in `tf.data` and in an exported graph. Every byte that is no white space belongs
    to exactly one sentence; a text has the same sentences alone and in any batch. Very long
    sentences are not cut here.

    Args:
        newline: What ends a sentence besides its marks: "sentence" (a new line), "paragraph" (a
            blank line), "space" (neither), or "auto": a new line, but in hard-wrapped texts not one
            that only breaks a line, see `tfsum.text.hard_wraps`; and texts without punctuation are
            split too, see `split_unpunctuated`. With "line" a new line alone ends a sentence,
            and marks do not: for texts with a sentence a line.

    Raises:
        tfsum.Error: `newline` is none of the five.

    Example:
        >>> splitter = SentenceSplitter()
        >>> splitter.split(["It rained. We met Mr. Smith."])["sentences"].to_list()
        [[b'It rained.', b'We met Mr. Smith.']]
    """

    def __init__(self, newline: str = "sentence") -> None:
        super().__init__(name="sentence_splitter")
        require(
            newline in NEWLINES,
            f"SentenceSplitter: newline is {newline!r}; expected one of"
            f" {', '.join(map(repr, NEWLINES))}.",
        )
        self.newline = newline

    def split(
        self, text: tf.Tensor | Sequence[str | bytes]
    ) -> dict[str, tf.RaggedTensor | tf.Tensor]:
        """Splits each text into its sentences.

        Args:
            text: Texts in UTF-8, (B,) strings; invalid bytes are kept as they are.

        Returns:
            A dictionary of ragged tensors (B, S): `sentences` string, `start` and `end` int32,
            offsets into the text in bytes. With newline "auto" also bool (B,): `wrapped`, the texts
            that are hard-wrapped, and `unpunctuated`, those with hardly any full stop.

        Raises:
            tfsum.Error: `text` is not a vector of strings.

        Example:
            >>> out = SentenceSplitter().split(["It rained. We stayed.", ""])
            >>> out["start"].to_list(), out["end"].to_list()
            ([[0, 11], []], [[10, 21], []])
        """
        text = tf.convert_to_tensor(
            text, tf.string if isinstance(text, list) and not text else None
        )
        require(
            text.dtype == tf.string and text.shape.rank == 1,
            f"SentenceSplitter.split: text is {text.dtype.name} of shape {text.shape}; expected"
            " strings of shape (B,). Put a single text into a list.",
        )
        return self._split(text)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")], autograph=False)
    def _split(self, text: tf.Tensor) -> dict[str, tf.RaggedTensor | tf.Tensor]:
        clean = tf.strings.regex_replace(text, f"[{BEGIN}{MAYBE}]", STAND_IN)

        decided = {}
        if self.newline == "auto":
            clean, decided["wrapped"] = join_hard_wraps(clean)
            marked, decided["unpunctuated"] = split_unpunctuated(_mark(clean, "sentence"), BEGIN)
        else:
            marked = _mark(clean, self.newline)
        pieces = tf.strings.split(marked, BEGIN)
        flat = tf.cond(
            tf.reduce_any(tf.not_equal(clean, text)),
            lambda: _cut(text, pieces),
            lambda: pieces.flat_values,
        )

        # (P,) for all pieces: bytes, those of white space before the sentence, the sentence
        size = tf.strings.length(flat)
        sentence = tf.strings.regex_replace(flat, rf"^{SPACE}+", "")
        lead = size - tf.strings.length(sentence)
        sentence = tf.strings.regex_replace(sentence, rf"{SPACE}+$", "")
        length = tf.strings.length(sentence)

        # (P,) offset of each piece in its text; only those with a sentence are returned
        texts, is_sentence = Rows.of(pieces), length > 0
        start = tf.cast(texts.sums_before(tf.cast(size, tf.int64)), tf.int32) + lead
        rows = Rows(tf.boolean_mask(texts.owner, is_sentence), texts.count)
        columns = {"sentences": sentence, "start": start, "end": start + length}
        return decided | {
            name: rows.ragged(tf.boolean_mask(values, is_sentence))
            for name, values in columns.items()
        }
