"""Results that are too large for their type are found when rows come in, not when their windows fire. These
are integers that int64 cannot hold, and decimals with too many digits.

A window that cannot fire would stop an operator for good: every later step would fire it again, and fail. So
the step that brings the rows raises :class:`~windrow.errors.IntegerOverflow` or
:class:`~windrow.errors.DecimalOverflow`, and has changed nothing.

Invariant: after a step no window that is held overflows if it fires, so that moving the watermark never
raises for that. Cost: the state knows its *reach*, how much of the type the sizes of all values of a key can
fill at most; a batch adds its own, one pass over a column. Only where that is too much is the reach found
anew from all that is held, and only where that is too much, too, are all windows tried, as if the operator
finished.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.arrays import END_OF_TIME, Floats
from windrow.engines.stream.advance import Due, advanced
from windrow.engines.stream.plan import Plan
from windrow.engines.stream.state import State
from windrow.errors import DecimalOverflow, IntegerOverflow
from windrow.monoids.base import Aggregate
from windrow.partials.columns import Column, NativeColumn, PlainColumn
from windrow.partials.result_types import result_type
from windrow.rows.columns import plain_type
from windrow.rows.keys import encoded_keys
from windrow.slicing.slices import HeldSlices
from windrow.values import with_fields

__all__ = ["with_rows_reach", "with_slices_reach"]


#: sizes are added up as floats, so that a little is left
_FULL = 0.99


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
    reach = _held_share(plan, state)
    if not reach < _FULL:
        _try_all(plan, state, due)
    return with_fields(state, reach=reach)


def _try_all(plan: Plan, state: State, due: Due) -> None:
    """Let all windows out, and forget that they came."""
    try:
        advanced(plan, state, END_OF_TIME, due)
    except (IntegerOverflow, DecimalOverflow):
        raise
    except Exception:
        return  # whatever else raises does so in the step that lets those windows out


class _Watched(NamedTuple):
    """An aggregate whose results may not fit, and its place."""

    place: int
    aggregate: Aggregate
    #: what the absolute values of its results are below
    limit: float

    def filled(self, sizes: Floats) -> Floats:
        """The share of the type of the results that each value can add, by its absolute value."""
        if self.aggregate.monoid.multiplies_integers:
            return np.log2(np.maximum(sizes, 1.0)) / math.log2(self.limit)
        return sizes / self.limit


def _watched(plan: Plan, state: State) -> list[_Watched]:
    assert state.columns is not None
    return state.columns.remembered("results that may not fit", plan.aggregates, _those_that_may_not_fit)


def _those_that_may_not_fit(aggregates: Sequence[Aggregate], schema: pa.Schema) -> list[_Watched]:
    found = []
    for k, aggregate in enumerate(aggregates):
        limit = _limit(aggregate, schema) if aggregate.monoid.decimal_gain != (0, 0) else None
        found += [] if limit is None else [_Watched(k, aggregate, limit)]
    return found


def _limit(aggregate: Aggregate, schema: pa.Schema) -> float | None:
    """What results are below; None: they always fit, or nothing is known of them."""
    given = plain_type(schema.field(aggregate.columns[0]).type)
    if aggregate.monoid.integer_results and pa.types.is_integer(given):
        return 2.0**63
    kind = result_type(aggregate, schema)
    if not (pa.types.is_decimal(given) and pa.types.is_decimal(kind)):
        return None
    # ten digits more are enough for any number of rows
    is_whole = kind.precision == given.precision + aggregate.monoid.decimal_gain[0]
    return None if is_whole else max(10.0 ** (kind.precision - kind.scale), 2.0)


# -- how much of the type values can fill --------------------------------------------------------------------


def _rows_share(plan: Plan, state: State, rows: pa.Table, by_key: bool) -> float:
    """What the rows of one key add at most; not ``by_key``: all rows together."""
    if not rows.num_rows:
        return 0.0
    codes: Any = None
    if by_key and plan.query.by:
        codes = encoded_keys(plan.query.by, rows)[0]
    found = 0.0
    for watched in _watched(plan, state):
        values = pc.cast(rows.column(watched.aggregate.columns[0]), pa.float64(), safe=False)
        filled = watched.filled(np.abs(pc.fill_null(values, 0.0).to_numpy()))
        found = max(found, _most(filled, codes))
    return found


def _slices_share(plan: Plan, state: State, parts: list[HeldSlices], by_key: bool) -> float:
    found = 0.0
    for watched in _watched(plan, state):
        each = [watched.filled(_sizes(part.partials.columns[watched.place], part)) for part in parts]
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
    sizes: list[Any] = [abs(member) for member in members if isinstance(member, (int, Decimal))]
    whole = sum(sizes)
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
    names = list(
        dict.fromkeys([*plan.query.by, *(each.aggregate.columns[0] for each in _watched(plan, state))])
    )
    for part in state.ordered.values():
        held = [rows.table.select(names) for rows in (part.log.all(), part.waiting.all()) if rows is not None]
        if held:
            yield pa.concat_tables(held, promote_options="permissive")
