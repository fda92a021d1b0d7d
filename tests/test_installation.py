"""What an installation is, beside that of these tests: a wheel in an environment of its own, and no
tensorflow-text."""

import importlib.util
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile

import pytest

import tfsum
from tfsum.cli.main import main
from tfsum.training.recipe_file import shipped_recipes

ROOT = pathlib.Path(__file__).resolve().parents[1]
ARTICLE = ROOT / "examples" / "article.txt"
LEFT_BEHIND = (
    ".git",
    ".venv",
    "build",
    "dist",
    "runs",
    "records",
    "*.egg-info",
    "__pycache__",
    ".*_cache",
)


def run(*words, **options) -> str:
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, check=False, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow  # half a minute: packs the shipped models twice, and starts TensorFlow
def test_the_wheel_of_the_sdist_summarizes_without_the_checkout(tmp_path):
    for tool in ("build", "twine", "setuptools"):
        if importlib.util.find_spec(tool) is None:
            pytest.skip(f"{tool} is not installed: pip install '.[test]'")
    shutil.copytree(ROOT, tmp_path / "source", ignore=shutil.ignore_patterns(*LEFT_BEHIND))
    source, packed = tmp_path / "source", tmp_path / "dist"
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", packed, source, cwd=tmp_path)
    shutil.rmtree(source)
    sdist, wheel = sorted(packed.iterdir(), key=lambda path: path.suffix)
    assert sdist.name.endswith(".tar.gz") and wheel.suffix == ".whl"
    run(sys.executable, "-m", "twine", "check", "--strict", sdist, wheel)

    # The sdist is the whole checkout, for whoever wants to run the tests; the wheel is the package.
    with tarfile.open(sdist) as archive:
        packed_files = {name.partition("/")[2] for name in archive.getnames()}
    assert packed_files >= {".ci/run", "CITATION.cff", "docs/README.md", "tests/conftest.py"}
    assert packed_files >= {
        "benchmarks/README.md",
        "examples/article.txt",
        "training/bert_sum_ext_news.toml",
    }
    with zipfile.ZipFile(wheel) as archive:
        folders = {name.partition("/")[0] for name in archive.namelist()}
    assert folders == {"tfsum", f"tfsum-{tfsum.__version__}.dist-info"}

    # An environment that has what these tests have but tfsum, which is the wheel's: its own folder
    # comes first.
    clean = tmp_path / "clean"
    run(sys.executable, "-m", "venv", "--without-pip", clean)
    python = clean / "bin" / "python"
    purelib = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    pathlib.Path(purelib, "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    run(
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--ignore-installed",
        wheel,
    )
    assert run(python, "-P", "-c", "import tfsum; print(tfsum.__file__)", cwd=tmp_path).startswith(
        purelib
    )
    listed = run(clean / "bin" / "tfsum", "train", "--list", cwd=tmp_path)
    assert [line.split()[0] for line in listed.splitlines()] == [*shipped_recipes()]
    keys = run(clean / "bin" / "tfsum", "train", "--keys", "bert_sum_ext_news", cwd=tmp_path)
    assert keys.startswith("[data]\ntrain  (required)\n")
    found = run(clean / "bin" / "tfsum", "summarize", ARTICLE, cwd=tmp_path).splitlines()
    assert len(found) in (2, 3, 4) and all(
        sentence in ARTICLE.read_text(encoding="utf-8") for sentence in found
    )


# a whole run; tests/text/test_word_piece.py hides tensorflow-text for the tokenizer alone
@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "verb"),
    [("extractive", "summarize"), ("abstractive", "summarize"), ("classification", "classify")],
)
def test_without_tensorflow_text_a_model_is_trained_exported_and_asked(
    task, verb, tmp_path, monkeypatch, capsys
):
    # as on Windows, for which there is none
    monkeypatch.setitem(sys.modules, "tensorflow_text", None)
    shutil.copytree(ROOT / "tests" / "fixtures" / "tiny_corpus", tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    assert main(["train", f"{task}.toml"]) == 0
    assert main(["export", f"runs/{task}/best", "served/model"]) == 0
    assert main(["verify", "served/model"]) == 0
    capsys.readouterr()
    model = (
        ["--model", "served/model", str(ARTICLE)]
        if verb == "summarize"
        else ["served/model", str(ARTICLE)]
    )
    assert main([verb, *model]) == 0
    assert capsys.readouterr().out.strip()
