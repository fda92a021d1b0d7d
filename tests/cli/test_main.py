"""The front door: verbs, help, exit statuses, and where things are printed."""

import argparse
import importlib
import re
import subprocess
import sys

import pytest

import tfsum
from tfsum.cli import main as front
from tfsum.cli.main import VERBS, main
from tfsum.cli.options import Parser, add_options
from tfsum.errors import Error, RecipeError, Stopped


class Verb:
    """A verb that does what the test wants."""

    EXAMPLES = ""

    def __init__(self, deed):
        self.OPTIONS = {}
        self.deed = deed

    def run(self, arguments):
        return self.deed()


@pytest.fixture
def doctor_does(monkeypatch):
    """Puts a deed behind the verb `doctor`."""

    def put(deed):
        monkeypatch.setattr(front.importlib, "import_module", lambda name: Verb(deed))

    return put


def raiser(error):
    def deed():
        raise error

    return deed


@pytest.mark.parametrize("status", [0, 1, 2, 75])
def test_the_status_of_the_verb_is_that_of_the_command(doctor_does, status):
    doctor_does(lambda: status)
    assert main(["doctor"]) == status


@pytest.mark.parametrize(
    ("error", "status"), [(Error("the corpus is empty"), 1), (RecipeError("[train] x: unknown"), 2)]
)
def test_an_error_is_told_on_stderr_without_a_traceback(doctor_does, capsys, error, status):
    doctor_does(raiser(error))
    assert main(["doctor"]) == status
    out, err = capsys.readouterr()
    assert (out, err) == ("", f"tfsum doctor: error: {error}\n")


def test_a_run_that_was_stopped_is_75_and_no_error(doctor_does, capsys):
    doctor_does(raiser(Stopped("stopped after step 7 of 9; the same command goes on from there")))
    assert main(["doctor"]) == 75
    assert (
        capsys.readouterr().err
        == "tfsum: stopped after step 7 of 9; the same command goes on from there\n"
    )


def test_a_stranger_error_is_not_hidden(doctor_does):
    doctor_does(raiser(ZeroDivisionError()))
    with pytest.raises(ZeroDivisionError):
        main(["doctor"])


def test_an_interrupt_has_the_shell_status(doctor_does, capsys):
    doctor_does(raiser(KeyboardInterrupt()))
    assert main(["doctor"]) == 130
    assert "interrupted" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["sumarize", "x.txt"], "unknown verb 'sumarize'; did you mean 'summarize'?"),
        (["zzz"], "unknown verb 'zzz'; the verbs are summarize, prepare"),
        (
            ["doctor", "--formt", "json"],
            "unrecognized arguments: --formt json; did you mean --format?",
        ),
        (["explain", "a.txt", "b.txt"], "tfsum explain: error: unrecognized arguments: b.txt"),
    ],
)
def test_a_wrong_call_is_2_and_says_what_is_right(capsys, argv, words):
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert out == "" and words in err


def test_help_lists_every_verb_and_loads_none(capsys):
    code = (
        "import sys, tfsum.cli.main as m; m.main(['--help']); print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert re.findall(r"^    (\w+)\b", done.stdout, re.MULTILINE) == list(VERBS)
    loaded = done.stderr.split()
    assert "tensorflow" not in loaded and not any(f"tfsum.cli.{verb}" in loaded for verb in VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example(capsys, verb):
    assert main([verb, "--help"]) == 0
    out = capsys.readouterr().out
    assert f"tfsum {verb}" in importlib.import_module(f"tfsum.cli.{verb}").EXAMPLES
    assert "examples:" in out


def test_help_of_the_verbs_needs_no_tensorflow():
    code = (
        "import sys; from tfsum.cli.main import VERBS, main\n"
        "for verb in VERBS:\n"
        "    main([verb, '--help'])\n"
        "    print(verb, {'tensorflow', 'keras'} & sys.modules.keys(), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "".join(f"{verb} set()\n" for verb in VERBS)


@pytest.mark.parametrize(
    ("argv", "same"),
    [
        ([], ["--help"]),
        (["help"], ["--help"]),
        (["help", "runs"], ["runs", "--help"]),
        (["help", "pipeline", "summarize"], ["pipeline", "summarize", "--help"]),
    ],
)
def test_help_has_the_names_that_people_try(capsys, argv, same):
    assert main(argv) == main(same) == 0
    out = capsys.readouterr().out
    assert out.startswith("usage: tfsum") and out == 2 * out[: len(out) // 2]


def test_nothing_is_coloured_on_a_terminal_without_color(monkeypatch, capsys):
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main(["help", "runs"]) == 0 and "\x1b" not in capsys.readouterr().out


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"tfsum {tfsum.__version__}\n"


def test_output_cut_off_by_its_reader_is_quiet():
    code = "import sys; from tfsum.cli.main import main; sys.exit(main(['doctor', '--help']))"
    command = f'{sys.executable} -c "{code}" | true'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["summarize", "absent"], 2),
        (["summarize", "--model", "absent", __file__], 1),
        (["prepare", "absent", "--output", "r", "--vocabulary", "absent"], 2),
        (["prepare", "absent.toml"], 2),
        (["train", "absent"], 2),
        (["runs", "absent"], 1),
        (["evaluate", "absent", "absent"], 2),
        (["export", "absent", "m/1"], 2),
        (["convert", "absent", "bert", "--to", "google"], 1),
        (["explain", "absent"], 2),
        (["verify", "absent"], 2),
        (["serve", "absent"], 1),
        (["mcp", "--root", "absent"], 2),
        (["classify", "absent"], 2),
        (["vocab", "absent", "-o", "v.txt"], 2),
        (["pipeline", "prepare", "absent", "--output", "r", "--vocabulary", "absent"], 2),
    ],
)
def test_wrong_input_is_one_line_that_names_it(capsys, monkeypatch, tmp_path, words, status):
    monkeypatch.chdir(tmp_path)
    assert main(words) == status
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and "absent" in err
    assert err.startswith(f"tfsum {words[0]}") and "usage" not in err


def test_every_verb_that_reads_something_is_tried_with_wrong_input():
    (marker,) = test_wrong_input_is_one_line_that_names_it.pytestmark
    assert {words[0] for words, _ in marker.args[1]} == VERBS.keys() - {"doctor", "completion"}


@pytest.mark.parametrize("verb", VERBS)
def test_a_wrong_option_shows_the_usage_of_the_verb(capsys, verb):
    assert main([verb, "--no-such-option"]) == 2
    assert capsys.readouterr().err.startswith(f"usage: tfsum {verb}")


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_an_option_is_one_line(verb):
    module = importlib.import_module(f"tfsum.cli.{verb}")
    parsers = [Parser(prog=f"tfsum {verb}")]
    if hasattr(module, "add_arguments"):
        module.add_arguments(parsers[0])
    else:
        add_options(parsers[0], module.OPTIONS, getattr(module, "CLASSES", ()))

    for parser in parsers:
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                parsers += action.choices.values()
            else:
                assert action.help and len(action.help) <= 90, action.option_strings
