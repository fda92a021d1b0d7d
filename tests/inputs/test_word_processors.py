"""Word documents: their text is what Word shows."""

import io
import zipfile

import pytest

from tfsum.errors import DataError
from tfsum.inputs.documents import documents_of
from tfsum.inputs.word_processors import word_content

SPACE = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
MORE = "http://schemas.openxmlformats.org/markup-compatibility/2006"


def run(text, properties=""):
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def paragraph(*content):
    return f"<w:p>{''.join(content)}</w:p>"


def document(body, **parts):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, xml in {"document": f"<w:body>{body}</w:body>", **parts}.items():
            root = f'<w:{name} xmlns:w="{SPACE}" xmlns:mc="{MORE}">{xml}</w:{name}>'
            archive.writestr(f"word/{name}.xml", root)
    return data.getvalue()


def test_what_unpacks_to_very_much_is_not_parsed(monkeypatch):
    monkeypatch.setattr("tfsum.inputs.word_processors.ElementTree", None)
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b"<p>" * (23 << 20))
    with pytest.raises(
        DataError, match="a.docx: is a Word document of 69 MB of text .* may have 64"
    ):
        documents_of("docx", data.getvalue(), "a.docx")


CASES = {
    "insertion": ("<w:ins>{}</w:ins>", "It rained a lot."),
    "moved here": ("<w:moveTo>{}</w:moveTo>", "It rained a lot."),
    "moved away": ("<w:moveFrom>{}</w:moveFrom>", "It rained."),
    "smart tag": ("<w:smartTag>{}</w:smartTag>", "It rained a lot."),
    "field": ("<w:fldSimple>{}</w:fldSimple>", "It rained a lot."),
    "link": ("<w:hyperlink>{}</w:hyperlink>", "It rained a lot."),
    "content control": ("<w:sdt><w:sdtContent>{}</w:sdtContent></w:sdt>", "It rained a lot."),
}


@pytest.mark.parametrize("around, right", CASES.values(), ids=CASES)
def test_what_stands_in_other_elements(around, right):
    body = paragraph(run("It rained"), around.format(run(" a lot")), run("."))
    assert word_content(document(body)).text == right


def test_a_deletion_is_not_there_and_its_mark_joins_paragraphs():
    mark = "<w:pPr><w:rPr><w:del/></w:rPr></w:pPr>"
    deleted = "<w:del><w:r><w:delText> never</w:delText></w:r></w:del>"
    body = paragraph(mark, run("It"), deleted) + paragraph(run(" rained.")) + paragraph(run("Yes."))
    assert word_content(document(body)).text == "It rained.\n\nYes."


@pytest.mark.parametrize(
    "properties, is_hidden",
    [
        ("<w:vanish/>", True),
        ('<w:vanish w:val="0"/>', False),
        ('<w:rStyle w:val="Draft"/>', True),
        ('<w:rStyle w:val="Strong"/>', False),
    ],
)
def test_hidden_text_is_left_out_and_said(properties, is_hidden):
    styles = (
        '<w:style w:styleId="Draft"><w:rPr><w:vanish/></w:rPr></w:style>'
        '<w:style w:styleId="Strong"><w:rPr><w:b/></w:rPr></w:style>'
    )
    body = paragraph(run("It rained."), run(" A secret.", properties))
    content = word_content(document(body, styles=styles))
    assert content.text == ("It rained." if is_hidden else "It rained. A secret.")
    assert content.notes == ["hidden text is not read"] * is_hidden


def test_notes_boxes_and_cells_are_there_once_in_order():
    box = f"<w:txbxContent>{paragraph(run('A box.'))}</w:txbxContent>"
    both = (
        f"<mc:AlternateContent><mc:Choice>{box}</mc:Choice>"
        f"<mc:Fallback>{box}</mc:Fallback></mc:AlternateContent>"
    )
    note = '<w:r><w:footnoteReference w:id="2"/></w:r>'
    cells = "".join(f"<w:tc>{paragraph(run(text))}</w:tc>" for text in ("One.", "Two."))
    body = paragraph(run("It rained."), note, f"<w:r>{both}</w:r>")
    body += f"<w:tbl><w:tr>{cells}</w:tr></w:tbl>" + paragraph(run("End."))
    notes = f'<w:footnote w:id="2">{paragraph(run("A note."))}</w:footnote>'
    assert not word_content(document(body, comments="\n")).notes
    comment = paragraph(run("Why?"))
    content = word_content(document(body, footnotes=notes, comments=comment))
    assert content.text.split("\n\n") == ["It rained.", "A note.", "A box.", "One.", "Two.", "End."]
    assert content.notes == ["the comments are not read"]


def test_a_line_break_inside_a_sentence_joins():
    for before, between in (("It", " "), ("Well.", "\n"), ("Why?", "\n")):
        body = paragraph(run(before), "<w:r><w:br/></w:r>", run("rained"))
        assert word_content(document(body)).text == f"{before}{between}rained"


def test_hyphens_tabs_and_instructions():
    body = paragraph(
        run("well"),
        "<w:r><w:noBreakHyphen/></w:r>",
        run("known"),
        "<w:r><w:tab/><w:instrText> PAGE </w:instrText></w:r>",
        run("pool"),
    )
    assert word_content(document(body)).text == "well-known pool"
