"""Rows that were folded into slices elsewhere, on their way to an operator's state.

Where rows are spread over machines, each folds its own: what travels is a partial per key and slice, however
many rows there were. The process that folds does not know the watermark, so where lateness is judged row by
row (sessions, corrections) every moment stays a slice."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from windrow.arrays import END_OF_TIME, START_OF_TIME, Ints
from windrow.engines.stream.advance import Due
from windrow.engines.stream.assign import late_before, take_slices
from windrow.engines.stream.corrections import corrected
from windrow.engines.stream.late import count_slices
from windrow.engines.stream.overflow import with_slices_reach
from windrow.engines.stream.plan import Plan
from windrow.engines.stream.snapshot import read_slices, slices_state
from windrow.engines.stream.state import State
from windrow.rows.columns import plain_array
from windrow.rows.frame import Frame
from windrow.rows.sorting import counting_sort
from windrow.slicing.batch import Batch, fold_batch
from windrow.slicing.blocks import Block
from windrow.slicing.slices import HeldSlices, KeyedSlices, concat, merge_order
from windrow.values import with_fields

__all__ = [
    "fold",
    "folded_state",
    "restored_folded",
    "state_without_times",
    "taken_folded",
    "without_times",
]


def folded_state(folded: KeyedSlices) -> dict[str, Any]:
    """What travels, for the codec."""
    first = {} if folded.earliest is None else {"earliest": folded.earliest}
    return {"keys": folded.keys, "slices": slices_state(folded.slices), **first}


def restored_folded(plan: Plan, state: dict[str, Any]) -> KeyedSlices:
    places = list(range(len(plan.aggregates)))
    slices = read_slices(plan, places, state["slices"])
    slices.check_invariants(state["keys"].num_rows, by="firsts")
    return KeyedSlices(state["keys"], slices, state.get("earliest"))


def fold(plan: Plan, frame: Frame) -> KeyedSlices:
    """The rows of a frame, all of which have a time, folded."""
    cuts = plan.cuts_moments or plan.query.corrects or plan.has_sessions
    numbers = np.arange(len(frame.key_rows))
    batch = fold_batch(frame, numbers, plan.slicer, plan.aggregates, START_OF_TIME, plan.query.order, cuts)
    return KeyedSlices(frame.key_table(), batch.slices)


def without_times(plan: Plan, folded: KeyedSlices) -> KeyedSlices:
    """The same without the times of rows, if nobody will ask for them; what travels is a third smaller then.
    For rows that cannot be late."""
    slices = folded.slices
    if not len(slices) or not _needs_no_times(plan, slices):
        return folded
    earliest, largest = int(slices.firsts.min()), int(slices.lasts.max())
    return KeyedSlices(folded.keys, slices.without_times(largest), earliest)


def state_without_times(plan: Plan, state: State) -> State:
    """The same for the slices that time windows hold."""
    if state.time is None:
        return state
    time, store = state.time, state.time.store
    blocks = {number: _without_times(plan, state, block) for number, block in store.blocks.items()}
    return with_fields(state, time=with_fields(time, store=with_fields(store, blocks=blocks)))


def _without_times(plan: Plan, state: State, block: Block) -> Block:
    slices = block.slices
    if not _needs_no_times(plan, slices):
        return block
    return Block(slices.without_times(state.largest), block.is_settled)


def _needs_no_times(plan: Plan, slices: HeldSlices) -> bool:
    """Whether the times of rows in slices say nothing that their ends do not: sessions end by them, empty
    windows and corrections are found by them, and errors name them."""
    if plan.has_sessions or plan.counts_revisions or plan.query.empty == "include":
        return False
    return slices.may_wait_for(slices)


def taken_folded(plan: Plan, state: State, parts: Sequence[KeyedSlices]) -> tuple[State, Due]:
    """The state after slices that came together, at the same watermark; and corrections that are due."""
    renumbered = []
    keys = state.keys
    for part in parts:
        keys, numbers = keys.with_values({name: plain_array(part.keys.column(name)) for name in keys.by})
        renumbered.append(with_fields(part.slices, keys=numbers[part.slices.keys]))
    slices = _in_order(renumbered, len(keys))
    batch = Batch(slices, None, late_before(plan, state))
    earliest = min((_earliest(part) for part in parts), default=END_OF_TIME)
    found = take_slices(plan, with_fields(state, keys=keys), batch, earliest)
    taken = np.ones(len(slices), np.bool_) if found.taken is None else found.taken
    state = count_slices(found.state, slices, earliest, taken, found.inside)
    return corrected(plan, with_slices_reach(plan, state, slices, found.due), found.due)


def _in_order(parts: list[HeldSlices], keys: int) -> HeldSlices:
    """Slices by key and time; of equal ones those of the first part come first. In each part, those of a key
    are in order, and together."""
    slices = concat(parts)
    if len(parts) == 1 and (slices.keys[1:] >= slices.keys[:-1]).all():  # all parts have had the same keys
        return slices
    cuts = np.cumsum([0, *map(len, parts)])
    runs = [
        begin + counting_sort(slices.keys[begin:end], max(keys, 1), None)
        for begin, end in itertools.pairwise(cuts.tolist())
    ]
    while len(runs) > 1:
        odd = runs[len(runs) // 2 * 2 :]
        runs = [_merged(slices, *pair) for pair in zip(runs[::2], runs[1::2], strict=False)] + odd
    return slices.take(runs[0])


def _merged(slices: HeldSlices, first: Ints, second: Ints) -> Ints:
    both = np.concatenate([first, second])
    return both[merge_order(slices.keys[both], slices.firsts[both], len(first))]


def _earliest(part: KeyedSlices) -> int:
    return int(part.slices.firsts.min(initial=END_OF_TIME)) if part.earliest is None else part.earliest
