"""Kernels are loaded when an operator has taken its first rows, not when a push first needs them.

To load a kernel takes some milliseconds, and now and then lets Python collect its garbage: hundreds of times
what a small push takes. Most are needed long after the first push, when slices are first merged, when windows
first fire, or when a row is first late. So after its first push an operator rehearses all that with a few of
its slices, and forgets what comes of it.

While kernels are interpreted there is nothing to load: it is asked again after each push.

Numba and its kernels leave so many objects behind that Python soon looks through all there are, which takes
tens of milliseconds: a full collection, in the middle of some push. Pushes themselves leave next to nothing.
So that collection is made here as well, once in a process, after the loading. A process with many more
objects than Numba's owes none for them, and is left alone.

Invariant: nothing is changed, nothing is raised, and no function of a user's is called. Kernels of aggregates
that are not on disk are left out: to compile them takes a second each, and they may never be needed. Cost: a
millisecond or two, and some for each kernel; once for an aggregate and a sort of windows in a process.
"""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Iterator

import numpy as np

from windrow.arrays import START_OF_TIME
from windrow.compile.compile_when_it_pays import is_compiling
from windrow.compile.general import SMALL
from windrow.compile.native import NotOnDisk, only_loading
from windrow.engines.stream.state import State
from windrow.partials.columns import NativeColumn
from windrow.partials.partials import Partials
from windrow.rows.keys import Keys
from windrow.rows.selection import take_rows
from windrow.slicing.batch import Batch
from windrow.slicing.blocks import SliceStore
from windrow.slicing.ledger import Ledger
from windrow.slicing.limits import one_step
from windrow.slicing.slices import HeldSlices, concat, merged, sorted_and_fused
from windrow.slicing.time_manager import TimePart
from windrow.values import with_fields

__all__ = ["make_ready"]

#: in a process with more pieces of memory than this, Numba's objects are less than a quarter, for which
#: Python begins no full collection
_MOST_BLOCKS = 4_000_000
_is_collected = [False]
#: sorts of windows that were rehearsed without an aggregate
_rehearsed = set[object]()


def make_ready(state: State) -> bool:
    """Load the kernels that windows which time decides will need, for the ``state`` after a push; whether
    there is nothing more to do."""
    if not is_compiling():
        return False
    _load(state)
    if not _is_collected[0] and gc.isenabled() and sys.getallocatedblocks() < _MOST_BLOCKS:
        gc.collect()
    _is_collected[0] = True
    return True


def _load(state: State) -> None:
    part = state.time
    few = None if part is None else _few_slices(part)
    if part is None or few is None:
        return
    sort = part.kinds.shapes
    _ask_for_keys(state.keys)
    for each in _one_by_one(few):
        column = each.partials.columns[0] if each.partials.columns else None
        known = column.form.kernels if isinstance(column, NativeColumn) else None
        if sort in _rehearsed if known is None else (make_ready, sort) in known:
            continue
        # what cannot be rehearsed is loaded, or raises, when it is needed
        with contextlib.suppress(Exception, NotOnDisk), only_loading(), one_step():
            _rehearse(part, each)
        if known is None:
            _rehearsed.add(sort)
        else:
            known[make_ready, sort] = None


def _ask_for_keys(keys: Keys) -> None:
    """Look some keys up, not in their order."""
    if keys.values is not None:
        some = take_rows(keys.values, np.arange(min(2, len(keys)))[::-1])
        keys.with_rows(some)
        keys.with_row_numbers(some)


def _few_slices(part: TimePart) -> HeldSlices | None:
    block = next((block for block in part.store.blocks.values() if block.is_loaded), None)
    slices = None if block is None else block.runs[-1]
    if slices is None or not len(slices) or slices.since is not None or slices.order:
        return None
    return slices.take(np.arange(min(2, len(slices))))


def _one_by_one(slices: HeldSlices) -> Iterator[HeldSlices]:
    """The slices without an aggregate, and with each one that native code of windrow's own combines."""
    partials = slices.partials
    yield with_fields(slices, partials=Partials((), partials.rows, ()))
    for aggregate, column in zip(partials.aggregates, partials.columns, strict=True):
        if isinstance(column, NativeColumn) and aggregate.monoid.builtin:
            yield with_fields(slices, partials=Partials((aggregate,), partials.rows, (column,)))


def _rehearse(part: TimePart, few: HeldSlices) -> None:
    sorted_and_fused(concat([few, few]))
    merged(few, few)
    moment = int(few.firsts[0])
    end = part.windows.next_end(moment)
    store = SliceStore.empty(part.store.longest, part.store.eager)
    store.added(concat([few, with_fields(few, ends=few.ends + store.span)]))  # in several blocks
    store = store.added(few)
    scratch = with_fields(part, store=store, ledger=Ledger.empty())
    for piece in scratch.fired(end - 1, end)[1]:
        piece.found.is_sorted()
    batch = Batch(few, None, START_OF_TIME)
    scratch.judge(batch, end)
    scratch.late_pairs(batch, end)
    many = np.zeros(SMALL + 1, np.int64)
    for shape in part.kinds.shapes:
        few.results(many, many + 1, shape)
