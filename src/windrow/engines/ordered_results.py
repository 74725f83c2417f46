"""What rows give that an operator takes, and what it keeps of them: for each kind of window that data decide,
and for rolling.

Each function sees rows taken now after their context (:mod:`windrow.engines.taken`), gives the results that
this made final, and says from which position on later rows will need the rows of each key.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.engines.aggregate import RowRanges
from windrow.engines.data_windows import data_ranges, policy_results
from windrow.engines.held import Held
from windrow.engines.inputs import aggregate_column
from windrow.engines.local import result_table, rolling_rows
from windrow.engines.ranges import Ranges
from windrow.engines.taken import Taken
from windrow.spec import Rolling, Spec
from windrow.windows import Delta, Policy, Rows, Window

__all__ = ["completed_windows", "rolling_columns", "rolling_rest"]

Ints = npt.NDArray[np.int64]


def completed_windows(
    query: Spec, name: str, window: Window, taken: Taken, closing: bool
) -> tuple[pa.Table, Held]:
    """The results of the windows that new rows complete (with ``closing``: of all that may come out), and the
    rows that windows still need."""
    frame = taken.frame
    if isinstance(window, Policy):
        ranges, results = policy_results(query, frame, window, taken.leading)
        rest = _ends_of_policies(taken, ranges)
    else:
        found = data_ranges(frame, window)
        rest = _incomplete(taken, window, found)
        ranges = _completed(taken, found, closing) if isinstance(window, Delta) else found
        over = RowRanges(ranges.fronts, ranges.stops, ranges.disjoint)
        results = [aggregate_column(frame, a, over, query.min_count) for _, a in query.aggregates]
    return result_table(query, frame, name, ranges, results), taken.kept(rest)


def _completed(taken: Taken, ranges: Ranges, closing: bool) -> Ranges:
    """The Delta windows that a new row ends: the first row behind them is new."""
    out = ranges.stops < taken.firsts[ranges.keys]
    open_still = ranges.stops == taken.frame.run_starts[ranges.keys + 1]
    chosen = ~out if closing else ~out & ~open_still
    return Ranges(
        ranges.keys[chosen],
        ranges.starts[chosen],
        ranges.ends[chosen],
        ranges.fronts[chosen],
        ranges.stops[chosen],
        ranges.disjoint,
    )


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


def rolling_columns(
    query: Spec, over: Rolling, taken: Taken, chosen: Ints
) -> tuple[list[Any], Ranges | None]:
    """The results of the new rows at the positions ``chosen``; of a policy also the windows of all new
    rows."""
    frame = taken.frame
    if over.policy is not None:
        ranges, results = policy_results(query, frame, over.policy, taken.leading)
        picked = pa.array(np.searchsorted(taken.news, chosen))
        return [column.take(picked) for column in results], ranges
    every = rolling_rows(frame, over).as_ranges()
    some = RowRanges(every.fronts[chosen], every.stops[chosen])
    return [aggregate_column(frame, a, some, query.min_count) for _, a in query.aggregates], None


def rolling_rest(over: Rolling, taken: Taken, ranges: Ranges | None, up_to: int) -> Held:
    """The rows that the results of rows from ``up_to`` on need."""
    if over.size is not None:
        return taken.rows.where(taken.rows.times > up_to - over.size.units)
    if ranges is not None:
        return taken.kept(_ends_of_policies(taken, ranges))
    assert over.rows is not None
    runs = taken.frame.run_starts
    return taken.kept(np.maximum(runs[:-1], runs[1:] - (over.rows - 1)))
