"""Windows are added to and removed from a running operator."""

from __future__ import annotations

from dataclasses import replace

from windrow.arguments import check_window
from windrow.arrays import START_OF_TIME
from windrow.engines.stream.plan import Plan
from windrow.engines.stream.state import State
from windrow.result_names import check_names
from windrow.rows.times import check_time_kind
from windrow.slicing.time_kinds import Kind
from windrow.slicing.time_manager import TimePart
from windrow.windows import Window, decided_by_gaps, decided_by_time

__all__ = ["with_window", "without_window"]


def with_window(plan: Plan, state: State, name: str, window: Window) -> tuple[Plan, State]:
    """With a window that sees rows from now on: what may hold rows from before does not come out."""
    query = plan.query
    check_window(name, window)
    if query.is_rolling or not query.names_windows:
        raise ValueError(
            "windows can be added to an operator whose windows have names: "
            "open it with .window(day=wr.Tumbling('24h'))"
        )
    if name in dict(query.windows):
        raise ValueError(f"there is a window {name!r} already: choose another name, or remove it first")
    number = len(plan.names)
    changed = replace(
        plan,
        query=replace(query, windows=(*query.windows, (name, window))),
        numbers=(*plan.numbers, number),
    )
    check_names(changed.query)
    if state.axis is not None:
        check_time_kind(changed.query, state.axis)
        changed = changed.in_zone_of(state.axis) if plan.zone is None else changed.in_zone(plan.zone)
        _, window = changed.query.windows[-1]
    return changed, _with_query(_with_part(changed, state, number, name, window), changed)


def _with_part(plan: Plan, state: State, number: int, name: str, window: Window) -> State:
    if state.columns is None:  # parts are made with the first table
        return state
    # all rows so far are before this time
    since = START_OF_TIME if state.largest == START_OF_TIME else state.largest + 1
    if decided_by_time(window):
        kind = Kind(number, window, since)
        time = state.time
        added = TimePart.empty(plan.query, [kind], plan.moments) if time is None else time.with_kind(kind)
        return replace(state, time=added)
    if decided_by_gaps(window):
        # a row that is no further than the gap from one that came before is of the same session
        since = since if since == START_OF_TIME else since + window.gap_us
        part = replace(plan.session_part(number, window), since=since)
        return replace(state, sessions=(*state.sessions, part))
    rows = plan.ordered_part(name, window).with_since(since)
    return replace(state, ordered=state.ordered | {number: rows})


def without_window(plan: Plan, state: State, name: str) -> tuple[Plan, State]:
    """Without a window, and without what only it needed."""
    query = plan.query
    if name not in dict(query.windows):
        known = ", ".join(repr(each) for each, _ in query.windows if each) or "no named windows"
        raise KeyError(f"there is no window {name!r}; the operator has {known}")
    if len(query.windows) == 1:
        raise ValueError(f"{name!r} is the only window: finish() the operator instead")
    place = [each for each, _ in query.windows].index(name)
    number = plan.numbers[place]
    changed = replace(
        plan,
        query=replace(query, windows=query.windows[:place] + query.windows[place + 1 :]),
        numbers=plan.numbers[:place] + plan.numbers[place + 1 :],
    )
    time = None if state.time is None else state.time.without(number)
    state = replace(
        state,
        time=None if time is None or not time.kinds else time,
        sessions=tuple(part for part in state.sessions if part.number != number),
        ordered={k: part for k, part in state.ordered.items() if k != number},
    )
    return changed, _with_query(state, changed)


def _with_query(state: State, plan: Plan) -> State:
    """All parts speak of the query as it is now."""
    return replace(
        state,
        columns=None if state.columns is None else state.columns.for_query(plan.query),
        time=None if state.time is None else replace(state.time, query=plan.query),
        sessions=tuple(replace(part, query=plan.query) for part in state.sessions),
    )
