"""What a query will run, in words: how rows are grouped, which algorithm each aggregate takes and why, and
what it costs."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.engines.found_windows import members_of
from windrow.monoids.base import Aggregate
from windrow.partials.picked import picked_input
from windrow.spec import Spec
from windrow.windows import Window, decided_by_gaps, decided_by_time

__all__ = ["explain"]

_FOLD = "one fold per window, 1 combine per row"
_SLIDE = "Two-Stacks Lite over the rows of all windows, at most 2 combines per row and 1 per window"
_SLICED = "1 combine per row into its slice, once for all sliced windows; then Two-Stacks Lite over slices"
_POLICY = "AMTA, amortised O(1) per row; the policy searches O(log n) prefixes"
_STORED = "AMTA in the store, one window per key for all aggregates, amortised O(1) per row; plain Python"


def explain(query: Spec) -> str:
    """The plan of a query on a finite table.

    >>> import windrow as wr
    >>> q = wr.query(time="ts", by="region").window(wr.Sliding("24h", slide="1m")).agg(n=wr.sum("len"))
    >>> print(q.explain())
    rows: sorted by region, then ts; each window is a range of neighbouring rows
    windows by time are ranges of rows: there is no second window of this kind to share slices with
    Sliding('24h', slide='1m'): windows overlap (a row is in up to 1440)
      n = sum('len'): Two-Stacks Lite over the rows of all windows, at most 2 combines per row and 1 per \
window; native code where sum compiles for the data
    state: none is kept after the table is done
    on endless input, open() keeps:
      time windows: up to 1440 slices a key and window length, one partial each (eager: blocks of slices \
have partials of their own)
    """
    order = [*query.by, query.time, *query.order]
    lines = [f"rows: sorted by {', then '.join(order)}; each window is a range of neighbouring rows"]
    members = members_of(query)
    sliced = [name for name, window in query.windows if decided_by_time(window) and members.kind == "slices"]
    if sliced:
        lines.append(f"slices: the time line is cut at the edges of {', '.join(sliced)}, shared edges once")
    if query.time_windows:
        lines.append(f"windows by time are ranges of {members.kind}: {members.reason}")
    for name, window in query.windows:
        label = f"{name} = {window!r}" if name else repr(window)
        lines.append(f"{label}: {window.shape}")
        cost = _SLICED if name in sliced else _cost(window)
        lines += [f"  {result} = {a!r}: {_how(a, cost, window)}" for result, a in query.aggregates]
    if query.rolling_over is not None:
        over = query.rolling_over
        what = f"the last {over.rows} rows" if over.rows else f"(t - {over.size}, t]"
        lines.append(f"rolling: a result per row, over {'what the policy leaves' if over.policy else what}")
        cost = _POLICY if over.policy else _SLIDE
        for result, a in query.aggregates:
            how = _how(a, cost, over.policy) if over.store is None else _STORED
            lines.append(f"  {result} = {a!r}: {how}")
    lines.append("state: none is kept after the table is done")
    return "\n".join([*lines, *_endless(query)])


def _endless(query: Spec) -> Iterator[str]:
    """What an operator keeps, for the same query on endless input."""
    from windrow.slicing.time_manager import MOST_LAZY, Kind, Kinds

    yield "on endless input, open() keeps:"
    timed = [Kind(k, w) for k, (_, w) in enumerate(query.windows) if decided_by_time(w)]
    ordered = [n for n, a in query.aggregates if not a.monoid.commutative and not _remembers_time(a, query)]
    if timed:
        count = Kinds(tuple(timed)).slices_a_window
        store = "eager: blocks of slices have partials of their own" if count > MOST_LAZY else "lazy"
        which = "a slice for every moment" if ordered else f"up to {count} slices"
        why = f"; {ordered[0]} depends on order" if ordered else ""
        yield f"  time windows: {which} a key and window length, one partial each ({store}{why})"
    for name, window in query.windows:
        if decided_by_gaps(window):
            single = not ordered and window.is_sliced
            what = "one partial per open session" if single else "a partial per moment of open sessions"
            yield f"  {name or 'sessions'}: {what}"
        elif window.decided_by == "data":
            yield f"  {name or repr(window)}: the rows of windows that are not complete, and rows not yet due"
    if query.rolling_over is not None:
        in_store = "a window a key in the store, O(log n) of it in memory, and rows not yet due"
        here = "the rows that later results reach back to, and rows not yet due"
        yield f"  rolling: {here if query.rolling_over.store is None else in_store}"


def _remembers_time(aggregate: Aggregate, query: Spec) -> bool:
    return picked_input(aggregate.monoid) is not None and not query.order


def _cost(window: Window) -> str:
    if window.is_per_row:
        return _POLICY
    return _SLIDE if window.overlaps else _FOLD


def _how(aggregate: Aggregate, cost: str, window: Window | None) -> str:
    monoid, is_per_row = aggregate.monoid, window is not None and window.is_per_row
    if not aggregate.columns and not is_per_row:
        return "counted from the ranges alone"
    if is_per_row or not monoid.compiles_for or monoid.wide is not None:
        return f"{cost}; plain Python"
    return f"{cost}; native code where {monoid.name} compiles for the data"
