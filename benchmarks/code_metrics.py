"""Measures Python source: the structure of tfsum, or the style of any package. Imports nothing that
it measures.

    python benchmarks/code_metrics.py TREE [OTHER_TREE]
    python benchmarks/code_metrics.py --style PACKAGE [OTHER_PACKAGE...]

The first prints a column for each checkout of tfsum: files, lines and code lines of each package of
tfsum/ (a folder of it, and each of tfsum/tasks/), imports between packages, circles, long
functions, call splats, and blocks that stand there twice. A code line holds code: comments,
docstrings and blank lines are not counted.

The second prints a row for each folder of Python files. Its columns:

    files            number of files, and median/p90/max of their lines
    functions        number of functions, and median/p90/max of their code lines
    statements       nodes of `ast`; docstrings and lone constants such as `...` are not counted
    comments         comments per 100 lines
    blank            blank lines per 100 lines of function bodies
    over 100         lines of more than 100 columns per 100 lines that are not blank
    a if b else c    conditional expressions per 100 lines of function bodies
    classes twice    class names that several files define, other than *Settings
    of, see          entries of Args and Attributes that begin with "of", "see" or "likewise"
    legacy           lines with the word, outside papers/
"""

import argparse
import ast
import collections
import dataclasses
import io
import itertools
import pathlib
import re
import statistics
import tokenize
from collections.abc import Iterable, Iterator

LONG = 40  # code lines of a function that is called long
BLOCK = 6  # code lines of a block that counts when it stands somewhere twice
SILENT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
COLUMNS = 100  # of a line
ENTRY = re.compile(r" {4}(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: \(.*?\))?:\s+(.*)")
NO_NOUN = ("of", "see", "likewise")  # first words of an entry that is no noun phrase


@dataclasses.dataclass(frozen=True)
class Source:
    """One file.

    Attributes:
        path: below the tree.
        text: what is in it.
        tree: the same, parsed.
        code: line number -> the line's tokens with one blank between, for every line that holds
            code.
    """

    path: pathlib.PurePath
    text: str
    tree: ast.Module
    code: dict[int, str]

    @property
    def package(self) -> str:
        """What the file is counted with: `text`, `tasks/bert_sum_ext`; `tasks` and "" for what lies
        beside these."""
        inside = self.path.parts[1:-1]
        return "/".join(inside[:2] if inside[:1] == ("tasks",) else inside[:1])

    @property
    def imported(self) -> frozenset[int]:
        """The lines of its import statements."""
        return frozenset(
            line
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
            for line in range(node.lineno, node.end_lineno + 1)
        )


def read(path: pathlib.Path, root: pathlib.Path) -> Source:
    """Reads a file of a tree."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text, str(path))
    return Source(pathlib.PurePath(path.relative_to(root)), text, tree, code_lines(text, tree))


def code_lines(text: str, tree: ast.Module) -> dict[int, str]:
    """Line number -> its tokens, for the lines that hold code; a string over several lines holds
    all of them."""
    documented = {line for node in ast.walk(tree) for line in docstring_lines(node)}
    found: dict[int, list[str]] = collections.defaultdict(list)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in SILENT:
            parts = token.string.split("\n")
            for line, part in enumerate(parts, token.start[0]):
                if line not in documented:
                    found[line].append(part.strip())
    return {line: " ".join(parts) for line, parts in sorted(found.items()) if any(parts)}


def docstring_lines(node: ast.AST) -> Iterator[int]:
    """The lines of strings that stand alone as a statement in a body: docstrings, and those behind
    an attribute."""
    for field in ("body", "orelse", "finalbody"):
        body = getattr(node, field, [])
        for child in body if isinstance(body, list) else []:
            if (
                isinstance(child, ast.Expr)
                and isinstance(child.value, ast.Constant)
                and isinstance(child.value.value, str)
            ):
                yield from range(child.lineno, child.end_lineno + 1)


def arrows(sources: list[Source]) -> collections.Counter[tuple[str, str]]:
    """Import statements by (package, package that it imports from), other than itself and the
    root's modules."""
    modules = {
        ".".join(s.path.with_suffix("").parts).removesuffix(".__init__"): s.package for s in sources
    }
    found: collections.Counter[tuple[str, str]] = collections.Counter()
    for source in sources:
        for node in ast.walk(source.tree):
            others = {
                package
                for name in imported_names(node)
                if (package := package_of(name, modules)) is not None
            }
            found.update(
                (source.package, other)
                for other in others
                if other not in ("", source.package) and source.package
            )
    return found


def imported_names(node: ast.AST) -> list[str]:
    """The dotted names that an import statement may mean; none for other nodes."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []


def package_of(name: str, modules: dict[str, str]) -> str | None:
    """The package of the longest part of a dotted name that is a module of the tree."""
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return modules.get(name)


def circles(pairs: Iterable[tuple[str, str]]) -> list[list[str]]:
    """The groups of packages that import each other around some way, each sorted."""
    after: dict[str, set[str]] = collections.defaultdict(set)
    for package, other in pairs:
        after[package].add(other)

    def reach(package: str) -> set[str]:
        seen, ahead = set(), [package]
        while ahead:
            ahead += [
                other
                for other in after.get(ahead.pop(), ())
                if other not in seen and not seen.add(other)
            ]
        return seen

    reached = {package: reach(package) for package in after}
    groups = {
        tuple(sorted(other for other in reached[package] if package in reached.get(other, ())))
        for package in after
        if package in reached[package]
    }
    return [list(group) for group in sorted(groups)]


def exceptions(root: pathlib.Path) -> int | None:
    """How many imports against the arrows tests/test_imports.py allows; None without that file."""
    path = root / "tests" / "test_imports.py"
    if not path.is_file():
        return None
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Assign) and any(
            getattr(target, "id", "") == "EXCEPTIONS" for target in node.targets
        ):
            return len(getattr(node.value, "elts", None) or getattr(node.value, "keys", ()))
    return 0


def functions(source: Source) -> Iterator[tuple[str, int]]:
    """(name, code lines) of each function and method, its signature and inner functions among
    them."""
    for node in ast.walk(source.tree):
        if isinstance(node, FUNCTIONS):
            yield (
                node.name,
                sum(line in source.code for line in range(node.lineno, node.end_lineno + 1)),
            )


def splats(source: Source) -> int:
    """Calls that hand on a whole list or dict, `f(*x)` or `f(**x)`."""
    return sum(
        any(isinstance(a, ast.Starred) for a in node.args)
        or any(k.arg is None for k in node.keywords)
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call)
    )


def duplicated(sources: list[Source], size: int = BLOCK) -> list[tuple[int, str, str]]:
    """Blocks of `size` equal code lines and more that stand twice, imports passed over.

    A run of equal lines is counted once at its full length; a block that stands three times is one
    block, and one that is a part of a longer one is none.

    Returns:
        (code lines, place, another place) of each, the longest first.
    """
    lines = [
        (source.path.as_posix(), number, text)
        for source in sources
        for number, text in source.code.items()
        if number not in source.imported
    ]
    windows: dict[tuple[str, ...], list[int]] = collections.defaultdict(list)
    for i in range(len(lines) - size + 1):
        if lines[i][0] == lines[i + size - 1][0]:
            windows[tuple(text for _, _, text in lines[i : i + size])].append(i)
    found: dict[tuple[str, ...], tuple[int, int]] = {}
    for places in windows.values():
        for one, other in itertools.combinations(places, 2):
            if length := run_length(lines, one, other, size):
                found.setdefault(
                    tuple(text for _, _, text in lines[one : one + length]), (one, other)
                )

    def place(i: int) -> str:
        return f"{lines[i][0]}:{lines[i][1]}"

    kept: dict[str, tuple[int, str, str]] = {}
    for block, (one, other) in sorted(found.items(), key=lambda item: (-len(item[0]), item[1])):
        text = "\n".join(("", *block, ""))
        if not any(text in longer for longer in kept):
            kept[text] = (len(block), place(one), place(other))
    return list(kept.values())


def run_length(lines: list[tuple[str, int, str]], one: int, other: int, size: int) -> int:
    """How long two places go on equally, in one file each and without overlap; 0 where it began
    before them."""

    def equal(i: int, j: int) -> bool:
        return (
            i >= 0
            and j < len(lines)
            and lines[i][0] == lines[one][0]
            and lines[j][0] == lines[other][0]
            and lines[i][2] == lines[j][2]
        )

    if equal(one - 1, other - 1):
        return 0
    length = next(n for n in itertools.count() if not equal(one + n, other + n) or one + n >= other)
    return length if length >= size else 0


def measure(root: pathlib.Path) -> dict[str, str]:
    """What is printed of a tree, by the name of its row."""
    sources = [read(path, root) for path in sorted((root / "tfsum").rglob("*.py"))]
    rows = {}
    for package in sorted({source.package for source in sources}):
        rows[f"tfsum/{package}"] = size_of(
            source for source in sources if source.package == package
        )
    rows["total"] = size_of(sources)
    found = arrows(sources)
    rooms = collections.Counter(
        tuple(name.partition("/")[0] for name in pair) for pair in found.elements()
    )
    between = [pair for pair in rooms.elements() if pair[0] != pair[1]]
    around = circles(found)
    allowed = exceptions(root)
    rows["arrows between packages"] = f"{found.total():,} imports, {len(found)} pairs"
    rows["and between top folders"] = f"{len(between):,} imports, {len(set(between))} pairs"
    rows["circles of packages"] = f"{len(around)}" + "".join(
        f" ({' '.join(group)})" for group in around
    )
    rows["exceptions in test_imports"] = "-" if allowed is None else str(allowed)
    sizes = sorted(
        ((lines, name) for source in sources for name, lines in functions(source)), reverse=True
    )
    long = [row for row in sizes if row[0] > LONG]
    rows[f"functions over {LONG} code lines"] = f"{len(long)} of {len(sizes)}" + (
        f", the longest {long[0][1]} with {long[0][0]}" if long else ""
    )
    engine = [source for source in sources if source.package == "training"]
    tasks = [
        source
        for source in sources
        if source.package.startswith("tasks/") and source.path.name == "train.py"
    ]
    rows["call splats in training/"] = str(sum(map(splats, engine)))
    rows["and in tasks/*/train.py"] = str(sum(map(splats, engine + tasks)))
    blocks = duplicated(sources)
    rows[f"blocks of {BLOCK}+ lines twice"] = (
        f"{len(blocks)}, {sum(row[0] for row in blocks)} lines"
    )
    return rows


def size_of(sources: Iterable[Source]) -> str:
    """Files, lines and code lines in words."""
    sources = list(sources)
    lines = sum(len(source.text.splitlines()) for source in sources)
    code = sum(len(source.code) for source in sources)
    return f"{len(sources):4} files {lines:7,} lines {code:7,} code"


def table(columns: dict[str, dict[str, str]]) -> str:
    """Rows by name, a column a tree; a package that a tree lacks is a dash."""
    names = list(dict.fromkeys(name for rows in columns.values() for name in rows))
    # packages first, those of both trees together
    names.sort(key=lambda name: not name.startswith("tfsum/"))
    packages = sorted(name for name in names if name.startswith("tfsum/"))
    rows = [["", *columns]] + [
        [name, *(column.get(name, "-") for column in columns.values())]
        for name in [*packages, *names[len(packages) :]]
    ]
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows
    )


def style(folder: pathlib.Path) -> dict[str, str]:
    """The row of a folder in the table of `--style`, by column."""
    sources = [read(path, folder) for path in sorted(folder.rglob("*.py"))]
    lines = [line for source in sources for line in source.text.splitlines()]
    sizes = [code for source in sources for _, code in functions(source)]
    bodies = [body for source in sources for body in function_bodies(source)]
    body_lines = [line for body, _ in bodies for line in body]

    entries = [
        text for source in sources for _, text in argument_entries(source.tree) if no_noun(text)
    ]
    legacy = [
        line
        for source in sources
        if "papers" not in source.path.parts
        for line in source.text.splitlines()
        if "legacy" in line.lower()
    ]

    def share(count: int, whole: int) -> str:
        return f"{100 * count / max(whole, 1):.1f}"

    return {
        "files": f"{len(sources)}",
        "lines": spread([len(source.text.splitlines()) for source in sources]),
        "functions": f"{len(sizes)}",
        "code lines": spread(sizes),
        "statements": f"{sum(statements(source.tree) for source in sources):,}",
        "comments": share(sum(comments(source.text) for source in sources), len(lines)),
        "blank": share(sum(not line.strip() for line in body_lines), len(body_lines)),
        "over 100": share(
            sum(len(line) > COLUMNS for line in lines), sum(bool(line.strip()) for line in lines)
        ),
        "a if b else c": share(sum(count for _, count in bodies), len(body_lines)),
        "classes twice": f"{len(repeated_classes(sources))}",
        "of, see": f"{len(entries)}",
        "legacy": f"{len(legacy)}",
    }


def spread(numbers: list[int]) -> str:
    """Median, ninth decile and maximum of some numbers."""
    if not numbers:
        return "-"
    last_tenth = sorted(numbers)[int(0.9 * len(numbers))]
    return f"{statistics.median(numbers):.0f}/{last_tenth}/{max(numbers)}"


def statements(tree: ast.Module) -> int:
    """Statements of a file; docstrings and other lone constants are not counted."""
    return sum(
        isinstance(node, ast.stmt)
        and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        for node in ast.walk(tree)
    )


def comments(text: str) -> int:
    """Comments of a file, those at the end of a line of code among them."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return sum(token.type == tokenize.COMMENT for token in tokens)


def function_bodies(source: Source) -> Iterator[tuple[list[str], int]]:
    """Lines and number of conditional expressions of each function's body, without its docstring.

    An inner function is a part of the body of the outer one.
    """
    lines = source.text.splitlines()

    def outermost(node: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, FUNCTIONS):
                yield child
            else:
                yield from outermost(child)

    for function in outermost(source.tree):
        body = function.body[ast.get_docstring(function) is not None :]
        if body:
            count = sum(isinstance(node, ast.IfExp) for each in body for node in ast.walk(each))
            yield lines[body[0].lineno - 1 : function.end_lineno], count


def repeated_classes(sources: list[Source]) -> list[str]:
    """Names of classes that several files define.

    Settings classes have one name in every task, and are told apart by their folders.
    """
    files = collections.Counter(
        name
        for source in sources
        for name in {node.name for node in source.tree.body if isinstance(node, ast.ClassDef)}
        if not name.endswith("Settings")
    )
    return sorted(name for name, count in files.items() if count > 1)


def argument_entries(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Name and first line of each entry of `Args:` and `Attributes:` in a file's docstrings."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef | ast.Module | FUNCTIONS[0] | FUNCTIONS[1]):
            continue
        section = ""
        for line in (ast.get_docstring(node) or "").splitlines():
            if line and not line.startswith(" "):
                section = line
            elif section in ("Args:", "Attributes:") and (entry := ENTRY.match(line)):
                yield entry[1], entry[2]


def no_noun(text: str) -> bool:
    """Whether an entry begins with a word of `NO_NOUN`."""
    return re.split(r"\W", text, maxsplit=1)[0].lower() in NO_NOUN


def style_table(rows: dict[str, dict[str, str]]) -> str:
    """The rows of `style` by the names of their folders, as a Markdown table."""
    columns = ["", *next(iter(rows.values()))]
    lines = [
        columns,
        ["---"] * len(columns),
        *([name, *row.values()] for name, row in rows.items()),
    ]
    widths = [max(map(len, column)) for column in zip(*lines)]
    return "\n".join(
        f"| {' | '.join(cell.ljust(width) for cell, width in zip(line, widths))} |"
        for line in lines
    )


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "trees",
        metavar="TREE",
        nargs="+",
        type=pathlib.Path,
        help="a checkout, which holds tfsum/; with --style any folder of Python files",
    )
    parser.add_argument("--style", action="store_true", help="print the table of style")
    parser.add_argument(
        "--blocks", action="store_true", help="also list the blocks that stand twice"
    )
    arguments = parser.parse_args(argv)
    if arguments.style:
        for folder in arguments.trees:
            if not any(folder.rglob("*.py")):
                parser.error(f"{folder}: holds no Python file")
        print(style_table({str(folder): style(folder) for folder in arguments.trees}))
        return

    for tree in arguments.trees:
        if not (tree / "tfsum").is_dir():
            parser.error(f"{tree}: holds no tfsum/")
    print(table({str(tree): measure(tree) for tree in arguments.trees}))
    for tree in arguments.trees if arguments.blocks else ():
        print(f"\n{tree}")
        for length, one, other in duplicated(
            [read(p, tree) for p in sorted((tree / "tfsum").rglob("*.py"))]
        ):
            print(f"  {length:3} lines  {one}  {other}")


if __name__ == "__main__":
    main()
