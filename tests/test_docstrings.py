"""Every public class and function has a docstring, with an example that `pytest --doctest-modules tfsum` runs."""

import ast
import pathlib
from collections.abc import Iterator

import pytest

PACKAGE = pathlib.Path(__file__).resolve().parents[1] / "tfsum"

# Without an example, each with its reason. Methods are shown by the example of their class.
VERBS = {"add_arguments", "run"}  # of cli/*.py: `EXAMPLES` and `tfsum VERB --help` show the calls
COMMAND_PARTS = {
    "batches",
    "columns",
    "connect",
    "explain",
    "as_json",
    "as_text",
    "read_lines",
    "load",
    "documents",
    "answers",
    "listing",
    "comparison",
    "curves",
    "shown",
    "number",
    "table",
    "refuse_rows",
    "show",
}  # steps of one verb, which its tests run
CHECKS = {
    "devices",
    "keras_backend",
    "machine",
    "models",
    "optional_packages",
    "packages",
    "precision",
    "tensorflow",
    "xla",
}  # of cli/diagnosis.py: what they find differs from machine to machine
TASK_PARTS = {  # a part has the same functions in every task; `tfsum.tasks` and the verbs of `tfsum` show them
    "__init__.py": {"owns", "load"},
    "card.py": {"table"},
    "evaluate.py": {"evaluate"},
    "explain.py": {"explain_page"},
    "export.py": {"export_model"},
    "golden.py": {"signatures", "requests", "ask", "warmup"},
    "train.py": {"schema", "TrainingData", "prepare_data", "build_model", "make_run"},
}
OTHERS = {"tasks/evaluate.py": {"Report"}}  # an interface
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


def needs_no_example(path: pathlib.Path, name: str) -> bool:
    place = path.relative_to(PACKAGE)
    if place.parts[0] == "cli":
        return name in VERBS | (CHECKS if place.name == "diagnosis.py" else COMMAND_PARTS)
    if place.parts[0] == "tasks" and len(place.parts) == 3:
        return name in TASK_PARTS.get(place.name, set())
    return name in OTHERS.get(place.as_posix(), set())


FILES = sorted(PACKAGE.rglob("*.py"))


def methods(
    node: ast.ClassDef | ast.FunctionDef,
) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The public methods of a class, without those that Keras documents, and without the types of `overload`."""
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
    """Names of methods that some class documents: one that inherits may implement them in silence."""
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
def test_public_names_have_an_example(path):
    missing = [
        node.name
        for node in public(path)
        if ">>> " not in (ast.get_docstring(node) or "") and not needs_no_example(path, node.name)
    ]
    assert not missing, f"{path}: an example (>>> ) is missing at {', '.join(missing)}"


def test_the_exceptions_are_there():
    names = {name for path in FILES for name in [node.name for node in public(path)]}
    listed = VERBS | COMMAND_PARTS | CHECKS | set().union(*TASK_PARTS.values(), *OTHERS.values())
    assert listed <= names
