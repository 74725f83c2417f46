"""What rows give that an operator takes, and what it keeps of them: for windows that data decide, by the
strategy of their kind (:mod:`windrow.engines.kinds`), and for rolling.

Each function sees rows taken now after their context (:mod:`windrow.engines.in_order.context`), gives the
results that this made final, and says which rows later ones will need. Rolling may see, in place of the rows
that all its windows hold, one partial per key: the *middle* of its reach
(:mod:`windrow.engines.in_order.lookback`)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints, Mask
from windrow.engines.in_order.context import Taken
from windrow.engines.in_order.lookback import Reach
from windrow.engines.in_order.middle import middle_of
from windrow.engines.kinds.rolling import rolling_rows
from windrow.engines.kinds.strategy import Decided, Strategy, starts_behind
from windrow.engines.result_tables import result_table
from windrow.partials.aggregate import aggregate_columns
from windrow.partials.ranges import RowRanges
from windrow.partials.unseen import null_where_unseen
from windrow.slicing.found import Ranges
from windrow.spec import Rolling, Spec

__all__ = ["completed_windows", "last_rows", "policy_columns", "rolling_columns"]


def completed_windows(
    query: Spec,
    name: str,
    strategy: Strategy[Any],
    taken: Taken,
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


def _by_first_window(taken: Taken, ranges: Ranges) -> Ints | None:
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


# -- rolling -------------------------------------------------------------------------------------------------


def policy_columns(taken: Taken, found: Decided, chosen: Ints) -> tuple[list[Any], Ints]:
    """The results of the new rows at the positions ``chosen``, of the windows that a policy has left; and the
    places of the rows that it leaves."""
    ranges = found.ranges
    results = null_where_unseen(found.columns or [], taken.unseen, ranges.fronts, ranges.stops)
    picked = pa.array(np.searchsorted(taken.news, chosen))
    rest = starts_behind(taken.frame, ranges.keys, ranges.fronts)
    return [column.take(picked) for column in results], taken.from_each(rest)


def last_rows(taken: Taken, edge: int, count: int) -> Ints:
    """The places of the last ``count`` rows of each key, without the first ``edge`` rows of the table."""
    runs = taken.frame.run_starts
    return taken.from_each(np.maximum(runs[:-1] + taken.leading_rows(edge), runs[1:] - count))


def rolling_columns(query: Spec, over: Rolling, taken: Taken, chosen: Ints, reach: Reach) -> list[Any]:
    """The results of the new rows at the positions ``chosen``, by time or by rows."""
    frame = taken.frame
    if reach.middle:
        return _over_middle(query, over, taken, chosen, reach)
    every = rolling_rows(frame, over).as_ranges()
    some = RowRanges(every.fronts[chosen], every.stops[chosen])
    columns = aggregate_columns(frame, [a for _, a in query.aggregates], some)
    return null_where_unseen(columns, taken.unseen, some.fronts, some.stops)


def _over_middle(query: Spec, over: Rolling, taken: Taken, chosen: Ints, reach: Reach) -> list[Any]:
    """The same over partials: those of single rows, and in each run the middle behind its rows at the
    edge."""
    frame = taken.frame
    middle = middle_of(query, taken, reach, frame.key_table(), frame.run_starts)
    fronts, stops = _fronts_and_stops(over, taken, chosen, middle.held)
    return middle.results(frame.keys[chosen], fronts, stops)


def _fronts_and_stops(over: Rolling, taken: Taken, chosen: Ints, held: Ints) -> tuple[Ints, Ints]:
    """Where windows begin and end among the rows of the frame, if ``held`` rows of each key are in the
    middle."""
    if over.rows is None:
        every = rolling_rows(taken.frame, over).as_ranges()
        return every.fronts[chosen], every.stops[chosen]
    mine = taken.frame.keys[chosen]
    begins = taken.frame.run_starts[mine]
    return np.maximum(begins, chosen + 1 + held[mine] - over.rows), chosen + 1
