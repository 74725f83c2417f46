"""What a query will run, in words: how rows are grouped, which algorithm each aggregate takes and why, and
what it costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa

from windrow.engines.algorithms import (
    algorithm_run,
    living_algorithm,
    rolling_algorithm,
    window_algorithm,
)
from windrow.engines.found_windows import members_of, window_groups
from windrow.engines.frames.bounds import looks_ahead_by_rows
from windrow.engines.frames.retention import Retention
from windrow.monoids.base import Aggregate
from windrow.partials.picked import picked_input
from windrow.partials.value_aggregates.families import FAMILIES
from windrow.rows.times import in_zone_of
from windrow.spec import Frames, Rolling, Spec
from windrow.swag import Choice, choose
from windrow.swag.native.fallback import plain_reason
from windrow.windows import Window, decided_by_gaps, decided_by_time

__all__ = ["explain"]


def explain(query: Spec, table: pa.Table | None = None) -> str:
    """The plan of a query on a finite table, which may be given for its time zone.

    >>> import windrow as wr
    >>> q = wr.query(time="ts", by="region").window(wr.Sliding("24h", slide="1m")).agg(n=wr.sum("len"))
    >>> print(q.explain())
    rows: as they come, where all aggregates compile for the data; otherwise sorted by region, then ts
    windows by time are ranges of slices: rows are folded into them as they come, and need not be sorted; \
rows that are in order serve as they are
    slices: the time line is cut at the edges of Sliding('24h', slide='1m'), shared edges once
    Sliding('24h', slide='1m'): windows overlap (a row is in up to 1440)
      n = sum('len'): 1 combine per row into its slice; then TwoStacksLite over slices: amortised constant \
time, the highest throughput; subtracting floats would need compensation: not asked for; native code where \
sum compiles for the data
    state: none is kept after the table is done
    on endless input, open() keeps:
      time windows: up to 1440 slices a key and window length, one partial each (eager: blocks of slices \
have partials of their own)
        Sliding('24h', slide='1m'): TwoStacksLite over slices
    """
    column, zone = f"of the time zone of {query.time!r}, and of UTC where it has none", ""
    if table is not None:
        query, column = in_zone_of(query, table), "of UTC"
    if query.follows_zone:
        zone = f"days, weeks and months: those {column}, where a day is 24 hours"
    order = [*query.by, query.time, *query.order]
    members = members_of(query)
    by = f"sorted by {', then '.join(order)}"
    is_sorted, may_be_sorted = f"{by}; each window is a range of neighbouring rows", f"{_AS_THEY_COME} {by}"
    lines = [f"rows: {may_be_sorted if members.in_any_order else is_sorted}"]
    if query.time_windows:
        lines.append(f"windows by time are ranges of {members.kind}: {members.reason}")
    if members.kind == "slices":
        edges = ", ".join(name or repr(window) for name, window in query.windows if decided_by_time(window))
        lines.append(f"slices: the time line is cut at the edges of {edges}, shared edges once")
    for group in window_groups(query):
        for name, window in group:
            lines.append(f"{name} = {window!r}: {window.shape}" if name else f"{window!r}: {window.shape}")
            is_sliced = decided_by_time(window) and members.kind == "slices"
            how = _over_slices(len(group)) if is_sliced else _over_rows
            lines += [f"  {result} = {a!r}: {how(a, window)}" for result, a in query.aggregates]
    if query.frames is not None:
        lines += _framed(query, query.frames)
    elif query.rolling_over is not None:
        lines += _rolling(query, query.rolling_over)
    lines += [zone] if zone else []
    lines.append("state: none is kept after the table is done")
    if query.asof_over is not None:
        lines += _served(query)
        return "\n".join(lines)
    return "\n".join([*lines, *_endless(query)])


def _framed(query: Spec, frames: Frames) -> Iterator[str]:
    """What labels see, or rows of their neighbours."""
    if query.asof_over is not None:
        yield "labels: sorted by the same columns, and matched with the rows; a result per label, over"
    else:
        yield "rolling: a result per row, over"
    yield from (f"  {ending}: {frame}" if ending else f"  {frame}" for ending, frame in frames.named)
    for name, aggregate in query.aggregates:
        how = _from_values(aggregate) or f"{_named(choose(aggregate.monoid), 'rows')}; {_native(aggregate)}"
        how = how if aggregate.inputs else _COUNTED
        passes = f"; one pass for each of {len(frames.named)} sizes" if len(frames.named) > 1 else ""
        yield f"  {name} = {aggregate!r}: {how}{passes}"


def _served(query: Spec) -> Iterator[str]:
    """What an operator keeps of events."""
    retention = Retention.of(query)
    yield "on endless input, open() keeps:"
    if query.watermark is None:
        yield "  events: all, since there is no watermark"
    elif retention.keeps_all:
        yield "  events: all, since labels look at all before"
    elif retention.rows:
        yield f"  events: the last {retention.rows} of a key before the watermark, and those from it on"
    else:
        yield "  events: those that a label at the watermark or later can see"
    yield "  at(labels) reads the events of the keys that are asked, as far as their labels look"


def _rolling(query: Spec, over: Rolling) -> Iterator[str]:
    what = f"the last {over.rows} rows" if over.rows else f"(t - {over.size and over.size.on_clock}, t]"
    yield f"rolling: a result per row, over {'what the policy leaves' if over.policy else what}"
    for result, aggregate in query.aggregates:
        choice = rolling_algorithm(aggregate.monoid, over)
        if over.policy is not None:
            how = _in_one_window(choice)
        else:
            how = _from_values(aggregate) or f"{_named(choice, 'rows')}; {_native(aggregate)}"
            how = how if aggregate.inputs else _COUNTED
        yield f"  {result} = {aggregate!r}: {how}"


_COUNTED = "counted from the ranges alone"
_AS_THEY_COME = "as they come, where all aggregates compile for the data; otherwise"


def _over_rows(aggregate: Aggregate, window: Window) -> str:
    """How an aggregate runs over ranges of rows."""
    if window.is_per_row:
        return _in_one_window(window_algorithm(aggregate.monoid, window))
    if not aggregate.inputs:
        return _COUNTED
    kept = _from_values(aggregate)
    if kept:
        return kept
    choice = algorithm_run(aggregate.monoid, window, _compiles(aggregate))
    return f"{_named(choice, 'rows')}; {_native(aggregate)}"


def _over_slices(kinds: int) -> Callable[[Aggregate, Window], str]:
    """How an aggregate runs over slices, for windows of so many kinds together."""

    def how(aggregate: Aggregate, window: Window) -> str:
        if not aggregate.inputs or not _compiles(aggregate):
            return _over_rows(aggregate, window)
        monoid = aggregate.monoid
        choices = [choose(monoid), choose(monoid, ranges="any")]
        choices = choices if kinds > 1 else [window_algorithm(monoid, window)]
        then = ", or ".join(_named(choice, "slices") for choice in choices)
        return f"1 combine per row into its slice; then {then}; {_native(aggregate)}"

    return how


def _named(choice: Choice, members: str) -> str:
    return f"{choice.name} over {members}: {choice.why}"


def _in_one_window(choice: Choice) -> str:
    return f"{_named(choice, 'rows')}; one window for all aggregates of a key; plain Python"


def _from_values(aggregate: Aggregate) -> str:
    """How an aggregate is answered from values that are kept; empty: it is not."""
    keeps = aggregate.monoid.keeps
    return "" if keeps is None else f"{FAMILIES[keeps].how}, where the type of the column allows it"


def _compiles(aggregate: Aggregate) -> bool:
    monoid = aggregate.monoid
    return bool(monoid.compiles_for) and monoid.wide is None and not plain_reason(monoid)


def _native(aggregate: Aggregate) -> str:
    if not _compiles(aggregate):
        reason = plain_reason(aggregate.monoid)
        return f"plain Python: {reason}" if reason else "plain Python"
    return f"native code where {aggregate.monoid.name} compiles for the data"


def _endless(query: Spec) -> Iterator[str]:
    """What an operator keeps, for the same query on endless input."""
    from windrow.engines.frames.words import held_in_words
    from windrow.slicing.time_kinds import FEW_KINDS, Kind, Kinds
    from windrow.slicing.time_manager import MOST_LAZY

    yield "on endless input, open() keeps:"
    timed = [Kind(k, w) for k, (_, w) in enumerate(query.windows) if decided_by_time(w)]
    ordered = [n for n, a in query.aggregates if not a.monoid.commutative and not _remembers_time(a, query)]
    if timed:
        kinds = Kinds(tuple(timed))
        count = kinds.slices_a_window
        store = "eager: blocks of slices have partials of their own" if count > MOST_LAZY else "lazy"
        which = "a slice for every moment" if ordered else f"up to {count} slices"
        why = f"; {ordered[0]} depends on order" if ordered else ""
        yield f"  time windows: {which} a key and window length, one partial each ({store}{why})"
        few = FEW_KINDS if query.empty == "skip" else 0
        jumping = {int(n) for group in kinds.groups if len(group) > few for n in group.numbers}
        yield from _endless_algorithms(query, jumping)
    for name, window in query.windows:
        if decided_by_gaps(window):
            single = not ordered and window.is_sliced
            what = "one partial per open session" if single else "a partial per moment of open sessions"
            yield f"  {name or 'sessions'}: {what}"
        elif window.decided_by == "data":
            yield f"  {name or repr(window)}: the rows of windows that are not complete, and rows not yet due"
            yield from _living(query, window.is_per_row)
    for result, aggregate in query.aggregates:
        keeps = aggregate.monoid.keeps
        if keeps is not None and query.windows:
            yield f"  {result}: {FAMILIES[keeps].held_for(aggregate.monoid)}"
    if query.frames is not None:
        yield from (f"  rolling: {each}" for each in held_in_words(query.frames))
        yield from _living(query, by_policy=False)
    elif query.rolling_over is not None:
        yield "  rolling: the rows that later results reach back to, and rows not yet due"
        yield from _living(query, query.rolling_over.policy is not None)


def _living(query: Spec, by_policy: bool) -> Iterator[str]:
    """Say what rows are in between pushes, in memory."""
    folded = [a for _, a in query.aggregates if a.inputs]
    frames = [] if query.frames is None else [frame for _, frame in query.frames.named]
    if query.output == "update":
        yield "    read again for each push, since output='update' gives results in advance"
    elif looks_ahead_by_rows(frames):
        yield "    read again for each push, since frames of rows look ahead or end before the row"
    elif any(a.monoid.keeps is not None for a in folded) and not by_policy:
        yield "    read again for each push, since values are kept"
    elif by_policy or folded:
        monoid = (folded or [aggregate for _, aggregate in query.aggregates])[0].monoid
        choice = living_algorithm(monoid, by_policy)
        yield f"    in memory {choice.name} over these rows, which stays between pushes: {choice.reasons[-1]}"


def _endless_algorithms(query: Spec, jumping: set[int]) -> Iterator[str]:
    """What windows by time are aggregated with, over slices; ``jumping``: the numbers of those that are read
    in any order."""
    for number, (name, window) in enumerate(query.windows):
        if decided_by_time(window):
            choices = [
                choose(a.monoid, ranges="any")
                if number in jumping
                else algorithm_run(a.monoid, window, _compiles(a))
                for _, a in query.aggregates
                if a.inputs and a.monoid.keeps is None
            ]
            names = ", ".join(dict.fromkeys(choice.name for choice in choices))
            yield f"    {name or repr(window)}: {names or 'counted'} over slices"


def _remembers_time(aggregate: Aggregate, query: Spec) -> bool:
    return picked_input(aggregate.monoid) is not None and not query.order
