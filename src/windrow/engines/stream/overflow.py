"""Integer results that int64 cannot hold are found when rows come in, not when their windows fire.

A window that cannot fire would stop an operator for good: every later step would fire it again, and fail. So
the step that brings the rows raises :class:`~windrow.errors.IntegerOverflow`, and has changed nothing.

Invariant: after a step no window that is held overflows if it fires, so that moving the watermark never
raises for that. Cost: the state knows its *reach*, how much of int64 the sizes of all values of a key can
fill at most; a batch adds its own, one pass over a column. Only where that is too much is the reach found
anew from all that is held, and only where that is too much, too, are all windows tried, as if the operator
finished.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.arrays import END_OF_TIME, Floats
from windrow.engines.stream.advance import Due, advanced
from windrow.engines.stream.plan import Plan
from windrow.engines.stream.state import State
from windrow.errors import IntegerOverflow
from windrow.monoids.base import Aggregate, Monoid
from windrow.partials.columns import Column, NativeColumn, PlainColumn
from windrow.rows.columns import plain_type
from windrow.rows.keys import encoded_keys
from windrow.slicing.slices import HeldSlices
from windrow.values import with_fields

__all__ = ["with_rows_reach", "with_slices_reach"]


#: sizes are added up as floats, so that a little is left
_FULL = 0.99
_BITS = 63


def with_rows_reach(plan: Plan, state: State, rows: pa.Table, due: Due) -> State:
    """The state after it has taken these rows; raises where a window overflows."""
    return _checked(plan, state, due, lambda by_key: _rows_share(plan, state, rows, by_key))


def with_slices_reach(plan: Plan, state: State, slices: HeldSlices, due: Due) -> State:
    """The same for rows that came as slices."""
    return _checked(plan, state, due, lambda by_key: _slices_share(plan, state, [slices], by_key))


def _checked(plan: Plan, state: State, due: Due, share: Callable[[bool], float]) -> State:
    if not _watched(plan, state):
        return state
    for by_key in (False, True):
        reach = state.reach + share(by_key)
        if reach < _FULL:
            return with_fields(state, reach=reach)
    if plan.key_windows is None:  # what windows in a store are made of is not known here
        reach = _held_share(plan, state)
    if not reach < _FULL:
        _try_all(plan, state, due)
    return with_fields(state, reach=reach)


def _try_all(plan: Plan, state: State, due: Due) -> None:
    """Let all windows out, and forget that they came."""
    try:
        advanced(plan, state, END_OF_TIME, due)
    except IntegerOverflow:
        raise
    except Exception:
        return  # whatever else raises does so in the step that lets those windows out
    finally:
        if plan.key_windows is not None:
            plan.key_windows.undo()


def _watched(plan: Plan, state: State) -> list[tuple[int, Aggregate]]:
    """The aggregates whose results may not fit, and their places."""
    assert state.columns is not None
    return state.columns.remembered("integer results", plan.aggregates, _with_integer_results)


def _with_integer_results(aggregates: Sequence[Aggregate], schema: pa.Schema) -> list[tuple[int, Aggregate]]:
    return [
        (k, aggregate)
        for k, aggregate in enumerate(aggregates)
        if aggregate.monoid.integer_results
        and pa.types.is_integer(plain_type(schema.field(aggregate.columns[0]).type))
    ]


# -- how much of int64 values can fill -----------------------------------------------------------------------


def _filled(monoid: Monoid, sizes: Floats) -> Floats:
    """The share of int64 that each value can add, by its absolute value."""
    if monoid.multiplies_integers:
        return np.log2(np.maximum(sizes, 1.0)) / _BITS
    return sizes / 2.0**_BITS


def _rows_share(plan: Plan, state: State, rows: pa.Table, by_key: bool) -> float:
    """What the rows of one key add at most; not ``by_key``: all rows together."""
    if not rows.num_rows:
        return 0.0
    codes: Any = None
    if by_key and plan.query.by:
        codes = encoded_keys(plan.query.by, rows)[0]
    found = 0.0
    for _, aggregate in _watched(plan, state):
        values = pc.cast(rows.column(aggregate.columns[0]), pa.float64(), safe=False)
        filled = _filled(aggregate.monoid, np.abs(pc.fill_null(values, 0.0).to_numpy()))
        found = max(found, _most(filled, codes))
    return found


def _slices_share(plan: Plan, state: State, parts: list[HeldSlices], by_key: bool) -> float:
    found = 0.0
    for place, aggregate in _watched(plan, state):
        each = [_filled(aggregate.monoid, _sizes(part.partials.columns[place], part)) for part in parts]
        if each:
            keys = np.concatenate([part.keys for part in parts]) if by_key else None
            found = max(found, _most(np.concatenate(each), keys))
    return found


def _most(filled: Floats, keys: Any) -> float:
    if not len(filled):
        return 0.0
    return float(filled.sum() if keys is None else np.bincount(keys, filled).max())


def _sizes(column: Column | None, slices: HeldSlices) -> Floats:
    """The absolute values of partials, a range's being those of its ends."""
    if isinstance(column, NativeColumn):
        return np.abs(column.members[0].astype(np.float64))
    if isinstance(column, PlainColumn):
        return np.array([_size(partial) for partial in column.objects], np.float64)
    return np.zeros(len(slices))  # the aggregate has seen none of their rows


def _size(partial: Any) -> float:
    members = partial if isinstance(partial, tuple) else (partial,)
    whole = sum(abs(member) for member in members if isinstance(member, int))
    return float(whole) if whole < 2**1000 else math.inf


def _held_share(plan: Plan, state: State) -> float:
    """What the values of one key, as they are held, fill at most in a window of each sort."""
    found = [part.store.slices for part in state.sessions if part.store.slices is not None]
    shares = [_slices_share(plan, state, [slices], by_key=True) for slices in found]
    if state.time is not None:
        blocks = [block.slices for block in state.time.store.blocks.values()]
        shares.append(_slices_share(plan, state, blocks, by_key=True))
    shares += [_rows_share(plan, state, rows, by_key=True) for rows in _held_rows(plan, state)]
    return max(shares, default=0.0)


def _held_rows(plan: Plan, state: State) -> Iterator[pa.Table]:
    """The rows that windows decided by data, or rolling, hold."""
    names = list(dict.fromkeys([*plan.query.by, *(a.columns[0] for _, a in _watched(plan, state))]))
    for part in state.ordered.values():
        held = [rows.table.select(names) for rows in (part.log.all(), part.waiting.all()) if rows is not None]
        if held:
            yield pa.concat_tables(held, promote_options="permissive")
