"""The blocks of docs/integrations.md do what they say, where their frameworks are installed."""

import pathlib
import re

import pytest

pytest.importorskip("tensorflow")

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "integrations.md"
pytestmark = pytest.mark.usefixtures("opened_once")
TEXT = "It rained all night. The bridge was closed on Monday, since engineers found cracks."


@pytest.fixture(scope="module")
def section():
    """Runs the first block and that of a section; returns what they define."""
    text = PAGE.read_text(encoding="utf-8")
    parts = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    (first, *_) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)

    def run(name):
        (block,) = re.findall(r"```python\n(.*?)```", parts[name], re.DOTALL)
        names = {"__name__": "integrations"}
        exec(compile(first + block, name, "exec"), names)
        return names

    return run


def test_the_shape_of_a_pipeline(section):
    summarizer = section("transformers' pipeline")["summarizer"]
    (one,) = summarizer(TEXT)
    assert one["summary_text"] and len(summarizer([TEXT, TEXT])) == 2
    assert len(summarizer(TEXT, max_length=6)[0]["summary_text"]) <= 24


def test_langchain(section):
    documents = pytest.importorskip("langchain_core.documents")
    found = section("LangChain")["Compressor"](words=12).compress_documents(
        [documents.Document(page_content=TEXT, metadata={"page": 3})], "Why was the bridge closed?"
    )
    assert found[0].metadata == {"page": 3} and found[0].page_content in TEXT


def test_haystack(section, monkeypatch):
    monkeypatch.setenv("HAYSTACK_TELEMETRY_ENABLED", "False")
    haystack = pytest.importorskip("haystack")
    pipeline = haystack.Pipeline()
    pipeline.add_component("short", section("Haystack")["Summarizer"]())
    asked = {"documents": [haystack.Document(content=TEXT)], "query": "Why?", "words": 12}
    (found,) = pipeline.run({"short": asked})["short"]["documents"]
    assert found.content in TEXT


def test_llama_index(section):
    schema = pytest.importorskip("llama_index.core.schema")
    nodes = [schema.NodeWithScore(node=schema.TextNode(text=TEXT), score=0.5)]
    shortened = section("LlamaIndex")["Shortened"](words=12)
    (found,) = shortened.postprocess_nodes(nodes, query_str="Why was the bridge closed?")
    assert found.node.get_content() in TEXT and found.score == 0.5


def test_spacy(section):
    spacy = pytest.importorskip("spacy")
    section("spaCy")
    pipeline = spacy.blank("en")
    pipeline.add_pipe("tfsum")
    document = pipeline(TEXT)
    found = [span.text for span in document.spans["summary"]]
    assert found and all(text in TEXT for text in found)
