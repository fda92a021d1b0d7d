"""How results are printed."""


def table(rows: dict[str, dict[str, str]]) -> str:
    """Rows by their names as a Markdown table; a column is as wide as its longest cell."""
    columns = list(dict.fromkeys(column for row in rows.values() for column in row))
    cells = [["", *columns]]
    cells += [[name, *(row.get(column, "") for column in columns)] for name, row in rows.items()]
    widths = [max(map(len, column)) for column in zip(*cells)]
    cells.insert(1, ["-" * width for width in widths])
    return "\n".join(
        f"| {' | '.join(cell.ljust(width) for cell, width in zip(line, widths))} |"
        for line in cells
    )
