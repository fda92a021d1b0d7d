"""Explains an extractive summary: scores and choice of its sentences, as an HTML page."""

import dataclasses
from typing import Literal

from tfsum.html_page import escape, facts, page
from tfsum.request import Newline, SummaryAnswer, SummaryRequest, sentence_of
from tfsum.tasks.bert_sum_ext.summarizer import Summarizer

RANKS = {"score": "score", "expected_rouge": "the ROUGE expected of them together"}


def explain_page(summarizer: Summarizer, text: str, title: str, request: SummaryRequest) -> str:
    """The page about the summary of a text.

    Args:
        summarizer: Extractive model from `tfsum.load`.
        text: The text.
        title: Title of the page.
        request: What is asked of the text: a number of sentences, the meaning of a new line.

    Raises:
        Error: `text` is not a str, or the model cannot do what is asked.
    """
    return html_report(explain(text, summarizer, request.sentences, request.newline), title)


@dataclasses.dataclass(frozen=True)
class Explanation:
    """The summary of an extractive model with the scores of all sentences.

    Attributes:
        text: The text.
        every: All its sentences, as if all were chosen.
        summary: The answer of the model.
        chosen: Indices of the summary's sentences.
        model: NAME/VERSION of the model.
        rule: How the model selects sentences, in words.

    Example:
        >>> summary = SummaryAnswer("It rained.", ["It rained."], [0.9], [(0, 10)], 1.0, [])
        >>> Explanation("It rained.", summary, summary, [0], "news/1", "at most 1 by score").chosen
        [0]
    """

    text: str
    every: SummaryAnswer
    summary: SummaryAnswer
    chosen: list[int]
    model: str
    rule: str


def explain(
    text: str,
    summarizer: Summarizer,
    sentences: int | Literal["auto"] | None = None,
    newline: Newline | None = None,
) -> Explanation:
    """Gets a model's summary of a text and the scores of all sentences.

    Args:
        text: The text.
        summarizer: Model from `tfsum.load`.
        sentences: The most sentences of the summary, or "auto"; as the model was exported by
            default.
        newline: Meaning of a new line, as in `Summarizer`.

    Returns:
        An `Explanation`.

    Raises:
        Error: `text` is not a str, or `sentences` is beyond the model's limit.

    Example:
        >>> import tfsum
        >>> explanation = explain("It rained. The bridge was closed.", tfsum.load(), sentences=1)
        >>> len(explanation.chosen), len(explanation.every.sentences)
        (1, 2)
    """
    summary = summarizer(text, sentences, newline=newline)
    every = summarizer.score(text, newline)
    place = {end: i for i, (_, end) in enumerate(every.offsets)}  # a dateline is cut at the start
    most = sentences or summarizer.description["sentences"]
    number = "two to four" if most == "auto" else f"at most {most}"
    rule = f"{number} by {RANKS[summarizer.description['selection']]}"
    if summarizer.description["block_trigrams"]:
        rule += ", none that repeats a trigram of the others"
    return Explanation(
        text,
        every,
        summary,
        [place[end] for _, end in summary.offsets],
        "/".join(summarizer.path.resolve().parts[-2:]),
        rule,
    )


def html_report(explanation: Explanation, title: str) -> str:
    """Renders an explanation as an HTML page.

    It shows the summary, the text with its sentences shaded by score, and a table of them all.

    Args:
        explanation: Result of `explain`.
        title: Title of the page, such as the name of the text's file.

    Returns:
        HTML, to be stored as UTF-8. Text is escaped: nothing in it becomes markup.

    Example:
        >>> summary = SummaryAnswer("It rained.", ["It rained."], [0.9], [(0, 10)], 1.0, [])
        >>> html_report(
        ...     Explanation("It rained.", summary, summary, [0], "news/1", "at most 1 by score"),
        ...     "a text",
        ... )[:15]
        '<!doctype html>'
    """
    every, summary = explanation.every.sentences, explanation.summary
    rows = {
        "model": explanation.model,
        "characters": f"{len(explanation.text):,}",
        "sentences": f"{len(every):,}, of which {len(summary.sentences)} are chosen",
        "chosen": explanation.rule,
        "coverage": f"{summary.coverage:.1%} of the text was read",
    }
    chosen = "".join(
        f'<li dir="auto"><a href="#s{i + 1}">{escape(every[i])}</a></li>'
        for i in explanation.chosen
    )
    parts = (
        facts(rows, [*map(sentence_of, summary.warnings)]),
        f"<h2>Summary</h2>\n<ul>{chosen}</ul>",
        _text(explanation),
        _table(explanation),
    )
    return page(title, "\n".join(parts))


def _text(explanation: Explanation) -> str:
    """The text as it was given; a sentence is the darker the higher its score, and marked where it
    was chosen."""
    text, every, chosen = explanation.text, explanation.every, set(explanation.chosen)
    highest = max([*every.scores, 1e-9])
    parts, done = [], 0
    for i, ((start, end), score) in enumerate(zip(every.offsets, every.scores)):
        tag = "mark" if i in chosen else "span"
        parts.append(
            f'{escape(text[done:start])}<{tag} class="sentence" id="s{i + 1}" '
            f'style="--shade:{score / highest:.3f}" title="sentence {i + 1}: score {score:.3f}">'
            f"{escape(text[start:end])}</{tag}>"
        )
        done = end

    parts.append(escape(text[done:]))
    return (
        f"<h2>Text</h2>\n<p>The darker, the higher the score (at most {highest:.3f}); the summary"
        " is bold and "
        "underlined.</p>\n"
        f'<div class="text" dir="auto">{"".join(parts)}</div>'
    )


def _table(explanation: Explanation) -> str:
    """A row for each sentence; offsets are characters of the text."""
    every, chosen = explanation.every, set(explanation.chosen)
    rows = [
        '<tr><td class="number"><a'
        f' href="#s{i + 1}">{i + 1}</a></td><td>{"✓" * (i in chosen)}</td><td'
        f' class="number">{score:.3f} <meter min="0" max="1" value="{score:.3f}"></meter></td><td'
        f' class="number">{start:,} to {end:,}</td><td dir="auto">{escape(sentence)}</td></tr>'
        for i, (sentence, score, (start, end)) in enumerate(
            zip(every.sentences, every.scores, every.offsets)
        )
    ]
    names = ("sentence", "chosen", "score", "characters", "text")
    head, body = "".join(f"<th>{name}</th>" for name in names), "\n".join(rows)
    return (
        f"<h2>Sentences</h2>\n<table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>"
    )
