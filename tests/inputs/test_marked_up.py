"""Markdown, notebooks, LaTeX, pages and books: their prose, without marks and code."""

import io
import json
import zipfile

import pytest

pytest.importorskip("markdown_it", reason="needs the extra `documents`")
from tfsum.inputs.html_text import page_content
from tfsum.inputs.marked_up import latex_content, markdown_content, notebook_content
from tfsum.inputs.word_processors import epub_content, odt_content, rtf_content

ARTICLE = (
    "<p>The council decided on Monday to close the swimming pool in Harlow Bay at the end of"
    " March.</p><p>Heating the building costs 400,000 pounds a year, and the roof must be replaced"
    " before next winter.</p><p>Parents gathered outside the town hall to protest.</p>"
)


@pytest.mark.parametrize(
    "text, right",
    [
        ("---\ntitle: x\n---\n# Rain\n\nIt *rained*.", "Rain\n\nIt rained."),
        ("- One **thing**.\n- Another [one](https://a.b).", "One thing.\n\nAnother one."),
        ("1. One.\n2. Two.\n\n   More.", "One.\n\nTwo.\n\nMore."),
        (
            "Use `pay()`.\n\n```python\nx = 1\n```\n\n    indented\n\nDone :rocket:.",
            "Use pay().\n\nDone .",
        ),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n\nIt rained.", "It rained."),
        ("<!-- no -->\n\nIt rained.\n\n<div>A box.</div>", "It rained.\n\nA box."),
        ("> It rained.\n> A lot.", "It rained. A lot."),
        ("![logo](a.png)\n\nIt rained\nall day.", "It rained all day."),
        ("It rained  \nall day.", "It rained\nall day."),
        ("비가 왔고\n추웠다.", "비가 왔고 추웠다."),
        ("昨天下雨，\n很冷。", "昨天下雨，很冷。"),
        ("It ~~snowed~~ rained.[^1]\n\n[^1]: A *lot*.", "It snowed rained.\n\nA lot."),
        (
            "> [!NOTE]\n> It rained.\n\n:::tip\nStay.\n:::\n\n- [x] Done.",
            "It rained.\n\nStay.\n\nDone.",
        ),
        ("$$\na_b = c\n$$\n\nSo $a$ costs $5.", "So $a$ costs $5."),
        ("See [[Rain]] and [[a/b|the river]].", "See Rain and the river."),
    ],
)
def test_markdown(text, right):
    assert markdown_content(text).text == right


def test_a_notebook():
    cells = [
        {"cell_type": "markdown", "source": ["# Rain\n", "It rained."]},
        {"cell_type": "code", "source": "x = 1"},
        {"cell_type": "markdown", "source": "We stayed."},
    ]
    fence = [{"cell_type": "markdown", "source": "We stayed.\n```\nx\n```"}]
    assert notebook_content(json.dumps({"cells": fence})).notes == ["code is not read"]
    content = notebook_content(json.dumps({"cells": cells, "nbformat": 4}))
    assert content.text == "Rain\n\nIt rained.\n\nWe stayed."
    assert content.notes == ["code is not read"]


@pytest.mark.parametrize(
    "text, right",
    [
        (r"\documentclass{a}\begin{document}It \emph{rained}.\end{document} no", "It rained."),
        (r"\section*{Rain}It rained 5\% more. % why", "Rain\n\nIt rained 5% more."),
        (r"It \href{https://a.b}{rained} \verb|all| day\index{day}.", "It rained all day."),
        ("It\\footnote{So \\emph{it} did.} rained.\n\nDone.", "It rained.\n\nSo it did.\n\nDone."),
        (r"\begin{frame}[fragile]{Rain}It rained.\end{frame}", "Rain\n\nIt rained."),
        (r"\begin{description}\item[Rain] It fell.\end{description}", "Rain It fell."),
        ("It rained\n\\begin{equation}\na=b\n\\end{equation}\nall day.", "It rained all day."),
        (r"As said~\cite{a,b} and \citep[p.~3]{c}, it rained.", "As said and, it rained."),
        (r"\begin{itemize}\item One. \item Two.\end{itemize}", "One.\n\nTwo."),
        (r"\begin{figure}\caption{x}\end{figure}It cost \$5---much.", "It cost $5—much."),
    ],
)
def test_latex(text, right):
    assert latex_content(text).text == right


def archive(**files):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as written:
        for name, content in files.items():
            written.writestr(name.replace("__", "/").replace("_", "."), content)
    return data.getvalue()


def test_a_book_has_its_chapters_in_order():
    items = "".join(f'<item id="c{n}" href="c{n}.html"/>' for n in (1, 2, 3))
    order = '<itemref idref="c2"/><itemref idref="c1"/><itemref idref="c3" linear="no"/>'
    book = archive(
        **{"META-INF__container_xml": '<c><rootfile full-path="book/a.opf"/></c>'},
        book__a_opf=f"<package><manifest>{items}</manifest><spine>{order}</spine></package>",
        **{f"book__c{n}_html": f"<html><body><p>Chapter {n}.</p></body></html>" for n in (1, 2, 3)},
    )
    assert epub_content(book).text == "Chapter 2.\n\nChapter 1."


def test_an_open_document():
    text = "urn:oasis:names:tc:opendocument:xmlns:text:1.0"
    body = "<t:note-body><t:p>A note.</t:p></t:note-body>"
    note = f"<t:note><t:note-citation>1</t:note-citation>{body}</t:note>"
    deleted = "<t:tracked-changes><t:deletion><t:p>Gone.</t:p></t:deletion></t:tracked-changes>"
    body = (
        f"{deleted}<t:h>Rain</t:h><t:p>It<t:s/><t:span>rained</t:span>.{note}</t:p><t:p>End.</t:p>"
    )
    data = archive(content_xml=f'<o xmlns:t="{text}"><t:body>{body}</t:body></o>')
    assert odt_content(data).text.split("\n\n") == ["Rain", "It rained.", "A note.", "End."]


def test_what_is_not_read_is_named():
    assert latex_content("\\input{chapter}\nIt rained.").notes == [
        "the files that it includes are not read"
    ]
    assert rtf_content(rb"{\rtf1 It rained.{\footnote A lot.}}").notes == [
        "the footnotes are not read"
    ]
    formula = "<o xmlns:t='a'><t:body><t:p>It is <t:object/>.</t:p></t:body></o>"
    assert odt_content(archive(content_xml=formula)).notes == ["formulas are not read"]


@pytest.mark.parametrize(
    "data, right",
    [
        (
            rb"{\rtf1\ansi{\fonttbl{\f0 Arial;}}\f0 It rained in K\'f6ln.\par We stayed.}",
            "It rained in Köln.\nWe stayed.",
        ),
        (rb"{\rtf1\ansi {\*\generator x}\b Rain\b0 \u8364? 5}", "Rain€ 5"),
        (rb"{\rtf1\ansi{\info{\title no}}It rained.}", "It rained."),
    ],
)
def test_rtf(data, right):
    assert rtf_content(data).text == right


@pytest.mark.parametrize(
    "beside",
    [
        '<div id="cookie-consent"><p>We and our 842 partners store cookies on a device. By clicking'
        " Accept you agree to the use of cookies on this site.</p></div>",
        '<div role="dialog"><p>Subscribe to our letter and never miss a story of ours.</p></div>',
        '<div style="display:none"><p>This is hidden from all who read it in a browser.</p></div>',
        "<nav><p>Home, news, shows and all other parts of the page that are beside it.</p></nav>",
        "<footer><p>All rights are reserved. Terms and conditions of the radio apply.</p></footer>",
    ],
)
def test_what_is_beside_an_article_is_left_out(beside):
    for tag in ("article", "aside", "div"):
        page = f"<html><body>{beside}<{tag}>{ARTICLE}</{tag}></body></html>"
        text = page_content(page.encode()).text
        assert text.split("\n")[0].startswith("The council decided") and len(text.split("\n")) == 3


def test_lines_that_br_parts_are_joined_where_they_go_on():
    lines = (
        "The council decided on Monday to close the pool<br>in Harlow Bay.<br>It is old.<br><br>"
    )
    page = f"<html><body><div>{lines}Heating costs 400,000 pounds a year.</div></body></html>"
    assert page_content(page.encode()).text.split("\n") == [
        "The council decided on Monday to close the pool in Harlow Bay.",
        "It is old.",
        "Heating costs 400,000 pounds a year.",
    ]


@pytest.mark.parametrize(
    ("page", "heading"),
    [
        ("<h1>The pool closes</h1>{}", "The pool closes"),
        ("<div><h2>The <b>pool</b> closes</h2></div><div>{}</div>", "The pool closes"),
        ("<section><header><h3>\n  The pool\n closes</h3></header>{}</section>", "The pool closes"),
        ("<div><h2>Most read</h2><ul><li><a href='/a'>Another story</a></li></ul></div>{}", None),
        (
            "<div><h2>The pool closes</h2><script>go()</script></div><div>{}</div>",
            "The pool closes",
        ),
    ],
)
def test_the_heading_of_a_paragraph_is_kept(page, heading):
    paragraph = "The council decided on Monday to close the pool of the town, which leaks."
    more = "<p>Parents of the swimming club protested before the town hall until late.</p>" * 2
    content = page_content(f"<body>{page.format(f'<p>{paragraph}</p>')}{more}</body>".encode())
    lines = content.text.split("\n")
    above = lines[: lines.index(paragraph)]
    assert above == ([heading] if heading else [])
