"""The report of `tfsum explain`: one HTML page that needs nothing but itself, no network and no script."""

import html
import os
import pathlib

from tfsum.errors import Error
from tfsum.visualization.explanation import Explanation

# Browsers drop NUL and hide the others of these: show them (U+2400 and on) but for tab, line feed and return.
_CONTROLS = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"} | {0x7F: 0x2421}

STYLE = """
body { color: #111; background: #fff; font: 16px/1.5 sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; vertical-align: top; padding: .2rem .5rem }
tr { border-bottom: 1px solid #ddd } td.number { text-align: right; white-space: nowrap }
.text { white-space: pre-wrap; overflow-wrap: anywhere; border: 1px solid #ccc; padding: 1rem }
.sentence { unicode-bidi: isolate; color: inherit; background: rgb(0 114 178 / calc(var(--shade) * 50%)) }
mark.sentence { font-weight: bold; border-bottom: 3px solid #d55e00 }
.warning { border-left: 4px solid #d55e00; padding-left: .5rem }
"""

PAGE = """<!doctype html>
<html>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
{body}
</body>
</html>
"""


def html_report(explanation: Explanation, title: str) -> str:
    """Writes an explanation as a page: the summary, the text with its sentences shaded by score, a table of them all.

    Args:
        explanation: what `explain` gave.
        title: of the page, such as the name of the text's file.

    Returns:
        HTML, to be stored as UTF-8. Text is escaped: nothing in it becomes markup.
    """
    body = "\n".join([_facts(explanation, title), _summary(explanation), _text(explanation), _table(explanation)])
    return PAGE.format(title=escape(title), style=STYLE, body=body)


def write_report(page: str, path: str | pathlib.Path) -> None:
    """Writes a page under a temporary name first, so that a report is whole or not there.

    Raises:
        Error: it cannot be written.
    """
    path = pathlib.Path(path)
    temporary = path.with_name(path.name + ".partial")
    try:
        temporary.write_bytes(page.encode("utf-8", errors="replace"))
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise Error(f"{path}: the report cannot be written ({error.strerror}); choose a file in a folder that exists "
                    "and may be written to") from error


def escape(text: str) -> str:
    """A text as HTML shows it letter by letter, in an element or in a quoted attribute."""
    return html.escape(text.translate(_CONTROLS))


def _facts(explanation: Explanation, title: str) -> str:
    every, summary = explanation.every, explanation.summary
    rows = {"model": explanation.model, "characters": f"{len(explanation.text):,}",
            "sentences": f"{len(every.sentences):,}, of which {len(summary.sentences)} are chosen",
            "chosen": explanation.rule, "coverage": f"{summary.coverage:.1%} of the text was read"}
    table = "".join(f"<tr><th>{name}</th><td>{escape(value)}</td></tr>" for name, value in rows.items())
    warnings = "".join(f'<p class="warning">{escape(warning)}</p>' for warning in summary.warnings)
    return f"<h1 dir=\"auto\">{escape(title)}</h1>\n<table>{table}</table>\n{warnings}"


def _summary(explanation: Explanation) -> str:
    items = "".join(f'<li dir="auto"><a href="#s{i + 1}">{escape(explanation.every.sentences[i])}</a></li>'
                    for i in explanation.chosen)
    return f"<h2>Summary</h2>\n<ul>{items}</ul>"


def _text(explanation: Explanation) -> str:
    """The text as it was given; a sentence is the darker the higher its score, and marked where it was chosen."""
    text, every, chosen = explanation.text, explanation.every, set(explanation.chosen)
    highest = max([*every.scores, 1e-9])
    parts, done = [], 0
    for i, ((start, end), score) in enumerate(zip(every.offsets, every.scores)):
        tag = "mark" if i in chosen else "span"
        parts.append(f'{escape(text[done:start])}<{tag} class="sentence" id="s{i + 1}" '
                     f'style="--shade:{score / highest:.3f}" title="sentence {i + 1}: score {score:.3f}">'
                     f'{escape(text[start:end])}</{tag}>')
        done = end
    parts.append(escape(text[done:]))
    return (f"<h2>Text</h2>\n<p>The darker, the higher the score (at most {highest:.3f}); the summary is bold and "
            "underlined.</p>\n"
            f'<div class="text" dir="auto">{"".join(parts)}</div>')


def _table(explanation: Explanation) -> str:
    """A row for each sentence; offsets are characters of the text."""
    every, chosen = explanation.every, set(explanation.chosen)
    rows = [f'<tr><td class="number"><a href="#s{i + 1}">{i + 1}</a></td><td>{"✓" if i in chosen else ""}</td>'
            f'<td class="number">{score:.3f} <meter min="0" max="1" value="{score:.3f}"></meter></td>'
            f'<td class="number">{start:,} to {end:,}</td><td dir="auto">{escape(sentence)}</td></tr>'
            for i, (sentence, score, (start, end)) in enumerate(zip(every.sentences, every.scores, every.offsets))]
    head = "".join(f"<th>{name}</th>" for name in ("sentence", "chosen", "score", "characters", "text"))
    return f"<h2>Sentences</h2>\n<table><thead><tr>{head}</tr></thead>\n<tbody>{chr(10).join(rows)}</tbody></table>"
