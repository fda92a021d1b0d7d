"""Embeddings of sentences, learned from those of another encoder."""

import numpy as np
import pytest
from tiny_bert import write_encoder

from tfsum.data.documents.windows import DocumentBatcher, load_windows
from tfsum.data.records import make_record, write_shard
from tfsum.errors import Error, RecipeError
from tfsum.models import Bert, BertSumExt
from tfsum.tasks.bert_sum_ext.teacher import CENTRE, sentence_embeddings
from tfsum.text.word_piece import WordPiece

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "query", ":", *(f"w{i}" for i in range(9))]


@pytest.fixture(scope="module")
def teacher(tmp_path_factory):
    folder = tmp_path_factory.mktemp("teacher")
    write_encoder(folder, WORDS, max_position_embeddings=16)
    return folder


@pytest.fixture
def records(tmp_path):
    """Two shards of documents whose sentences have 1 to 20 pieces: some are longer than is read."""
    random = np.random.default_rng(0)
    for shard in range(2):
        documents = []
        for number in range(5):
            pieces = [random.integers(7, 16, size).tolist() for size in random.integers(1, 21, 4)]
            texts = [b"w"] * len(pieces)
            documents.append(make_record(str(number), pieces, [1.0, 0, 0, 0], texts, "w"))
        write_shard(tmp_path / f"documents-{shard}.tfrecord", documents)
    return tmp_path


def unit(vectors):
    vectors = np.asarray(vectors, np.float64)
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def test_each_sentence_is_embedded_alone(records, teacher):
    """Against the encoder's own outputs for one sentence of a first window at a time, less a part
    of their mean."""
    word_piece = WordPiece.from_file(teacher / "vocab.txt")
    found = sentence_embeddings(records, str(teacher), word_piece, 16)
    documents = load_windows(records, 128, 1)
    assert found.shape == (len(documents.piece_counts), 8)

    bert = Bert.from_pretrained(teacher)
    read = load_windows(records, 16, 1).number
    assert not found[np.setdiff1d(documents.number, read)].any() and 10 < len(read) < 40
    expected = []
    for number in read:
        first = documents.first_piece[number]
        pieces = documents.pieces[first : first + documents.piece_counts[number]]
        ids = np.array([[2, 5, 6, *pieces, 3]])[:, :16]
        expected.append(unit(np.mean(bert.encode(ids, np.zeros_like(ids))[0], axis=0)))
    expected = unit(expected - CENTRE * np.mean(expected, axis=0))
    assert np.min(np.sum(unit(found[read]) * expected, axis=-1)) > 0.999


def test_a_second_call_finds_what_the_first_wrote(records, teacher, monkeypatch):
    word_piece = WordPiece.from_file(teacher / "vocab.txt")
    first = sentence_embeddings(records, str(teacher), word_piece, 16)
    next(iter(records.glob("*-1.*.npy"))).unlink()
    assert np.array_equal(sentence_embeddings(records, str(teacher), word_piece, 16), first)
    monkeypatch.delattr(Bert, "from_pretrained")
    assert np.array_equal(sentence_embeddings(records, str(teacher), word_piece, 16), first)


def test_another_vocabulary_is_refused(records, teacher, tmp_path):
    write_encoder(tmp_path / "other", WORDS[:-1])
    word_piece = WordPiece.from_file(teacher / "vocab.txt")
    with pytest.raises(RecipeError, match="embedding_teacher.*another vocabulary"):
        sentence_embeddings(records, str(tmp_path / "other"), word_piece, 16)


@pytest.mark.slow  # a graph of training; .ci/run runs it
def test_a_model_learns_them(records, teacher):
    """The loss is that of distances and similarities, and falls; batches leave out what is not
    read."""
    word_piece = WordPiece.from_file(teacher / "vocab.txt")
    wanted = sentence_embeddings(records, str(teacher), word_piece, 16)
    documents = load_windows(records, 16, 2)
    batcher = DocumentBatcher(documents, 512, cls_id=2, sep_id=3, embeddings=wanted)
    bert = Bert.from_pretrained(teacher)
    model = BertSumExt(bert, head="classifier", pooling="mean", embedding_width=8, window_length=16)
    model.compile("adam")

    (batch, *_) = batcher.dataset(training=False)
    losses = model.evaluate(batch, verbose=0, return_dict=True)
    _, _, embeddings = model.read(batch)
    real = batch["sentence_starts"] >= 0
    real &= np.any(batch["sentence_embeddings"], -1)  # not those beyond the first window
    ours, theirs = embeddings[real], unit(batch["sentence_embeddings"][real])
    distance = 1 - np.sum(ours * theirs, -1)
    wanted, told = (np.exp(vectors @ theirs.T / 0.02) for vectors in (theirs, ours))
    wanted, told = (similar / similar.sum(-1, keepdims=True) for similar in (wanted, told))
    divergence = np.sum(wanted * np.log(wanted / told), -1)
    expected = 14 * distance.mean() + divergence.mean()
    assert losses["embedding_loss"] == pytest.approx(expected, abs=1e-4)

    history = model.fit(batch, epochs=30, verbose=0).history["embedding_loss"]
    assert history[-1] < 0.7 * history[0]
    with pytest.raises(Error, match="no sentence_embeddings"):
        model.check_inputs({k: v for k, v in batch.items() if k != "sentence_embeddings"})
