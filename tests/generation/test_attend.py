"""The signature `attend`: where an exported Transformer looked as it wrote."""

import json

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

import tfsum
from tfsum import WordPiece
from tfsum.errors import Error
from tfsum.models import Transformer
from tfsum.visualization import transformer_attention

pytestmark = pytest.mark.usefixtures("opened_once")
TEXTS = ["the bridge", "a", "", "rain fell"]


def test_it_is_the_cross_attention_of_the_answer_that_is_served(beam_writer):
    given = beam_writer.ask("attend", text=TEXTS)
    served = beam_writer.ask("generate_ids", source_ids=given["source_ids"])["ids"]
    model = Transformer.from_pretrained(str(beam_writer.source))
    settings = json.loads((beam_writer.source / "tfsum.json").read_text())["text"]
    word_piece = WordPiece.from_file(
        beam_writer.source / "vocab.txt", lowercase=settings["lowercase"], ops="core"
    )
    for row, text in enumerate(TEXTS):
        read, written = (
            np.count_nonzero(given["source_ids"][row]),
            np.count_nonzero(given["ids"][row]),
        )
        assert given["source_ids"][row, :read].tolist() == word_piece.encode([text]).to_list()[0]
        if not text:
            assert not written
            continue
        assert given["ids"][row].tolist() == served[row].tolist()
        source = model.encode(given["source_ids"][row : row + 1, :read])
        before = np.array([[model.start_id, *given["ids"][row, : written - 1]]], np.int32)
        x = model.target_positions(model.target_embedding(before))
        (looks,) = model.decoder(x, source, return_all=True)[3]
        found = given["attention"][row, :written]
        np.testing.assert_allclose(
            found[:, :read], np.mean(np.asarray(looks)[0], axis=0), atol=1e-5
        )
        assert not found[:, read:].any()
        logits = np.asarray(
            model({"source_ids": given["source_ids"][row : row + 1, :read], "target_ids": before})
        )[0]
        probability = np.exp(logits - np.log(np.exp(logits).sum(-1, keepdims=True)))
        best = np.sort(probability)[:, :-6:-1]
        np.testing.assert_allclose(given["alternative_probability"][row, :written], best, atol=1e-5)
        np.testing.assert_allclose(
            np.take_along_axis(probability, given["alternatives"][row, :written], -1),
            best,
            atol=1e-5,
        )
        assert not given["alternatives"][row, written:].any()
        assert not given["alternative_probability"][row, written:].any()


def test_a_text_alone_and_with_words_of_its_target(writer):
    generator = tfsum.load(writer.folder)
    looks = generator.attend(TEXTS[0])
    given = writer.ask("attend", text=TEXTS)
    np.testing.assert_allclose(
        looks.attention, given["attention"][0][: len(looks.ids), : len(looks.source_ids)], atol=1e-5
    )
    np.testing.assert_allclose(looks.attention.sum(-1), 1, atol=1e-3)
    assert looks.vocabulary[looks.ids[-1]] == "[SEP]" or len(looks.ids) == 12
    assert (looks.vocabulary is looks.source_vocabulary) == (
        not (writer.source / "target_vocab.txt").exists()
    )
    with pytest.raises(Error, match=r"texts\[0\] is bytes"):
        generator.attend(b"bytes")


def test_an_export_without_it_says_so(beam_writer):
    generator = tfsum.load(beam_writer.folder)
    generator._model = type("Old", (), {"signatures": {}})
    with pytest.raises(Error, match="has no signature attend; an older tfsum exported it"):
        generator.attend("a")


@pytest.mark.slow
def test_the_pictures_take_the_same_looks(beam_writer):
    model = Transformer.from_pretrained(str(beam_writer.source))
    word_piece = WordPiece.from_file(beam_writer.source / "vocab.txt", lowercase=False, ops="core")
    looks = tfsum.load(beam_writer.folder).attend(TEXTS[0])
    cross = transformer_attention(model, word_piece, TEXTS[0])["cross"]
    assert cross.keys == [looks.source_vocabulary[i] for i in looks.source_ids]
    # The look of the start token chooses the first word, whatever the search.
    np.testing.assert_allclose(cross.weights.mean((0, 1))[0], looks.attention[0], atol=1e-5)
