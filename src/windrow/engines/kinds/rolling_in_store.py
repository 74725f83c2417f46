"""Rolling windows in a key-value store: one for each key, for all aggregates of the query together.

A window is an :class:`~windrow.swag.amta.AMTA` in the store: rows go in at its end in order of time and leave
at its front, by time, by count or by policy. Here, only its ends are in memory: O(log n) for n rows.

A partial is a plain tuple: the time of the last row, then how many values each aggregate has seen, then the
partial of each aggregate, and last how many rows were absent for each aggregate that distinguishes them from
nulls; how many rows there are, the window knows.
Cost: that of AMTA, amortised O(1) combines per row. Source: [MTA] 4.1.5 and experiment 5.
"""

from __future__ import annotations

import functools
import itertools
import operator
import secrets
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints
from windrow.engines.algorithms import stored_algorithm
from windrow.errors import call_user, calling, naming_row
from windrow.monoids.base import Aggregate, Monoid
from windrow.monoids.stored_partials import check_partial
from windrow.monoids.together import Part, part_of, product_of, record_of
from windrow.partials.inputs import absent_rows, as_integers, ordered_arrays
from windrow.partials.ranges import RowRanges
from windrow.partials.result_types import type_over
from windrow.partials.results import as_moments, count_column, plain_column, with_nulls
from windrow.rows.frame import Frame
from windrow.spec import Rolling, Spec
from windrow.state.checks import require, whole
from windrow.state.store import Store
from windrow.swag.mta import MonoidTree
from windrow.swag.mta_open import delete_window, open_window

__all__ = ["StoredFold", "rolled_in_store"]


#: before all times
_NEVER = -(2**63)


def rolled_in_store(query: Spec, frame: Frame) -> list[Any]:
    """The results of all rows of a frame, in its order, by windows of their own that are deleted
    afterwards."""
    over = query.rolling_over
    assert over is not None
    assert over.store is not None
    store = over.store
    fold = StoredFold(query, over)
    run_id = secrets.token_hex(8)

    def windows() -> Iterator[Any]:
        for key in itertools.count():
            window_id = f"run {run_id}/{key}"
            try:
                yield fold.open(store, window_id, durability="flush")
            finally:
                delete_window(store, window_id)

    opened = windows()
    try:
        return fold.results(frame, lambda _: next(opened))
    finally:
        opened.close()  # type: ignore[attr-defined]


class StoredFold:
    """What rows are in a window, and what results are made of it."""

    def __init__(self, query: Spec, over: Rolling) -> None:
        self._query = query
        self._over = over
        self._aggregates = [aggregate for _, aggregate in query.aggregates]
        self._count = len(self._aggregates)
        #: where in a partial is how many rows were absent, by the number of the aggregate
        self._absent = _absent_places(self._aggregates)
        self._record: Any = None
        if over.policy is not None:
            self._record = record_of([name for name, _ in query.aggregates], "Partials")
        self.monoid = _shared_monoid(query)

    def open(self, store: Store, window_id: str, **options: Any) -> Any:
        algorithm = stored_algorithm(self.monoid).algorithm
        assert issubclass(algorithm, MonoidTree)
        return open_window(algorithm, store, window_id, self.monoid, check=self._check, **options)

    def _check(self, partial: Any) -> None:
        """Of a partial that comes from a store."""
        count, size = self._count, 1 + 2 * self._count + len(self._absent)
        require(type(partial) is tuple and len(partial) == size, "not a partial of this query")
        whole("time of a partial", partial[0], _NEVER, -_NEVER - 1)
        for rows in (*partial[1 : 1 + count], *partial[1 + 2 * count :]):
            whole("rows in a partial", rows, 0, 2**62)
        for aggregate, part in zip(self._aggregates, partial[1 + count : 1 + 2 * count], strict=True):
            check_partial(aggregate.monoid, part)

    def results(self, frame: Frame, window_of: Callable[[int], Any]) -> list[Any]:
        """The result columns of the rows of a frame, in its order; ``window_of(key)`` gives the window that
        the rows of a key go into."""
        inputs = [_rows(frame, aggregate) for aggregate in self._aggregates]
        inputs += [_absent_rows(frame, self._aggregates[k]) for k in self._absent]
        times = frame.times.tolist()
        found = _Found(self._aggregates, self._absent)
        for key, (begin, end) in enumerate(itertools.pairwise(frame.run_starts.tolist())):
            if begin == end:
                continue
            window = window_of(key)
            with naming_row(frame.describe), calling() as loop:
                for first, last in self._peers(times, begin, end):
                    loop.place = last - 1
                    self._slide(window, times, inputs, first, last)
                    found.add(window.query_partial(), len(window), last - first)
        return self._columns(frame, found)

    def _peers(self, times: list[int], begin: int, end: int) -> Iterator[tuple[int, int]]:
        """Rows that go in together: those of equal time, where time counts; else one by one."""
        if self._over.size is None:
            yield from ((i, i + 1) for i in range(begin, end))
            return
        while begin < end:
            last = begin + 1
            while last < end and times[last] == times[begin]:
                last += 1
            yield begin, last
            begin = last

    def _slide(self, window: Any, times: list[int], inputs: list[Any], first: int, last: int) -> None:
        over = self._over
        for i in range(first, last):
            window.insert([times[i], [column[i] for column in inputs]])
        if over.size is not None:
            limit = times[first] - over.size.units
            window.evict_while(lambda _, old: old[0] <= limit)
        elif over.rows is not None:
            if len(window) > over.rows:
                window.evict()
        else:
            window.evict_while(self._policy)

    def _policy(self, total: Any, old: Any) -> Any:
        policy, record, parts = self._over.policy, self._record, slice(1 + self._count, 1 + 2 * self._count)
        assert policy is not None
        return call_user(policy, policy.fn, record(total[parts]), record(old[parts]))

    # -- results ---------------------------------------------------------------------------------------------

    def _columns(self, frame: Frame, found: _Found) -> list[Any]:
        rows = np.array(found.rows, np.int64)
        return [self._column(frame, k, found, rows) for k in range(self._count)]

    def _column(self, frame: Frame, k: int, found: _Found, rows: Ints) -> Any:
        aggregate = self._aggregates[k]
        if not aggregate.inputs:
            return count_column(aggregate, RowRanges(np.zeros(len(rows), np.int64), rows))
        kind = type_over(aggregate, [frame.raw(name).type for name in aggregate.inputs])
        values = np.array(found.values[k], np.int64)
        nulls = rows - values - np.array(found.absent.get(k, 0), np.int64)
        if _goes_in_as_number(aggregate.monoid, kind):
            column = _moments(found.results[k], kind)
            return with_nulls(aggregate, column, values, nulls)
        return plain_column(
            aggregate,
            kind,
            found.results[k],
            (values, nulls),
            lambda place: f"the window up to {frame.describe(place)}",
        )


class _Found:
    """Results as they are found: for each row how many rows its window has, for each aggregate and row how
    many values, and the lowered result; for some, how many rows are absent."""

    def __init__(self, aggregates: list[Aggregate], absent: dict[int, int]) -> None:
        self._absent = absent
        self.absent: dict[int, list[int]] = {k: [] for k in absent}
        self._monoids = [aggregate.monoid for aggregate in aggregates]
        self.rows: list[int] = []
        self.values: list[list[int]] = [[] for _ in aggregates]
        self.results: list[list[Any]] = [[] for _ in aggregates]

    def add(self, partial: Any, rows: int, times: int) -> None:
        self.rows += [rows] * times
        count = len(self._monoids)
        for k, place in self._absent.items():
            self.absent[k] += [partial[place]] * times
        for k, monoid in enumerate(self._monoids):
            values = partial[1 + k]
            self.values[k] += [values] * times
            result = call_user(monoid, monoid.lower, partial[1 + count + k]) if values else None
            self.results[k] += [result] * times


def _shared_monoid(query: Spec) -> Monoid:
    """All aggregates of a query over one window; see the module for its partials."""
    aggregates = [aggregate for _, aggregate in query.aggregates]
    monoids, places = [aggregate.monoid for aggregate in aggregates], _absent_places(aggregates)
    times = Part(lambda row: row[0][0], max, _NEVER)
    seen = [Part(functools.partial(_is_seen, monoid, k), operator.add, 0) for k, monoid in enumerate(monoids)]
    own = [part_of(monoid, functools.partial(_inputs, k), call_user) for k, monoid in enumerate(monoids)]
    count = len(aggregates)
    absent = [Part(functools.partial(_inputs, count + n), operator.add, 0) for n in range(len(places))]
    described = {name: _described(aggregate) for name, aggregate in query.aggregates}
    return product_of("rolling", [times, *seen, *own, *absent], tuple, parameters=described)


def _inputs(k: int, row: Any) -> Any:
    """What an aggregate reads of a row, which is one list: its time and the inputs of all aggregates, then 1
    or 0 for those that distinguish absent rows."""
    return row[0][1][k]


def _absent_places(aggregates: Sequence[Aggregate]) -> dict[int, int]:
    """Where a partial says how many rows are absent, for aggregates that distinguish them from nulls."""
    apart = [k for k, aggregate in enumerate(aggregates) if aggregate.distinguishes_absent]
    return {k: 1 + 2 * len(aggregates) + n for n, k in enumerate(apart)}


def _is_seen(monoid: Monoid, k: int, row: Any) -> int:
    return 0 if monoid.skips(_inputs(k, row)) else 1


def _described(aggregate: Aggregate) -> str:
    return f"{aggregate.identity_text}, nulls={aggregate.monoid.nulls}, nan={aggregate.monoid.nan}"


# -- columns in and out --------------------------------------------------------------------------------------


def _rows(frame: Frame, aggregate: Aggregate) -> list[tuple[Any, ...]]:
    """The inputs of an aggregate, row by row."""
    if not aggregate.inputs:  # count(): every row counts
        return [(True,)] * len(frame)
    arrays = ordered_arrays(frame, aggregate)
    counts = [_goes_in_as_number(aggregate.monoid, array.type) for array in arrays]
    inputs = [as_integers(a) if as_number else a for a, as_number in zip(arrays, counts, strict=True)]
    return list(zip(*(array.to_pylist() for array in inputs), strict=True))


def _absent_rows(frame: Frame, aggregate: Aggregate) -> list[Any]:
    """1 for each row that is absent, 0 for the others."""
    found = absent_rows(frame, aggregate)
    if found is None:
        return [0] * len(frame)
    return (found if frame.permutation is None else found[frame.permutation]).astype(np.int64).tolist()


def _goes_in_as_number(monoid: Monoid, kind: Any) -> bool:
    """Whether an input of this type is a moment that is compared or picked as a number."""
    return bool(pa.types.is_temporal(kind)) and (monoid.is_extreme or monoid.picks is not None)


def _moments(results: list[Any], kind: Any) -> Any:
    missing = np.array([result is None for result in results], np.bool_)
    numbers = np.array([0 if result is None else result for result in results], np.int64)
    return pa.compute.if_else(pa.array(missing), pa.scalar(None, kind), as_moments(numbers, kind))
