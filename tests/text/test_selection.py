"""`select` against the papers' own choices, a plain-Python walk and hostile shapes; which pieces of
chats, mail, law, lists and abstracts may stand in a summary."""

import functools
import json

import hypothesis.strategies as st
import pytest
import tensorflow as tf
from hypothesis import given

from tfsum.text.selection import may_be_chosen, select, select_sentences
from tfsum.text.sentence_splitter import SentenceSplitter

WORDS = st.lists(st.sampled_from(["a", "b", "A", "c", "더", "é"]), max_size=6)
SCORES = st.sampled_from(
    [0.0, -1.0, 0.25, 0.5, 0.5000001, 3.0, float("nan"), float("-inf"), float("inf")]
)
SENTENCES = st.lists(st.tuples(WORDS, SCORES, st.booleans()), max_size=9)
DOCUMENT = st.tuples(SENTENCES, st.integers(-1, 6), st.booleans())


INPUTS = [
    tf.TensorSpec([None]),
    tf.TensorSpec([None], tf.bool),
    tf.RaggedTensorSpec([None, None], tf.string),
    tf.TensorSpec([None], tf.int32),
    tf.TensorSpec([None], tf.bool),
]


@functools.cache
def _graph(limit):
    return tf.function(
        lambda *inputs: select(*inputs, limit), input_signature=INPUTS, autograph=False
    )


def _select(*inputs, limit):
    """`select` in a graph."""
    return _graph(limit)(*inputs)


def _walk(sentences, most, block, limit):
    """The same rule in a few lines of plain Python, for one document."""
    worth = [-3.4e38 if score != score else max(score, -3.4e38) for _, score, _ in sentences]
    order = sorted((i for i, s in enumerate(sentences) if s[2]), key=lambda i: (-worth[i], i))
    chosen, seen = [], set()
    for i in order:
        if len(chosen) == min(max(most, 0), limit):
            break
        words = sentences[i][0]
        trigrams = set(zip(words, words[1:], words[2:]))
        if block and trigrams & seen:
            continue
        seen |= trigrams
        chosen.append(i)
    return sorted(chosen)


def _run(documents, limit):
    """Puts documents of (words, score, present) triples into one batch and gives the chosen lists
    back."""
    every = [sentence for sentences, *_ in documents for sentence in sentences]
    texts = tf.RaggedTensor.from_row_lengths(
        tf.constant([" ".join(words) for words, *_ in every], tf.string),
        tf.constant([len(d[0]) for d in documents], tf.int64),
    )
    scores = tf.constant([score for _, score, _ in every], tf.float32)
    present = tf.constant([present for *_, present in every], tf.bool)
    most = tf.constant([d[1] for d in documents], tf.int32)
    block = tf.constant([d[2] for d in documents], tf.bool)
    indices, count = _select(scores, present, texts, most, block, limit=limit)
    assert indices.shape == (len(documents), limit) and indices.dtype == count.dtype == tf.int32
    rows = [row[:n] for row, n in zip(indices.numpy().tolist(), count.numpy().tolist())]
    assert all(
        x == -1 for row, n in zip(indices.numpy().tolist(), count.numpy().tolist()) for x in row[n:]
    )
    return rows


@given(st.lists(DOCUMENT, max_size=4))
def test_same_as_a_plain_walk(documents):
    expected = [_walk(*d, 4) for d in documents]
    assert _run(documents, 4) == expected


@given(st.lists(DOCUMENT, min_size=1, max_size=4))
def test_other_documents_change_nothing(documents):
    assert _run(documents, 3) == [_run([d], 3)[0] for d in documents]


@pytest.mark.parametrize(
    "scores, most, expected",
    [
        ([0.1, 0.9, 0.5], 2, [0, 1]),
        ([0.1, 0.9, 0.5], 3, [0, 1, 2]),
        ([0.1, 0.9, 0.5], 1, [1]),  # there is no room for two
        ([0.1, 0.5, 0.9], 1, [2]),
        ([0.1, 0.5, 0.9], 2, [1, 2]),  # nor beside what is better
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_a_sentence_comes_with_the_one_that_completes_it(scores, most, expected, first):
    texts = tf.ragged.constant([["A ship sank.", "It was old.", "Rain fell."], ["Snow."]])
    present, completing = tf.constant([first, True, True, True]), [True, False, False, False]
    given = tf.constant([*scores, 0.5]), present, texts, [most, 1], [False, True], 3
    indices, count = select(*given, completing=tf.constant(completing))
    assert indices[0, : count[0]].numpy().tolist() == expected
    assert indices[1].numpy().tolist() == [0, -1, -1]


def test_many_sentences():
    many = [(["x", "y", "z"], 1.0, True)] * 200 + [
        (["p", "q", "r"], 0.5, True),
        (["y", "z", "x"], 0.2, True),
    ]
    few = [([str(i)], float(i), True) for i in range(150)]
    assert _run([(many, 3, True), (many, 3, False), (few, 4, True)], 4) == [
        [0, 200, 201],
        [0, 1, 2],
        [146, 147, 148, 149],
    ]


@pytest.mark.reference
def test_the_papers_own_choices(shared):
    cases = json.loads((shared / "parity" / "selection.json").read_text())["cases"]
    cases = [
        c
        for c in cases
        if not c["ambiguous"] and not c["picked_beyond_cls"] and c["block"] is not None
    ]
    assert len(cases) >= 35
    for key, block in (("block", True), ("noblock", False)):
        sentences = [
            [(t.split(), score, True) for t, score in zip(c["src_txt"], c["scores"])] for c in cases
        ]
        documents = [(s, 3, block) for s in sentences]
        assert _run(documents, 3) == [sorted(c[key]) for c in cases]


def test_case_and_white_space():
    words = tf.ragged.constant(
        [["One two\u3000three four", " One \t two three\n", " one \t two three\n"]]
    )
    scores, present = tf.constant([3.0, 2.0, 1.0]), tf.constant([True, True, True])
    indices, count = select(scores, present, words, [3], [True], 3)
    assert indices.numpy().tolist() == [[0, 2, -1]] and count.numpy().tolist() == [2]


@pytest.mark.parametrize("rows", [0, 3])
def test_nothing_to_choose_from(rows):
    words = tf.RaggedTensor.from_row_lengths(tf.zeros([0], tf.string), tf.zeros([rows], tf.int64))
    indices, count = _select(
        tf.zeros([0]),
        tf.zeros([0], tf.bool),
        words,
        tf.fill([rows], 3),
        tf.fill([rows], True),
        limit=2,
    )
    assert indices.shape == (rows, 2) and indices.numpy().tolist() == [[-1, -1]] * rows
    assert count.numpy().tolist() == [0] * rows


def test_a_hundred_thousand_sentences():
    size = 100_000
    one_row = lambda texts: tf.RaggedTensor.from_row_splits(texts, tf.constant([0, size], tf.int64))  # noqa: E731
    same = one_row(tf.fill([size], "all the same words"))
    other = one_row(tf.strings.as_string(tf.range(size)) + " b c")
    scores, present = tf.random.uniform([size], seed=1), tf.fill([size], True)
    best = tf.math.top_k(scores, 3).indices.numpy().tolist()
    assert _select(scores, present, same, [3], [True], limit=3)[0].numpy().tolist() == [
        [best[0], -1, -1]
    ]
    indices, count = _select(scores, present, other, [3], [True], limit=3)
    assert indices.numpy().tolist() == [sorted(best)] and count.numpy().tolist() == [3]


def test_sentences_that_are_not_present_are_never_chosen():
    texts = tf.ragged.constant([["a", "b", "c"]])
    scores, present = tf.constant([0.1, 0.9, 0.5]), tf.constant([True, True, False])
    assert select(scores, present, texts, [2], [False], 2)[0].numpy().tolist() == [[0, 1]]


def test_survives_a_saved_model_with_core_ops_only(tmp_path):
    module = tf.Module()
    ragged = tf.RaggedTensor.from_tensor
    module.run = tf.function(
        lambda scores, present, text, most, block: select(
            scores, present, ragged(text), most, block, 3
        ),
        input_signature=[
            tf.TensorSpec([None]),
            tf.TensorSpec([None], tf.bool),
            tf.TensorSpec([None, None], tf.string),
            tf.TensorSpec([None], tf.int32),
            tf.TensorSpec([None], tf.bool),
        ],
    )
    tf.saved_model.save(module, str(tmp_path))
    run = tf.saved_model.load(str(tmp_path)).run
    text = tf.constant([["a b c", "b c d", "x a b c"]])
    indices, _ = run(tf.constant([3.0, 2.0, 1.0]), tf.fill([3], True), text, [3], [True])
    assert indices.numpy().tolist() == [[0, 1, -1]]


@functools.cache
def _left():
    """The sentences of a text that may be chosen, in a graph."""

    def left(texts):
        sentences = SentenceSplitter("auto").split(texts)["sentences"]
        return tf.boolean_mask(sentences.flat_values, may_be_chosen(sentences))

    return tf.function(left, input_signature=[tf.TensorSpec([1], tf.string)], autograph=False)


def kept(text):
    return [sentence.decode() for sentence in _left()([text]).numpy()]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (
            (
                "From: Anna <a@example.org>\nTo: Ben\nSubject: Rain\n\nThe river rose.\nPeople"
                " left.\n\nYours,\nAnna"
            ),
            ["The river rose.", "People left."],
        ),
        ("It was found.\n\nCarla wrote:\n> Where is it?\n> I waited.", ["It was found."]),
        (
            "船が沈んだ。『船沈む』。\n港湾新聞社、2005年9月28日。\n中国新聞『船沈む、原因不明』。\n"
            "『海』は、彼の最初の本だ。",
            ["船が沈んだ。", "『海』は、彼の最初の本だ。"],
        ),
        (
            "Abstract\nWe study rain. It is wet.\nMethods:\nWe measured it.\n-----\n* * *\nTable 1",
            ["We study rain.", "It is wet.", "We measured it."],
        ),
        (
            "ANNA:\nDid you see it?\nBEN:\nNo, I was at home.",
            ["Did you see it?", "No, I was at home."],
        ),
        (
            "1. Scope\nThis law applies to ships.\n2. Terms\nA ship is a vessel [3].",
            ["This law applies to ships.", "A ship is a vessel [3]."],
        ),
        (
            "Rain of the first six months of the year in two towns\n"
            "                 Mill      Leek\nrain (mm)        12.3      15.8\n"
            "sun (h)\t3\t4\n\nIt rained in Leek. It    did\tnot in Mill.",
            ["It rained in Leek.", "It    did\tnot in Mill."],
        ),
        ("Anna     3\nBen      4", ["Anna     3", "Ben      4"]),
        ("제목\n비가 왔다. 강이 넘쳤다.\n보낸 사람: 안나", ["비가 왔다.", "강이 넘쳤다."]),
        (
            "The municipality of Harlow Bay will prohibit automobiles in the centre\n"
            "It rained. The river rose.\n"
            "Management of international transportation infrastructure programmes",
            [
                "It rained.",
                "The river rose.",
                "Management of international transportation infrastructure programmes",
            ],
        ),
        (
            "Rain and sun of the first half of the year in two towns by the sea\n"
            "It rained. The river rose.\n"
            "Hagen | 12 May of this year at noon by the clock of the hall | read in three minutes",
            ["It rained.", "The river rose."],
        ),
        (
            f"{'長い一文' * 20}\n雨が降った。川が溢れた。",
            ["長い一文" * 20, "雨が降った。", "川が溢れた。"],
        ),
        ("- milk\n- eggs\n- bread", ["- milk", "- eggs", "- bread"]),
        ("-----", ["-----"]),
        ("", []),
        (
            "one text in lower case and without any mark",
            ["one text in lower case and without any mark"],
        ),
    ],
)
def test_only_sentences_are_left(text, left):
    assert kept(text) == left


def test_others_are_chosen_only_where_there_are_no_more():
    texts = tf.ragged.constant([["Rain", "It rained.", "The river rose."], ["-----"]])
    scores = tf.constant([0.9, 0.2, 0.1, 0.5])
    indices, count = select_sentences(scores, texts, [3, 3], [False, False], limit=3)
    assert indices.numpy().tolist() == [[1, 2, -1], [0, -1, -1]] and count.numpy().tolist() == [
        2,
        1,
    ]


@functools.cache
def _select_sentences():
    """`select_sentences` by score in a graph."""
    scores, _, texts, most, block = INPUTS
    inputs = [scores, texts, most, block, tf.TensorSpec([], tf.int32)]
    return tf.function(select_sentences, input_signature=inputs, autograph=False)


@pytest.mark.parametrize(("most", "count"), [(2, 2), (400, 400), (600, 599)])
def test_as_many_as_are_wanted_of_a_long_text(most, count):
    sentences = [f"Train {number} is late." for number in range(599)]
    texts = tf.ragged.constant([[*sentences, sentences[0]]])
    indices, found = _select_sentences()(tf.linspace(0.0, 1.0, 600), texts, [most], [False], most)
    assert found.numpy().tolist() == [count]
    assert indices.numpy()[0, :count].tolist() == list(range(600 - count, 600))
