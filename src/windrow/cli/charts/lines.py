"""Results as lines: one for each window and key, as they come out.

A run hands over whole tables, which are only kept; they are sorted into lines when somebody asks. What is
kept is bounded: beyond so many results the older ones are forgotten, and counted.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
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
#: lines whose levels of detail are kept
_MOST_DRAWN = 64


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
        #: numbers among the values, in their order
        self.columns: tuple[str, ...] = ()
        #: whether times are times of day, in microseconds, and not integers
        self.is_time = False
        #: tables that nobody has asked for
        self._waiting: deque[pa.Table] = deque()
        self._waiting_rows = 0
        self._forgotten = 0
        self._numbers: dict[tuple[str, str], int] = {}
        self._sorted = _Sorted.empty(())
        self._drawn: dict[int, Line] = {}

    def add(self, table: pa.Table) -> None:
        """Keep the results of a step."""
        layout, names = self.layout, table.column_names
        if layout.time not in names or not table.num_rows:
            return
        if not self._waiting and not len(self._sorted.times):
            self.columns = tuple(name for name in layout.values if name in names and _is_number(table, name))
            starts = (layout.start,) if layout.start is not None and layout.start in names else ()
            self._sorted = _Sorted.empty((*self.columns, *starts))
        kind = table.schema.field(layout.time).type
        self.is_time = bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))
        of = (layout.window, *layout.by, layout.time, "retracted", *self._sorted.values)
        self._waiting.append(table.select([name for name in dict.fromkeys(of) if name in names]))
        self._waiting_rows += table.num_rows
        while self._waiting_rows > self._most and len(self._waiting) > 1:
            oldest = self._waiting.popleft()
            self._waiting_rows -= oldest.num_rows
            self._forgotten += oldest.num_rows - oldest.column(layout.time).null_count

    def _settled(self) -> _Sorted:
        """All results that are kept, sorted into lines."""
        if self._waiting:
            tables, self._waiting, self._waiting_rows = list(self._waiting), deque(), 0
            new, taken_back = self._read(tables)
            for number, line in list(self._drawn.items()):
                rows = new.of(number)
                if taken_back[rows].any():
                    del self._drawn[number]
                elif rows.stop > rows.start:
                    line.add(new.times[rows], {name: each[rows] for name, each in new.values.items()})
            self._sorted = self._sorted.merged(new, taken_back)
            while len(self._sorted.times) > self._most:
                self._forget()
        return self._sorted

    def _read(self, tables: Sequence[pa.Table]) -> tuple[_Sorted, Any]:
        """Tables in order of line and time, and which results were taken back. Of several for one time the
        last counts, and of those in one table one that was not taken back."""
        time = self.layout.time
        tables = [table.filter(pc.is_valid(table.column(time))) for table in tables]  # late rows have none
        lines = self._lines_of(tables)
        times = np.concatenate([_units(table.column(time)) for table in tables])
        taken_back = np.concatenate([_flags(table, "retracted") for table in tables])
        values = {
            name: np.concatenate([self._numbers_in(table, name) for table in tables])
            for name in self._sorted.values
        }
        first: tuple[Any, ...] = ()
        if taken_back.any():
            first = ~taken_back, np.repeat(np.arange(len(tables)), [table.num_rows for table in tables])
        order = np.lexsort((*first, times, lines))
        last = np.ones(len(order), np.bool_)
        last[:-1] = (np.diff(lines[order]) != 0) | (np.diff(times[order]) != 0)
        kept = order[last]
        found = _Sorted(lines[kept], times[kept], {name: each[kept] for name, each in values.items()})
        return found, taken_back[kept]

    def _numbers_in(self, table: pa.Table, name: str) -> Floats:
        column = table.column(name)
        return _units(column).astype(np.float64) if name == self.layout.start else _numbers(column)

    def _lines_of(self, tables: Sequence[pa.Table]) -> Ints:
        """The number of its line for each row."""
        layout, rows = self.layout, sum(table.num_rows for table in tables)
        names = [name for name in (layout.window, *layout.by) if name in tables[0].column_names]
        whole = pa.concat_tables([table.select(names) for table in tables], promote_options="permissive")
        groups, columns = np.zeros(rows, np.int64), [_encoded(whole.column(name)) for name in names]
        for codes, texts in columns:
            groups = _codes(pa.array(groups * max(len(texts), 1) + codes))
        first = _first_rows(groups)
        keys = [[texts[code] for code in codes[first].tolist()] for codes, texts in columns]
        if not names or layout.window != names[0]:
            keys.insert(0, [""] * len(first))
        known = self._numbers
        found = [
            known.setdefault((window, key_text(key)), len(known)) for window, *key in zip(*keys, strict=True)
        ]
        return np.asarray(found, np.int64)[groups]

    def _forget(self) -> None:
        """The older half, and lines that have nothing else."""
        before = self._sorted
        half = len(before.times) // 2
        kept = np.sort(np.argpartition(before.times, half)[half:])
        self._forgotten += half
        live, numbers = np.unique(before.lines[kept], return_inverse=True)
        names = list(self._numbers)
        self._numbers = {names[number]: k for k, number in enumerate(live.tolist())}
        values = {name: each[kept] for name, each in before.values.items()}
        self._sorted = _Sorted(numbers, before.times[kept], values)
        self._drawn.clear()

    @property
    def count(self) -> int:
        """Results that are kept."""
        return len(self._settled().times)

    @property
    def forgotten(self) -> int:
        """Older results that no longer are."""
        self._settled()
        return self._forgotten

    @property
    def windows(self) -> list[str]:
        """The names of windows; an empty text where they have none."""
        self._settled()
        return sorted({window for window, _ in self._numbers})

    def keys(self, window: str) -> list[str]:
        return sorted(key for key, _ in self._of_window(window))

    def busiest(self, window: str, count: int) -> list[str]:
        """The keys with the most results, by name."""
        results = np.diff(self._settled().offsets(len(self._numbers))).tolist()
        found = ((-results[number], key) for key, number in self._of_window(window))
        return sorted(key for _, key in heapq.nsmallest(count, found))

    def _of_window(self, window: str) -> list[tuple[str, int]]:
        self._settled()
        return [(key, number) for (of, key), number in self._numbers.items() if of == window]

    def of(self, window: str, key: str) -> Line | None:
        found = self._settled()
        number = self._numbers.get((window, key))
        if number is None:
            return None
        if number not in self._drawn:
            if len(self._drawn) >= _MOST_DRAWN:
                self._drawn.clear()
            rows = found.of(number)
            values = {name: each[rows].copy() for name, each in found.values.items()}
            self._drawn[number] = Line(found.times[rows].copy(), values)
        return self._drawn[number]

    def span(self) -> tuple[int, int] | None:
        """From the first result that is kept to the last; None: there is none."""
        times = self._settled().times
        return (int(times.min()), int(times.max())) if len(times) else None

    def changes(self, window: str, column: str) -> list[Change]:
        """By how much the last value of a key is another than its first; those that changed most first."""
        found = self._settled()
        names = [key if of == window else None for of, key in self._numbers]
        is_asked = np.array([name is not None for name in names], np.bool_)
        rows = np.flatnonzero(np.isfinite(found.values[column]) & is_asked[found.lines])
        if not len(rows):
            return []
        lines, values = found.lines[rows], found.values[column][rows]
        first = np.flatnonzero(np.diff(lines, prepend=-1))
        last = np.append(first[1:], len(lines)) - 1
        figures = (
            values[first],
            values[last],
            np.minimum.reduceat(values, first),
            np.maximum.reduceat(values, first),
        )
        counts = (last - first + 1).tolist()
        changes = [
            Change(names[line] or "", *each)
            for line, *each in zip(
                lines[first].tolist(), counts, *map(np.ndarray.tolist, figures), strict=True
            )
        ]
        return sorted(changes, key=lambda change: (-abs(change.by), change.key))


class _Sorted(NamedTuple):
    """Results in order of line and time, at most one for a time of a line."""

    lines: Ints
    times: Ints
    values: dict[str, Floats]

    @classmethod
    def empty(cls, names: Sequence[str]) -> _Sorted:
        none = np.empty(0, np.int64)
        return cls(none, none, {name: np.empty(0) for name in names})

    def of(self, line: int) -> slice:
        """The rows of a line."""
        return slice(*np.searchsorted(self.lines, [line, line + 1]).tolist())

    def offsets(self, lines: int) -> Ints:
        """Where each line begins, and where the last one ends."""
        return np.searchsorted(self.lines, np.arange(lines + 1))

    def merged(self, new: _Sorted, taken_back: Any) -> _Sorted:
        """With new results, which replace those of their times; those taken back are gone."""
        if not len(new.times):
            return self
        places, is_known = self._places(new)
        known = places[is_known]
        inserted = ~is_known & ~taken_back
        gone = np.zeros(len(self.times), np.bool_)
        gone[known] = taken_back[is_known]

        def column(before: Any, after: Any) -> Any:
            before = before.copy()
            before[known] = after[is_known]
            return np.insert(before[~gone], (places - shifts)[inserted], after[inserted])

        shifts = np.append(0, np.cumsum(gone))[places]
        values = {name: column(each, new.values[name]) for name, each in self.values.items()}
        return _Sorted(column(self.lines, new.lines), column(self.times, new.times), values)

    def _places(self, new: _Sorted) -> tuple[Ints, Any]:
        """Where new results belong, and whether there is one of that line and time."""
        edges = self.offsets(int(new.lines[-1]) + 1)
        low, end = edges[new.lines], edges[new.lines + 1]
        high = end.copy()
        while (is_open := low < high).any():
            middle = (low + high) // 2
            is_before = np.zeros(len(low), np.bool_)
            is_before[is_open] = self.times[middle[is_open]] < new.times[is_open]
            low = np.where(is_before, middle + 1, low)
            high = np.where(is_open & ~is_before, middle, high)
        is_known = low < end
        is_known[is_known] = self.times[low[is_known]] == new.times[is_known]
        return low, is_known


def key_text(values: Sequence[str]) -> str:
    """A key as it is shown, of one column or more."""
    return " / ".join(values) if values else "all"


def _encoded(column: pa.ChunkedArray) -> tuple[Ints, list[str]]:
    """Values as codes, and the text of each code."""
    if pa.types.is_nested(column.type):
        column = pa.chunked_array(
            [[None if v is None else str(v) for v in plain_values(column)]], pa.string()
        )
    elif pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    texts = ["null" if value is None else str(value) for value in plain_values(encoded.dictionary)]
    return np.asarray(encoded.indices, np.int64), texts


def _codes(values: pa.Array) -> Ints:
    """Equal values as equal numbers, from zero, in order of their first rows."""
    return np.asarray(values.dictionary_encode().indices, np.int64)


def _first_rows(codes: Ints) -> Ints:
    """The first row of each code."""
    first = np.empty(int(codes.max(initial=-1)) + 1, np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    return first


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
