"""Subtitles, transcripts and chats: words without times; anything else is none of them."""

import pathlib

import pytest

from tfsum.inputs.plain_text import spoken_text

SRT = "1\n00:00:01,000 --> 00:00:03,000\n{}\n\n2\n00:00:03,500 --> 00:00:05,000\n{}\n"
FIRST, SECOND = "It rained all day", "in the north.\n<i>We stayed.</i>"
BOTH = "It rained all day in the north. We stayed."
PLAIN = ["It rained all day", "in the north. We stayed."]


@pytest.mark.parametrize(
    "text, right",
    [
        (SRT.format(FIRST, SECOND), BOTH),
        ("\ufeff" + SRT.format(FIRST, SECOND).replace("\n", "\r\n"), BOTH),
        (SRT.format("- Who is it?", "- Anna.\n[music]"), "Who is it?\nAnna."),
        (SRT.format("♪ la la ♪", "{\\an8}It rained."), "It rained."),
        ("WEBVTT\n\nintro\n00:01.000 --> 00:02.000 align:start\nIt rained.\n", "It rained."),
        (
            "WEBVTT\nKind: captions\n\nNOTE a remark\n\n00:01.000 --> 00:02.000\n<v Anna>Hi &amp;"
            " so\n\n00:02.000 --> 00:03.000\n<v Ben>Yes.</v>\n",
            "Anna: Hi & so\nBen: Yes.",
        ),
        (
            "WEBVTT\n\n00:00.100 --> 00:01.000\n \nit<00:00.500><c> rained</c>\n\n"
            "00:01.000 --> 00:01.010\nit rained\n \n\n"
            "00:01.010 --> 00:02.000\nit rained\nall<00:01.500><c> day</c>\n",
            "it rained all day",
        ),
        ("[00:00.000 --> 00:04.000]  {}\n[00:04.000 --> 00:09.000]  {}\n".format(*PLAIN), BOTH),
        ("00:03 {}\n1:00:07 {}\n".format(*PLAIN), BOTH),
        ("(0:03) {}\n(0:07) {}\n".format(*PLAIN), BOTH),
        (
            "Anna Holt  0:03\nIt rained.\n\nBen  0:12\nYes.\nA lot.\n",
            "Anna Holt: It rained.\nBen: Yes. A lot.",
        ),
        ("Anna  9:14 AM\nIt rained.\nBen  10:02 PM\nYes.\n", "Anna: It rained.\nBen: Yes."),
        (
            "1   Q.  Where were\n2   you?\n3   A.  At home.\n4   Q.  Why?\n",
            "Q. Where were you?\nA. At home.\nQ. Why?",
        ),
        (
            "12/03/2024, 09:14 - Messages are encrypted.\n12/03/2024, 09:15 - Anna: Hi\nall\n"
            "12/03/2024, 09:16 - Ben: oh no\n",
            "Anna: Hi all\nBen: oh no",
        ),
        ("[12.03.24, 09:15:22] Anna: Hi\n[12.03.24, 09:16:00] Ben: oh\n", "Anna: Hi\nBen: oh"),
        (
            "3/12/24, 9:15\u202fAM - Anna: Hi\n3/12/24, 9:16\u202fAM - Ben: oh\n",
            "Anna: Hi\nBen: oh",
        ),
        (
            "2024년 3월 12일 오전 9:15, 안나 : 네\n2024년 3월 12일 오전 9:16, 벤 : 왜\n",
            "안나 : 네\n벤 : 왜",
        ),
    ],
)
def test_what_was_said(text, right):
    assert spoken_text(text) == right


@pytest.mark.parametrize(
    "text",
    [
        "",
        "It rained at 10:30. The next train left at 11:15.",
        "10:30 is the time of the train.\nNobody knew.\nIt rained.\nWe stayed.",
        "1. It rained.\n2. We stayed.\n3. The end.",
        "2019 was wet.\n2020 was dry.\n2021 was cold.",
        "Anna: It rained.\nBen: It did.",
        "09:00 Opening\n09:30 The minutes are read.\n10:15 Coffee\n10:30 The budget is discussed.",
        "The train at 10:30 was late.\nThe train at 11:30 too.\nThe bus at 12:00 came.",
        pathlib.Path(__file__, "../../../examples/article.txt").resolve().read_text("utf-8"),
    ],
)
def test_what_is_none_of_them(text):
    assert spoken_text(text) is None
