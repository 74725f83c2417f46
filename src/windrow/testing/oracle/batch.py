"""The oracle: a query evaluated by brute force, from the definitions.

Purpose: what every engine must give for a finite table, in whatever order its rows come. It follows the
words of the documentation and is never optimised: every window looks at every row and folds its own rows
from left to right, in the order (time, ``order`` columns, arrival).
Invariant: no lateness here. Every row with a time counts; a row without one is rejected, and so is, with
``on_error="reject"``, a row over which lift raises: no window holds it, and ``rolling`` gives it back with
null results.
Cost: O(keys x windows x rows), and O(rows^3) for a Policy.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

from windrow.monoids.equality import same
from windrow.query import Query
from windrow.query_settings import checked_labels
from windrow.spec import Rolling, Spec
from windrow.testing.oracle.folding import fold, key_of, place, policy_frames, raised_by, rolling_rows
from windrow.testing.oracle.membership import Frame, Row, frames
from windrow.testing.oracle.relative import labelled, seen_by_row
from windrow.testing.tables import Clock, rows_of
from windrow.windows import Policy, Window

__all__ = ["check_columns", "evaluate"]

#: the rows of one key in order, with the values of its ``by`` columns
Group = tuple[tuple[Any, ...], list[Row]]


def evaluate(
    query: Query,
    rows: Any,
    *,
    at: Any = None,
    at_time: str | None = None,
    at_by: str | Sequence[str] | None = None,
) -> list[dict[str, Any]]:
    """The results of a query over a finite table, by brute force.

    Args:
        query: a query with its aggregates, as ``query.run`` takes it.
        rows: a list of dicts, or a table of any kind. Times are integers or datetimes; naive means UTC.
        at: the labels of an as-of query, as ``rows``.
        at_time: their column of times, and ``at_by`` their key columns; those of the query by default.

    Returns:
        A list of dicts. With windows: the ``by`` columns, ``window`` (where windows are named),
        ``window_start``, ``window_end`` and the aggregates, sorted by the window's place in the query, its
        end, its start, and the key's first appearance. With ``rolling``: the input rows in input order, the
        aggregates added. With ``asof``: the labels in the same way.

    >>> import windrow as wr
    >>> rows = [{"ts": 4, "who": "ann"}, {"ts": 1, "who": "bob"}, {"ts": 9, "who": "ann"}]
    >>> visits = wr.query(time="ts", by="who").window(wr.Session(gap=5)).agg(n=wr.count())
    >>> for result in evaluate(visits, rows):
    ...     print(result)
    {'who': 'bob', 'window_start': 1, 'window_end': 6, 'n': 1}
    {'who': 'ann', 'window_start': 4, 'window_end': 14, 'n': 2}
    >>> so_far = wr.query(time="ts").rolling(4).agg(n=wr.count())
    >>> [result["n"] for result in evaluate(so_far, rows)]
    [2, 1, 1]
    """
    if not query.aggregates:
        raise TypeError("this query computes nothing yet: add .agg(name=wr.sum('column'))")
    table = rows_of(rows)
    check_columns(query, table)
    clock = Clock.of([row[query.time] for row in table])
    query = query.in_zone(clock.zone)
    groups = _groups(query, table, clock)
    if query.asof_over is not None:
        return labelled(query, groups, rows_of(at), *checked_labels(query, at, at_time, at_by))
    if query.rolling_over is not None:
        return _rolled(query, query.rolling_over, table, groups)
    return _windowed(query, groups, clock)


# -- rows by key, in order -----------------------------------------------------------------------------------


def _groups(query: Query, table: list[dict[str, Any]], clock: Clock) -> list[Group]:
    """The rows of each key, keys in order of first appearance; null is a key, and NaN equals NaN."""
    groups: list[Group] = []
    for arrival, values in enumerate(table):
        time = clock.read(values[query.time])
        if time is None or raised_by(query, values) is not None:
            continue
        key = key_of(query, values)
        found = next((rows for other, rows in groups if same(key, other)), None)
        if found is None:
            groups.append((key, found := []))
        found.append(Row(time, arrival, values))
    return [(key, sorted(rows, key=functools.partial(place, query))) for key, rows in groups]


def check_columns(query: Spec, table: list[dict[str, Any]]) -> None:
    """Refuse rows that lack a column which the query reads."""
    read = [column for _, aggregate in query.aggregates for column in aggregate.reads]
    windows = [getattr(window, "column", query.time) for _, window in query.windows]
    needed = dict.fromkeys([query.time, *query.by, *query.order, *windows, *read])
    for number, row in enumerate(table):
        missing = next((column for column in needed if column not in row), None)
        if missing is not None:
            raise ValueError(f"row {number} has no column {missing!r}: add it, with None for null")


# -- windows -------------------------------------------------------------------------------------------------


def _windowed(query: Query, groups: list[Group], clock: Clock) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = []
    for name, window in query.windows:
        _check_time(window, groups, clock)
        found = [(key, frame) for key, rows in groups for frame in _frames(query, window, rows)]
        # The sort is stable, so what is equal stays in the order of keys
        found.sort(key=lambda each: _moments(each[1]))
        results.extend(_result(query, name, key, frame, clock) for key, frame in found)
    return results


def _frames(query: Query, window: Window, rows: list[Row]) -> Iterator[Frame]:
    if isinstance(window, Policy):
        return policy_frames(query, window, rows)
    return frames(window, rows, emits_empty=query.empty == "include")


def _moments(frame: Frame) -> tuple[bool, int, int]:
    """End, then start; what a policy has left without rows comes first."""
    return frame.end is not None, frame.end or 0, frame.start or 0


def _result(query: Query, name: str, key: tuple[Any, ...], frame: Frame, clock: Clock) -> dict[str, Any]:
    window = {"window": name} if query.names_windows else {}
    times = {"window_start": clock.show(frame.start), "window_end": clock.show(frame.end)}
    return {**dict(zip(query.by, key, strict=True)), **window, **times, **fold(query, frame.rows)}


def _check_time(window: Window, groups: list[Group], clock: Clock) -> None:
    expected = getattr(window, "uses_integer_time", None)
    if groups and expected is not None and expected != clock.counts_integers:
        remedy = "use durations such as '10m' for datetimes and plain integers for integers"
        raise ValueError(f"{window!r} does not count time as the rows do: {remedy}")


# -- rolling -------------------------------------------------------------------------------------------------


def _rolled(
    query: Query, over: Rolling, table: list[dict[str, Any]], groups: list[Group]
) -> list[dict[str, Any]]:
    results = [row | dict.fromkeys(query.result_names) for row in table]
    for _, rows in groups:
        if over.frames is not None:
            for row in rows:
                results[row.arrival] |= seen_by_row(query, row, rows)
            continue
        for row, held in rolling_rows(query, over, rows):
            results[row.arrival] |= fold(query, held)
    return results
