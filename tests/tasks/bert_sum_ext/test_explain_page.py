"""The page: whole in itself, faithful to the text, and deaf to what the text would have it do."""

import html.parser

import pytest

from tfsum.errors import Error
from tfsum.html_page import write_page
from tfsum.visualization import explain, html_report

VOID = {"meta"}


class Page(html.parser.HTMLParser):
    """What a browser makes of a page: elements with their attributes, and the text of each kind of
    element."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.open, self.texts = [], [], []
        self.feed(page)
        self.close()
        assert not self.open, "every element is closed"

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        self.texts.append((list(self.open), data))

    def text_within(self, wanted):
        return "".join(
            data for around, data in self.texts if any(wanted(*element) for element in around)
        )

    def found(self, wanted):
        return [attributes for tag, attributes in self.elements if wanted(tag, attributes)]


def is_text(tag, attributes):
    return attributes.get("class") == "text"


def is_sentence(tag, attributes):
    return attributes.get("class") == "sentence"


def shown(text):
    """The text as the page shows it: control characters by their pictures."""
    return text.replace("\u0000", "\u2400").replace("\x1b", "\u241b")


@pytest.fixture
def explanation(lead, hostile):
    return explain(hostile, lead(), 2)


def test_the_text_stands_there_letter_by_letter(explanation, hostile):
    page = Page(html_report(explanation, "a <i>title</i> & more"))
    assert page.text_within(is_text) == shown(hostile)
    assert page.text_within(lambda tag, _: tag == "title") == "a <i>title</i> & more"
    rows = page.text_within(lambda tag, _: tag == "tbody")
    assert all(shown(sentence) in rows for sentence in explanation.every.sentences)


def test_nothing_of_the_text_becomes_markup(explanation):
    page = Page(html_report(explanation, "<script>"))
    tags = {tag for tag, _ in page.elements}
    assert tags == set(
        "html head meta title style body h1 h2 table thead tbody tr th td p ul li a div span mark"
        " meter".split()
    )
    for _, attributes in page.elements:
        assert not any(name.startswith("on") or name == "src" for name in attributes)
        assert attributes.get("href", "#").startswith("#")


def test_the_page_needs_nothing_but_itself(explanation):
    page = html_report(explanation, "x")
    (policy,) = Page(page).found(
        lambda _, attributes: attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy["content"] == "default-src 'none'; style-src 'unsafe-inline'"
    assert "http://" not in page and "https://" not in page and "url(" not in page


def test_sentences_carry_their_scores_and_the_chosen_are_marked(explanation):
    page = Page(html_report(explanation, "x"))
    spans = page.found(is_sentence)
    scores = explanation.every.scores
    assert [span["id"] for span in spans] == [f"s{i + 1}" for i in range(len(scores))]
    assert [float(span["style"].removeprefix("--shade:")) for span in spans] == pytest.approx(
        [score / max(scores) for score in scores], abs=5e-4
    )
    assert spans[1]["title"] == "sentence 2: score 0.400"
    marked = [span["id"] for span in page.found(lambda tag, _: tag == "mark")]
    assert marked == [f"s{i + 1}" for i in explanation.chosen]
    links = [a["href"] for a in page.found(lambda tag, _: tag == "a")]
    assert links[:2] == [f"#{name}" for name in marked]
    assert [float(m["value"]) for m in page.found(lambda tag, _: tag == "meter")] == pytest.approx(
        scores, abs=5e-4
    )


def test_coverage_offsets_warnings_and_model_are_told(explanation):
    text = Page(html_report(explanation, "x")).text_within(lambda tag, _: tag == "body")
    start, end = explanation.every.offsets[1]
    for words in (
        "97.5% of the text was read",
        f"{start:,} to {end:,}",
        "the model read 97.5% of the text: what is beyond its length was cut",
        "lead<b>/1",
        "at most 2 by score",
    ):
        assert words in text


def test_an_empty_text_has_a_page(lead):
    page = Page(html_report(explain("", lead(), 3), "empty.txt"))
    assert page.text_within(is_text) == "" and not page.found(is_sentence)


def test_a_page_is_written_whole_or_not_at_all(explanation, tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("before")
    page = html_report(explanation, "x")
    write_page(page, path)
    assert path.read_bytes().decode() == page.replace("\ud800", "?") and list(
        tmp_path.iterdir()
    ) == [path]
    path.write_text("before")
    monkeypatch.setattr(
        "os.replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device"))
    )
    with pytest.raises(
        Error, match=r"report.html: the page cannot be written \(No space left on device\)"
    ):
        write_page(page, path)
    assert path.read_text() == "before" and list(tmp_path.iterdir()) == [path]


def test_a_place_that_cannot_be_written(tmp_path):
    with pytest.raises(Error, match="cannot be written .*; choose a file in a folder that exists"):
        write_page("", tmp_path / "absent" / "report.html")
    (tmp_path / "folder").mkdir()
    with pytest.raises(Error, match="cannot be written"):
        write_page("", tmp_path / "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
