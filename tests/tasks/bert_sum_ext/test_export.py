"""The exported graph against the plain model and another tokenizer, and on every kind of
document."""

import json
import string

import hypothesis.strategies as st
import keras
import numpy as np
import pytest
from hypothesis import given

tf = pytest.importorskip("tensorflow")

from tfsum.data.documents.windows import DocumentBatcher, load_windows
from tfsum.data.records import make_record, write_shard
from tfsum.errors import ExportError
from tfsum.export.saved_model import read_settings
from tfsum.inference.c_session import CallError
from tfsum.models import BertSumExt
from tfsum.tasks.bert_sum_ext import golden
from tfsum.tasks.bert_sum_ext.export import build
from tfsum.tasks.bert_sum_ext.export import export_model as export_extractive
from tfsum.tasks.bert_sum_ext.reading import SENTENCES_IN_HEAD, _even_blocks
from tfsum.text.expected_rouge import expected_rouge_ranks
from tfsum.text.known_words import is_word
from tfsum.text.packing import pack_windows

# The tiny model's weights are large, so that rounding tells more than in a real one.
TOLERANCE = {"float32": 1e-5, "small": 0.05}


def windows_in_python(sentences: list[str], source, length: int) -> dict:
    """Packs one document with Hugging Face's tokenizer and a loop: each window padded to
    `length`."""
    from tokenizers import BertWordPieceTokenizer

    tokenizer = BertWordPieceTokenizer(str(source / "vocab.txt"), lowercase=True)
    cls, sep = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    rows = []
    for sentence in sentences:
        pieces = tokenizer.encode(sentence, add_special_tokens=False).ids[: length - 2]
        if not rows or len(rows[-1][0]) + len(pieces) + 2 > length:
            rows.append(([], [], []))
        ids, segments, starts = rows[-1]
        starts.append(len(ids))
        segments += [(len(starts) - 1) % 2] * (len(pieces) + 2)
        ids += [cls, *pieces, sep]
    flat = {"token_ids": [], "segment_ids": [], "sentence_starts": []}
    for i, (ids, segments, starts) in enumerate(rows):
        padding = [0] * (length - len(ids))
        flat["token_ids"] += ids + padding
        flat["segment_ids"] += segments + padding
        flat["sentence_starts"] += [length * i + start for start in starts]
    return {name: tf.constant([value], tf.int32) for name, value in flat.items()}


def plain_scores(exported, text: str) -> tuple[np.ndarray, dict]:
    """The scores of the plain Keras model for the sentences that the export found."""
    given = exported.ask("score", text=[text])
    data = text.encode()
    sentences = [data[a:b].decode() for a, b in zip(given["start"][0], given["end"][0])]
    model = BertSumExt.from_pretrained(str(exported.source))
    return (
        tf.sigmoid(
            model(windows_in_python(sentences, exported.source, model.window_length))
        ).numpy()[0],
        given,
    )


def test_embeddings_are_those_of_the_plain_model(transformer, article):
    """Of a text as one sentence, and of every sentence of a text beside its score."""
    model = BertSumExt.from_pretrained(str(transformer.source))

    def plain(sentences: list[str]) -> np.ndarray:
        batch = windows_in_python(sentences, transformer.source, model.window_length)
        return model.read(batch)[2].numpy()[0]

    texts = ["The bridge was closed. It fell.", "rain"]
    found = transformer.ask("embed", text=texts)["embedding"]
    np.testing.assert_allclose(found, [plain([text])[0] for text in texts], atol=1e-5)

    read = transformer.ask("read", text=[article, "rain"])
    data, count = article.encode(), read["count"][0]
    sentences = [data[a:b].decode() for a, b in zip(read["start"][0], read["end"][0])][:count]
    np.testing.assert_allclose(read["embedding"][0], plain(sentences), atol=1e-5)
    assert not read["embedding"][1, 1:].any()
    scored = transformer.ask("score", text=[article, "rain"])
    assert all(np.array_equal(read[name], scored[name]) for name in scored)


def storage(exported) -> str:
    return json.loads((exported.folder / "assets.extra" / "tfsum.json").read_text())["storage"]


def test_a_document_of_one_window_gets_the_scores_of_the_plain_model(exported):
    expected, given = plain_scores(exported, "The bridge was closed. It fell.")
    np.testing.assert_allclose(given["score"][0], expected, atol=TOLERANCE[storage(exported)])
    assert given["score"][0].std() > 1e-3 and given["coverage"][0] == 1


def test_windows_of_whole_sentences_are_read_as_the_plain_model_reads_them(
    exported, article, report
):
    for text in (article, report):
        expected, given = plain_scores(exported, text)
        np.testing.assert_allclose(given["score"][0], expected, atol=TOLERANCE[storage(exported)])
        assert given["coverage"][0] == 1


@pytest.fixture(scope="module")
def both_ways(transformer, tmp_path_factory):
    """A function from piece counts of documents to the sentence vectors of the exported graph and
    of training."""
    module = build(transformer.source, read_settings(transformer.source), "core", {}, "float32")
    plain = BertSumExt.from_pretrained(str(transformer.source))
    path, ids = (
        tmp_path_factory.mktemp("windows") / "a.tfrecord",
        (module.reader.word_piece.cls_id, module.reader.word_piece.sep_id),
    )

    def vectors(documents):
        pieces = [
            [[5 + (i + j) % 20 for j in range(n)] for i, n in enumerate(counts)]
            for counts in documents
        ]
        write_shard(
            path, (make_record("a", d, [0.0] * len(d), [b"s"] * len(d), "") for d in pieces)
        )
        batcher = DocumentBatcher(
            load_windows(path, module.window_length, 99), 10**6, cls_id=ids[0], sep_id=ids[1]
        )
        flat = tf.ragged.constant([s for d in pieces for s in d], tf.int32, ragged_rank=1)
        windows = pack_windows(
            flat, tf.constant([len(d) for d in pieces]), module.window_length, *ids
        )
        (exported,) = module.reader.encode_windows(windows)
        rows = [batcher.assemble(np.array([row])) for row in range(len(pieces))]
        return exported, [
            plain.sentence_vectors(
                *(batch[name] for name in ("token_ids", "segment_ids", "sentence_starts"))
            )[0]
            for batch in rows
        ]

    return vectors


@pytest.mark.slow
@given(st.lists(st.lists(st.integers(0, 60), min_size=1, max_size=6), min_size=1, max_size=3))
def test_training_and_the_export_encode_the_same_windows(both_ways, documents):
    """Two implementations, for rows of windows and for windows in groups: the same vector for every
    sentence."""
    exported, trained = both_ways(documents)
    np.testing.assert_allclose(exported, np.concatenate(trained), atol=1e-5)


def test_ids_that_are_packed_already(exported, article, report):
    model = BertSumExt.from_pretrained(str(exported.source))
    inputs = windows_in_python([article[:37], article[38:80], article[81:99]], exported.source, 40)
    inputs["sentence_starts"] = tf.concat([inputs["sentence_starts"], [[-1]]], 1)
    expected = tf.sigmoid(model(inputs)).numpy()
    given = exported.ask("score_ids", **{k: v.numpy() for k, v in inputs.items()})["score"]
    np.testing.assert_allclose(given[:, :-1], expected[:, :-1], atol=TOLERANCE[storage(exported)])
    assert given[0, -1] == 0
    assert exported.ask(
        "score_ids",
        token_ids=np.zeros([0, 7]),
        segment_ids=np.zeros([0, 7]),
        sentence_starts=np.zeros([0, 2]),
    )["score"].shape == (0, 2)


def test_a_document_is_answered_the_same_alone_and_among_others(exported, article, report):
    others = (
        [report[: 61 * i] for i in range(15)]
        + ["", "Hello world."]
        + [article[i:] for i in range(14)]
    )
    texts = [*others[:9], article, *others[9:]]
    assert len(texts) == 32
    together = exported.ask("serving_default", text=texts)
    for i in (0, 5, 9, 16, 31):
        alone = exported.ask("serving_default", text=[texts[i]])
        assert alone.keys() == together.keys()
        for name, value in alone.items():
            if value.dtype == np.float32:
                np.testing.assert_allclose(together[name][i], value[0], atol=1e-5)
            else:
                assert np.array_equal(together[name][i], value[0]), name


def test_the_default_is_three_sentences_without_repeated_trigrams(exported, article):
    more = "The mayor said the river and the school were far from the city at night."
    text = f"{article} {article} {more}"
    default = exported.ask("serving_default", text=[text])
    same = exported.ask("summarize", text=[text], max_sentences=[3], block_trigrams=[True])
    assert default["summary"] == same["summary"] and default["count"] == [3]
    both = exported.ask(
        "summarize", text=[text, text], max_sentences=[10, 10], block_trigrams=[True, False]
    )
    chosen = both["sentences"][0][: both["count"][0]].tolist()
    # no sentence twice; one shares a trigram with another
    assert len(set(chosen)) == len(chosen) and both["count"].tolist() == [7, 8]


def test_rows_are_padded_and_offsets_are_bytes(exported):
    text = "¿Café? “Ünï” was it. Hello world 😀! End"
    given = exported.ask(
        "summarize", text=[text, ""], max_sentences=[2, 4], block_trigrams=[False, False]
    )
    count = given["count"][0]
    assert given["count"].tolist() == [2, 0] and given["sentences"].shape == (2, 10)
    for i in range(count):
        start, end = given["start"][0, i], given["end"][0, i]
        assert text.encode()[start:end] == given["sentences"][0, i]
    assert b" ".join(given["sentences"][0, :count]) == given["summary"][0]
    assert (given["start"][0, count:] == -1).all() and (given["end"][0, count:] == -1).all()
    assert (given["score"][0, count:] == 0).all() and (given["sentences"][0, count:] == b"").all()
    assert (np.diff(given["start"][0, :count]) > 0).all()
    assert given["summary"][1] == b"" and given["coverage"][1] == 1


def test_more_sentences_than_the_outputs_hold_are_clipped_and_none_is_none(exported):
    text = " ".join(f"Item {number} of it fell." for number in range(20))
    given = exported.ask(
        "summarize", text=[text] * 3, max_sentences=[99, 0, -2], block_trigrams=[False] * 3
    )
    assert given["count"].tolist() == [10, 0, 0] and given["summary"][1] == b""


def test_one_value_for_each_text(exported):
    with pytest.raises(CallError, match="max_sentences: expected one value for each text"):
        exported.ask("summarize", text=["a", "b"], max_sentences=[3], block_trigrams=[True, False])


def test_a_batch_of_nothing(exported):
    for signature in ("serving_default", "score"):
        assert all(len(value) == 0 for value in exported.ask(signature, text=[]).values())


def test_hostile_documents_are_answered_and_harm_no_other(exported, article):
    many = 20_000
    hostile = [
        b"",
        b" \n\t\xc2\xa0 ",
        b"x",
        b"a" * 1_000_000,
        b"\xff\xfe. \xed\xa0\x80 \xc3",
        "😀👩‍👩‍👧 🇰🇷. ❤️!".encode(),
        "שלום עולם. مرحبا بالعالم؟ نعم.".encode(),
        b"Hi. " * many,
        b"." * many,
        b"\x00\x01\x02 a.\x00",
        b"a. \n" * 3,
        "\u200b\u200b.".encode(),
        b"[CLS] [SEP] [PAD].",
    ]
    alone = exported.ask("score", text=[article])
    given = exported.ask("score", text=[*hostile, article])
    np.testing.assert_allclose(
        given["score"][-1][: alone["count"][0]], alone["score"][0], atol=1e-5
    )
    assert given["count"].tolist()[:4] == [0, 0, 1, 1] and given["count"][7] == many
    assert (
        np.isfinite(given["score"]).all()
        and (given["coverage"] >= 0).all()
        and (given["coverage"] <= 1).all()
    )
    answer = exported.ask("serving_default", text=hostile)
    for i, text in enumerate(hostile):
        for k in range(answer["count"][i]):
            assert text[answer["start"][i, k] : answer["end"][i, k]] == answer["sentences"][i, k]


def test_coverage_counts_the_bytes_of_sentences_that_are_cut(exported):
    words = 200  # one sentence of as many pieces, of which 38 fit between [CLS] and [SEP]
    given = exported.ask("score", text=["a " * words, "The cat sat.\n" + "a " * words, "a " * 38])
    np.testing.assert_allclose(
        given["coverage"], [38 / words, (10 + 38) / (10 + words), 1], atol=1e-6
    )
    assert given["coverage"][2] == 1


def test_words_that_the_vocabulary_does_not_hold_are_told(exported):
    given = exported.ask(
        "score", text=["The cat sat on 23 bridges!", "한국어 문장이다.", "...", "The xyz zyx was."]
    )
    assert given["known"].tolist() == pytest.approx([4 / 5, 0, 1, 0.5])


@pytest.mark.slow  # a further export; .ci/run runs it
def test_core_operations_and_text_operations_give_the_same_bytes(
    transformer, article, report, tmp_path
):
    assert transformer.ops == "core"
    folder = export_extractive(
        transformer.source, tmp_path / "news", ops="text", selection="expected_rouge"
    )
    core, text = (tf.saved_model.load(str(each)) for each in (transformer.folder, folder))
    letters = string.printable + "éß한국日本。！\u00a0\u200b\u0301😀"
    rng = np.random.default_rng(5)
    texts = ["".join(rng.choice(list(letters), 150)) for _ in range(20)] + [article, report, ""]
    given, expected = (
        each.signatures["serving_default"](text=tf.constant(texts)) for each in (core, text)
    )
    for name, value in given.items():
        assert np.array_equal(value, expected[name]), name


def test_a_document_beyond_the_head_goes_through_it_in_even_blocks(transformer, text_module):
    first, size, place = (
        v.numpy()
        for v in _even_blocks(tf.constant([3, 0, SENTENCES_IN_HEAD + 1, SENTENCES_IN_HEAD]))
    )
    assert (
        size.tolist() == [3, 256, 257, 512]
        and first.tolist() == [0, 3, 259, 516]
        and place.tolist() == [0, 0, 256, 0]
    )

    plain = BertSumExt.from_pretrained(str(transformer.source))
    vectors = tf.random.stateless_normal([1200, 32], [1, 2])
    given = text_module.reader.score_documents(vectors, tf.constant([1200]))
    for begin in (0, 400, 800):
        block = plain.score_sentences(
            vectors[None, begin : begin + 400], tf.ones([1, 400], bool), tf.constant([begin])
        )
        np.testing.assert_allclose(given[begin : begin + 400], block[0], atol=1e-5)


@pytest.mark.slow
def test_chosen_by_expected_rouge(transformer, text_module, report):
    """The graph chooses what the rule does with its scores; the scores stay what they are."""
    module = text_module
    texts = [report, "One sentence.", ""]
    every = {k: v.numpy() for k, v in module.score(tf.constant(texts)).items()}
    np.testing.assert_allclose(
        every["score"], transformer.ask("score", text=texts)["score"], atol=1e-6
    )
    sentences = [
        [t.encode()[a:b] for a, b in zip(*offsets) if a >= 0]
        for t, *offsets in zip(texts, every["start"], every["end"])
    ]
    flat = module.reader.word_piece.tokenize(tf.constant([s for row in sentences for s in row]))
    pieces = tf.RaggedTensor.from_row_lengths(flat, [len(s) for s in sentences])
    ranks = expected_rouge_ranks(
        every["score"][every["start"] >= 0],
        tf.fill([flat.nrows()], True),
        pieces,
        is_word(module.reader.word_piece.vocabulary),
        tf.constant([3, 3, 3]),
        module.max_sentences,
    ).numpy()
    best = np.sort(np.argsort(-ranks[: len(sentences[0])], kind="stable")[:3])
    given = module.summarize(tf.constant(texts), tf.constant([3, 3, 3]), tf.constant([False] * 3))
    assert given["start"].numpy()[0, :3].tolist() == every["start"][0][best].tolist()
    assert given["count"].numpy().tolist() == [3, 1, 0]
    by_score = np.sort(np.argsort(-every["score"][0], kind="stable")[:3])
    assert by_score.tolist() != best.tolist()
    with pytest.raises(
        ExportError, match="selection='best'; expected one of score, expected_rouge"
    ):
        build(
            transformer.source,
            read_settings(transformer.source),
            "text",
            {"selection": "best"},
            "float32",
        )


@pytest.mark.slow  # a graph of its own; .ci/run runs it
def test_chosen_by_the_words_that_a_word_head_expects(transformer, report, tmp_path):
    """By the rates of the plain model at every piece, over several windows and in a batch."""
    arguments = json.loads((transformer.source / "config.json").read_text())["bert_sum_ext"]
    bert = BertSumExt.from_pretrained(str(transformer.source)).bert
    keras.utils.set_random_seed(4)  # a random head may hold two sentences as good as equal
    model = BertSumExt(bert, **{**arguments, "word_head": True, "pooling": "mean"})
    model.build()
    kernel = np.random.default_rng(1).normal(size=(bert.config["hidden_size"], 2))
    model.words.kernel.assign(kernel)
    words = (transformer.source / "vocab.txt").read_text().splitlines()
    settings = json.loads((transformer.source / "tfsum.json").read_text())
    model.save_pretrained(tmp_path / "source", words, settings)
    module = build(
        tmp_path / "source",
        read_settings(tmp_path / "source"),
        "text",
        {"selection": "expected_rouge"},
        "float32",
    )

    texts = [report, "One sentence.", ""]
    given = module.summarize(tf.constant(texts), tf.constant([3, 3, 3]), tf.constant([False] * 3))
    every = {k: v.numpy() for k, v in module.score(tf.constant(texts)).items()}
    data, count = report.encode(), every["count"][0]
    sentences = [data[a:b].decode() for a, b in zip(every["start"][0], every["end"][0]) if a >= 0]
    inputs = windows_in_python(sentences, tmp_path / "source", model.window_length)
    plain = BertSumExt.from_pretrained(str(tmp_path / "source"))
    logits, rates, _ = plain.read(inputs)
    np.testing.assert_allclose(every["score"][0, :count], tf.sigmoid(logits)[0], atol=1e-5)
    ids, special = (
        inputs["token_ids"][0],
        [0, module.reader.word_piece.cls_id, module.reader.word_piece.sep_id],
    )
    ranks = expected_rouge_ranks(
        tf.sigmoid(logits[0]),
        tf.ones_like(logits[0], tf.bool),
        tf.RaggedTensor.from_row_lengths(module.reader.word_piece.tokenize(sentences), [count]),
        is_word(module.reader.word_piece.vocabulary),
        tf.constant([3]),
        module.max_sentences,
        tf.boolean_mask(rates[0], ~np.isin(ids, special)),
    ).numpy()
    best = np.sort(np.argsort(-ranks, kind="stable")[:3])
    assert given["start"].numpy()[0, :3].tolist() == every["start"][0][best].tolist()
    assert given["count"].numpy().tolist() == [3, 1, 0]

    ((name, number),) = module.automatic().items()
    given = module.summarize(tf.constant(texts), tf.fill([3], number), tf.constant([False] * 3))
    first, *others = given["count"].numpy().tolist()
    assert name == "automatic" and first in (2, 3, 4) and others == [1, 0]


def test_a_dateline_is_cut_and_the_offsets_follow(exported):
    text = "LONDON, England (CNN) -- The bridge was closed. It fell."
    given = exported.ask("summarize", text=[text], max_sentences=[2], block_trigrams=[False])
    spans = zip(given["start"][0, :2], given["end"][0, :2])
    assert [text[a:b] for a, b in spans] == ["The bridge was closed.", "It fell."]
    assert given["summary"][0].decode() == "The bridge was closed. It fell."


def test_a_dateline_has_no_keywords(exported):
    text = "LONDON, England (CNN) -- The bridge in Paris was closed. It fell in England."
    given = exported.ask("keywords", text=[text], max_keywords=[20])
    places = [*zip(given["start"][0], given["end"][0])][: given["count"][0]]
    found = [text[start:end] for start, end in places]
    assert {"Paris", "England"} <= set(found) and not {"LONDON", "CNN"} & set(found)
    assert all(start >= text.index("The bridge") for start, _ in places)


def test_who_speaks_and_who_took_a_picture_are_no_keywords(exported):
    text = "Anna: Paris was closed.\nBob: It fell.\nAnna: Rain fell.\nPhoto: Ed Roe"
    given = exported.ask("keywords", text=[text], max_keywords=[20])
    places = [*zip(given["start"][0], given["end"][0])][: given["count"][0]]
    found = {text[start:end] for start, end in places}
    assert {"Paris", "Bob"} <= found and not {"Anna", "Photo", "Ed Roe"} & found


def test_relevance_is_of_every_sentence_and_what_a_query_alone_chooses_by(exported, article):
    texts, queries = [article, article, "It rained.", ""], ["the river fell", "", "zoo", "river"]
    given = exported.ask("relevance", text=texts, query=queries)
    every = exported.ask("score", text=texts)
    same = {*every} - {"score"}
    assert {*given} - {"nearest", "shared"} == {*every} and all(
        np.array_equal(given[k], every[k]) for k in same
    )

    scores = given["score"]
    assert scores[0].max() == 1.0 and not scores[1:].any()
    asked = golden.extract_inputs(1, query=queries[0], query_weight=1.0, max_sentences=1)
    chosen = exported.ask("extract", text=[article], **asked)
    assert chosen["start"][0, 0] == given["start"][0, scores[0].argmax()]
    with pytest.raises(CallError, match="query: expected one value for each"):
        exported.ask("relevance", text=texts, query=["a"])


@pytest.mark.parametrize(
    "limits, expected",
    [
        ({"max_words": 9}, "The bridge was closed. It fell in the rain."),
        ({"max_words": 8}, "It fell in the rain."),
        ({"max_sentences": 1}, "It fell in the rain."),
    ],
)
def test_a_hit_that_opens_with_a_pronoun_has_the_sentence_before_it(exported, limits, expected):
    text = "The bridge was closed. It fell in the rain. Repairs of the school cost a lot."
    asked = {"query": "It fell in the rain.", "query_weight": 1.0, **limits}
    given = exported.ask("extract", text=[text], **golden.extract_inputs(1, **asked))
    assert given["summary"][0].decode() == expected
