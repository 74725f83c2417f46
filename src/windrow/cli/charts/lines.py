"""Results as lines: one for each window and key, as they come out.

What is kept is bounded: beyond so many results the older half of each line is forgotten, and counted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.arrays import Floats, Ints
from windrow.cli.charts.layout import Layout
from windrow.cli.charts.levels import Line
from windrow.cli.show.moments import plain_values

__all__ = ["Change", "Lines", "key_text"]

#: results that are kept, over all lines
_MOST = 4_000_000


class Change(NamedTuple):
    """What became of a key: its first and last value, and the smallest and largest between."""

    key: str
    results: int
    first: float
    last: float
    low: float
    high: float

    @property
    def by(self) -> float:
        return self.last - self.first


class Lines:
    """The lines of results by window and key.

    >>> lines = Lines(Layout(("k",), "window_end", ("n",), "window_start"))
    >>> lines.add(
    ...     pa.table(
    ...         {"k": ["a", "b", "a"], "window_start": [0, 0, 5], "window_end": [5, 5, 9], "n": [1, 7, 4]}
    ...     )
    ... )
    >>> lines.keys(""), lines.of("", "a").points("n", 0, 9, 10)
    (['a', 'b'], [(5.0, 1.0), (9.0, 4.0)])
    """

    def __init__(self, layout: Layout, most: int = _MOST) -> None:
        self.layout = layout
        self._most = most
        self._lines: dict[str, dict[str, Line]] = defaultdict(dict)
        #: numbers among the values, in their order
        self.columns: tuple[str, ...] = ()
        #: whether times are times of day, in microseconds, and not integers
        self.is_time = False
        self.count = 0
        self.forgotten = 0

    def add(self, table: pa.Table) -> None:
        """Results of a step; those without a time, as late rows among them, are left out."""
        layout = self.layout
        if layout.time not in table.column_names or not table.num_rows:
            return
        table = table.filter(pc.is_valid(table.column(layout.time)))
        self.columns = self.columns or tuple(
            name for name in layout.values if name in table.column_names and _is_number(table, name)
        )
        kind = table.schema.field(layout.time).type
        self.is_time = bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))
        if not table.num_rows:
            return
        taken_back = _flags(table, "retracted")
        times = _units(table.column(layout.time))
        values = {name: _numbers(table.column(name)) for name in self.columns}
        if layout.start is not None and layout.start in table.column_names:
            values[layout.start] = _units(table.column(layout.start)).astype(np.float64)
        for window, key, rows in _groups(layout, table):
            columns = {name: column[rows] for name, column in values.items()}
            self._add(window, key, times[rows], columns, taken_back[rows])
        if self.count > self._most:
            self._forget()

    def _add(self, window: str, key: str, times: Ints, columns: dict[str, Floats], taken_back: Any) -> None:
        line = self._lines[window].setdefault(key, Line())
        before = len(line)
        line.add(times, columns)
        if taken_back.any():
            line.remove(times[taken_back])
        self.count += len(line) - before

    def _forget(self) -> None:
        for line in self._all():
            dropped = line.drop_before(int(line.times[len(line) // 2])) if len(line) > 1 else 0
            self.count -= dropped
            self.forgotten += dropped

    def _all(self) -> Iterator[Line]:
        for lines in self._lines.values():
            yield from lines.values()

    @property
    def windows(self) -> list[str]:
        """The names of windows; an empty text where they have none."""
        return sorted(self._lines)

    def keys(self, window: str) -> list[str]:
        return sorted(self._lines.get(window, {}))

    def busiest(self, window: str, count: int) -> list[str]:
        """The keys with the most results, by name."""
        lines = self._lines.get(window, {})
        return sorted(sorted(lines, key=lambda key: (-len(lines[key]), key))[:count])

    def of(self, window: str, key: str) -> Line | None:
        return self._lines.get(window, {}).get(key)

    def span(self) -> tuple[int, int] | None:
        """From the start of the first window that is kept to the end of the last; None: there is none."""
        ends = [(int(line.times[0]), int(line.times[-1])) for line in self._all() if len(line)]
        return (min(low for low, _ in ends), max(high for _, high in ends)) if ends else None

    def changes(self, window: str, column: str) -> list[Change]:
        """By how much the last value of a key is another than its first; those that changed most first."""
        found = []
        for key, line in self._lines.get(window, {}).items():
            values = line.columns[column][np.isfinite(line.columns[column])] if len(line) else np.empty(0)
            if len(values):
                ends = float(values[0]), float(values[-1]), float(values.min()), float(values.max())
                found.append(Change(key, len(values), *ends))
        return sorted(found, key=lambda change: (-abs(change.by), change.key))


def key_text(values: Sequence[Any]) -> str:
    """A key as it is shown, of one column or more."""
    return " / ".join("null" if value is None else str(value) for value in values) if values else "all"


def _groups(layout: Layout, table: pa.Table) -> Iterator[tuple[str, str, Ints]]:
    """(window, key, rows) for each window and key of a table."""
    names = [*([layout.window] if layout.window in table.column_names else []), *layout.by]
    if not names:
        yield "", key_text(()), np.arange(table.num_rows)
        return
    codes = np.zeros(table.num_rows, np.int64)
    for name in names:
        column = table.column(name).combine_chunks()
        if pa.types.is_nested(column.type):
            column = pa.array([str(value) for value in plain_values(column)])
        encoded = column.dictionary_encode(null_encoding="encode").indices
        codes = codes * (int(pc.max(encoded).as_py()) + 1) + np.asarray(encoded, np.int64)
    order = np.argsort(codes, kind="stable")
    edges = np.flatnonzero(np.diff(codes[order])) + 1
    for rows in np.split(order, edges):
        values = [plain_values(table.column(name).slice(int(rows[0]), 1))[0] for name in names]
        has_window = layout.window is not None and names[0] == layout.window
        yield str(values[0]) if has_window else "", key_text(values[1:] if has_window else values), rows


def _is_number(table: pa.Table, name: str) -> bool:
    kind = table.schema.field(name).type
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _flags(table: pa.Table, name: str) -> Any:
    if name not in table.column_names:
        return np.zeros(table.num_rows, bool)
    return np.asarray(pc.fill_null(table.column(name), False).combine_chunks().to_numpy(zero_copy_only=False))


def _numbers(column: Any) -> Floats:
    found = column.cast(pa.float64(), safe=False).combine_chunks()
    return np.asarray(found.to_numpy(zero_copy_only=False), np.float64)


def _units(column: Any) -> Ints:
    """Microseconds since 1970, or integers as they are."""
    kind = column.type
    if pa.types.is_date(kind):
        column = column.cast(pa.timestamp("us"))
    elif pa.types.is_timestamp(kind):
        column = column.cast(pa.timestamp("us", kind.tz), safe=False)
    return np.asarray(pc.fill_null(column.cast(pa.int64()), 0).combine_chunks(), np.int64)
