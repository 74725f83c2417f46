"""What rows give that an operator takes, and what it keeps of them, by the strategy of their kind
(:mod:`windrow.engines.data_windows.strategy`), and for rolling by policy.

Each function sees rows taken now after their context (:mod:`windrow.engines.kept_rows.context`), gives the
results that this made final, and says which rows later ones will need."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints, Mask
from windrow.engines.data_windows.strategy import Decided, Decision, Strategy, starts_behind
from windrow.engines.kept_rows.context import RowsWithContext
from windrow.engines.living.rows import Fresh, LivingRows
from windrow.engines.result_tables import result_table
from windrow.partials.added_aggregates import null_where_unseen
from windrow.slicing.window_lists import Ranges
from windrow.spec import Spec

__all__ = ["completed_windows", "decided_windows", "policy_columns"]


def completed_windows(
    query: Spec,
    name: str,
    strategy: Strategy[Any],
    taken: RowsWithContext,
    closing: bool,
    since: int,
    found: Decided | None = None,
) -> tuple[pa.Table, Ints]:
    """The results of the windows that new rows complete (with ``closing``: of all that may come out) and that
    start at ``since`` or later; and the places of the rows that windows still need. ``found``: the windows,
    where they are known."""
    frame = taken.frame
    if found is None:
        strategy.check(frame.table)  # the context may come from stored state
        found = strategy.find(query, frame, taken.leading)
    rest = strategy.needed_from(frame, found.ranges)
    chosen = _start_at_or_after(found.ranges, since)
    done = strategy.completed(frame, found.ranges, taken.firsts, closing)
    found = found.where(chosen if done is None else chosen & done)
    results, ranges = found.results(query, frame), found.ranges
    results = null_where_unseen(results, taken.unseen, ranges.fronts, ranges.stops)
    order = _by_first_window(taken, ranges)
    if order is not None:
        ranges, results = ranges.take(order), [column.take(pa.array(order)) for column in results]
    return result_table(query, frame, name, ranges, results), taken.from_each(rest)


def decided_windows(
    query: Spec,
    name: str,
    living: LivingRows,
    fresh: Fresh,
    decision: Decision,
    since: int,
    columns: list[Any] | None = None,
) -> pa.Table | None:
    """The results of windows over living rows that start at ``since`` or later, in the same order;
    ``columns``: the results of the aggregates, where they are known."""
    keys, fronts, stops = decision.keys, decision.fronts, decision.stops
    empty = fronts == stops
    firsts = np.where(empty, stops - 1, fronts)
    starts, ends = living.fact("times", keys, firsts), living.fact("times", keys, stops - 1)
    order = _by_first_row(living, keys, firsts)
    chosen = (starts >= since) | empty
    if order is not None or not chosen.all():
        places = np.flatnonzero(chosen) if order is None else order[chosen[order]]
        keys, fronts, stops, empty = keys[places], fronts[places], stops[places], empty[places]
        starts, ends = starts[places], ends[places]
        columns = None if columns is None else [column.take(pa.array(places)) for column in columns]
    if not len(keys):
        return None
    results = living.results(keys, fronts, stops) if columns is None else columns
    found = dict(living.keys.columns(keys))
    if query.names_windows:
        found["window"] = pa.repeat(pa.scalar(name), len(keys))
    found |= fresh.frame.axis.edges(starts, ends, empty if empty.any() else None)
    named = {result: column for (result, _), column in zip(query.aggregates, results, strict=True)}
    return pa.table(found | named)


def _by_first_row(living: LivingRows, keys: Ints, firsts: Ints) -> Ints | None:
    """The order of windows by key, of keys by the first row of their first window. None: they are in it."""
    heads = np.flatnonzero(np.diff(keys, prepend=-1))
    if len(heads) < 2:
        return None
    columns = [living.fact(name, keys[heads], firsts[heads]) for name in ("arrivals", "times")]
    return _groups_in_order(heads, len(keys), np.lexsort(columns))


def _groups_in_order(heads: Ints, count: int, order: Ints) -> Ints | None:
    """The order of neighbours in groups, which begin at ``heads``, where groups are in an order; None: they
    are in it."""
    if (order[1:] > order[:-1]).all():
        return None
    lengths = np.diff(np.append(heads, count))
    return np.argsort(np.repeat(np.argsort(order), lengths), kind="stable")


def _by_first_window(taken: RowsWithContext, ranges: Ranges) -> Ints | None:
    """The windows by key, keys by the first row of their first window, its time and its arrival: so that the
    order of results does not depend on how rows are held. None: they are in this order."""
    heads = np.flatnonzero(np.diff(ranges.keys, prepend=-1))
    places = taken.places(np.minimum(ranges.fronts, ranges.stops - 1)[heads])
    order = np.lexsort((taken.rows.arrivals[places], taken.rows.times[places]))
    return _groups_in_order(heads, len(ranges.keys), order)


def _start_at_or_after(ranges: Ranges, since: int) -> Mask:
    """Which windows start at a time or later; those without rows have no start."""
    found: Mask = ranges.starts >= since
    return found if ranges.without_edges is None else found | ranges.without_edges


def policy_columns(taken: RowsWithContext, found: Decided, chosen: Ints) -> tuple[list[Any], Ints]:
    """The results of the new rows at the positions ``chosen``, of the windows that a policy has left; and the
    places of the rows that it leaves."""
    ranges = found.ranges
    results = null_where_unseen(found.columns or [], taken.unseen, ranges.fronts, ranges.stops)
    picked = pa.array(np.searchsorted(taken.news, chosen))
    rest = starts_behind(taken.frame, ranges.keys, ranges.fronts)
    return [column.take(picked) for column in results], taken.from_each(rest)
