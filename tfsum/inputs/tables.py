"""Tables in Markdown, whose rows are no sentences."""


def without_tables(text: str) -> str:
    """A text with spaces in place of its tables, so that all else keeps its offset.

    A table is a line with `|`, below it a line of dashes for each column, and the lines with `|`
    that follow (GitHub Flavored Markdown, section 4.10).

    Args:
        text: Text, which need not be Markdown.

    Example:
        >>> without_tables(
        ...     "It rained.\\n\\n| day | mm |\\n|---|--:|\\n| Monday | 12 |\\nIt stopped."
        ... )
        'It rained.\\n\\n            \\n         \\n               \\nIt stopped.'
    """
    if "|" not in text:
        return text
    lines = text.splitlines(keepends=True)
    number = 1
    while number < len(lines):
        begin = number - 1
        number += 1
        if _is_rule(lines[begin + 1]) and "|" in lines[begin]:
            while number < len(lines) and "|" in lines[number]:
                number += 1
            lines[begin:number] = [_blank(line) for line in lines[begin:number]]
            number += 1
    return "".join(lines)


def _is_rule(line: str) -> bool:
    """Whether a line is the second of a table, such as `|---|:-:|`."""
    cells = line.strip().strip("|").split("|")
    return "|" in line and all("-" in cell and not cell.strip().strip(":-") for cell in cells)


def _blank(line: str) -> str:
    kept = line.rstrip("\r\n")
    return " " * len(kept) + line[len(kept) :]
