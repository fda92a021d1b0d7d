"""The files of the summarization papers as corpora: stories, BertSum's JSON and its shards, and
what names many."""

import gzip
import hashlib
import io
import json
import pickle
import zipfile

import pytest

from tfsum.data.corpus_files import corpus_digest, corpus_files
from tfsum.data.readers import read_corpus
from tfsum.errors import DataError
from tfsum.formats.torch_file import LEGACY_MAGIC

STORY = (
    "(CNN) It rained.\n\nThe bridge closed.\n\n@highlight\n\nRain closes"
    " bridge\n\n@highlight\n\n@highlight\nA\nb\n"
)
READ = {
    "id": "a",
    "text": "(CNN) It rained.\nThe bridge closed.",
    "summary": "Rain closes bridge\nA b",
}
EXAMPLES = [
    {
        "src": [101, 7, 102],
        "labels": [1],
        "segs": [0, 0, 0],
        "clss": [0],
        "src_txt": ["it rained .", "the end ."],
        "tgt_txt": "rain<q>end",
    },
    {
        "src": [101, 7, 102],
        "tgt": [1, 8, 2],
        "src_sent_labels": [0, 1],
        "segs": [0, 0, 0],
        "clss": [0],
        "src_txt": ["it rained .", "the end ."],
        "tgt_txt": "rain",
    },
]


def legacy(value) -> bytes:
    """What torch.save wrote before 1.6: magic, protocol, system, the object, the keys of its (no)
    storages."""
    system = {
        "protocol_version": 1001,
        "little_endian": True,
        "type_sizes": {"short": 2, "int": 4, "long": 4},
    }
    return b"".join(pickle.dumps(part, 2) for part in (LEGACY_MAGIC, 1001, system, value, []))


def zipped(value) -> bytes:
    """What torch.save writes since 1.6."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("shard/data.pkl", pickle.dumps(value, 2))
        archive.writestr("shard/version", "3\n")
    return file.getvalue()


@pytest.mark.parametrize("name", ["a.story", "a.story.gz"])
def test_a_story_is_its_article_and_its_highlights(tmp_path, name):
    (tmp_path / name).write_bytes(
        gzip.compress(STORY.encode()) if name.endswith("gz") else STORY.encode()
    )
    assert list(read_corpus(tmp_path / name)) == [READ]


@pytest.mark.reference
def test_stories_of_core_nlp_are_read_as_the_original_reads_them(shared, tmp_path):
    cases = json.loads((shared / "parity/corenlp_lines.json").read_text())
    for number, case in enumerate(cases["cases"]):
        path = tmp_path / f"{number}.story.json"
        sentences = [
            {"index": i, "tokens": [{"word": word} for word in sentence.split()]}
            for i, sentence in enumerate(case["sentences"])
        ]
        path.write_text(json.dumps({"docId": "a", "sentences": sentences}, indent=2))
        (found,) = read_corpus(path)
        expected = {
            part: [" ".join(tokens) for tokens in case["presumm_lower"][part] if tokens]
            for part in ("src", "tgt")
        }
        assert found["text"].lower().split("\n") == (expected["src"] or [""])
        assert found["summary"].lower().split("\n") == (expected["tgt"] or [""])
    ((address, name),) = cases["hashhex"].items()
    (tmp_path / "list.txt").write_text(f"{address}\n")
    (tmp_path / f"{name}.story").write_text(STORY)
    assert corpus_files(tmp_path / "list.txt") == [tmp_path / f"{name}.story"]


def test_json_of_tokens(tmp_path):
    documents = [
        {"src": [["It", "rained", "."], ["End", "."]], "tgt": [["Rain"], ["End"]]},
        {"src": [["A"]], "tgt": []},
    ]
    (tmp_path / "cnndm.train.0.json").write_text(json.dumps(documents))
    found = list(read_corpus(tmp_path / "cnndm.train.0.json"))
    assert found == [
        {"id": "1", "text": "It rained .\nEnd .", "summary": "Rain\nEnd"},
        {"id": "2", "text": "A", "summary": ""},
    ]


@pytest.mark.parametrize("write", [legacy, zipped])
def test_shards_of_both_programs_and_both_formats(tmp_path, write):
    (tmp_path / "shard").write_bytes(write(EXAMPLES))  # recognized without its name
    found = list(read_corpus(tmp_path / "shard", labels="labels"))
    assert [(d["text"], d["summary"]) for d in found] == [
        ("it rained .\nthe end .", "rain\nend"),
        ("it rained .\nthe end .", "rain"),
    ]
    assert [d["labels"] for d in found] == [[1, 0], [0, 1]]


class Malicious:
    def __reduce__(self):
        import os

        return os.system, ("touch broken_in",)


@pytest.mark.parametrize("write", [legacy, zipped])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([*EXAMPLES, Malicious()], "asks for the Python object .*system.*runs no code"),
        ({"model": {}}, "holds a dict, expected a list of dictionaries"),
        ([1], "holds a list, expected a list of dictionaries"),
        (
            [{"src_txt": ["a"], "labels": [1]}],
            "example 1: tgt_txt: Field required, found {'src_txt': .*; expected src_txt",
        ),
        (
            [{"src_txt": "a", "tgt_txt": "b", "labels": []}],
            "example 1: src_txt: Input should be a valid list, found 'a'; expected src_txt, a list",
        ),
        (
            [{"src_txt": ["a"], "tgt_txt": "b", "labels": [2]}],
            r"labels.0.: Input should be 0 or 1, found 2; expected .* labels, a list of 0 and 1",
        ),
    ],
)
def test_wrong_shards_are_named_and_nothing_of_them_runs(
    tmp_path, monkeypatch, write, value, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.pt").write_bytes(write(value))
    with pytest.raises(DataError, match=rf"a.pt.*{message}"):
        list(read_corpus(tmp_path / "a.pt"))
    assert not (tmp_path / "broken_in").exists()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "a.json",
            '[{"src": "It rained.", "tgt": []}]',
            "document 1: src: Input should be a valid list, found 'It rained.'; expected",
        ),
        (
            "a.json",
            '[{"text": "It rained."}]',
            "document 1: src: Field required, found {'text': 'It rained.'}; expected an obj",
        ),
        (
            "a.json",
            '[{"src": [["a"]], "tgt": [["b"]]}',
            r"a.json:1: not JSON .*expected a whole list",
        ),
        ("a.json", '[{"src": ' + "[" * 100_000, r"a.json:1: not JSON .*nested too deep"),
        ("a.json", f'[{{"src": {"9" * 5_000}}}]', r"a.json:1: not JSON .Exceeds the limit"),
        (
            "a.json",
            '{"sentences": [{"index": 0, "tokens": ' + "[" * 100_000,
            "a.json: not CoreNLP's JSON of a story .*nested too deep",
        ),
        (
            "a.json",
            '{"sentences": [{"index": 0}]}',
            r"not CoreNLP's JSON of a story .KeyError: 'tokens'.; expected",
        ),
    ],
)
def test_wrong_files_are_named(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=message):
        list(read_corpus(tmp_path / name))


def test_a_folder_a_pattern_and_a_list_of_addresses(tmp_path):
    addresses = [f"http://www.cnn.com/{i}" for i in range(3)]
    names = [hashlib.sha1(address.encode()).hexdigest() for address in addresses]
    (tmp_path / "cnn").mkdir()
    for name in names:
        (tmp_path / "cnn" / f"{name}.story").write_text(STORY)
    assert [d["id"] for d in read_corpus(tmp_path / "cnn")] == sorted(names)
    assert [d["id"] for d in read_corpus(str(tmp_path / "cnn" / "*.story"))] == sorted(names)
    (tmp_path / "urls_test.txt").write_text("\n".join(addresses[1:]) + "\n")
    assert [d["id"] for d in read_corpus(tmp_path / "urls_test.txt")] == names[1:]
    before = corpus_digest(tmp_path / "urls_test.txt")
    (tmp_path / "cnn" / f"{names[1]}.story").write_text("It snowed.")
    assert corpus_digest(tmp_path / "urls_test.txt") != before


def test_what_no_corpus_can_be_read_from(tmp_path):
    with pytest.raises(
        DataError, match="found no file of a corpus, expected files of one of the kinds .story"
    ):
        corpus_files(tmp_path)
    for name in ("a.story", "b.pt"):
        (tmp_path / name).write_text("It rained.")
    with pytest.raises(
        DataError, match=r"files of several kinds \(.pt, .story\), expected .*or those .*\*.story"
    ):
        corpus_files(tmp_path)
    with pytest.raises(DataError, match=r"\*.json: no file has a name of this pattern"):
        corpus_files(str(tmp_path / "*.json"))
    (tmp_path / "list.txt").write_text("http://a\nhttp://b\n")
    with pytest.raises(
        DataError, match=r"list.txt: 2 of its 2 stories are not in .* such as [0-9a-f]{40}.story of"
    ):
        corpus_files(tmp_path / "list.txt")
