"""`SentenceSplitter` against the Golden Rules, our own cases in many languages, and hostile
bytes."""

import collections
import dataclasses
import gzip
import json
import pathlib

import hypothesis.strategies as st
import pytest
import tensorflow as tf
from hypothesis import example, given

from tfsum.errors import Error
from tfsum.text.sentence_splitter import LONGEST, SentenceSplitter, split_unpunctuated
from tfsum.text.splitting_rules import LANGUAGES, load_passes, load_patterns, load_rules

DATA = pathlib.Path(__file__).resolve().parents[1] / "fixtures"
SPLITTERS = {newline: SentenceSplitter(newline) for newline in ("sentence", "paragraph", "space")}
BITS = [
    "Mr. Smith",
    " went. ",
    "The U.S. ",
    "He",
    "a.m. ",
    ". . . ",
    "...",
    "。",
    "다.",
    "가",
    "\n",
    "\r\n",
    " ",
    "\t",
    "\u3000",
    "\u0085",
    "\x01",
    "\x02",
    "\x03",
    "\0",
    '"',
    "”",
    "「",
    "」",
    "1. ",
    "2) ",
    "• ",
    "a",
    "É",
    "😀",
    "?",
    "!",
    "؟",
    "। ",
    "[1]",
    "Co. ",
    "No. 5",
    "\u2028",
    "(",
    ")",
    "\x0b",
    "\x1c",
    "i",
    "x",
    "《",
    "》",
    "（",
    "）",
    "2024. 3. 15. ",
    "''",
    "-- ",
]
BROKEN = [b"\xff", b"\xe3\x80", b". ", b"A", b"\x01", b"\n", b"\xed\xa0\x80", b"\xc2"]
TEXTS = st.one_of(
    st.lists(st.sampled_from(BITS), max_size=30).map(lambda bits: "".join(bits).encode()),
    st.text(max_size=40).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.binary(max_size=40),
    st.lists(st.sampled_from(BROKEN)).map(b"".join),
)


def _sentences(texts: list, newline: str = "sentence") -> list[list[bytes]]:
    return (
        SPLITTERS[newline]
        .split(tf.constant(texts, tf.string, shape=(len(texts),)))["sentences"]
        .to_list()
    )


def _check(texts: list[bytes], newline: str = "sentence") -> list[list[bytes]]:
    """Offsets give back the sentences, in order, and leave out nothing but white space."""
    out = SPLITTERS[newline].split(tf.constant(texts, tf.string, shape=(len(texts),)))
    kinds = {key: value.dtype for key, value in out.items()}
    assert kinds == {"sentences": tf.string, "start": tf.int32, "end": tf.int32}
    assert all(v.row_splits.dtype == tf.int64 and v.nrows() == len(texts) for v in out.values())
    rows = {key: value.to_list() for key, value in out.items()}
    for text, sentences, starts, ends in zip(texts, rows["sentences"], rows["start"], rows["end"]):
        assert sentences == [text[a:b] for a, b in zip(starts, ends)] and all(sentences)
        assert all(b <= a for b, a in zip(ends, starts[1:]))
        gaps = b"".join(text[a:b] for a, b in zip([0, *ends], [*starts, len(text)]))
        assert not gaps.decode().strip(), "no sentence holds a byte that is no white space"
    return rows["sentences"]


def test_golden_rules():
    cases = json.loads((DATA / "golden_rules_en.json").read_text(encoding="utf-8"))["cases"]
    got = _sentences([c["text"] for c in cases])
    right = [g == [s.encode() for s in c["sentences"]] for g, c in zip(got, cases)]
    assert len(cases) == 48 and sum(right) == 48, [
        c["text"] for c, ok in zip(cases, right) if not ok
    ]


CASES = json.loads((DATA / "sentence_cases.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("group", sorted({c["group"] for c in CASES}))
def test_cases_of_our_own(group):
    cases = [c for c in CASES if c["group"] == group]
    got = _check([c["text"].encode() for c in cases])
    assert [[s.decode() for s in row] for row in got] == [c["sentences"] for c in cases]


def test_there_are_enough_cases():
    assert (
        len(CASES) >= 60
        and collections.Counter(c["group"] for c in CASES).most_common()[-1][1] >= 3
    )


def test_new_cases_say_why():
    assert all(c.get("reason", "a reason") for c in CASES)
    assert collections.Counter(c["group"] for c in CASES if "reason" in c).keys() == {
        "Chinese",
        "Japanese",
        "Korean",
    }


RULES = load_rules()
WALK = [
    pytest.param(stage, rule, id=f"{stage}: {rule.name}")
    for stage in RULES
    for rule in RULES[stage]
]


@pytest.mark.parametrize("stage, rule", WALK)
def test_every_rule_is_needed_by_its_example(monkeypatch, stage, rule):
    _, _, newline = stage.partition("newline_")
    text = rule.example.replace("|", "")
    right = [sentence.strip().encode() for sentence in rule.example.split("|")]

    def sentences_with(*instead):
        rules = [other for r in RULES[stage] for other in ([r] if r is not rule else instead)]
        monkeypatch.setitem(RULES, stage, tuple(rules))
        load_passes.cache_clear()
        splitter = SentenceSplitter(newline or "sentence")
        return [s.numpy() for s in splitter.split([text])["sentences"][0]]

    # traces no graph
    monkeypatch.setattr(SentenceSplitter, "_split", SentenceSplitter._split.python_function)
    assert rule.why and rule.name
    assert sentences_with(rule) == right != sentences_with()
    if rule.times > 1:
        assert sentences_with(dataclasses.replace(rule, times=rule.times - 1)) != right
    monkeypatch.undo()
    load_passes.cache_clear()


def test_passes_do_what_their_rules_do_one_by_one(monkeypatch):
    texts = [case["text"] for case in CASES] + [rule.values[1].example for rule in WALK]
    together = _sentences(texts)
    monkeypatch.setattr(
        "tfsum.text.sentence_splitter.load_passes", lambda stage: RULES.get(stage, ())
    )
    monkeypatch.setattr(SentenceSplitter, "_split", SentenceSplitter._split.python_function)
    monkeypatch.setitem(SPLITTERS, "sentence", SentenceSplitter("sentence"))
    assert _sentences(texts) == together


def test_rules_have_different_names():
    names = [rule.name for rules in RULES.values() for rule in rules]
    assert len(set(names)) == len(names)


def test_every_pattern_of_a_language_is_used():
    written = "".join(path.read_text(encoding="utf-8") for path in LANGUAGES.glob("*.toml"))
    unused = {name for name in load_patterns() if f"<{name}>" not in written}
    # for texts without punctuation, what needs the sentence before it, and what is none of a text
    assert unused == {"conjunctions", "anaphors", "connectives", "notices"}


@pytest.mark.reference
@pytest.mark.parametrize("language, least", [("ko", 193), ("zh", 194), ("ja", 190), ("ar", 193)])
def test_treebank_sentences(shared, language, least):
    path = shared / "data" / "multilingual" / f"{language}_docs.jsonl.gz"
    documents = [
        json.loads(line) for line in gzip.decompress(path.read_bytes()).decode().splitlines()
    ]
    got = _check([d["text"].encode() for d in documents])
    wanted = [{s.strip().encode() for s in d["sentences"]} for d in documents]
    right = sum(len(set(g) & w) for g, w in zip(got, wanted))
    assert sum(len(d["sentences"]) for d in documents) == 194 and right >= least


@pytest.mark.parametrize(
    "newline, expected",
    [
        ("sentence", [b"A hard", b"wrapped line.", b"New", b"block"]),
        ("paragraph", [b"A hard\nwrapped line.", b"New\r\nblock"]),
        ("space", [b"A hard\nwrapped line.", b"New\r\nblock"]),
    ],
)
def test_what_a_new_line_means(newline, expected):
    assert _check([b"A hard\nwrapped line.\n \nNew\r\nblock"], newline) == [expected]
    blank, title = b"Title\r\n\r\nText", b"met Mr.\nSmith"
    assert _check([blank], newline) == [[blank] if newline == "space" else blank.split()]
    assert _check([title], newline) == [
        [b"met Mr.", b"Smith"] if newline == "sentence" else [title]
    ]


@given(st.lists(TEXTS, max_size=4), st.sampled_from(sorted(SPLITTERS)))
@example([b"\x01", b"\x02 A.\x01 B.", b""], "sentence")
@example([], "space")
def test_offsets_are_exact_and_a_batch_changes_nothing(texts, newline):
    together = _check(texts, newline)
    assert together == [_check([text], newline)[0] for text in texts]


@pytest.mark.parametrize(
    "unit, count",
    [
        (b"a", 1),
        (b".", 1),
        (b". ", 1),
        (b" ", 0),
        (b"\n", 0),
        (b"\xff", 1),
        (b"\x01", 1),
        (b"\x02a", 1),
        (b"A. ", None),
        (b"\0. ", None),
        (b"w. . . . ", None),
        (b". ((", None),
        ("다.가".encode(), None),
        (b"1) a 2) b ", None),
    ],
)
def test_a_megabyte_of_one_thing(unit, count):
    text = unit * (1_000_000 // len(unit))
    out = SPLITTERS["sentence"].split([text])
    found = int(out["start"].row_lengths()[0])
    assert count is None or found == count
    covered = int(tf.reduce_sum(out["end"].flat_values - out["start"].flat_values))
    assert covered >= len(text.replace(b" ", b"").replace(b"\n", b""))


def test_a_hundred_thousand_sentences():
    split = SPLITTERS["sentence"].split
    assert split([b"Hi. " * 100_000])["start"].row_lengths().numpy().tolist() == [100_000]
    assert split([b"Hi."] * 1000)["end"].to_list() == [[3]] * 1000


def test_with_a_sentence_a_line_nothing_else_ends_one():
    found = SentenceSplitter("line").split(["the u.s. Army . It left .\n\n 1. Go .\r\n2. Stay ."])
    assert found["sentences"].to_list() == [
        [b"the u.s. Army . It left .", b"1. Go .", b"2. Stay ."]
    ]
    assert found["start"].to_list() == [[0, 28, 37]]


def test_wrong_calls_are_named():
    with pytest.raises(
        Error, match="newline is 'lines'; expected one of 'auto', 'line', 'sentence', 'paragraph'"
    ):
        SentenceSplitter("lines")
    for wrong in ("one text", [["a"]], [1]):
        with pytest.raises(Error, match="expected strings of shape"):
            SPLITTERS["sentence"].split(wrong)


def test_in_a_dataset_and_in_a_saved_model(tmp_path):
    splitter = SentenceSplitter()
    data = tf.data.Dataset.from_tensor_slices(["One. Two.", ""]).batch(2).map(splitter.split)
    assert next(iter(data))["sentences"].to_list() == [[b"One.", b"Two."], []]
    module = tf.Module()
    module.splitter = splitter
    module.run = tf.function(
        lambda text: splitter.split(text)["end"].to_tensor(-1),
        input_signature=[tf.TensorSpec([None], tf.string)],
    )
    tf.saved_model.save(module, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    assert loaded.run(tf.constant(["One. Two.", "", "\x01"])).numpy().tolist() == [
        [4, 9],
        [-1, -1],
        [1, -1],
    ]
    graph = module.run.get_concrete_function().graph.as_graph_def()
    ops = {n.op for n in graph.node} | {n.op for f in graph.library.function for n in f.node_def}
    assert not {op for op in ops if "TFText" in op or op in ("PyFunc", "EagerPyFunc")}


SPEECH = (
    "so we went down to the river and it was late and nobody was there but we had the lights with"
    " us so we looked around for a while and then the man from the town came over and said that we"
    " could not stay " * 5
)


def test_speech_is_split_and_every_byte_belongs_to_one_piece():
    out = SentenceSplitter("auto").split([SPEECH])
    pieces = [piece.decode() for piece in out["sentences"].to_list()[0]]
    assert out["unpunctuated"].numpy().tolist() == [True]
    assert " ".join(pieces).split() == SPEECH.split()
    assert len(pieces) > 10 and max(len(piece.split()) for piece in pieces) <= LONGEST + 1
    assert (
        sum(piece.split()[0] in ("so", "and", "but", "then") for piece in pieces) > len(pieces) / 2
    )
    data = SPEECH.encode()
    assert [
        data[a:b].decode() for a, b in zip(out["start"][0].numpy(), out["end"][0].numpy())
    ] == pieces


def test_words_without_any_conjunction_are_split_by_length():
    marked, _ = split_unpunctuated(tf.constant(["word " * 400]), "|")
    assert [len(piece.split()) for piece in marked.numpy()[0].decode().split("|")][:-1] == [
        LONGEST
    ] * 10


def test_punctuated_and_short_texts_stay_as_they_are():
    texts = ["It rained. " * 60, "a few words and no mark", "", "3.14 " * 300]
    marked, unpunctuated = split_unpunctuated(tf.constant(texts), "|")
    assert unpunctuated.numpy().tolist() == [False, False, False, True]
    assert marked.numpy()[:3].tolist() == [text.encode() for text in texts[:3]]
