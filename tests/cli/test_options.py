"""Options of a class, and the settings of the options that were given."""

import argparse
import re
from typing import Annotated, Literal

import pydantic
import pytest
from pydantic import Field

from tfsum.cli.options import Parser, add_settings, read_settings
from tfsum.settings import Option


class Settings(pydantic.BaseModel, strict=True):
    size: Annotated[int, Option("-n", metavar="N", group="Length"), Field(ge=1)] = Field(
        3, description="Most lines, 5 % more at night. The page says when."
    )
    share: Annotated[float | None, Option(group="Length")] = Field(None, ge=0, le=1)
    number: int | Literal["auto"] = "auto"
    kind: Literal["a", "b"] = "a"
    quiet: bool = False
    colour: bool | None = None
    names: Annotated[list[str], Option("--name")] = []
    one: Annotated[bool, Option(group="Mode", exclusive="mode")] = False
    other: Annotated[bool, Option(group="Mode", exclusive="mode")] = False
    labels: Annotated[dict[str, int], Option(hidden=True)] = {}


def parser(only=None) -> Parser:
    made = Parser(prog="tfsum try")
    made.set_defaults(parser=made)
    made.group("Length").add_argument("--own", action="store_true", help="the verb's own")
    add_settings(made, Settings, only)
    return made


def read(*words: str, **others: object) -> Settings:
    return read_settings(Settings, parser().parse_args(words), **others)


@pytest.mark.parametrize(
    ("words", "values"),
    [
        ([], {}),
        (["-n", "5"], {"size": 5}),
        (["--size=5", "--share", "0.2"], {"size": 5, "share": 0.2}),
        (["--number", "auto"], {"number": "auto"}),
        (["--number", "7", "--kind", "b"], {"number": 7, "kind": "b"}),
        (["--quiet", "--no-colour", "--other"], {"quiet": True, "colour": False, "other": True}),
        (["--name", "x", "--name", "y"], {"names": ["x", "y"]}),
    ],
)
def test_options_are_settings(words, values):
    assert read(*words) == Settings(**values)


def test_values_of_fields_that_are_no_options_are_given_beside():
    assert read(labels={"news/stable": 1}).labels == {"news/stable": 1}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["-n", "0"], "size=0: expected a whole number from 1"),
        (["-n", "x"], 'size="x": expected a whole number from 1'),
        (["-n", "1.5"], "size=1.5: expected a whole number from 1"),
        (["--share", "1.5"], "share=1.5: expected a number from 0 to 1"),
        (["--number", "x"], 'number="x": expected a whole number or "auto"'),
        (["--kind", "c"], 'kind="c": expected "a" or "b"'),
        (["--one", "--other"], "argument --other: not allowed with argument --one"),
        (["--labels", "x=1"], "unrecognized arguments: --labels"),
        (["-n", "0", "--kind", "c"], "size=0: expected a whole number from 1; kind="),
    ],
)
def test_a_wrong_value_ends_the_command(words, sentence, capsys):
    with pytest.raises(SystemExit) as stop:
        read(*words)
    assert stop.value.code == 2
    assert f"tfsum try: error: {sentence}" in capsys.readouterr().err


def test_the_help_is_one_line_each_with_the_default_and_groups_are_shared():
    text = parser().format_help()
    assert "most lines, 5 % more at night (default: 3)" in text and "page says" not in text
    body = text[text.index("Length:") :]
    (short,) = re.finditer(r"-n(?: N)?, --", body)  # Python 3.13 says N once
    assert body.index("--own") < short.start() < body.index("Mode:")
    assert text.count("Length:") == 1
    for metavar in ("--kind {a,b}", "--number N|auto", "--colour, --no-colour", "--share X"):
        assert metavar in text


def test_some_fields_alone():
    options = parser(only=["kind"]).parse_args(["--kind", "b"])
    assert vars(options).keys() == {"parser", "own", "kind"}
    assert read_settings(Settings, options).kind == "b"
    assert isinstance(options, argparse.Namespace)


def test_a_shipped_model_is_known_by_its_name():
    Parser(prog="tfsum").require_model("bert_sum_ext_news_en")
    with pytest.raises(SystemExit):
        Parser(prog="tfsum").require_model("bert_sum_ext_news_fr")
