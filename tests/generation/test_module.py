"""The exported Transformer against the plain model, and on every kind of source."""

import json
import unicodedata

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from tfsum.decoding import Greedy, Sampling, named_strategy
from tfsum.errors import Error, ExportError
from tfsum.export.saved_model import read_settings
from tfsum.generation.sources import RowSource
from tfsum.inference.c_session import CallError
from tfsum.models import Transformer
from tfsum.tasks.transformer.export import TEXT_SETTINGS, build
from tfsum.text.detokenizer import Detokenizer
from tfsum.text.word_piece import WordPiece

LIMIT = 24 - 2  # pieces of a source, beside [CLS] and [SEP]
SENTENCE = "The bridge was closed, I said."
HOSTILE = [
    b"",
    b" \n\t\xc2\xa0\x1c ",
    b"\xff\xfe\xc3",
    b"\x00\x01",
    "😀👩\u200d👧".encode(),
    "שלום. 你好".encode(),
    b"\xff\xfeI\xed\xa0\x80 was \xc3",
    b"a" * 200_000,
    b"Hi. " * 50_000,
    b"[CLS] [SEP] [PAD]",
]


def description(writer) -> dict:
    return json.loads((writer.folder / "assets.extra" / "tfsum.json").read_text())


def strategy(writer):
    """The strategy that an export says it was made with."""
    search = description(writer)["search"]
    name = {"BeamSearch": "beam", "Sampling": "sampling"}[search.pop("strategy")]
    return named_strategy(name, **search)


def module(writer, ops: str, changes: dict | None = None, **options):
    """The module of a model folder, not exported."""
    text = {**TEXT_SETTINGS, **read_settings(writer.source)["text"], **(changes or {})}
    return build(
        writer.source,
        text,
        ops,
        options.pop("strategy", strategy(writer)),
        None,
        description(writer)["storage"],
    )


def plain(writer, texts: list[str]) -> tuple[list[bytes], np.ndarray]:
    """Answers of the plain Keras model to texts as the training's own text way reads them."""
    model = Transformer.from_pretrained(str(writer.source))
    other = writer.source / "target_vocab.txt"
    target = other if other.is_file() else writer.source / "vocab.txt"
    word_piece = WordPiece.from_file(writer.source / "vocab.txt", lowercase=False)
    detokenizer = Detokenizer(target.read_text(encoding="utf-8").split("\n")[:-1])
    sources = np.zeros((len(texts), LIMIT + 2), np.int32)
    texts = [unicodedata.normalize("NFC", text).strip() for text in texts]
    for row, pieces in enumerate(word_piece.tokenize(texts).to_list()):
        framed = [2, *pieces[:LIMIT], 3]
        sources[row, : len(framed)] = framed
    ids, log_probability, _ = model.generate(sources, strategy(writer))
    return detokenizer.detokenize(ids[:, 0]).numpy().tolist(), log_probability[:, 0]


def test_answers_are_those_of_the_plain_model(writer):
    texts = [SENTENCE, "\u3000I was the bridge.\n", "Cafe\u0301 한국어!", "x " * 40, "«"]
    given = writer.ask("serving_default", text=texts)
    assert (
        given["summary"].dtype == object and len({len(answer) for answer in given["summary"]}) > 1
    )
    if description(writer)["storage"] == "float32":
        summaries, log_probabilities = plain(writer, texts)
        assert given["summary"].tolist() == summaries
        np.testing.assert_allclose(given["log_probability"], log_probabilities, atol=1e-4)
    assert (given["log_probability"] < 0).all()
    np.testing.assert_allclose(given["coverage"], [1, 1, 1, LIMIT / 80, 1], rtol=1e-6)


def test_coverage_is_of_bytes_and_an_answer_tells_whether_it_ended(writer):
    vocabulary = (writer.source / "vocab.txt").read_text(encoding="utf-8").split("\n")[:-1]
    texts = ["😀 " * 4 + "the bridge " * 12, "the bridge " * 12 + "😀", "bridge was closed I " * 8]
    read = [ids[:LIMIT] for ids in WordPiece(vocabulary, lowercase=False).tokenize(texts).to_list()]
    read = Detokenizer(vocabulary).detokenize(tf.ragged.constant(read)).numpy()
    wanted = [
        len("".join(part.decode("utf-8", "ignore").split()).encode())
        / len("".join(text.split()).encode())
        for part, text in zip(read, texts)
    ]
    given = writer.ask("serving_default", text=texts)
    np.testing.assert_allclose(given["coverage"], wanted, atol=1e-6)
    written = writer.ask("attend", text=texts)["ids"]
    assert given["ended"].tolist() == (written == 3).any(axis=1).tolist()


def test_the_same_alone_in_a_batch_and_in_any_order(writer):
    texts = [SENTENCE, "", "I.", "the bridge " * 12, "한국어", *HOSTILE[:7], "was it?"]
    together = writer.ask("serving_default", text=texts)
    backwards = writer.ask("serving_default", text=texts[::-1])
    for i, text in enumerate(texts):
        alone = writer.ask("serving_default", text=[text])
        assert alone.keys() == {"summary", "log_probability", "coverage", "ended", "known"}
        for found, row in ((together, i), (backwards, len(texts) - 1 - i)):
            assert found["summary"][row] == alone["summary"][0]
            for name in ("log_probability", "coverage", "known"):
                np.testing.assert_allclose(found[name][row], alone[name][0], atol=1e-5)


@pytest.mark.slow
def test_sources_go_through_the_model_in_groups(beam_writer, monkeypatch):
    monkeypatch.setattr(RowSource, "at_once", 2)
    texts = [SENTENCE, "I", "", "the bridge " * 12, "was"]
    made = module(beam_writer, "text")
    found = made.serve(tf.constant(texts))
    expected = beam_writer.ask("serving_default", text=texts)
    assert found["summary"].numpy().tolist() == expected["summary"].tolist()
    np.testing.assert_allclose(found["log_probability"], expected["log_probability"], atol=1e-5)


def test_texts_without_a_word_get_an_empty_answer(writer):
    given = writer.ask("serving_default", text=HOSTILE[:4])
    assert given["summary"].tolist() == [b""] * 4 and given["log_probability"].tolist() == [0.0] * 4
    assert given["coverage"].tolist() == [1.0] * 4 and given["known"].tolist() == [1.0] * 4
    nothing = writer.ask("serving_default", text=[])
    assert all(len(value) == 0 for value in nothing.values()) and nothing["summary"].dtype == object


def test_hostile_sources_are_answered_and_harm_no_other(writer):
    given = writer.ask("serving_default", text=[*HOSTILE, SENTENCE])
    alone = writer.ask("serving_default", text=[SENTENCE])
    assert given["summary"][-1] == alone["summary"][0]
    np.testing.assert_allclose(given["log_probability"][-1], alone["log_probability"][0], atol=1e-5)
    assert all(answer.decode("utf-8") is not None for answer in given["summary"])
    assert np.isfinite(given["log_probability"]).all() and (given["log_probability"] <= 0).all()
    assert (
        (given["coverage"] > 0).all()
        and (given["coverage"] <= 1).all()
        and (given["coverage"][7:9] < 0.01).all()
    )
    # Characters that the vocabulary does not hold are bytes to it.
    assert (
        given["known"][[4, 5]].tolist() == pytest.approx([0.0, 0.2], abs=0.15)
        and given["known"][-1] == 1
    )
    # What is no UTF-8 is left out.
    assert given["summary"][6] == writer.ask("serving_default", text=["I was"])["summary"][0]


@pytest.mark.slow
def test_a_plain_vocabulary_answers_unknown_words_and_reads_composed_letters(tmp_path):
    import keras

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "cat", "caf\u00e9"]
    keras.utils.set_random_seed(3)
    model = Transformer(len(words), None, 1, 1, 8, 2, 8, max_length=5)
    model.save_pretrained(tmp_path, words, settings={"text": {"lowercase": False}})
    text = {**TEXT_SETTINGS, **read_settings(tmp_path)["text"]}
    made = build(tmp_path, text, "core", named_strategy("greedy"), None, "float32")
    texts = ["cafe\u0301", "caf\u00e9", "猫 犬", "鳥 魚", "the cat"]
    given = {name: value.numpy() for name, value in made.serve(tf.constant(texts)).items()}
    assert given["known"].tolist() == [1, 1, 0, 0, 1]
    for name in ("summary", "log_probability"):
        assert given[name][0] == given[name][1] and given[name][2] == given[name][3]
    assert np.isfinite(given["log_probability"]).all()


def test_core_operations_and_text_operations_give_the_same_bytes(writer):
    other = module(writer, "text" if writer.ops == "core" else "core")
    texts = [
        SENTENCE,
        "",
        "l'été (한국) 3\u00a0m² !",
        "the  bridge\twas\n",
        "I" * 130,
        *HOSTILE[2:7],
    ]
    expected = {k: v.numpy() for k, v in other.serve(tf.constant(texts)).items()}
    for name, value in writer.ask("serving_default", text=texts).items():
        if value.dtype == object:
            assert value.tolist() == expected[name].tolist()
        else:
            np.testing.assert_allclose(value, expected[name], atol=1e-5)


def test_sources_that_are_ids(writer):
    model = Transformer.from_pretrained(str(writer.source))
    sources = np.array([[2, 150, 160, 170, 3], [2, 200, 3, 0, 0], [0, 0, 0, 0, 0]], np.int32)
    given = writer.ask("generate_ids", source_ids=sources)
    assert given.keys() == {"ids", "length", "log_probability"} and given["ids"].shape == (3, 12)
    assert (given["length"] == (given["ids"] != 0).sum(1)).all()
    if description(writer)["storage"] == "float32":
        ids, log_probability, length = model.generate(sources, strategy(writer))
        np.testing.assert_array_equal(given["ids"], ids[:, 0])
        np.testing.assert_array_equal(given["length"], length[:, 0])
        np.testing.assert_allclose(given["log_probability"], log_probability[:, 0], atol=1e-4)
    for padded in (np.pad(sources, ((0, 0), (0, 6))), sources[::-1]):
        again = writer.ask("generate_ids", source_ids=padded)
        rows = slice(None) if padded.shape[1] == 11 else slice(None, None, -1)
        np.testing.assert_array_equal(again["ids"][rows], given["ids"])
        np.testing.assert_allclose(
            again["log_probability"][rows], given["log_probability"], atol=1e-5
        )


def test_ids_of_no_length_are_padding_and_others_must_be_of_the_vocabulary(writer):
    shapes = {
        n: writer.ask("generate_ids", source_ids=np.zeros((2, n), np.int32)) for n in (0, 1, 3)
    }
    for found in shapes.values():
        np.testing.assert_array_equal(found["ids"], shapes[1]["ids"])
    assert writer.ask("generate_ids", source_ids=np.zeros((0, 4), np.int32))["ids"].shape == (0, 12)
    size = description(writer)["config"]["source_vocabulary_size"]
    for wrong in (-1, size):
        with pytest.raises(CallError, match=f"source_ids: expected ids from 0 to {size - 1}"):
            writer.ask("generate_ids", source_ids=[[2, wrong, 3]])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            {"changes": {"max_source_length": 2}},
            "max_source_length is 2; expected a whole number of at least 3",
        ),
        ({"changes": {"max_source_length": "9"}}, "max_source_length is '9'"),
        (
            {"strategy": Greedy(min_length=13)},
            "max_length is 12; expected a whole number of at least 13",
        ),
        (
            {"strategy": Sampling(n_samples=400)},
            "their product, the random numbers of an export, is above 4096",
        ),
    ],
)
def test_what_cannot_be(beam_writer, options, says):
    with pytest.raises(ExportError, match=says):
        module(beam_writer, "text", **options)


def test_names_of_strategies():
    with pytest.raises(Error, match="search is 'best'; known are greedy, beam, sampling"):
        named_strategy("best")
    with pytest.raises(Error, match="search 'beam' has no option top_k, widht; it has"):
        named_strategy("beam", widht=3, top_k=2)
    with pytest.raises(Error, match="width=0: expected a whole number from 1"):
        named_strategy("beam", width=0)
