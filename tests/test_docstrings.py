"""Every public class and function has a docstring."""

import ast
import functools
import pathlib
import re
from collections.abc import Iterator

import pytest

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
# An entry of `Args:` or `Attributes:` that is no noun phrase.
NO_NOUN = re.compile(r" {4}(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: \(.*?\))?:\s+(?i:of|see|likewise)\b")
BEAM = {"expand"}  # likewise of Beam's transforms


@functools.cache
def tree_of(path: pathlib.Path) -> ast.Module:
    """A module, parsed once."""
    return ast.parse(path.read_text(encoding="utf-8"))


def public(path: pathlib.Path) -> Iterator[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    """The public classes and functions of a module."""
    for node in tree_of(path).body:
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


def test_public_names_have_a_docstring(documented):
    missing = []
    for path in FILES:
        for node in public(path):
            if ast.get_docstring(node) is None and not (
                path.parent.name == "cli" and node.name in VERBS
            ):
                missing.append(f"{path}: {node.name}")
            missing += [
                f"{path}: {node.name}.{method.name}"
                for method in methods(node)
                if ast.get_docstring(method) is None
                and not (node.bases and method.name in documented)
            ]
    assert not missing, "a docstring is missing at\n" + "\n".join(missing)


def no_noun_phrases(tree: ast.Module) -> list[str]:
    """The entries of `Args:` and `Attributes:` that begin with such a word."""
    wrong = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef | ast.Module | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        section = ""
        for line in (ast.get_docstring(node) or "").splitlines():
            if line and not line.startswith(" "):
                section = line
            elif section in ("Args:", "Attributes:") and (entry := NO_NOUN.match(line)):
                wrong.append(entry[1])
    return wrong


def test_entries_are_found():
    source = '''
class Reader:
    """Reads.

    Args:
        folder, name: of the run.
            see: this line goes on.
        *parts: likewise.
        size (int): See `read`.
        count: Often a number.
            of: this line goes on, too.

    Attributes:
        path: of the file.

    Returns:
        value: of nothing.
    """
'''
    assert no_noun_phrases(ast.parse(source)) == ["folder, name", "*parts", "size", "path"]


def test_arguments_are_described_by_noun_phrases():
    wrong = {str(path): no_noun_phrases(tree_of(path)) for path in FILES}
    wrong = {path: entries for path, entries in wrong.items() if entries}
    assert not wrong, f"entries begin with 'of', 'see' or 'likewise': {wrong}"
