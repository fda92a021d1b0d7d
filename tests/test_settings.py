"""One sentence for each wrong value."""

from typing import Annotated, Literal

import pydantic
import pytest
from pydantic import Field

from tfsum.settings import Option, mistakes


class Section(pydantic.BaseModel, extra="forbid", strict=True):
    names: list[str] | None = None
    rate: float = Field(0.1, ge=0, lt=1, allow_inf_nan=False)
    title: str = Field("", max_length=3)
    on: bool = False


class Settings(pydantic.BaseModel, extra="forbid", strict=True):
    sentences: Annotated[int | None, Option("-n"), Field(ge=1, le=2147483647)] = None
    size: Annotated[int, Field(ge=1)] | Literal["auto"] = "auto"
    kind: Literal["a", "b", "c"] = "a"
    path: str = Field("x", description="Where it is.")
    section: Section = Section()

    @pydantic.model_validator(mode="after")
    def _fits(self) -> "Settings":
        if self.kind == "c" and self.path == "x":
            raise ValueError("kind c needs a path; give one")
        return self

    @pydantic.field_validator("path")
    @classmethod
    def _is_there(cls, path: str) -> str:
        if path == "gone":
            raise ValueError("is no file; name another")
        return path


def found(**values: object) -> list[str]:
    with pytest.raises(pydantic.ValidationError) as raised:
        Settings(**values)
    return mistakes(raised.value, Settings)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"sentences": 0}, "sentences=0: expected a whole number from 1 to 2147483647"),
        ({"sentences": "3"}, 'sentences="3": expected a whole number from 1 to 2147483647'),
        ({"size": 0}, 'size=0: expected a whole number from 1 or "auto"'),
        ({"size": "all"}, 'size="all": expected a whole number from 1 or "auto"'),
        ({"kind": "d"}, 'kind="d": expected "a", "b" or "c"'),
        (
            {"path": 3},
            "path=3: expected a text; put it in quotes, in a shell in both kinds: '\"3\"'",
        ),
        ({"path": "gone"}, 'path="gone": is no file; name another'),
        ({"kind": "c"}, "kind c needs a path; give one"),
        ({"paht": 3}, "paht: unknown; did you mean path?"),
        ({"rate": 0.1}, "rate: unknown; did you mean section.rate?"),
        ({"zzzz": 3}, "zzzz: unknown; there are sentences, size, kind, path, section"),
        ({"paint": 3}, "paint: unknown; there are sentences"),  # not path
        ({"section": 3}, "section=3: expected a table of names and values"),
        ({"section": {"on": 1}}, "section.on=1: expected true or false"),
        ({"section": {"rate": 1}}, "section.rate=1: expected a number from 0 and below 1"),
        (
            {"section": {"rate": float("nan")}},
            "section.rate=NaN: expected a finite number",
        ),
        ({"section": {"title": "four"}}, 'section.title="four": expected a text of at most 3'),
        ({"section": {"names": ["a", None]}}, "section.names[1]=null: expected a text"),
        ({"section": {"names": "a"}}, 'section.names="a": expected a list, such as ["a", "b"]'),
        ({"section": {"nam": 1}}, "section.nam: unknown; did you mean section.names?"),
    ],
)
def test_a_wrong_value_is_one_sentence(values, sentence):
    (message,) = found(**values)
    assert message.startswith(sentence)


def test_all_mistakes_come_at_once_and_long_values_are_cut():
    long, unknown = found(path=["x" * 1000], other=1)
    assert long == f'path=["{"x" * 198}...: expected a text'
    assert unknown.startswith("other: unknown")


def test_what_is_missing_is_described():
    class Required(pydantic.BaseModel):
        folder: str = Field(description="Folder of the run.")

    with pytest.raises(pydantic.ValidationError) as raised:
        Required()
    assert mistakes(raised.value, Required) == ["folder is missing: Folder of the run."]


def test_an_option_is_not_in_the_schema():
    assert "Option" not in str(Settings.model_json_schema())


def test_so_many_mistakes_are_not_all_described():
    with pytest.raises(pydantic.ValidationError) as caught:
        Settings(**{f"x{number}": 1 for number in range(1000)})
    assert len(mistakes(caught.value, Settings)) == 100
