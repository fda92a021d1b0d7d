"""Records there and back; batches against windows laid out by hand, sentence by sentence."""

import numpy as np
import pytest
import tensorflow as tf

from tfsum.data.documents.windows import DocumentBatcher, load_windows
from tfsum.data.records import make_record, read_records, write_shard
from tfsum.errors import DataError
from tfsum.tasks.bert_sum_ext.batches import ExtractiveBatches
from tfsum.text.packing import pack_windows
from tfsum.text.word_piece import WordPiece

CLS, SEP = 2, 3
NAMES = ["token_ids", "segment_ids", "sentence_starts", "labels"]


def _documents(number, seed=0, longest=30):
    """Random documents: lists of (pieces, label)."""
    random = np.random.default_rng(seed)
    return [
        [
            (
                random.integers(10, 99, random.integers(0, longest)).tolist(),
                float(random.random() < 0.2),
            )
            for _ in range(n)
        ]
        for n in random.integers(1, 12, number)
    ]


def _write(path, documents):
    records = (
        make_record(str(i), [p for p, _ in d], [y for _, y in d], [b"s"] * len(d), "sum")
        for i, d in enumerate(documents)
    )
    assert write_shard(path, records) == len(documents)
    return path


def _batcher(path, tokens_per_batch, window_length=512, max_windows=1):
    documents = load_windows(path, window_length, max_windows)
    return DocumentBatcher(documents, tokens_per_batch, cls_id=CLS, sep_id=SEP)


def _laid_out(document, window_length, max_windows):
    """The rows a document must become, by the plain loop: ids, segments, starts, labels."""
    windows = [[]]
    for pieces, label in document:
        pieces = pieces[: window_length - 2]
        if sum(len(p) + 2 for p, _ in windows[-1]) + len(pieces) + 2 > window_length:
            windows.append([])
        windows[-1].append((pieces, label))
    windows = windows[:max_windows]
    ids, segments, starts, labels = [], [], [], []
    for window in windows:
        # every window but the last is padded to its full length
        padding = -len(ids) % window_length
        ids, segments = ids + [0] * padding, segments + [0] * padding
        for place, (pieces, label) in enumerate(window):
            starts.append(len(ids))
            labels.append(np.float32(label))
            ids += [CLS, *pieces, SEP]
            segments += [place % 2] * (len(pieces) + 2)
    return tuple(ids), tuple(segments), tuple(starts), tuple(labels)


def _rows(batch):
    """The rows of a batch without the batch's own padding, each as `_laid_out` gives it."""
    for ids, segments, starts, labels in zip(*(batch[k].numpy() for k in batch), strict=True):
        count = int((starts >= 0).sum())
        assert (starts[count:] == -1).all() and (labels[count:] == 0).all()
        yield ids, segments, tuple(starts[:count].tolist()), tuple(labels[:count])


@pytest.mark.parametrize(("window_length", "max_windows"), [(40, 1), (40, 3), (20, 4), (400, 2)])
def test_every_document_comes_once_and_as_laid_out_by_hand(tmp_path, window_length, max_windows):
    documents = _documents(60)
    path = _write(tmp_path / "a.tfrecord", documents)
    expected = sorted(_laid_out(d, window_length, max_windows) for d in documents)
    for training in (False, True):
        found = []
        for batch in _batcher(path, 400, window_length, max_windows).dataset(
            training=training, epochs=1
        ):
            assert [batch[k].dtype.name for k in NAMES] == ["int32", "int32", "int32", "float32"]
            assert batch["token_ids"].shape.num_elements() <= 400
            for ids, segments, starts, labels in _rows(batch):
                length = next(
                    len(e[0])
                    for e in expected
                    if e[2] == starts and e[0] == tuple(ids[: len(e[0])])
                )
                assert not ids[length:].any() and not segments[length:].any()
                found.append(
                    (
                        tuple(ids[:length].tolist()),
                        tuple(segments[:length].tolist()),
                        starts,
                        labels,
                    )
                )
        assert sorted(found) == expected


def _epochs(path, **options):
    batches = _batcher(path, 300, window_length=50).dataset(**options)
    return [{k: v.numpy().tobytes() for k, v in batch.items()} for batch in batches]


def test_a_resume_gives_the_rest_exactly_and_epochs_differ(tmp_path):
    path = _write(tmp_path / "a.tfrecord", _documents(80))
    whole = _epochs(path, training=True, seed=7, epochs=3)
    assert whole == _epochs(path, training=True, seed=7, epochs=3)
    for skip in (1, len(whole) // 3 + 2, len(whole) - 1):
        assert _epochs(path, training=True, seed=7, epochs=3, skip_batches=skip) == whole[skip:]
    one = _epochs(path, training=True, seed=7, epochs=1)
    assert one == whole[: len(one)] and whole[len(one) : 2 * len(one)] != one
    assert _epochs(path, training=True, seed=8, epochs=1) != one


def test_the_report_counts_what_is_cut(tmp_path):
    documents = [[([5] * 30, 0.0), ([6] * 3, 1.0)], [([7] * 4, 0.0)] * 5]
    path = _write(tmp_path / "a.tfrecord", documents)
    report = _batcher(path, 64, window_length=16, max_windows=2).report()
    assert report["documents"] == 2 and report["sentences"] == 7 and report["batches"] == 1
    assert report["sentences_cut"] == 1 and report["pieces_cut"] == 16
    assert (
        report["sentences_dropped"] == 1
        and report["windows_dropped"] == 1
        and report["documents_shortened"] == 1
    )
    assert report["tokens"] == 16 + 5 + 4 * 6 and report["padded_tokens"] == 2 * 28


def test_padding_is_small_when_lengths_differ_much(tmp_path, monkeypatch):
    monkeypatch.setattr(DocumentBatcher, "bucket_width", 16)
    path = _write(tmp_path / "a.tfrecord", _documents(600, longest=40))
    assert _batcher(path, 1024, window_length=256).report()["padding"] < 0.1


def test_too_small_a_budget_is_named(tmp_path):
    path = _write(tmp_path / "a.tfrecord", _documents(20))
    with pytest.raises(DataError, match="tokens_per_batch 30 .* the longest document takes"):
        _batcher(path, 30)


def test_records_come_back_and_a_failed_shard_leaves_nothing(tmp_path):
    path = _write(tmp_path / "b.tfrecord", [[([11, 12], 1.0), ([], 0.0)]])
    (batch,) = read_records(tmp_path, ["pieces", "piece_counts", "labels", "summary"])
    assert batch["pieces"].to_list() == [[11, 12]] and batch["piece_counts"].to_list() == [[2, 0]]
    assert batch["labels"].to_list() == [[1.0, 0.0]] and batch["summary"].numpy().tolist() == [
        b"sum"
    ]

    def failing():
        yield b"x"
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_shard(tmp_path / "c.tfrecord", failing())
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    with pytest.raises(DataError, match="2 lists of pieces, 1 labels and 2 sentences"):
        make_record("a", [[1], [2]], [0.0], [b"", b""], "")
    with pytest.raises(DataError, match=r"no \*.tfrecord found at .*missing.tfrecord"):
        read_records(tmp_path / "missing.tfrecord", ["pieces"])


def test_windows_are_those_of_the_exported_graph(tmp_path):
    """A served document is read as a training document was: `pack_windows` puts every sentence in
    the same place."""
    documents, length = _documents(40, seed=3), 33
    loaded = load_windows(_write(tmp_path / "a.tfrecord", documents), length, max_windows=99)
    pieces = tf.ragged.constant([p for d in documents for p, _ in d], ragged_rank=1, dtype=tf.int32)
    batcher = DocumentBatcher(loaded, 10**6, cls_id=CLS, sep_id=SEP)
    packed = pack_windows(pieces, tf.constant([len(d) for d in documents]), length, CLS, SEP)
    packed = {name: value.numpy() for name, value in packed.items()}
    assert (loaded.windows == packed["windows_per_document"]).all()
    assert (loaded.place == packed["place_in_window"]).all()
    assert loaded.counts["pieces_cut"] == packed["pieces_cut"].sum()
    window = 0
    for number, count in enumerate(packed["windows_per_document"]):
        row = batcher.assemble(np.array([number]))
        for name in ("token_ids", "segment_ids"):
            ours = np.pad(row[name][0], (0, -row[name].shape[1] % length)).reshape(count, length)
            theirs = packed[name][window : window + count]
            assert (ours[:, : theirs.shape[1]] == theirs).all() and not ours[
                :, theirs.shape[1] :
            ].any()
        window += count


def test_sentences_and_labels_in_memory_are_the_batches_of_their_records(tmp_path):
    words = WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "rain", "sun", "."])
    texts, labels = [["Rain.", "Sun rain.", "Sun."], [], ["Rain sun rain."]], [[0, 1, 0.5], [], [1]]
    in_memory = ExtractiveBatches(texts, labels, words, tokens_per_batch=64, window_length=12)
    pieces = [words.tokenize(text).to_list() if text else [] for text in texts]
    write_shard(
        tmp_path / "a.tfrecord",
        [
            make_record(str(i), ids, given, [s.encode() for s in text], "")
            for i, (ids, given, text) in enumerate(zip(pieces, labels, texts))
        ],
    )
    stored = DocumentBatcher(load_windows(tmp_path / "a.tfrecord", 12, 1), 64, cls_id=2, sep_id=3)
    for training in (False, True):
        batches = [
            list(b.dataset(training=training, epochs=1).as_numpy_iterator())
            for b in (in_memory, stored)
        ]
        for mine, theirs in zip(*batches, strict=True):
            assert (
                all(np.array_equal(mine[key], theirs[key]) for key in theirs)
                and mine.keys() == theirs.keys()
            )
    assert in_memory.counts == stored.counts


@pytest.mark.parametrize(
    ("texts", "labels", "says"),
    [
        ([["Rain."]], [], "found 1 texts and 0 lists of labels"),
        ([[]], [[]], "a sentence at least"),
        (["Rain."], [[1]], "text 0 is a str of 5 with 1 labels"),
        ([["Rain."], ["Sun."]], [[1], [0, 1]], "text 1 is a list of 1 with 2 labels"),
    ],
)
def test_texts_and_labels_that_do_not_fit(texts, labels, says):
    with pytest.raises(DataError, match=says):
        ExtractiveBatches(texts, labels, WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]"]))
