"""Writes the pages of docs/reference/ from the code: public names, commands, keys of recipes,
signatures of exported models, errors; and the notebooks.

    python docs/reference.py && zensical build --strict

The pages are not in the repository; zensical.toml names the first of each kind.
"""

import ast
import base64
import contextlib
import io
import json
import pathlib
import re
import shutil

import tfsum
from tfsum.cli.main import VERBS
from tfsum.cli.main import main as command_line
from tfsum.cli.pipeline import PIPELINES
from tfsum.errors import Error
from tfsum.inference.exported_model import ExportedModel
from tfsum.serving import Client
from tfsum.serving.openapi import ERRORS as STATUSES
from tfsum.serving.servable import Servable
from tfsum.shipped_files import SAVED_MODELS
from tfsum.tasks import tasks

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "reference"


def write(name: str, *parts: str) -> None:
    """Writes a page."""
    path = FOLDER / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def printed(*words: str) -> str:
    """What a command prints."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.suppress(SystemExit):
        command_line(list(words))
    return output.getvalue()


def names() -> None:
    """A page for each public name, from its docstring."""
    lines = []
    for name in tfsum.__all__:
        if name == "__version__":
            continue
        value = getattr(tfsum, name)
        write(f"api/{name}", f"# tfsum.{name}", f"::: {value.__module__}.{value.__qualname__}")
        lines.append(
            f"- [`tfsum.{name}`](api/{name}.md): {(value.__doc__ or '').split(chr(10))[0]}"
        )
    for value in (ExportedModel, Client):  # which others name
        write(
            f"api/{value.__name__}",
            f"# {value.__name__}",
            f"::: {value.__module__}.{value.__name__}",
        )
        lines.append(f"- [`{value.__name__}`](api/{value.__name__}.md)")
    layers = _defined("tfsum.layers")
    write("api/layers", "# tfsum.layers", *(f"::: {path}" for path in layers))
    lines.append(
        "- [`tfsum.layers`](api/layers.md): the layers of the models, for models of your own"
    )
    write("api", "# Public names", "\n".join(lines))


def _defined(module: str) -> list[str]:
    """Where the public names of a module are defined."""
    found = __import__(module, fromlist=["*"])
    values = [getattr(found, name) for name in found.__all__]
    return [f"{value.__module__}.{value.__qualname__}" for value in values]


def commands() -> None:
    """A page for each command, from its help."""
    verbs = list(VERBS)
    for verb in verbs:
        write(f"commands/{verb}", f"# tfsum {verb}", f"```text\n{printed(verb, '--help')}```")
    for part in PIPELINES:
        page = f"```text\n{printed('pipeline', part, '--help')}```"
        write(f"commands/pipeline_{part}", f"# tfsum pipeline {part}", page)
    pages = {verb: verb for verb in verbs}
    pages |= {f"pipeline {part}": f"pipeline_{part}" for part in PIPELINES}
    lines = [f"- [`tfsum {name}`](commands/{page}.md)" for name, page in sorted(pages.items())]
    write("commands", "# Commands", f"```text\n{printed('--help')}```", "\n".join(lines))


def recipes() -> None:
    """A page for each kind of model, from the arguments that its keys are."""
    kinds = [task.name for task in tasks()]
    for kind in kinds:
        keys = printed("train", "--keys", kind)
        write(f"recipes/{kind}", f"# Keys of a recipe: {kind}", f"```text\n{keys}```")
    lines = [f"- [{kind}](recipes/{kind}.md)" for kind in kinds]
    about = "A recipe is a TOML file; `tfsum train --keys RECIPE` prints these pages."
    write("recipes", "# Keys of recipes", about, "\n".join(lines))


def signatures() -> None:
    """The inputs and outputs of the included models."""
    parts = ["# Signatures", "B is the number of texts; [exported models](../exported_models.md)."]
    for path in sorted(SAVED_MODELS.glob("*/*/saved_model.pb")):
        servable = Servable(path.parent.parent.name, int(path.parent.name), path.parent)
        parts.append(f"## {servable.name}")
        for name, signature in sorted(servable.signatures.items()):
            rows = ["| | name | type | shape |", "|---|---|---|---|"]
            for kind, tensors in (("input", signature.inputs), ("output", signature.outputs)):
                for tensor, info in sorted(tensors.items()):
                    shape = ", ".join(
                        "?" if size is None else str(size) for size in info.shape or ()
                    )
                    rows.append(f"| {kind} | `{tensor}` | {info.dtype} | ({shape}) |")
            parts += [f"### `{name}`", "\n".join(rows)]
    write("signatures", *parts)


def errors() -> None:
    """The messages of all errors, a page for each folder of the package."""
    classes = {name for name in dir(tfsum.errors) if _is_error(getattr(tfsum.errors, name))}
    classes |= {"RequestError", "invalid"}
    pages: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tfsum").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
                continue
            if node.func.id in classes and (message := _message(node)):
                room = path.relative_to(ROOT / "tfsum").parts[0].removesuffix(".py")
                name = node.func.id if node.func.id[0].isupper() else "RequestError"
                pages.setdefault(room, []).append(f"- {name}: {message}")
    for room, lines in pages.items():
        write(f"errors/{room}", f"# Errors of tfsum/{room}", "\n".join(sorted({*lines})))
    write(
        "errors",
        "# Errors",
        "Each is a subclass of [`tfsum.Error`](api/Error.md). Braces stand for what was found.",
        "\n".join(
            f"- [tfsum/{room}](errors/{room}.md): {len({*pages[room]})} messages" for room in pages
        ),
        "## Statuses of the server",
        "\n".join(f"- {status}: {meaning}" for status, meaning in STATUSES.items()),
    )


def speed() -> None:
    """The tables of benchmarks/README.md, whose links begin elsewhere."""
    text = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    text = re.sub(r"\]\(\.\./docs/", "](../", text)
    write(
        "speed", re.sub(r"\[([^\]]+)\]\((?!\.\./|http)([^)]+)\)", r"`benchmarks/\2`", text).rstrip()
    )


def notebooks() -> None:
    """The notebooks as pages, with what they printed and drew."""
    for path in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        parts, heading = list[str](), ""
        for number, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
            source = "".join(cell["source"])
            if cell["cell_type"] == "markdown":
                source = source.replace("](../", "](../../").replace(".ipynb)", ".md)")
                heading = ([heading] + re.findall(r"(?m)^#+ (.+)", source))[-1]
                # Files of the repository that are no pages
                parts.append(re.sub(r"\[([^\]]+)\]\((?:\.\./){3}[^)]*\)", r"\1", source))
                continue
            parts.append(f"```python\n{source}\n```")
            for output in cell["outputs"]:
                data = output.get("data", {})
                if "image/png" in data:
                    image = FOLDER / "notebooks" / f"{path.stem}_{number}.png"
                    image.parent.mkdir(parents=True, exist_ok=True)
                    image.write_bytes(base64.b64decode(data["image/png"]))
                    parts.append(f"![Figure: {heading}]({image.name})")
                elif text := "".join(output.get("text", data.get("text/plain", []))):
                    parts.append(f"```text\n{text.rstrip()}\n```")
        parts.insert(
            1, f"This page is a notebook as it ran: [{path.name}](../../notebooks/{path.name})."
        )
        write(f"notebooks/{path.stem}", *parts)


def _is_error(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Error)


def _message(call: ast.Call) -> str:
    """The message of an error, its values in braces, as code."""
    for argument in call.args:
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            text = argument.value
        elif isinstance(argument, ast.JoinedStr):
            text = "".join(
                str(part.value) if isinstance(part, ast.Constant) else "{…}"
                for part in argument.values
            )
        else:
            continue
        if " " in text:
            return f"`` {' '.join(text.split())} ``"
    return ""


def main() -> None:
    shutil.rmtree(FOLDER, ignore_errors=True)
    for part in (names, commands, recipes, signatures, errors, speed, notebooks):
        part()
    print(f"{len(list(FOLDER.rglob('*.md')))} pages in {FOLDER.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
