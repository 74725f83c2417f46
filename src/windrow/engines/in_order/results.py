"""What rows give that an operator takes, and what it keeps of them: for each kind of window that data decide,
and for rolling.

Each function sees rows taken now after their context (:mod:`windrow.engines.in_order.context`), gives the
results that this made final, and says which rows later ones will need. Rolling may see, in place of the rows
that all its windows hold, one partial a key: the *middle* of its reach
(:mod:`windrow.engines.in_order.lookback`)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.arrays import Ints
from windrow.engines.in_order.context import Taken
from windrow.engines.in_order.lookback import Reach
from windrow.engines.in_order.summaries import fused, numbered
from windrow.engines.kinds.data import data_ranges, policy_results
from windrow.engines.kinds.rolling import rolling_rows
from windrow.engines.result_tables import result_table
from windrow.partials.inputs import aggregate_column
from windrow.partials.partials import Partials
from windrow.partials.ranges import RowRanges
from windrow.partials.unseen import null_where_unseen
from windrow.slicing.finder.sorted_rows import Ranges
from windrow.spec import Rolling, Spec
from windrow.windows import Delta, Policy, Rows, Window

__all__ = ["completed_windows", "last_rows", "policy_columns", "rolling_columns"]


def completed_windows(
    query: Spec, name: str, window: Window, taken: Taken, closing: bool, since: int
) -> tuple[pa.Table, Ints]:
    """The results of the windows that new rows complete (with ``closing``: of all that may come out) and that
    start at ``since`` or later; and the places of the rows that windows still need."""
    frame = taken.frame
    if isinstance(window, Policy):
        ranges, results = policy_results(query, frame, window, taken.leading)
        rest = _ends_of_policies(taken, ranges)
        complete = _complete(ranges, since)
        if not complete.all():
            ranges = ranges.where(complete)
            results = [column.filter(pa.array(complete)) for column in results]
    else:
        found = data_ranges(frame, window, query.max_windows)
        rest = _incomplete(taken, window, found)
        ranges = _completed(taken, found, closing) if isinstance(window, Delta) else found
        ranges = ranges.where(_complete(ranges, since))
        over = RowRanges(ranges.fronts, ranges.stops, ranges.disjoint)
        results = [aggregate_column(frame, a, over, query.min_count) for _, a in query.aggregates]
    results = null_where_unseen(results, taken.unseen, ranges.fronts, ranges.stops)
    return result_table(query, frame, name, ranges, results), taken.from_each(rest)


def _complete(ranges: Ranges, since: int) -> npt.NDArray[np.bool_]:
    """Which windows start at a time or later; those without rows have no start."""
    found: npt.NDArray[np.bool_] = ranges.starts >= since
    return found if ranges.without_edges is None else found | ranges.without_edges


def _completed(taken: Taken, ranges: Ranges, closing: bool) -> Ranges:
    """The Delta windows that a new row ends: the first row behind them is new."""
    out = ranges.stops < taken.firsts[ranges.keys]
    open_still = ranges.stops == taken.frame.run_starts[ranges.keys + 1]
    return ranges.where(~out if closing else ~out & ~open_still)


def _incomplete(taken: Taken, window: Window, ranges: Ranges) -> Ints:
    """Where the first window of each key begins that is not complete."""
    runs = taken.frame.run_starts
    if isinstance(window, Delta):
        rest = runs[1:] - 1  # the last row stays in any case: later values must not fall below it
        open_still = ranges.stops == runs[ranges.keys + 1]
        np.minimum.at(rest, ranges.keys[open_still], ranges.fronts[open_still])
        return rest
    rest = runs[:-1].copy()
    begins = ranges.fronts + window.slide if isinstance(window, Rows) else ranges.stops
    np.maximum.at(rest, ranges.keys, begins)
    return rest


def _ends_of_policies(taken: Taken, ranges: Ranges) -> Ints:
    """Where the window after the last row of each key begins."""
    rest = taken.frame.run_starts[:-1].copy()
    np.maximum.at(rest, ranges.keys, ranges.fronts)
    return rest


# -- rolling -------------------------------------------------------------------------------------------------


def policy_columns(query: Spec, over: Rolling, taken: Taken, chosen: Ints) -> tuple[list[Any], Ints]:
    """The results of the new rows at the positions ``chosen``, and the places of the rows that the policy
    leaves."""
    assert over.policy is not None
    ranges, results = policy_results(query, taken.frame, over.policy, taken.leading)
    results = null_where_unseen(results, taken.unseen, ranges.fronts, ranges.stops)
    picked = pa.array(np.searchsorted(taken.news, chosen))
    return [column.take(picked) for column in results], taken.from_each(_ends_of_policies(taken, ranges))


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
    columns = [aggregate_column(frame, a, some, query.min_count) for _, a in query.aggregates]
    return null_where_unseen(columns, taken.unseen, some.fronts, some.stops)


def _over_middle(query: Spec, over: Rolling, taken: Taken, chosen: Ints, reach: Reach) -> list[Any]:
    """The same over partials: those of single rows, and in each run the middle behind its rows at the
    edge."""
    frame, runs = taken.frame, taken.frame.run_starts
    aggregates = [aggregate for _, aggregate in query.aggregates]
    single = Partials.of_rows(frame, aggregates, np.arange(len(frame) + 1), taken.unseen)
    keys, middle = _middle(query, taken, reach)
    edges = taken.leading_rows(reach.edge)
    places = np.insert(np.arange(len(frame)), (runs[:-1] + edges)[keys], len(frame) + np.arange(len(keys)))
    held = np.zeros(len(edges), np.int64)
    held[keys] = middle.rows
    fronts, stops = _fronts_and_stops(over, taken, chosen, held)
    has = (held > 0).astype(np.int64)
    mine = frame.keys[chosen]
    before = (np.cumsum(has) - has)[mine]
    assert ((fronts <= (runs[:-1] + edges)[mine]) | (has[mine] == 0)).all(), "a window without the middle"
    partials = Partials.concat([single, middle]).take(places)
    return partials.results(fronts + before, stops + before + has[mine], "sliding", query.min_count)


def _middle(query: Spec, taken: Taken, reach: Reach) -> tuple[Ints, Partials]:
    """The keys of the frame that are in the middle, sorted, and one partial for each."""
    frame = taken.frame
    wholes = [whole for whole, _ in reach.middle]
    codes, parts = [], []
    for numbers, (whole, mask) in zip(
        numbered(query.by, frame.key_table(), wholes), reach.middle, strict=True
    ):
        wanted = numbers < len(frame.key_rows)
        places = np.flatnonzero(wanted if mask is None else wanted & mask)
        codes.append(numbers[places])
        parts.append(whole.partials.take(places))
    return fused(np.concatenate(codes), parts)


def _fronts_and_stops(over: Rolling, taken: Taken, chosen: Ints, held: Ints) -> tuple[Ints, Ints]:
    """Where windows begin and end among the rows of the frame, if ``held`` rows of each key are in the
    middle."""
    if over.rows is None:
        every = rolling_rows(taken.frame, over).as_ranges()
        return every.fronts[chosen], every.stops[chosen]
    mine = taken.frame.keys[chosen]
    begins = taken.frame.run_starts[mine]
    return np.maximum(begins, chosen + 1 + held[mine] - over.rows), chosen + 1
