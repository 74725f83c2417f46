"""What is computed of rows: every aggregate folded from the left, over the rows of one window, in order.

Purpose: the part of the oracles that says *what comes out*. A fold starts anew for each window; nothing is
kept between windows.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from windrow.monoids.base import Aggregate
from windrow.spec import Rolling, Spec
from windrow.testing.oracle.membership import Frame, Row, last_rows, policy_frame, rows_within
from windrow.windows import Policy

__all__ = ["fold", "key_of", "place", "policy_frames", "raised_by", "rolling_rows", "unsigned_zeros"]


def place(query: Spec, row: Row) -> tuple[Any, ...]:
    """What rows are sorted by: time, ``order`` columns with null last, arrival.

    >>> import windrow as wr
    >>> place(wr.query(time="ts", order="seq"), Row(3, 0, {"seq": None}))
    (3, [(True, 0)], 0)
    """
    order = [(value is None, 0 if value is None else value) for value in map(row.values.get, query.order)]
    return row.time, order, row.arrival


def key_of(query: Spec, values: dict[str, Any]) -> tuple[Any, ...]:
    """The key of a row; -0.0 is the key 0.0.

    >>> import windrow as wr
    >>> key_of(wr.query(time="ts", by=["a", "b"]), {"ts": 1, "a": -0.0, "b": [-0.0, "x"]})
    (0.0, [0.0, 'x'])
    """
    return tuple(unsigned_zeros(values[column]) for column in query.by)


def unsigned_zeros(value: Any) -> Any:
    """A value of a key, in which -0.0 is 0.0."""
    if isinstance(value, dict):
        return {name: unsigned_zeros(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(unsigned_zeros, value))
    return 0.0 if isinstance(value, float) and value == 0 else value


def fold(query: Spec, rows: list[Row]) -> dict[str, Any]:
    """Every aggregate of a query over rows in order, by its name.

    >>> import windrow as wr
    >>> query = wr.query(time="ts").window(wr.Tumbling(10)).agg(top=wr.max("v"), n=wr.count())
    >>> fold(query, [Row(1, 0, {"v": 4}), Row(2, 1, {"v": None})])
    {'top': 4, 'n': 2}
    """
    return {name: _lowered(aggregate, rows) for name, aggregate in query.aggregates}


def raised_by(query: Spec, values: dict[str, Any]) -> tuple[str, str] | None:
    """The first aggregate whose lift raises over a row that the query then rejects, and what it raises.

    >>> import windrow as wr
    >>> part = wr.monoid(name="part", lift=lambda v: 1 / v, combine=lambda a, b: a + b, identity=0)
    >>> query = wr.query(time="ts", on_error="reject").window(wr.Tumbling(10)).agg(parts=part("v"))
    >>> raised_by(query, {"ts": 1, "v": 0}), raised_by(query, {"ts": 1, "v": None})
    (('parts', 'ZeroDivisionError: division by zero'), None)
    """
    for name, aggregate in query.aggregates if query.on_error == "reject" else ():
        inputs = [_inputs(aggregate, row) for row in _present(aggregate, [Row(0, 0, values)])]
        try:
            [aggregate.monoid.lift(*each) for each in inputs if not aggregate.monoid.skips(each)]
        except Exception as error:
            return name, f"{type(error).__name__}: {error}"
    return None


def rolling_rows(query: Spec, over: Rolling, rows: list[Row]) -> Iterator[tuple[Row, list[Row]]]:
    """Each row of a key, which are in order, with the rows that its rolling result covers."""
    if over.policy is not None:
        left = policy_frames(query, over.policy, rows)
        return ((row, frame.rows) for row, frame in zip(rows, left, strict=True))
    if over.rows is not None:
        return ((row, last_rows(over.rows, row, rows)) for row in rows)
    assert over.size is not None
    size = over.size.units
    return ((row, rows_within(size, row, rows)) for row in rows)


def policy_frames(query: Spec, policy: Policy, rows: list[Row]) -> Iterator[Frame]:
    """The window after each row: the row is added, then the policy evicts."""
    held: list[Row] = []
    for row in rows:
        frame = policy_frame(policy.fn, functools.partial(_partials, query), [*held, row])
        yield frame
        held = frame.rows


def _lowered(aggregate: Aggregate, rows: list[Row]) -> Any:
    """The result over rows in order: lifted, folded from the left, lowered."""
    monoid = aggregate.monoid
    inputs = [_inputs(aggregate, row) for row in _present(aggregate, rows)]
    if monoid.nulls == "propagate" and any(value is None for values in inputs for value in values):
        return None
    counted = [values for values in inputs if not monoid.skips(values)]
    if len(counted) < aggregate.least:
        return None
    if not counted:
        return monoid.empty_result()
    return monoid.lower(functools.reduce(monoid.combine, (monoid.lift(*values) for values in counted)))


def _present(aggregate: Aggregate, rows: list[Row]) -> list[Row]:
    """The rows that an aggregate sees: with ``where``, those in which this column is true."""
    return [row for row in rows if aggregate.where is None or row.values[aggregate.where] is True]


def _inputs(aggregate: Aggregate, row: Row) -> tuple[Any, ...]:
    """What lift takes; count without a column counts every row."""
    return tuple(row.values[column] for column in aggregate.columns) if aggregate.columns else (True,)


def _partials(query: Spec, rows: list[Row]) -> SimpleNamespace:
    """The partial of every aggregate by its name: what a policy sees."""
    return SimpleNamespace(**{name: _partial(aggregate, rows) for name, aggregate in query.aggregates})


def _partial(aggregate: Aggregate, rows: list[Row]) -> Any:
    monoid = aggregate.monoid
    present = _present(aggregate, rows)
    counted = [values for row in present if not monoid.skips(values := _inputs(aggregate, row))]
    return functools.reduce(monoid.combine, (monoid.lift(*values) for values in counted), monoid.identity)
