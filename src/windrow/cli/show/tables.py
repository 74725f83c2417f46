"""Tables of results as text, no wider than the terminal."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["text_table"]

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
    columns = [_column(name, shown.column(name)) for name in shown.column_names]
    fitting = _fitting(columns, width)
    lines = ["  ".join(cells).rstrip() for cells in zip(*columns[:fitting], strict=True)]
    if table.num_rows > rows:
        lines.append(f"... {table.num_rows - rows:,} more rows")
    if fitting < len(columns):
        lines.append(f"... more columns: {', '.join(table.column_names[fitting:])}")
    return "\n".join(lines)


def _column(name: str, values: Any) -> list[str]:
    cells = [_clipped(name), *(_clipped(_cell(value)) for value in values.to_pylist())]
    width = max(len(cell) for cell in cells)
    numbers = str(values.type).startswith(("int", "uint", "float", "double", "decimal"))
    return [cell.rjust(width) if numbers else cell.ljust(width) for cell in cells]


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
        return value.strftime("%Y-%m-%d %H:%M:%S")
    return "".join(c if c.isprintable() else "?" for c in str(value))


def _clipped(text: str) -> str:
    return text if len(text) <= _WIDEST_CELL else text[: _WIDEST_CELL - 3] + "..."
