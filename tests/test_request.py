"""`SummaryRequest`: what may be asked; and that all entrances have its fields from it."""

import json
import pathlib
import subprocess
import sys
from typing import get_type_hints

import pytest

from tfsum.errors import Error
from tfsum.request import INPUTS, SummaryAnswer, SummaryOptions, SummaryRequest

FIELD = """
    max_lines: Annotated[
        Count | None, Option(metavar="N", group=ABOUT), Input("max_lines", 0)
    ] = Field(None, description="The most sentences of one text.")
"""
# Puts the field into a copy of tfsum/request.py, and says where it is found.
PROGRAM = """
import importlib.util, json, sys, types
source, field = sys.argv[1:]
module = types.ModuleType("tfsum.request")
sys.modules["tfsum.request"] = module
text = open(source, encoding="utf-8").read()
place = text.index("    newline: Annotated[")
exec(compile(text[:place] + field.lstrip("\\n") + text[place:], source, "exec"), vars(module))

from tfsum.cli.main import main
found = {"help": 0, "graph": 0}
try:
    main(["summarize", "--help"])
except SystemExit:
    pass
from tfsum.serving.tools import TOOLS
from tfsum.serving.openapi import openapi_document
from tfsum.tasks.bert_sum_ext.answering import Defaults, Question
from tfsum.tasks.bert_sum_ext.golden import EXTRACT

asked = openapi_document({}, False)["paths"]["/summarize"]["post"]["requestBody"]
question = Question(["a"], module.SummaryRequest(max_lines=2), Defaults())
print("FOUND", json.dumps({
    "openapi": asked["content"]["application/json"]["schema"]["properties"]["max_lines"],
    "mcp": TOOLS["summarize"].model_json_schema()["properties"]["max_lines"],
    "inputs": question.calls["extract"]["max_lines"],
    "signature": EXTRACT["max_lines"],
}))
"""


def test_a_new_field_is_found_at_every_entrance():
    pytest.importorskip("mcp", reason="needs the extra mcp")
    source = pathlib.Path(sys.modules["tfsum.request"].__file__)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(source), FIELD],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert "--max-lines N" in done.stdout
    found = json.loads(done.stdout.rpartition("FOUND ")[2])
    assert found["openapi"] == found["mcp"]
    assert found["mcp"]["description"] == "The most sentences of one text."
    assert (found["inputs"], found["signature"]) == (2, "int32")


def test_the_keyword_arguments_are_the_fields():
    assert set(get_type_hints(SummaryOptions)) == set(SummaryRequest.model_fields) - {"sentences"}


def test_every_description_fits_a_line_of_the_help():
    for name, field in SummaryRequest.model_fields.items():
        assert field.description and len(field.description) <= 90, name


def test_what_is_left_out_asks_nothing():
    assert SummaryRequest().given() == set()
    assert SummaryRequest(words=None, all=False).given() == set()
    assert {entry.name for entry in INPUTS.values()} >= {"max_words", "query", "block_trigrams"}


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"words": 0}, "words=0: expected a whole number from 1"),
        ({"words": True}, "words=true: expected a whole number"),
        ({"words": 2.5, "share": 3}, "words=2.5: .*; share=3: expected a number above 0 and at"),
        ({"query": "x" * 999, "words": "y" * 999}, "words=.{0,210}: expected a whole number"),
        ({"query": 2024}, "query=2024: expected a question or a title"),
        ({"wordz": 5}, "wordz: unknown; did you mean words"),
        ({"all": True, "together": True}, "all: gives every sentence; leave it out, or together"),
        ({"max_per_document": 1}, "max_per_document: goes with together; give together too, or"),
        ({"max_per_document": 0, "together": True}, "max_per_document=0: expected a whole number"),
    ],
)
def test_what_cannot_be_asked(fields, message):
    with pytest.raises(Error, match=message):
        SummaryRequest(**fields)


def test_the_schema_says_which_field_needs_another():
    needed = SummaryRequest.model_json_schema()["dependentRequired"]
    assert needed == {"query_weight": ["query"], "max_per_document": ["together"]}


def test_a_record_has_an_object_for_each_sentence():
    answer = SummaryAnswer("It rained.", ["It rained."], [1 / 3], [(2, 12)], 1.0, [], documents=[1])
    (sentence,) = answer.record()["sentences"]
    place = {"text": "It rained.", "start": 2, "end": 12, "score": 0.333333, "document": 1}
    assert sentence == place and "keywords" not in answer.record()
