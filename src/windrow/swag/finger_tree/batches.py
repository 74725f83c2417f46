"""Batches through a finger B-tree in native code: bulk insertion, and a rolling window over rows in any
order.

The functions here decide whether a batch can go natively and return None or False where it cannot; the
window then does the same in plain Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from windrow.compile.access import Function, cast, emit, is_null, row, store
from windrow.compile.columns import Columns, shaped_like, with_empty
from windrow.compile.general import mask_or_none
from windrow.compile.native import NativeMonoid
from windrow.swag.finger_tree.bulk import bulk_insertion
from windrow.swag.finger_tree.evict import eviction
from windrow.swag.finger_tree.forms import Unfit
from windrow.swag.finger_tree.front import front_steps
from windrow.swag.finger_tree.insert import insertion
from windrow.swag.finger_tree.layout import NULL_COUNT, SIZE, room_in
from windrow.swag.finger_tree.native import NativeForm, native_input, native_times
from windrow.swag.finger_tree.query import query
from windrow.swag.native.drivers import Jit

if TYPE_CHECKING:
    from windrow.swag.fiba import FiBA

__all__ = ["bulk_insert", "roll_unordered", "rolling"]

#: what is noted of the window behind each row
_NO_VALUE, _SOME_NULL = 1, 2


def _enter(window: FiBA, times: Any, values: Any) -> tuple[NativeForm, np.ndarray[Any, Any], Columns] | None:
    """The window in native form with times and values that fit it, or None."""
    moments, given = native_times(times), native_input(values, window.monoid)
    if moments is None or given is None:
        return None
    columns, functions = given
    if len(moments) != len(columns):
        raise ValueError(f"{len(moments)} times for {len(columns)} values: give one time a value")
    missing = np.isnat(moments) if moments.dtype.kind == "M" else moments != moments
    if missing.any():
        raise ValueError(f"{moments[missing][0]!r} is not a time: each value needs one that can be ordered")
    form = _form_for(window, functions, moments.dtype)
    if form is None or not form.integers_fit(columns):
        return None
    window._form = form
    return form, moments, columns


def _form_for(window: FiBA, functions: NativeMonoid, clock: np.dtype[Any]) -> NativeForm | None:
    """The window's form if it is the one wanted, or a new one with its content; None if that does not fit."""
    form = window._form
    if isinstance(form, NativeForm) and form.same_as(functions, clock):
        return form
    if len(form) and (isinstance(form, NativeForm) or window._stays_plain):
        return None
    made = NativeForm(functions, clock, window._native_mu)
    times, partials, nulls = form.entries()
    if times:
        made.reserve(len(times))
        try:
            batch = made.batch(times, partials, nulls)
        except Unfit:
            return None
        made.run(bulk_insertion, batch, len(times))
    return made


def bulk_insert(window: FiBA, times: Any, values: Any) -> bool:
    """Insert a batch; False if it cannot be done natively."""
    entered = _enter(window, times, values)
    if entered is None:
        return False
    form, moments, columns = entered
    if len(moments) == 0:
        return True
    before = None if form.functions.monoid.builtin else form.saved()  # windrow's own functions do not raise
    try:
        for batch, count in form.batches_of(moments, columns):
            form.reserve(count)
            form.run(bulk_insertion, batch, count)
    except Exception:
        if before is None:
            raise
        form.restore(before)
        window._to_plain()
        return False
    return True


# -- a rolling window over rows in any order


def rolling(jit: Jit, combine: Function, mu: int, lift: Function, lower: Function) -> Function:
    """The driver; it stops before a row for which there might be no room and says how far it came."""
    insert, evict, whole = insertion(jit, combine, mu), eviction(jit, combine, mu), query(jit, combine, mu)
    restore, drain = front_steps(jit, combine, mu)

    @jit
    def flags_of(tree: Any) -> int:
        size, nulls = tree.marks[SIZE], tree.marks[NULL_COUNT]
        return (_NO_VALUE if nulls == size else 0) + (_SOME_NULL if nulls > 0 else 0)

    @jit
    def process(
        tree: Any,
        identity: Any,
        start: int,
        latest: Any,
        size: Any,
        room: int,
        times: Any,
        columns: Any,
        nulls: Any,
        out: Any,
        valid: Any,
        flags: Any,
    ) -> Any:
        i = start
        while i < len(times) and tree.marks[SIZE] < room:
            time = times[i]
            latest = max(latest, time)
            if latest - time < size:
                null = 1 if is_null(nulls, i) else 0
                partial = identity if null else cast(identity, lift(*row(columns, i)))
                insert(tree, identity, time, partial, null)
            if drain(tree, identity, latest, size):
                evict(tree, identity, latest - size, True, -1)
            if tree.marks[SIZE] > tree.marks[NULL_COUNT]:
                emit(out, valid, i, lower(whole(tree, identity)))
            store(flags, i, flags_of(tree))
            i += 1
        restore(tree, identity)
        return i, latest

    return process


def roll_unordered(window: FiBA, times: Any, values: Any, size: Any) -> Any:
    """Results in the kind of the values, or None if it cannot be done natively."""
    entered = _enter(window, times, values)
    if entered is None:
        return None
    form, moments, columns = entered
    span = _span(size, form.clock)
    if span is None:
        return None
    before = None if form.functions.monoid.builtin else form.saved()  # windrow's own functions do not raise
    try:
        results = _run(form, form.raw_times(moments), span, columns)
    except Exception:
        if before is None:
            raise
        form.restore(before)
        window._to_plain()
        return None
    return shaped_like(values, window.monoid)(*_nulled(window, *results))


def _span(size: Any, clock: np.dtype[Any]) -> Any:
    if clock.kind == "M":
        return np.array(size, f"m8[{np.datetime_data(clock)[0]}]").astype("i8")[()]
    if clock.kind == "i" and not isinstance(size, (int, np.integer)):
        return None
    return clock.type(size)


def _run(form: NativeForm, times: Any, span: Any, columns: Columns) -> tuple[Any, Any, Any]:
    layout, functions, count = form.functions.layout, form.functions, len(times)
    out = np.empty(count, layout.result_dtype)
    valid = np.ones(count, np.bool_) if layout.may_be_null else None
    flags = np.empty(count, np.uint8)
    latest = form.tree.times.dtype.type(form.last_time() if len(form) else times[:1].sum())
    done = 0
    parameters = (functions.combine, form.mu, functions.lift, functions.lower)
    nulls = mask_or_none(columns.nulls, count)
    while done < count:
        form.reserve(min(form.capacity, count - done))
        state = (form.tree, form.identity, done, latest, span, room_in(form.capacity, form.mu))
        arguments = (*state, times, columns.arrays, nulls, out, valid, flags)
        done, latest = form.compiled(rolling, parameters, arguments)(*arguments)
        latest = span.dtype.type(latest)
    form.tidy()
    return out, valid, flags


def _nulled(window: FiBA, out: Any, valid: Any, flags: Any) -> tuple[Any, Any]:
    """Results of windows without a value, or with a null under ``nulls="propagate"``, put right."""
    if window.monoid.nulls == "propagate":
        bare, value = flags & _SOME_NULL != 0, None
    else:
        bare, value = flags & _NO_VALUE != 0, window.monoid.empty_result()
    return with_empty(out, valid, bare, value)
