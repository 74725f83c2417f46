"""What points in time see, by brute force: frames of labels and of rows.

Every point looks at every row of its key. A row is seen if it lies between the ends of the frame; of frames
by number, if its place among the rows of the key does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from windrow.monoids.equality import same
from windrow.spec import Spec
from windrow.testing.oracle.folding import fold, unsigned_zeros
from windrow.testing.oracle.membership import Row
from windrow.testing.tables import Clock
from windrow.windows.relative import Bound, RelativeFrame, RowFrame, TimeFrame

__all__ = ["labelled", "rows_seen", "seen_by_row"]

Group = tuple[tuple[Any, ...], list[Row]]


def labelled(
    query: Spec, groups: list[Group], labels: list[dict[str, Any]], time: str, by: Sequence[str]
) -> list[dict[str, Any]]:
    """The labels with what each of them sees; null where a label has no time."""
    clock = Clock.of([label[time] for label in labels])
    results = []
    for label in labels:
        moment = clock.read(label[time])
        key = tuple(unsigned_zeros(label[column]) for column in by)
        rows = next((rows for other, rows in groups if same(key, other)), [])
        found = dict.fromkeys(query.result_names) if moment is None else _seen(query, moment, rows)
        results.append(label | found)
    return results


def _seen(query: Spec, moment: int, rows: list[Row]) -> dict[str, Any]:
    assert query.frames is not None
    found = []
    for _, frame in query.frames.named:
        assert isinstance(frame, TimeFrame)
        found.append(fold(query, rows_seen(frame, moment, rows)))
    return _named(query, found)


def seen_by_row(query: Spec, row: Row, rows: list[Row]) -> dict[str, Any]:
    """What a row sees of the rows of its key, which are in order."""
    assert query.frames is not None
    return _named(query, [fold(query, _of_row(frame, row, rows)) for _, frame in query.frames.named])


def _of_row(frame: RelativeFrame, row: Row, rows: list[Row]) -> list[Row]:
    if isinstance(frame, RowFrame):
        place = rows.index(row)
        return [other for k, other in enumerate(rows) if place + frame.front <= k < place + frame.stop]
    return rows_seen(frame, row.time, rows)


def _named(query: Spec, folded: list[dict[str, Any]]) -> dict[str, Any]:
    values = [each[name] for name, _ in query.aggregates for each in folded]
    return dict(zip(query.result_names, values, strict=True))


def rows_seen(frame: TimeFrame, moment: int, rows: list[Row]) -> list[Row]:
    """The rows of a key, which are in order, that a point at a moment sees.

    >>> before = TimeFrame(None, Bound((), is_closed=False), rows=2)
    >>> [row.time for row in rows_seen(before, 9, [Row(t, t, {}) for t in (1, 3, 5, 9)])]
    [3, 5]
    """
    held = [row for row in rows if _is_behind(frame.lower, moment, row)]
    held = [row for row in held if _is_before(frame.upper, moment, row)]
    if frame.rows is None:
        return held
    return held[-frame.rows :] if frame.lower is None else held[: frame.rows]


def _is_behind(lower: Bound | None, moment: int, row: Row) -> bool:
    return lower is None or row.time > lower.at(moment) or (lower.is_closed and row.time == lower.at(moment))


def _is_before(upper: Bound | None, moment: int, row: Row) -> bool:
    return upper is None or row.time < upper.at(moment) or (upper.is_closed and row.time == upper.at(moment))
