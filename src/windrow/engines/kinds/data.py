"""Windows that data decides, as ranges of rows: Rows, Delta, Punctuation; and Policy, which decides row by
row.

They report the times of their first and last row. Rows and Punctuation give complete windows only: a window
that the table's end cuts off has not been decided.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.arrays import Ints
from windrow.engines.kinds.delta import delta_ranges, value_type
from windrow.errors import call_user, calling, naming_row
from windrow.monoids.base import Aggregate, Monoid
from windrow.monoids.together import part_of, product_of, record_of
from windrow.partials.inputs import (
    check_integers,
    count_column,
    result_array,
    skipped_rows,
    value_counts,
    with_nulls,
)
from windrow.partials.ranges import RowRanges
from windrow.rows.columns import plain_array
from windrow.rows.frame import Frame
from windrow.slicing.finder.sorted_rows import Ranges
from windrow.spec import Spec
from windrow.swag.amta import AMTA
from windrow.windows import Delta, Policy, Punctuation, Rows, Window

__all__ = ["check_flags", "closes_any", "data_ranges", "lowered", "policy_results", "shared_monoid"]


def data_ranges(frame: Frame, window: Window, max_windows: int | None = None) -> Ranges:
    if isinstance(window, Rows):
        return _reported(frame, *_row_ranges(frame, window), disjoint=window.slide == window.size)
    if isinstance(window, Punctuation):
        check_flags(frame.table, window)
        return _reported(frame, *_punctuated(frame, window), disjoint=True)
    if isinstance(window, Delta):
        found = delta_ranges(frame, window, max_windows)
        return _reported(frame, *found, disjoint=window.slide == window.size)
    raise TypeError(f"{window!r} is no window this engine knows")


def check_flags(table: pa.Table, window: Punctuation) -> None:
    kind = value_type(table, window.column)
    if not pa.types.is_boolean(kind):
        raise TypeError(f"column {window.column!r} is of type {kind}: Punctuation needs a boolean column")


def closes_any(table: pa.Table, window: Punctuation) -> bool:
    """Whether a row of the table closes a window."""
    return bool(pc.any(plain_array(table.column(window.column))).as_py())


def _reported(frame: Frame, keys: Ints, fronts: Ints, stops: Ints, disjoint: bool) -> Ranges:
    """Ranges with the times of their first and last row as edges."""
    empty = fronts == stops
    starts = frame.times[np.where(empty, stops - 1, fronts)]
    edgeless = empty if empty.any() else None
    return Ranges(keys, starts, frame.times[stops - 1], fronts, stops, disjoint, edgeless)


def _row_ranges(frame: Frame, window: Rows) -> tuple[Ints, Ints, Ints]:
    runs = frame.run_starts
    counts = np.maximum((np.diff(runs) - window.size) // window.slide + 1, 0)
    keys = np.repeat(np.arange(len(counts)), counts)
    number = np.arange(len(keys)) - np.repeat(np.cumsum(counts) - counts, counts)
    fronts = runs[keys] + number * window.slide
    return keys, fronts, fronts + window.size


def _punctuated(frame: Frame, window: Punctuation) -> tuple[Ints, Ints, Ints]:
    flags = pc.fill_null(frame.column(window.column), False)
    stops = np.flatnonzero(flags.to_numpy(zero_copy_only=False)) + 1
    keys = frame.keys[stops - 1]
    before = np.concatenate([[0], stops[:-1]]) if len(stops) else stops
    fronts = np.maximum(before, frame.run_starts[keys])
    return keys, fronts, stops


def policy_results(
    query: Spec, frame: Frame, window: Policy, leading: Ints | None = None
) -> tuple[Ranges, list[Any]]:
    """A result a row: after the row is in, the longest prefix for which the policy holds is evicted ([MTA]
    4.1.3).

    So many ``leading`` rows of each key are what a policy left of rows before: they go in unasked, and have
    no result."""
    runs = frame.run_starts
    firsts = runs[:-1] if leading is None else runs[:-1] + leading
    places = np.flatnonzero(np.arange(len(frame)) >= np.repeat(firsts, np.diff(runs)))
    sizes, partials = _evicted(query, frame, window, firsts)
    stops = places + 1
    fronts = stops - sizes
    columns = [
        _lowered(frame, aggregate, [p[k] for p in partials], fronts, stops, query.min_count)
        for k, (_, aggregate) in enumerate(query.aggregates)
    ]
    return _reported(frame, frame.keys[places], fronts, stops, disjoint=False), columns


def _evicted(query: Spec, frame: Frame, window: Policy, firsts: Ints) -> tuple[Ints, list[Any]]:
    """For the rows of each key from its ``firsts`` on: how many rows the policy leaves, and the partials."""
    shared = shared_monoid(query)
    inputs = [_rows(frame, a) for _, a in query.aggregates]
    sizes: list[int] = []
    partials: list[Any] = []
    evicts = functools.partial(call_user, window, window.fn)
    runs = itertools.pairwise(frame.run_starts.tolist())
    with naming_row(frame.describe), calling() as loop:
        for (begin, end), first in zip(runs, firsts.tolist(), strict=True):
            rows = AMTA(shared)
            for loop.place in range(begin if first < end else end, end):
                rows.insert([column[loop.place] for column in inputs])
                if loop.place >= first:
                    rows.evict_while(evicts)
                    sizes.append(len(rows))
                    partials.append(rows.query_partial())
    return np.array(sizes, np.int64), partials


def shared_monoid(query: Spec) -> Monoid:
    """All aggregates of the query over one window; their partials are readable by the names of the
    results."""
    monoids = [aggregate.monoid for _, aggregate in query.aggregates]
    parts = [part_of(m, functools.partial(_inputs, k), call_user) for k, m in enumerate(monoids)]
    return product_of("policy", parts, record_of([name for name, _ in query.aggregates], "Partials"))


def _inputs(k: int, row: Any) -> Any:
    """What an aggregate reads of a row, which is one list: the inputs of all aggregates."""
    return row[0][k]


def lowered(monoid: Monoid, partials: list[Any], values: Ints, describe: Callable[[int], str]) -> list[Any]:
    """The results of partials, None where they hold no value; ``describe`` tells of the row of each."""
    results: list[Any] = []
    with naming_row(describe), calling(monoid) as loop:
        for loop.place, (partial, count) in enumerate(zip(partials, values.tolist(), strict=True)):
            results.append(monoid.lower(partial) if count else None)
    return results


def _rows(frame: Frame, aggregate: Aggregate) -> list[tuple[Any, ...]]:
    if not aggregate.columns:  # count(): every row counts
        return [(True,)] * len(frame)
    return list(zip(*(frame.column(name).to_pylist() for name in aggregate.columns), strict=True))


def _lowered(
    frame: Frame, aggregate: Aggregate, partials: list[Any], fronts: Ints, stops: Ints, min_count: int
) -> Any:
    monoid = aggregate.monoid
    if not aggregate.columns:
        return count_column(RowRanges(fronts, stops), min_count)
    counts = value_counts(frame, skipped_rows(frame, aggregate), RowRanges(fronts, stops))
    results = lowered(monoid, partials, counts[0], lambda place: frame.describe(int(stops[place]) - 1))
    check_integers(monoid, results, lambda place: f"the window up to {frame.describe(int(stops[place]) - 1)}")
    return with_nulls(monoid, result_array(monoid, results), *counts, min_count)
