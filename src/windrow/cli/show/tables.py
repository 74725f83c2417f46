"""Tables as text, no wider than the terminal."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from windrow.cli.show.progress import human_time

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["figure", "figure_table", "text_table"]

_WIDEST_CELL = 40


def text_table(table: pa.Table, rows: int = 20, width: int = 80) -> str:
    """The first rows, columns aligned; what does not fit is left out and said.

    >>> import pyarrow as pa
    >>> print(text_table(pa.table({"region": ["north", "s"], "n": [1, 20]})))
    region   n
    north    1
    s       20
    """
    shown = table.slice(0, rows)
    columns = [_results(name, column) for name, column in zip(shown.column_names, shown.columns, strict=True)]
    lines, left_out = _lines(columns, width)
    if table.num_rows > rows:
        lines.append(f"... {table.num_rows - rows:,} more rows")
    return "\n".join(lines + left_out)


def figure_table(columns: Sequence[str], rows: Sequence[Sequence[Any]], width: int = 80) -> str:
    """Figures under their names, to three digits.

    >>> print(figure_table(["window", "RA", "10x"], [[8, 0.0123456, "never"], [4096, 25.0, None]]))
    window      RA    10x
         8  0.0123  never
     4,096      25      -
    """
    found = []
    for name, cells in zip(columns, zip(*rows, strict=True), strict=True):
        is_figure = any(isinstance(cell, (int, float)) for cell in cells)
        found.append(_aligned([name, *map(figure, cells)], is_figure))
    lines, left_out = _lines(found, width)
    return "\n".join(lines + left_out)


def figure(value: Any) -> str:
    """A measured number to three digits; text as it is.

    >>> figure(123456), figure(1234.5), figure(0.001234), figure("never"), figure(None)
    ('123,456', '1,234', '0.00123', 'never', '-')
    """
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    if isinstance(value, int):
        return f"{value:,}"
    return _cell(value)


def _results(name: str, values: Any) -> list[str]:
    from windrow.cli.show.moments import plain_values

    cells = [_clipped(_cell(name)), *(_clipped(_cell(value)) for value in plain_values(values))]
    return _aligned(cells, str(values.type).startswith(("int", "uint", "float", "double", "decimal")))


def _aligned(cells: list[str], are_numbers: bool) -> list[str]:
    width = max(len(cell) for cell in cells)
    return [cell.rjust(width) if are_numbers else cell.ljust(width) for cell in cells]


def _lines(columns: list[list[str]], width: int) -> tuple[list[str], list[str]]:
    """The lines of the columns that fit, and one that names the others."""
    fitting = _fitting(columns, width)
    lines = ["  ".join(cells).rstrip() for cells in zip(*columns[:fitting], strict=True)]
    names = ", ".join(column[0].strip() for column in columns[fitting:])
    return lines, [f"... more columns: {names}"] if names else []


def _fitting(columns: list[list[str]], width: int) -> int:
    used = 0
    for count, cells in enumerate(columns):
        used += len(cells[0]) + (2 if count else 0)
        if used > width and count:
            return count
    return len(columns)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, dt.datetime):
        return human_time(value)
    return "".join(c if c.isprintable() else "?" for c in str(value))


def _clipped(text: str) -> str:
    return text if len(text) <= _WIDEST_CELL else text[: _WIDEST_CELL - 3] + "..."
