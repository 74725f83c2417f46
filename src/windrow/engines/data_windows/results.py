"""What rows give that an operator takes, and what it keeps of them, by the strategy of their kind
(:mod:`windrow.engines.data_windows.strategy`), and for rolling by policy.

Each function sees rows taken now after their context (:mod:`windrow.engines.kept_rows.context`), gives the
results that this made final, and says which rows later ones will need."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints, Mask
from windrow.engines.data_windows.strategy import Decided, Strategy, starts_behind
from windrow.engines.kept_rows.context import RowsWithContext
from windrow.engines.result_tables import result_table
from windrow.partials.added_aggregates import null_where_unseen
from windrow.slicing.window_lists import Ranges
from windrow.spec import Spec

__all__ = ["completed_windows", "policy_columns"]


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


def _by_first_window(taken: RowsWithContext, ranges: Ranges) -> Ints | None:
    """The windows by key, keys by the first row of their first window, its time and its arrival: so that the
    order of results does not depend on how rows are held. None: they are in this order."""
    heads = np.flatnonzero(np.diff(ranges.keys, prepend=-1))
    places = taken.places(np.minimum(ranges.fronts, ranges.stops - 1)[heads])
    order = np.lexsort((taken.rows.arrivals[places], taken.rows.times[places]))
    if (order[1:] > order[:-1]).all():
        return None
    lengths = np.diff(np.append(heads, len(ranges.keys)))
    return np.argsort(np.repeat(np.argsort(order), lengths), kind="stable")


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
