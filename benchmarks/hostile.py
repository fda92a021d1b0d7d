"""Inputs that somebody wrote to break tfsum: their time, their memory, and the answer.

    python benchmarks/hostile.py expressions
    python benchmarks/hostile.py rows
    python benchmarks/hostile.py rows 4 5 12

The first lists each regular expression in the Python code of `tfsum/`, as `ast` finds them. Those
that run over a user's bytes (texts, mails, pages, requests, corpora, names in the files of a model)
run over 1 MB each of new lines, spaces, comments, quotes, brackets, digits, combining marks and so
on, and of what nearly fits the expression. They run as the code calls them, each in a process that
is ended after ten seconds; printed are the seconds of the slowest input, whose name is what it
repeats. Where the code gives an expression less than 1 MB, it says so. The exit status is 1 where
one takes a second or more, or is missing from the list here. Expressions in graphs
(`tf.strings.regex_replace`) are RE2's, which are linear, and no Python: they are left out.

The second sends the attacks of hostile_rows.py, all or those of some rows, and prints what is sent,
the seconds, the growth of memory, and the beginning of the answer.
"""

import argparse
import ast
import collections
import dataclasses
import importlib
import multiprocessing
import multiprocessing.connection
import os
import pathlib
import re
import sys
import time
from collections.abc import Iterator
from typing import Any

import hostile_rows

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

PACKAGE = pathlib.Path(__file__).resolve().parents[1] / "tfsum"
MEGABYTE = 1 << 20
SHOWN = 30  # characters of what a text repeats
AIM, LIMIT = 1.0, 10.0  # seconds for an expression: what is allowed, and when it is ended
# Methods of `re` that take a pattern -> the place of their flags.
METHODS = {
    "compile": 1,
    "match": 2,
    "fullmatch": 2,
    "search": 2,
    "findall": 2,
    "finditer": 2,
    "split": 3,
    "sub": 4,
    "subn": 4,
}
# What every expression of a user's bytes runs over, repeated to 1 MB.
REPEATED = (
    *("\n", "\r\n", " ", "\t", " \n", "a", "a ", "a\n", "a.", "a@", "é", "日", "\u0301", "a\u0301"),
    *("1", "12 ", "<", ">", "> ", "> \n", "<!-- -->", "<!-- -->\n", "<!--", "<a ", "&lt;", "&"),
    *('"', '""', "'", '\\"', "\\", '"a', '"a",', ",", ":", ";", "-", "--\n", "_", "/", ".", "|"),
    *("[", "{", "(", "[]", "{}", "[{", "]", '{"a":', "]}", "http://", "\x0b", "\0", "\u2028"),
)

Near = tuple[str, str, str]  # a beginning, what is repeated to 1 MB, an end


@dataclasses.dataclass(frozen=True)
class Expression:
    """A regular expression of the package.

    Attributes:
        name: Module, and the constant or function that holds it; with a number where this holds
            several.
        line: Line of the module.
        pattern, flags: Their source; "" for no flags.
    """

    name: str
    line: int
    pattern: str
    flags: str

    def compiled(self) -> re.Pattern:
        """The expression; its module is imported where it has names of this in it."""
        try:
            return self._compiled({"re": re})
        except NameError:
            path = pathlib.PurePath("tfsum", self.name.split()[0]).with_suffix("")
            return self._compiled(vars(importlib.import_module(".".join(path.parts))))

    def _compiled(self, names: dict[str, Any]) -> re.Pattern:
        return re.compile(eval(self.pattern, names), eval(self.flags or "0", names))


@dataclasses.dataclass(frozen=True)
class User:
    """How the code uses an expression that runs over a user's bytes.

    Attributes:
        use: Method of a pattern.
        over: What it runs over.
        near: What nearly fits it.
        pattern: Pattern, where its place names an argument.
    """

    use: str
    over: str
    near: tuple[Near, ...] = ()
    pattern: str | None = None


MAILBOX = (("From ", "a", ""), ("From a ", "a ", ""), ("From ", "\u0301", " "))
LISTED: dict[str, User | str] = {
    "beam/saved_model_handler.py SharedModel": User(
        "findall", "an error that may quote a text", (("", "\n a", ""), ("a", "\t", "\n"))
    ),
    "cli/answers.py _marked_down": User(
        "sub", "a sentence or a name", (("", "*", ""), ("", "\\", ""))
    ),
    "data/corpus_files.py _BEGINS 1": User(
        "match",
        "256 bytes of a file",
        (
            ("{", " ", "x"),
            ('{"docId":"', "a", ""),
            ('{"docId":"a",', " ", "x"),
            ('{"docId" ', " ", "x"),
            ('{"sentences":[', " ", "x"),
            ('{"sentences":[{', "\n", "x"),
        ),
    ),
    "data/corpus_files.py _BEGINS 2": User("match", "256 bytes of a file", (("[", " ", "x"),)),
    "data/corpus_files.py _BEGINS 3": User(
        "match", "256 bytes of a file", (("{", " ", "x"), ("{}", " ", "x"))
    ),
    "data/paper_files.py _ESCAPED": User(
        "sub", "tokens of a corpus", (("", "-lr", ""), ("", "-lrb", ""), ("", "`", ""))
    ),
    "data/readers.py _delimiter": User(
        "sub", "the head of a table", (("", '""', '"'), ("", 'a,"', ""))
    ),
    "evaluation/rouge.py _OTHER_SCRIPTS": User("split", "summaries", (("", "a日", ""),)),
    "formats/google.py SKIPPED": User(
        "search",
        "names in a checkpoint",
        (("", "/adam_m", "."), ("", "/AdamWeightDecayOptimizer_1", ".")),
    ),
    "formats/google.py google_name": "paths of our own variables",
    "formats/hugging_face.py HUB_NAME": "a name on the command line",
    "formats/hugging_face.py OLD_ENDING": User(
        "sub", "names in a checkpoint", (("", "LayerNorm.gamma", "."), ("", "LayerNorm.", ""))
    ),
    "formats/weight_names.py NO_WEIGHT": User(
        "search",
        "names in a checkpoint",
        (("", ".embeddings", ""), ("", ".embeddings.position_ids", ".")),
    ),
    "formats/weight_names.py StoredModel": User("split", "names in a checkpoint"),
    "inference/allowed_operations.py REACHING": User(
        "search", "operations of a model", (("", "Fil", ""), ("", "SavRestor", ""))
    ),
    "inputs/formats.py _LEFT_OUT 1": User(
        "sub", "a mail", (("", "-- Original Messag\n", ""), ("", "-- ", ""), ("", "-", "\n"))
    ),
    "inputs/formats.py _LEFT_OUT 2": User(
        "sub", "a mail", (("", "-- ", ""), ("", "--\r", ""), ("", "\n-- a", ""))
    ),
    "inputs/formats.py _LEFT_OUT 3": User(
        "sub",
        "a mail",
        (
            ("", "On aaaaa wrote", ""),
            ("", "On aaaaa wrote\n", ""),
            ("", "On aaaaa wrote:", "x"),
            ("On aaaaa wrote:", " ", "x"),
            ("On aaaaa wrote:", "\n", "x"),
            ("", "On aaaaa wrote:\n", "x"),
            ("", "On aaaaa wrote: \n \n x\n", ""),
            ("", f"On {'wrote' * 24}{':' * 60}x\n", ""),
            ("", f"On {'wrote' * 24}:{' ' * 20_000}x\n", ""),
            ("", f"Am {'schrieb : ' * 18}x\n", ""),
        ),
    ),
    "inputs/formats.py _LEFT_OUT 4": User(
        "sub", "a mail", (("", " \n", ">"), ("", " ", "x"), ("", "\r", ">"), ("", "\t|", ""))
    ),
    "inputs/formats.py _mail": User("sub", "a mail", MAILBOX),
    "inputs/kinds.py _FIELD": User("match", "4 kB of a file", (("", "A-", ""),)),
    "inputs/kinds.py _HTML": User(
        "match",
        "4 kB of a file",
        (
            ("", "<!-- -->\n", "x"),
            ("", "<!-- -->", "<"),
            ("", "<!-- ", "-->"),
            ("<!--", "--", "x"),
            ("<?xml ", "a", ""),
            ("<?xml>", " ", "x"),
            ("\n<?xml>", "<!----> ", "<"),
            (" ", " <!---->", "<htm"),
        ),
    ),
    "inputs/kinds.py _MAIL": User(
        "findall", "4 kB of a file", (("", "From:", ""), ("", "Subject\n", ""))
    ),
    "inputs/kinds.py _ROWS": User("match", "4 kB of a file", (("{", " ", "x"), ("", " ", "{"))),
    "inputs/kinds.py _TEXT": User("fullmatch", "64 bytes of a file", (("", "a", "\0"),)),
    "inputs/kinds.py _XML": User("match", "4 kB of a file", (("", " ", "<?xm"),)),
    "inputs/kinds.py _is_mail 1": User("sub", "4 kB of a file", MAILBOX),
    "inputs/kinds.py _is_mail 2": User(
        "split", "4 kB of a file", (("", "\r", ""), ("", "\n\r", ""), ("", "\r\n\r", ""))
    ),
    "papers/checkpoint_names.py MASK": User(
        "match",
        "names in a checkpoint",
        (
            ("decoder.transformer_layers.", "1", ""),
            ("", "decoder.transformer_layers.1.mask", "."),
        ),
    ),
    "papers/checkpoint_names.py bertsum_shapes": "paths of our own variables",
    "papers/checkpoint_reader.py _count": User(
        "match",
        "names in a checkpoint",
        (("bert.model.encoder.layer.", "1", ""),),
        r"bert\.model\.encoder\.layer\.(\d+)\.",
    ),
    "papers/selection.py NOT_ENGLISH": User("sub", "a sentence", (("", "aé", ""),)),
    "serving/json_body.py BRACKET": User(
        "finditer",
        "a request",
        (('"', "\\", ""), ('"', "a\\", ""), ('"', 'a\\"', ""), ("[", '"a', "")),
    ),
    "serving/version_folders.py SHARD": "names of files in the server's folder",
    "tasks/bert_classifier/batches.py LINK": User(
        "sub", "a text", (("", "http:/", ""), ("http://", "a", ""), ("", "https://a ", ""))
    ),
    "text/detokenizer.py _UNUSED": User(
        "fullmatch", "pieces of a vocabulary", (("[unused", "1", ""), ("", "[unused1]", ""))
    ),
    "text/newlines.py _BREAKS": User(
        "sub", "a text", (("", "\u2027", ""), ("", "\u0084", ""), ("", "\u2028\u0085", ""))
    ),
    "text/newlines.py _IN_A_PARAGRAPH": User(
        "sub",
        "a text",
        (("a", " ", "a"), ("", "a \n", ""), ("", "a\n ", ""), ("a\n", " ", "\n"), ("a", "\t", "")),
    ),
    "text/name_pieces.py _SPECIAL": User(
        "fullmatch", "pieces of a vocabulary", (("[", "a", ""), ("", "[a]", ""))
    ),
    "text/name_pieces.py _WORD": User("findall", "a sentence", (("", "a_", ""),)),
    "text/one_line.py one_line": User(
        "sub", "a sentence", (("", "a-", ""), ("", "a-\n", ""), ("a-\n", " ", ""), ("", "a-\r", ""))
    ),
    "training/run_list.py _CHECKPOINT": "names of files of a run",
    "training/settings.py RunSettings": "a key of a recipe",
    "training/workers.py _TASK": "messages of TensorFlow",
    "training/workers.py _TOGETHER": "messages of TensorFlow",
}
"""Each expression: how it is used, or, where it runs over no user's bytes, over what it runs."""


def find_expressions(package: pathlib.Path = PACKAGE) -> list[Expression]:
    """The regular expressions in a package's Python code, in the order of their names.

    Args:
        package: Folder of the package.
    """
    return [
        expression
        for path in sorted(package.rglob("*.py"))
        for statement in ast.parse(path.read_text(encoding="utf-8")).body
        for expression in _in_statement(path.relative_to(package).as_posix(), statement)
    ]


def _in_statement(module: str, statement: ast.stmt) -> Iterator[Expression]:
    """The expressions in a statement of a module: a constant, a function or a class."""
    calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call) and _method(node)]
    calls.sort(key=lambda call: (call.lineno, call.col_offset))
    target = statement.targets[0] if isinstance(statement, ast.Assign) else statement
    holder = getattr(target, "name", None) or ast.unparse(getattr(target, "target", target))
    for number, call in enumerate(calls, 1):
        name = f"{module} {holder}" + (f" {number}" if len(calls) > 1 else "")
        yield Expression(name, call.lineno, *_pattern_and_flags(call))


def _method(call: ast.Call) -> str | None:
    """The method of `re` that is called, if it takes a pattern."""
    match call.func:
        case ast.Attribute(value=ast.Name("re"), attr=name) if name in METHODS:
            return name
    return None


def _pattern_and_flags(call: ast.Call) -> tuple[str, str]:
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    given: dict[Any, ast.expr] = dict(enumerate(call.args)) | named
    pattern = given.get(0, given.get("pattern"))
    flags = given.get(METHODS[_method(call) or ""], given.get("flags"))
    return ast.unparse(pattern) if pattern else "", ast.unparse(flags) if flags else ""


def texts(near: tuple[Near, ...]) -> Iterator[tuple[str, str]]:
    """Texts of 1 MB, with their names."""
    for begin, unit, end in (*(("", unit, "") for unit in REPEATED), *near):
        shown = ascii(unit)[1:-1]
        shown = shown if len(shown) <= SHOWN else f"{shown[:SHOWN]}..."
        yield (
            f"{ascii(begin)[1:-1]}({shown})*{ascii(end)[1:-1]}",
            begin + unit * (MEGABYTE // len(unit.encode())) + end,
        )


def use(pattern: re.Pattern, method: str, text: Any) -> None:
    """Uses an expression as the code does, with all of its matches."""
    if method == "sub":
        pattern.sub(text[:0], text)
    elif method == "finditer":
        collections.deque(pattern.finditer(text), maxlen=0)
    else:
        getattr(pattern, method)(text)


def run_over_texts(
    pattern: re.Pattern,
    method: str,
    near: tuple[Near, ...],
    pipe: multiprocessing.connection.Connection,
) -> None:
    """Sends the name of each text, and then the seconds that the expression took for it."""
    for name, text in texts(near):
        given = text.encode() if isinstance(pattern.pattern, bytes) else text
        pipe.send(name)
        begin = time.perf_counter()
        use(pattern, method, given)
        pipe.send(time.perf_counter() - begin)
    pipe.send(None)


def slowest(pattern: re.Pattern, user: User) -> tuple[float, str]:
    """The seconds of the slowest text, and its name; infinite beyond `LIMIT`."""
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    process = spawn.Process(target=run_over_texts, args=(pattern, user.use, user.near, theirs))
    process.start()
    theirs.close()
    found = [(0.0, "")]
    while (name := ours.recv()) is not None:
        if not ours.poll(LIMIT):
            found.append((float("inf"), name))
            break
        found.append((ours.recv(), name))
    process.kill()
    process.join()
    return max(found)


def print_expressions() -> int:
    """Prints the table of expressions; 1 where one is slow or is not listed."""
    form, bad = "{:46} {:>4}  {:5} {:39} {:9} {:>9}  {}", 0
    print(form.format("expression", "line", "reads", "what", "by", "seconds", "slowest text"))
    for expression in find_expressions():
        listed = LISTED.get(expression.name, "NOT LISTED in benchmarks/hostile.py")
        cells = [expression.name, expression.line]
        if isinstance(listed, str):
            bad += expression.name not in LISTED
            print(form.format(*cells, "own", listed, "", "", "").rstrip(), flush=True)
            continue
        pattern = expression.compiled() if listed.pattern is None else re.compile(listed.pattern)
        seconds, name = slowest(pattern, listed)
        bad += seconds >= AIM
        time_of = f"{seconds:.3f}" if seconds < LIMIT else f"over {LIMIT:.0f} s"
        print(form.format(*cells, "user", listed.over, listed.use, time_of, name), flush=True)
    return int(bad > 0)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["expressions", "rows"])
    parser.add_argument("row", nargs="*", type=int, help="numbers of rows; all where none is given")
    arguments = parser.parse_args(argv)
    if arguments.what == "expressions":
        return print_expressions()
    hostile_rows.print_rows(arguments.row)
    return 0


if __name__ == "__main__":
    sys.exit(main())
