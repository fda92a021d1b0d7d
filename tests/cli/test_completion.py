"""The scripts of completion, and what bash completes by its own."""

import shutil
import subprocess

import pytest

from tfsum.cli.main import VERBS, main

COMPLETE = """source {script}
COMP_WORDS=({words} "")
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_shtab_tfsum 2> /dev/null
printf "%s\\n" "${{COMPREPLY[@]}}"
"""


def script_of(shell, folder, capsys):
    assert main(["completion", shell]) == 0
    path = folder / f"tfsum.{shell}"
    path.write_text(capsys.readouterr().out)
    return path


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_has_every_verb_and_their_options(shell, tmp_path, capsys):
    path = script_of(shell, tmp_path, capsys)
    assert all(word in path.read_text() for word in (*VERBS, "block-trigrams", "max-body"))
    if shutil.which(shell):
        subprocess.run([shell, "-n", path], check=True)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("tfsum", {*VERBS}),
        ("tfsum pipeline", {"summarize", "prepare"}),
        ("tfsum summarize --format", {"text", "json", "markdown", "html"}),
        ("tfsum evaluate --words", {"english", "plain"}),
        ("tfsum evaluate", {"model.jsonl", "tfsum.bash"}),
        ("tfsum summarize --sentences", {""}),
    ],
)
def test_bash_completes(tmp_path, capsys, words, expected):
    (tmp_path / "model.jsonl").touch()
    command = COMPLETE.format(script=script_of("bash", tmp_path, capsys), words=words)
    done = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split("\n")[:-1]) == expected
