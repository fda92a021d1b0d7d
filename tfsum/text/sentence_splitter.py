r"""Sentence boundaries inside the graph: byte-exact, linear in the text, of core TensorFlow ops alone.

A fixed sequence of regular-expression replacements (`tfsum.text.splitting_rules`) writes 1-byte marks into the text
where a sentence may begin and removes those where none does; the text is split at the marks that stay. A mark is no
byte of a piece, so the lengths of the pieces are the text's own and their running sum gives the offsets.
"""

from collections.abc import Sequence

import tensorflow as tf

from tfsum.errors import Error
from tfsum.text.hard_wraps import join_hard_wraps
from tfsum.text.repeat import repeat
from tfsum.text.splitting_rules import NEWLINES, RULES, Rule
from tfsum.text.splitting_words import BEGIN, IDEOGRAPHIC, MAYBE, SPACE
from tfsum.text.transcripts import split_unpunctuated

STAND_IN = (
    "\x03"  # replaces the mark bytes that the text itself holds, while boundaries are looked for
)
NO_CAPITALS = (
    r"[^\p{Lu}]*\p{Ll}[^\p{Lu}]*"  # a text in lower case all through, where case is no sign
)


def _replace(text: tf.Tensor, rules: tuple[Rule, ...]) -> tf.Tensor:
    for rule in rules:
        for _ in range(rule.times):
            text = tf.strings.regex_replace(text, rule.pattern, rule.rewrite)
    return text


def _replace_where(text: tf.Tensor, letter: str, rules: tuple[Rule, ...]) -> tf.Tensor:
    """Applies the rules if a text holds one of the letters; they must not change texts that hold none."""
    found = tf.reduce_any(tf.strings.regex_full_match(text, rf"(?s:.*){letter}(?s:.*)"))
    return tf.cond(found, lambda: _replace(text, rules), lambda: text)


def _has_list() -> str:
    """The pattern of a text with a line that holds a list."""
    lines = "|".join(rule.line for rule in RULES["lists"])
    return rf"(?:(?s:.*)\n)?(?:{lines})(?:\n(?s:.*))?"


def _mark_lists(text: tf.Tensor) -> tf.Tensor:
    """Marks the items of lists in one line; only in lines that begin with a first item."""
    lines = tf.strings.split(text, "\n")
    flat = lines.flat_values
    for rule in RULES["lists"]:
        is_list = tf.strings.regex_full_match(flat, rule.line)
        flat = tf.where(is_list, _replace(flat, (rule,)), flat)
    return tf.strings.reduce_join(lines.with_flat_values(flat), axis=-1, separator="\n")


def _mark_by_case(text: tf.Tensor) -> tf.Tensor:
    """Removes marks before lower-case letters, but not in texts that have no capital at all."""
    lower = tf.strings.regex_full_match(text, NO_CAPITALS)
    cased = _replace(
        tf.where(lower, "", text), RULES["cased"]
    )  # no work on what the other rules decide
    of_lower = lambda: tf.where(lower, _replace(text, RULES["uncased"]), cased)  # noqa: E731
    return tf.cond(tf.reduce_any(lower), of_lower, lambda: cased)


def _mark(text: tf.Tensor, newline: str) -> tf.Tensor:
    """Writes `BEGIN` into the texts (B,) wherever a sentence begins."""
    if newline == "line":
        return _replace(text, NEWLINES["sentence"])
    return _replace(_mark_by_rules(text), NEWLINES[newline])


def _mark_by_rules(text: tf.Tensor) -> tf.Tensor:
    """Writes `BEGIN` wherever a sentence begins within a line."""
    text = _replace(text, RULES["propose"])
    text = _replace_where(text, IDEOGRAPHIC, RULES["ideographic"])
    text = _replace_where(text, r"\p{Hangul}", RULES["korean"])
    text = _replace(_mark_by_case(_replace(text, RULES["tidy"])), RULES["withdraw"])
    listed = tf.reduce_any(tf.strings.regex_full_match(text, _has_list()))
    text = tf.cond(listed, lambda: _mark_lists(text), lambda: text)
    return _replace(text, RULES["decide"])


def _cut(text: tf.Tensor, pieces: tf.RaggedTensor) -> tf.Tensor:
    """Cuts `text` (B,) into the lengths of `pieces` byte by byte: for the rare text that holds mark bytes."""
    letters = tf.strings.bytes_split(text).flat_values
    owner = repeat(tf.range(tf.size(pieces.flat_values)), tf.strings.length(pieces.flat_values))
    return tf.strings.unsorted_segment_join(letters, owner, tf.size(pieces.flat_values))


class SentenceSplitter(tf.Module):
    """Cuts texts into sentences with exact byte offsets: eagerly, in `tf.data` and in an exported graph.

    Every byte that is no white space belongs to exactly one sentence; a text has the same sentences alone and
    in any batch. Very long sentences are not cut here.

    Args:
        newline: What ends a sentence besides its marks: "sentence" (a new line), "paragraph" (a blank line), "space"
            (neither), or "auto": a new line, but in hard-wrapped texts not one that only breaks a line, see
            `tfsum.text.hard_wraps`; and texts without punctuation are split too, see `tfsum.text.transcripts`. With
            "line" a new line alone ends a sentence, and marks do not: for texts with a sentence a line.

    Raises:
        tfsum.Error: `newline` is none of the five.

    Example:
        >>> splitter = SentenceSplitter()
        >>> splitter.split(["It rained. We met Mr. Smith."])["sentences"].to_list()
        [[b'It rained.', b'We met Mr. Smith.']]
    """

    def __init__(self, newline: str = "sentence") -> None:
        super().__init__(name="sentence_splitter")
        if newline not in ("auto", "line", *NEWLINES):
            wanted = ", ".join(map(repr, ("auto", "line", *NEWLINES)))
            raise Error(f"SentenceSplitter: newline is {newline!r}; expected one of {wanted}.")
        self.newline = newline

    def split(
        self, text: tf.Tensor | Sequence[str | bytes]
    ) -> dict[str, tf.RaggedTensor | tf.Tensor]:
        """Splits each text into its sentences.

        Args:
            text: (B,) strings in UTF-8; invalid bytes are kept as they are.

        Returns:
            A dictionary of ragged tensors (B, S): `sentences` string, `start` and `end` int32, offsets into the text in
            bytes. With newline "auto" also bool (B,): `wrapped`, the texts that are hard-wrapped, and
            `unpunctuated`, those with hardly any full stop.

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
        if text.dtype != tf.string or text.shape.rank != 1:
            raise Error(
                f"SentenceSplitter.split: text is {text.dtype.name} of shape {text.shape}; expected "
                "strings of shape (B,). Put a single text into a list."
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
        changed = tf.reduce_any(tf.not_equal(clean, text))
        flat = tf.cond(changed, lambda: _cut(text, pieces), lambda: pieces.flat_values)
        size = tf.strings.length(flat)
        bare = tf.strings.regex_replace(flat, rf"^{SPACE}+", "")
        lead = size - tf.strings.length(bare)
        bare = tf.strings.regex_replace(bare, rf"{SPACE}+$", "")
        before = tf.concat([[0], tf.cumsum(tf.cast(size, tf.int64))], 0)
        first = tf.gather(before, tf.gather(pieces.row_splits, pieces.value_rowids()))
        start = tf.cast(before[:-1] - first, tf.int32) + lead
        keep = pieces.with_flat_values(tf.strings.length(bare) > 0)
        rows = lambda values: tf.ragged.boolean_mask(pieces.with_flat_values(values), keep)  # noqa: E731
        return {
            "sentences": rows(bare),
            "start": rows(start),
            "end": rows(start + tf.strings.length(bare)),
            **decided,
        }
