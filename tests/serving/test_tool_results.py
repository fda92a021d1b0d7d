"""What of a result is a text, what the question of a call is, and how room is divided."""

import pathlib

import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")

from tfsum.serving.tool_results import is_prose, question_of, rooms_of

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"query": "cost of a bridge"}, "cost of a bridge"),
        ({"q": "bridge"}, "bridge"),
        ({"search_query": "a", "userPrompt": "b", "url": "https://c"}, "a b"),
        ({"query": ""}, None),
        ({"query": 3}, None),
        ({"path": "a.txt", "faq": "x", "aq": "x"}, None),
        (None, None),
    ],
)
def test_the_question_of_a_call(arguments, expected):
    assert question_of(arguments) == expected


def test_room_is_divided_and_never_more_than_there_is():
    assert rooms_of({}, 100) == {}
    assert rooms_of({0: 80, 1: 90, 2: 10}, 100) == {2: 10, 0: 45, 1: 45}
    assert rooms_of({0: 80, 1: 10}, 100) == {0: 80, 1: 10}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("국회는 월요일 본회의를 열고 예산안을 처리했다. 여야는 합의문을 발표했다.", True),
        ("国务院总理星期一在北京会见了来访的法国外交部长，双方交换了意见。", True),
        ('- **Rain** fell [all night](/wiki/Night_(film) "Night") on the old _bridge_.', True),
        ("id,name,price\n1,bridge of the town,3.50\n2,road of the town,9.99", False),
        ("-rw-r--r-- 1 root root 92 Nov 27 14:22 __init__.py", False),
        ('{"text": "Rain fell all night on the old bridge."}\n{"text": "It rained."}', False),
        ("", False),
    ],
)
def test_prose(text, expected):
    assert is_prose(text) is expected


def test_code_is_no_prose():
    for file in (__file__, pytest.__file__, *(ROOT / "tfsum").rglob("*.py")):
        assert not is_prose(pathlib.Path(file).read_text(encoding="utf-8")), file


def test_pages_about_code_are_prose():
    pages = [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs/ko").glob("*.md")]
    assert len(pages) > 30
    for page in pages:
        assert is_prose(page.read_text(encoding="utf-8")), page
