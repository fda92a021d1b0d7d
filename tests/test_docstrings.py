"""Every public class and function has a docstring."""

import ast
import pathlib
from collections.abc import Iterator

import pytest

from benchmarks.code.metrics import argument_entries, is_no_noun

PACKAGE = pathlib.Path(__file__).resolve().parents[1] / "tfsum"

# Of cli/*.py: `EXAMPLES`, `OPTIONS` and `tfsum VERB --help` document them.
VERBS = {"add_arguments", "run"}
# Methods that Keras documents, and that mean the same here.
KERAS = {
    "build",
    "call",
    "compile",
    "evaluate",
    "fit",
    "get_config",
    "make_test_function",
    "make_train_function",
    "predict",
    "predict_on_batch",
}
BEAM = {"expand"}  # likewise of Beam's transforms


def public(path: pathlib.Path) -> Iterator[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    """The public classes and functions of a module."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(
            node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        ) and not node.name.startswith("_"):
            yield node


FILES = sorted(PACKAGE.rglob("*.py"))


def methods(
    node: ast.ClassDef | ast.FunctionDef,
) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The public methods of a class, without those that Keras documents, and without the types of
    `overload`."""
    for child in node.body if isinstance(node, ast.ClassDef) else ():
        if (
            isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
            and not child.name.startswith("_")
            and child.name not in KERAS | BEAM
            and "overload" not in [getattr(found, "id", "") for found in child.decorator_list]
        ):
            yield child


@pytest.fixture(scope="module")
def documented() -> set[str]:
    """Names of methods that some class documents: one that inherits may implement them in
    silence."""
    return {
        method.name
        for path in FILES
        for node in public(path)
        for method in methods(node)
        if ast.get_docstring(method)
    }


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_public_names_have_a_docstring(path, documented):
    missing = []
    for node in public(path):
        if ast.get_docstring(node) is None and not (
            path.parent.name == "cli" and node.name in VERBS
        ):
            missing.append(node.name)
        missing += [
            f"{node.name}.{method.name}"
            for method in methods(node)
            if ast.get_docstring(method) is None and not (node.bases and method.name in documented)
        ]
    assert not missing, f"{path}: a docstring is missing at {', '.join(missing)}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_arguments_are_described_by_noun_phrases(path):
    entries = argument_entries(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    wrong = [f"{name}: {text}" for name, text in entries if is_no_noun(text)]
    assert not wrong, f"{path}: an entry begins with 'of', 'see' or 'likewise': {wrong}"
