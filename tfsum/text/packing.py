"""Inputs of BERT from word pieces: rows of one or two texts, and windows of whole sentences."""

import tensorflow as tf

from tfsum.errors import Error
from tfsum.text.rows import Rows, repeat


def pack(
    ids: tf.RaggedTensor, length: int, cls_id: int, sep_id: int, pair: tf.RaggedTensor | None = None
) -> dict[str, tf.Tensor]:
    """Lays out [CLS] ids [SEP], or [CLS] ids [SEP] pair [SEP], in rows of one length.

    What is too long is cut at the end, from the longer of the two texts first and from `pair` when
    they are equally long (`_truncate_seq_pair` of google-research/bert).

    Args:
        ids: Word pieces without special tokens, (B, P) int32.
        length: Tokens of a row, special tokens and padding included; at least 2, or 3 with a pair.
        cls_id: Id of [CLS].
        sep_id: Id of [SEP].
        pair: Word pieces of the second texts, (B, P) int32.

    Returns:
        `token_ids` (B, length) int32 padded with 0, `mask` (B, length) bool (True = real),
        `segment_ids` (B, length) int32 (1 for `pair` and its [SEP]), `pieces_cut` (B,) int32, and
        with a pair `pair_pieces_cut` (B,) int32.

    Raises:
        tfsum.Error: `length` leaves no room for the special tokens.

    Example:
        >>> out = pack(tf.ragged.constant([[7, 8, 9], [7]]), length=4, cls_id=1, sep_id=2)
        >>> out["token_ids"].numpy().tolist(), out["pieces_cut"].numpy().tolist()
        ([[1, 7, 8, 2], [1, 7, 2, 0]], [1, 0])
    """
    special = 2 + (pair is not None)
    if length < special:
        raise Error(
            f"pack: found length={length}, expected at least {special}, the special tokens alone"
        )
    room = length - special

    # (B,) pieces that are kept
    first = ids.row_lengths()
    keep = tf.minimum(first, room)
    if pair is not None:
        second = pair.row_lengths()
        keep = tf.minimum(first, tf.maximum(tf.cast(room - room // 2, tf.int64), room - second))
        keep_second = tf.minimum(second, room - keep)

    edge = tf.ones([ids.nrows(), 1], tf.int32)
    parts = [edge * cls_id, _take(ids, keep), edge * sep_id]
    cut = {"pieces_cut": tf.cast(first - keep, tf.int32)}
    if pair is not None:
        parts += [_take(pair, keep_second), edge * sep_id]
        cut["pair_pieces_cut"] = tf.cast(second - keep_second, tf.int32)

    # (B, length)
    rows = tf.concat(parts, axis=1)
    mask = tf.sequence_mask(rows.row_lengths(), length)
    in_first = tf.sequence_mask(keep + 2, length)
    return {
        "token_ids": rows.to_tensor(0, shape=[None, length]),
        "mask": mask,
        "segment_ids": tf.cast(mask & ~in_first, tf.int32),
        **cut,
    }


def pack_windows(
    pieces: tf.RaggedTensor,
    sentences_per_document: tf.Tensor,
    window_length: int,
    cls_id: int,
    sep_id: int,
) -> dict[str, tf.Tensor]:
    """Packs documents into windows of whole sentences: [CLS] s1 [SEP] [CLS] s2 [SEP] ...

    Source: Liu, "Fine-tune BERT for Extractive Summarization", 2019. A window takes the next
    sentence as long as it fits; no window holds two documents. A sentence that is longer than a
    window is cut to fit, and counted; an empty one is [CLS] [SEP].

    Args:
        pieces: Word pieces without special tokens, (N, P) int32: all sentences of the batch,
            document by document.
        sentences_per_document: Sentences of each document, (B,) integers that sum to N; 0 gives no
            window.
        window_length: Tokens that a window may hold; at least 3.
        cls_id: Id of [CLS].
        sep_id: Id of [SEP].

    Returns:
        `token_ids`, `segment_ids` (W, T) int32, T the longest window of the batch; `segment_ids`
        are the place of the sentence in its window mod 2. `sentence_starts` (W, S) int32, positions
        of [CLS], -1 beyond the last. `windows_per_document` (B,), `window_of_sentence`,
        `place_in_window`, `pieces_cut` (N,) int32.

    Raises:
        tfsum.Error: `window_length` has no room for a piece.

    Example:
        >>> sentences = tf.ragged.constant([[7], [8], [9]])
        >>> out = pack_windows(sentences, tf.constant([3]), window_length=6, cls_id=1, sep_id=2)
        >>> out["token_ids"].numpy().tolist()
        [[1, 7, 2, 1, 8, 2], [1, 9, 2, 0, 0, 0]]
        >>> out["sentence_starts"].numpy().tolist()
        [[0, 3], [0, -1]]
    """
    lengths = pieces.row_lengths()
    layout = lay_out_windows(lengths, sentences_per_document, window_length)
    kept, window, place = layout["kept"], layout["window"], layout["place"]

    # (W,) sentences and tokens of each window
    windows = Rows(window, tf.reduce_sum(layout["windows_per_document"]))
    sentences, tokens = windows.sum(tf.ones_like(kept)), windows.sum(kept + 2)

    def rows(values: tf.Tensor, row_lengths: tf.Tensor, fill: int) -> tf.Tensor:
        ragged = tf.RaggedTensor.from_row_lengths(
            tf.cast(values, tf.int32), row_lengths, validate=False
        )
        return ragged.to_tensor(fill)

    # (N, [CLS] pieces [SEP]), whose tokens fill the windows one after another
    edge = tf.ones([pieces.nrows(), 1], tf.int32)
    packed = tf.concat([edge * cls_id, _take(pieces, kept), edge * sep_id], axis=1)
    return {
        "token_ids": rows(packed.flat_values, tokens, 0),
        "segment_ids": rows(repeat(place % 2, kept + 2), tokens, 0),
        "sentence_starts": rows(layout["start"], sentences, -1),
        "windows_per_document": tf.cast(layout["windows_per_document"], tf.int32),
        "window_of_sentence": tf.cast(window, tf.int32),
        "place_in_window": tf.cast(place, tf.int32),
        "pieces_cut": tf.cast(lengths - kept, tf.int32),
    }


def lay_out_windows(
    piece_counts: tf.Tensor, sentences_per_document: tf.Tensor, window_length: int
) -> dict[str, tf.Tensor]:
    """The place of every sentence in the windows of `pack_windows`, in the graph or eagerly.

    Args:
        piece_counts: Word pieces of all sentences of the batch, document by document, (N,)
            integers.
        sentences_per_document: Sentences of each document, (B,) integers that sum to N.
        window_length: Tokens that a window may hold; at least 3.

    Returns:
        int64 (N,) for each sentence: `kept`, the pieces that fit in a window, `window`, its window
        in the batch, `place`, its place among the sentences of that, and `start`, the position of
        its [CLS] there; and `windows_per_document` int64 (B,).

    Raises:
        tfsum.Error: `window_length` has no room for a piece.

    Example:
        >>> layout = lay_out_windows([3, 2, 9], [2, 1], 8)
        >>> layout["window"].numpy().tolist(), layout["kept"].numpy().tolist()
        ([0, 1, 2], [3, 2, 6])
    """
    if window_length < 3:
        raise Error(
            f"pack_windows: found window_length={window_length}, expected at least 3: [CLS], a"
            " piece and [SEP]"
        )
    kept = tf.minimum(tf.cast(piece_counts, tf.int64), window_length - 2)
    counts = tf.cast(sentences_per_document, tf.int64)
    before = tf.concat([[0], tf.cumsum(kept + 2)], 0)  # (N + 1,) tokens before each sentence

    # (N,) the window of each sentence, and that window's first sentence
    opens = _window_openings(before, counts, window_length)
    window = tf.cumsum(opens) - 1
    first = tf.gather(tf.where(opens > 0)[:, 0], window)

    # (B + 1,) windows before each document
    windows = tf.gather(tf.concat([[0], window + 1], 0), tf.concat([[0], tf.cumsum(counts)], 0))
    return {
        "kept": kept,
        "window": window,
        "place": tf.range(tf.size(kept, tf.int64)) - first,
        "start": before[:-1] - tf.gather(before, first),
        "windows_per_document": windows[1:] - windows[:-1],
    }


def _window_openings(before: tf.Tensor, counts: tf.Tensor, window_length: int) -> tf.Tensor:
    """Marks the sentences that open a window: (N,) int64 of 0 and 1.

    Each sentence jumps to the first one that does not fit into a window that it opens. Doubling
    the jumps finds what is reached from the documents' first sentences in a number of turns that
    grows with the logarithm of the windows.
    """
    ends = tf.cumsum(counts)
    done = tf.size(before, tf.int64) - 1  # behind the last sentence: finished documents stay here

    # (N + 1,) the jumps
    jump = tf.searchsorted(before, before[:-1] + window_length, side="right", out_type=tf.int64) - 1
    jump = tf.concat([tf.where(jump < repeat(ends, counts), jump, done), [done]], 0)

    first = tf.where(counts > 0, ends - counts, done)
    opens = tf.scatter_nd(first[:, None], tf.ones_like(first), tf.shape(before, tf.int64))

    def unfinished(jump: tf.Tensor, _: tf.Tensor) -> tf.Tensor:
        return tf.reduce_any(tf.gather(jump, first) < done)

    def double(jump: tf.Tensor, opens: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        reached = tf.gather(jump, tf.where(opens > 0)[:, 0])
        opens = tf.tensor_scatter_nd_update(opens, reached[:, None], tf.ones_like(reached))
        return tf.gather(jump, jump), opens

    _, opens = tf.while_loop(unfinished, double, (jump, opens))
    return tf.minimum(opens[:-1], 1)


def _take(ragged: tf.RaggedTensor, keep: tf.Tensor) -> tf.RaggedTensor:
    """The first `keep` (B,) values of each row of (B, P)."""
    kept_until = repeat(ragged.row_starts() + keep, ragged.row_lengths())
    kept = tf.boolean_mask(ragged.flat_values, tf.range(tf.size(kept_until, tf.int64)) < kept_until)
    return tf.RaggedTensor.from_row_lengths(tf.cast(kept, tf.int32), keep, validate=False)
