"""What was before: the rows of a finite table, taken into a state that is new, without results.

The state is that of an operator which has had these rows pushed, all together, so that none is late. What was
due is left out: it comes out of ``query.run`` over the same table. With ``until``, a time, the cut is exact:
the state has taken the rows before it and no others, the watermark stands there, and rows from before it that
come again are rejected as ``in_history``.

Windows and aggregates that were added to a state may be filled from history: all of the state is made anew,
of the rows before a cut that lies behind every row it had taken, and the watermark stays where it was.

Cost: that of one push; memory for the slices or rows of all of history before those that no window needs any
more are dropped, at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from windrow.arrays import START_OF_TIME, Ints, Mask
from windrow.engines.stream.advance import passed, without_dead_keys
from windrow.engines.stream.intake import with_time
from windrow.engines.stream.late import LateRows
from windrow.engines.stream.plan import Plan
from windrow.engines.stream.rejected import RejectedTables
from windrow.engines.stream.state import State
from windrow.engines.stream.step import pushed, take_table
from windrow.engines.stream.watermark import Judge, reached
from windrow.engines.stream.watermark_values import shown_moment
from windrow.errors import ChangedQuery
from windrow.rows.keys import Keys
from windrow.rows.selection import filter_rows
from windrow.rows.times import TimeAxis, read_moments
from windrow.values import with_fields

__all__ = ["check_cut", "refilled", "settled", "with_given", "with_history"]


def with_history(
    plan: Plan,
    state: State,
    tables: Sequence[pa.Table],
    until: int,
    now: Callable[[], float],
    judge: Judge,
) -> tuple[Plan, State]:
    """The state that has taken the rows before ``until`` of these tables, and gives nothing for them."""
    parts = (_before(table, plan.query.time, until) for table in tables)
    plan, state, _ = pushed(plan, state, parts, now, judge)
    watermark = max(reached(plan.query, state, judge), until)
    state = settled(plan, state, watermark, until)
    if plan.query.empty == "include" and until > START_OF_TIME:
        later = (_within(table, plan.query.time, until, lambda times, cut: times >= cut) for table in tables)
        state = with_given(state, later)
    return plan, state


def settled(plan: Plan, state: State, watermark: int, until: int) -> State:
    """The state once all of history is in it: what the watermark has passed is gone, and was not emitted."""
    if watermark > state.watermark:
        state = passed(plan, state, watermark)
    counts = with_fields(state.counts, windows_fired=0, windows_corrected=0, windows_retracted=0)
    state = with_fields(state, late=LateRows(), rejected=RejectedTables())
    return without_dead_keys(with_fields(state, history_until=until, counts=counts))


def with_given(state: State, later: Iterable[pa.Table]) -> State:
    """The state of history that has rows of these keys behind its cut, too: ``query.run`` over all of it has
    given their empty windows before the cut, and they are not given again."""
    if state.time is None:
        return state
    filling = state.time.filling
    for table in later:
        if table.num_rows:
            _, _, numbers = state.keys.with_rows(table)
            filling = filling.given_until(numbers, state.history_until)
    return replace(state, time=replace(state.time, filling=filling))


def refilled(plan: Plan, state: State, table: pa.Table, until: int) -> tuple[Plan, State]:
    """The state of a query to which windows or aggregates were added, as if they had always been there: made
    of the rows before ``until``, which the table has all of."""
    if plan.counts_revisions:
        raise ChangedQuery(
            "windows and aggregates that were added cannot be filled from history where results are revised "
            "(allowed_lateness, output='update'): the revisions that came out are counted in the state. Open "
            "the query under another name, with history, or give history_until as it was to go on without "
            "filling them"
        )
    if until <= state.largest:
        raise ChangedQuery(
            f"history until {_shown(until, state.axis)} does not reach behind the last row that the state "
            f"has taken, at {_shown(state.largest, state.axis)}: rows between would be lost. Give a later "
            f"history_until, and history up to there, to fill what was added; or history_until as it was to "
            f"go on without"
        )
    empty = State(Keys(plan.query.by), None, (), {})
    plan, found, _ = take_table(replace(plan, moments=False), empty, _before(table, plan.query.time, until))
    found = settled(plan, found, state.watermark, until)
    return plan, with_fields(found, counts=state.counts, late=state.late)


def check_cut(state: State, until: int, otherwise: str = "") -> None:
    """Raise unless the rows that a state has taken from history end at this time. ``otherwise``: what else
    can be done."""
    if state.history_until != until:
        was, is_ = (_shown(moment, state.axis) for moment in (state.history_until, until))
        raise ChangedQuery(
            f"the state has taken history until {was}, and history_until is {is_}: rows between would be "
            f"counted twice, or not at all. Give history_until as it was{otherwise}"
        )


def _shown(moment: int, axis: TimeAxis | None) -> str:
    return "its end, without a cut" if moment == START_OF_TIME else str(shown_moment(moment, axis))


def _before(table: pa.Table, time: str, until: int) -> pa.Table:
    """The rows before a time, and those without one, which are counted elsewhere."""
    if until == START_OF_TIME or time not in table.column_names:
        return table
    return _within(table, time, until, lambda times, cut: times < cut, without_time=True)


def _within(
    table: pa.Table, time: str, cut: int, side: Callable[[Ints, int], Mask], without_time: bool = False
) -> pa.Table:
    """The rows on one side of a time, with those that have none or without them."""
    _, column, valid = with_time(table, time)
    wanted = side(read_moments(TimeAxis(column.type), column, time).times, cut)
    if valid is not None:
        timed, wanted = wanted, np.full(table.num_rows, without_time)
        wanted[np.asarray(valid)] = timed
    return table if wanted.all() else filter_rows(table, wanted)
