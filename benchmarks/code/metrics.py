"""Counts Python source: the table of one or several folders. Imports nothing that it measures.

    python -m benchmarks code [FOLDER...] [--before FOLDER]

A checkout of tfsum has a row for its tfsum/ and one for its benchmarks/; any other folder has one.

    files            number of files
    lines            lines of all files
    statements       nodes of `ast`; docstrings and lone constants such as `...` are not counted
    functions > 50   functions of more than 50 lines, from `def` to the end
    bodies > 50      functions whose body alone, without signature and docstring, has more than 50
    files > 400      files of more than 400 lines
    comments %       comments per 100 lines
    blank %          blank lines per 100 lines of function bodies
    a if b else c    conditional expressions per 100 lines of function bodies
    Any              parameters annotated with `Any` or a union with it; `dict[str, Any]` is none
    legacy           lines with the word, outside papers/
"""

import argparse
import ast
import dataclasses
import io
import pathlib
import sys
import tokenize
from collections.abc import Iterator

from benchmarks import results

Function = ast.FunctionDef | ast.AsyncFunctionDef

FUNCTION_LINES = 50  # the most lines of a function's body
FILE_LINES = 400


@dataclasses.dataclass(frozen=True)
class Source:
    """One file.

    Attributes:
        name: The path below its folder.
        lines: The lines of its text.
        nodes: The nodes of its tree, the module first.
    """

    name: pathlib.PurePath
    lines: list[str]
    nodes: list[ast.AST]


def read(folder: pathlib.Path) -> list[Source]:
    """The Python files of a folder and its subfolders, sorted by path; not those of hidden ones."""
    sources = []
    for path in sorted(folder.rglob("*.py")):
        if any(part.startswith(".") for part in path.relative_to(folder).parts):
            continue
        text = path.read_text(encoding="utf-8")
        nodes = list(ast.walk(ast.parse(text)))
        sources.append(Source(path.relative_to(folder), text.splitlines(), nodes))
    return sources


def statements(source: Source) -> int:
    """The number of statements; docstrings and other lone constants are not counted."""
    return sum(
        isinstance(node, ast.stmt)
        and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        for node in source.nodes
    )


def comments(source: Source) -> int:
    """The number of comments, those at the end of a line of code among them."""
    tokens = tokenize.generate_tokens(io.StringIO("\n".join(source.lines)).readline)
    return sum(token.type == tokenize.COMMENT for token in tokens)


def body(function: Function) -> list[ast.stmt]:
    """The statements of a function behind its docstring."""
    return function.body[ast.get_docstring(function) is not None :]


def body_lines(function: Function) -> int:
    """The lines of a function without its signature and its docstring."""
    inside = body(function)
    return inside[-1].end_lineno - inside[0].lineno + 1 if inside else 0


def outermost_functions(node: ast.AST) -> Iterator[Function]:
    """The functions and methods that are in no other function."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function):
            yield child
        else:
            yield from outermost_functions(child)


def is_any(annotation: ast.expr | None) -> bool:
    """Whether an annotation is `Any`, or a union with it."""
    if isinstance(annotation, ast.BinOp):
        return is_any(annotation.left) or is_any(annotation.right)
    return annotation is not None and ast.unparse(annotation) in ("Any", "typing.Any")


def any_parameters(source: Source) -> int:
    """The number of parameters that may be anything."""
    return sum(isinstance(node, ast.arg) and is_any(node.annotation) for node in source.nodes)


def legacy_lines(source: Source) -> int:
    """The lines with the word "legacy", outside papers/."""
    if "papers" in source.name.parts:
        return 0
    return sum("legacy" in line.lower() for line in source.lines)


def measure(sources: list[Source]) -> dict[str, str]:
    """The row of some files, by column."""
    functions = [node for source in sources for node in source.nodes if isinstance(node, Function)]
    lengths = [node.end_lineno - node.lineno + 1 for node in functions]
    lines = sum(len(source.lines) for source in sources)

    inside, conditionals = [], 0
    for source in sources:
        for function in outermost_functions(source.nodes[0]):
            if statement := body(function):
                inside += source.lines[statement[0].lineno - 1 : function.end_lineno]
            conditionals += sum(
                isinstance(node, ast.IfExp) for each in statement for node in ast.walk(each)
            )

    def share(count: int, whole: int) -> str:
        return f"{100 * count / max(whole, 1):.1f}"

    return {
        "files": f"{len(sources)}",
        "lines": f"{lines:,}",
        "statements": f"{sum(map(statements, sources)):,}",
        f"functions > {FUNCTION_LINES}": f"{sum(n > FUNCTION_LINES for n in lengths)}",
        f"bodies > {FUNCTION_LINES}": f"{sum(body_lines(f) > FUNCTION_LINES for f in functions)}",
        f"files > {FILE_LINES}": f"{sum(len(source.lines) > FILE_LINES for source in sources)}",
        "comments %": share(sum(map(comments, sources)), lines),
        "blank %": share(sum(not line.strip() for line in inside), len(inside)),
        "a if b else c": share(conditionals, len(inside)),
        "Any": f"{sum(map(any_parameters, sources))}",
        "legacy": f"{sum(map(legacy_lines, sources))}",
    }


def folders_of(tree: pathlib.Path) -> list[pathlib.Path]:
    """The folders that have a row: tfsum/ and benchmarks/ of a checkout, or the folder itself."""
    rooms = [tree / name for name in ("tfsum", "benchmarks")]
    return [room for room in rooms if (tree / "tfsum").is_dir() and room.is_dir()] or [tree]


def change(before: list[Source], after: list[Source]) -> str:
    """How many statements came and went."""
    old, new = (sum(map(statements, sources)) for sources in (before, after))
    return f"{old:,} -> {new:,} statements ({new - old:+,})"


OPTIONS = {
    "folders": {"nargs": "*", "type": pathlib.Path, "default": [pathlib.Path()]},
    "--before": {
        "metavar": "FOLDER",
        "type": pathlib.Path,
        "help": "an earlier state of the first: also print how many statements came and went",
    },
}


def run(options: argparse.Namespace) -> None:
    trees = options.folders
    files = {folder: read(folder) for tree in trees for folder in folders_of(tree)}
    if empty := [str(folder) for folder, sources in files.items() if not sources]:
        sys.exit(f"{', '.join(empty)}: holds no Python file")
    print(results.table({str(folder): measure(sources) for folder, sources in files.items()}))

    for folder in folders_of(trees[0]) if options.before else ():
        before = options.before / folder.relative_to(trees[0])
        print(f"{folder}: {change(read(before), files[folder])}")
