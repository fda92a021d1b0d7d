"""Self-contained HTML pages without network or script; text is always escaped."""

import html
import pathlib
from collections.abc import Mapping, Sequence

from tfsum.atomic_files import write_atomically
from tfsum.errors import as_error

STYLE = """
body { color: #111; background: #fff; font: 16px/1.5 sans-serif }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .2rem .5rem }
tr { border-bottom: 1px solid #ddd } td.number { text-align: right; white-space: nowrap }
.text { white-space: pre-wrap; overflow-wrap: anywhere; border: 1px solid #ccc; padding: 1rem }
.sentence { unicode-bidi: isolate; color: inherit }
.sentence { background: rgb(0 114 178 / calc(var(--shade) * 50%)) }
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
<h1 dir="auto">{title}</h1>
{body}
</body>
</html>
"""

# The control characters of ASCII, which browsers drop, as pictures: U+2400 and following.
PICTURES = {code: 0x2400 + code for code in (*range(9), 11, 12, *range(14, 32))} | {127: 0x2421}


def page(title: str, body: str) -> str:
    """Renders a page, to be stored as UTF-8.

    Args:
        title: Plain text.
        body: HTML.

    Returns:
        HTML.

    Example:
        >>> "<h1 dir=\\"auto\\">A &amp; B</h1>" in page("A & B", "<p>Text</p>")
        True
    """
    return PAGE.format(title=escape(title), style=STYLE, body=body)


def facts(rows: Mapping[str, str], warnings: Sequence[str]) -> str:
    """Renders a table of names and values, with warnings below it.

    Args:
        rows: Values by name, as plain text.
        warnings: Plain texts.

    Returns:
        HTML.

    Example:
        >>> facts({"sentences": "3"}, ["a warning"])
        '<table><tr><th>sentences</th><td>3</td></tr></table>\\n<p class="warning">a warning</p>\\n'
    """
    table = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in rows.items()
    )
    return f"<table>{table}</table>\n" + "".join(
        f'<p class="warning">{escape(text)}</p>\n' for text in warnings
    )


def escape(text: str) -> str:
    """Escapes text for an HTML element or a quoted attribute.

    Args:
        text: Plain text; control characters become visible.

    Returns:
        HTML.

    Example:
        >>> escape("a < b")
        'a &lt; b'
    """
    return html.escape(text.translate(PICTURES))


def write_page(text: str, path: str | pathlib.Path) -> None:
    """Writes a page atomically.

    Args:
        text: HTML of the page.
        path: File to write; replaced if it exists.

    Raises:
        Error: The file cannot be written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_page(page("A", ""), f"{folder}/a.html")
        ...     pathlib.Path(folder, "a.html").read_text().splitlines()[0]
        '<!doctype html>'
    """
    cure = "; choose a file in a folder that exists and may be written to"
    with as_error(f"{path}: the page cannot be written", OSError, cure=cure):
        write_atomically(path, text.encode("utf-8", errors="replace"))
