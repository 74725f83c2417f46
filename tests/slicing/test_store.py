"""The slice store: blocks of time, eager or lazy, and the ledger of what has come out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from support.budget import examples
from windrow.partials.partials import Partials
from windrow.rows.frame import build_frame
from windrow.slicing import Slicer, blocks
from windrow.slicing.blocks import SliceStore
from windrow.slicing.slices import HeldSlices

QUERY = (
    wr.query(time="t", by="k").window(wr.Tumbling(4)).agg(total=wr.sum("v"), held=wr.collect_distinct("v"))
)
ROW = st.tuples(st.integers(0, 2), st.integers(-60, 60), st.integers(0, 99))
ROWS = st.lists(ROW, min_size=1, max_size=25)
FOURS = (wr.Tumbling(4),)


def slices_of(rows: list[tuple[int, int, int]], windows: Any = FOURS) -> HeldSlices:
    """Rows of (key, time, value) as slices; keys are numbered by their values."""
    rows = sorted(rows, key=lambda row: row[:2])
    keys, times, values = (list(column) for column in zip(*rows, strict=True))
    frame = build_frame(QUERY, pa.table({"t": times, "k": keys, "v": values}))
    cut = Slicer(windows).slices(frame.times, frame.run_starts)
    partials = Partials.of_rows(frame, [a for _, a in QUERY.aggregates], cut.rows)
    numbers = np.array(keys, np.int64)[cut.rows[:-1]]
    return HeldSlices(numbers, cut.times, frame.times[cut.rows[1:] - 1], cut.ends, None, partials)


def stored(batches: list[Any], span: int, eager: bool = False) -> SliceStore:
    store = SliceStore(64, span, eager)
    for batch in batches:
        store = store.added(slices_of(batch))
    return store


def shown(slices: HeldSlices | None) -> list[Any]:
    """Key, first, last, end and results of each slice."""
    if slices is None:
        return []
    each = np.arange(len(slices))
    total, held = slices.results(each, each + 1, "disjoint")
    columns = (slices.keys, slices.firsts, slices.lasts, slices.ends)
    rows = zip(*(column.tolist() for column in columns), total.to_pylist(), held.to_pylist(), strict=True)
    return [(*row[:-1], sorted(row[-1])) for row in rows]


def expected(rows: list[Any], low: int = -1_000, high: int = 1_000) -> list[Any]:
    groups: dict[Any, list[Any]] = {}
    for key, time, value in rows:
        groups.setdefault((key, time // 4 * 4 + 4), []).append((time, value))
    return [
        (
            key,
            min(times := [t for t, _ in found]),
            max(times),
            end,
            sum(v for _, v in found),
            sorted({v for _, v in found}),
        )
        for (key, end), found in sorted(groups.items())
        if low < end <= high
    ]


@settings(max_examples=examples(40))
@given(st.lists(ROWS, min_size=1, max_size=4), st.sampled_from([1, 3, 8, 64]), st.integers(-70, 70))
def test_what_goes_in_is_what_is_held_whatever_the_blocks(batches: Any, span: int, low: int) -> None:
    store = stored(batches, span)
    rows = [row for batch in batches for row in batch]
    assert shown(store.between(-1_000, 1_000)) == expected(rows)
    assert shown(store.between(low, low + 30)) == expected(rows, low, low + 30)
    assert len(store) == len(expected(rows))
    for number, block in store.blocks.items():
        assert ((block.slices.ends - 1) // store.span == number).all()
    assert shown(store.with_span(5).between(-1_000, 1_000)) == expected(rows)
    assert shown(store.dropped_before(low).between(-1_000, 1_000)) == expected(rows, low)


@settings(max_examples=examples(40))
@given(ROWS, st.integers(-60, 0), st.integers(0, 60))
def test_eager_and_lazy_give_the_same_over_any_core(rows: Any, low: int, high: int) -> None:
    found = []
    for eager in (False, True):
        store = stored([rows], 8, eager)
        slices = store.between(-1_000, 1_000, (low, high))
        assert slices is not None
        keys = np.unique(slices.keys)
        fronts, stops = (np.searchsorted(slices.keys, keys, side) for side in ("left", "right"))
        found.append([column.to_pylist() for column in slices.results(fronts, stops, "any")])
    lazy, eager_found = found
    assert lazy[0] == eager_found[0]
    assert [set(held) for held in lazy[1]] == [set(held) for held in eager_found[1]]


def test_eager_reads_a_slice_a_key_for_each_block_inside_the_core() -> None:
    rows = [(key, time, 1) for key in (0, 1) for time in range(64)]
    store = stored([rows], 16, eager=True)
    slices = store.between(0, 64, (16, 48))
    assert slices is not None
    assert slices.ends[slices.keys == 0].tolist() == [4, 8, 12, 16, 32, 48, 52, 56, 60, 64]


def test_a_change_makes_the_partial_of_a_whole_block_anew() -> None:
    store = stored([[(0, time, 1) for time in range(64)]], 16, eager=True)
    assert store.blocks[1].whole() is store.blocks[1].whole()
    changed = store.added(slices_of([(0, 20, 100)]))
    for held, total in ((store, 16), (changed, 116)):
        whole = held.blocks[1].whole()
        assert whole is not None
        assert whole.results(np.array([0]), np.array([1]), "any")[0].to_pylist() == [total]


def test_stores_are_values() -> None:
    store = stored([[(0, 1, 1), (1, 30, 2)]], 8)
    before = shown(store.between(-1_000, 1_000))
    store.added(slices_of([(0, 1, 5), (0, 90, 1)]))
    store.dropped_before(8)
    store.with_keys(np.array([5, 6]))
    store.settled(Slicer([wr.Tumbling(8)]), 64)
    assert shown(store.between(-1_000, 1_000)) == before


def test_a_batch_changes_only_the_blocks_it_falls_into() -> None:
    store = stored([[(0, time, 1) for time in range(64)]], 16)
    changed = store.added(slices_of([(0, 20, 1)]))
    assert [changed.blocks[n] is store.blocks[n] for n in range(4)] == [True, False, True, True]


def test_blocks_are_dropped_whole_and_the_one_in_between_is_cut() -> None:
    store = stored([[(0, time, 1) for time in range(64)]], 16).dropped_before(24)
    assert sorted(store.blocks) == [1, 2, 3]
    assert store.blocks[1].slices.ends.tolist() == [28, 32]
    assert store.dropped_before(24) is store
    assert len(store.dropped_before(64)) == 0


def test_a_batch_over_many_small_blocks_makes_blocks_longer() -> None:
    store = SliceStore.empty(64)
    assert store.span == 2
    assert store.added(slices_of([(0, time, 1) for time in range(8)])).span == 2
    assert store.added(slices_of([(0, time, 1) for time in range(64)])).span == 8


def test_blocks_may_be_longer_than_windows_and_get_shorter_when_they_are_large() -> None:
    store = SliceStore.empty(4)
    for first in (0, 1_000):
        store = store.added(slices_of([(0, time, 1) for time in range(first, first + 1_000)]))
    assert store.span == 256
    assert not store.has_wholes
    spans = []
    for time in (2_000, 2_004, 2_008, 2_012, 2_016):
        store = store.added(slices_of([(key, time, 1) for key in range(70_000)]))
        spans.append(store.span)
    assert spans == [64, 16, 4, 1, 1]
    assert len(store) == 500 + 5 * 70_000
    assert shown(store.between(2_012, 2_016)) == shown(slices_of([(k, 2_012, 1) for k in range(70_000)]))


def test_a_huge_block_is_cut_by_the_batch_after_the_one_that_made_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "_LARGE", 32)
    monkeypatch.setattr(blocks, "_HUGE", 64)
    rows, more = [(0, time, 1) for time in range(0, 390, 4)], [(0, 1_001, 1)]
    huge = SliceStore.empty(12_800).added(slices_of(rows))
    assert (huge.span, list(huge.blocks), len(huge)) == (400, [0], 98)
    cut = huge.added(slices_of(more))
    assert (cut.span, sorted(cut.blocks), cut.next_span) == (100, [0, 1, 2, 3, 10], 0)
    assert shown(cut.between(-1, 2_000)) == shown(slices_of(rows + more))


def test_blocks_get_longer_where_keys_have_few_rows_in_them() -> None:
    sparse = SliceStore.empty(3_200)
    dense = SliceStore.empty(3_200)
    for hour in range(32):
        rows = [(key, 100 * hour + 3 * key, 1) for key in range(30) if key % 16 == hour % 16]
        sparse = sparse.added(slices_of(rows))
        dense = dense.added(slices_of([(0, 100 * hour + minute, 1) for minute in range(0, 100, 10)]))
        assert len(dense.blocks) == hour + 1, "whole blocks spare it from reading ten slices each"
    assert sparse.has_wholes
    assert len(sparse.blocks) <= 8
    assert len(sparse) == 60
    assert shown(sparse.between(-1, 3_200)) == shown(sparse.with_span(100).between(-1, 3_200))


def test_slices_that_only_ends_keep_apart_are_fused() -> None:
    window = wr.Sliding(10, slide=4)  # starts at 0, 4, 8 ...; ends at 2, 6, 10 ...
    rows = [(key, time, 1) for key in (0, 1) for time in range(32)]
    store = SliceStore(10, 16).added(slices_of(rows, [window]))
    fused = store.settled(Slicer([wr.Tumbling(4)]), 20)
    assert fused.blocks[0].slices.ends.tolist() == [4, 8, 12, 16] * 2
    assert fused.blocks[1] is store.blocks[1], "its time has not passed"
    assert fused.settled(Slicer([wr.Tumbling(4)]), 20) is fused
    assert [row[4] for row in shown(fused.blocks[0].slices)] == [4] * 8


def test_layers_stay_apart_until_they_are_read() -> None:
    store = stored([[(0, 1, 1)]], 8)
    late = HeldSlices(**{**vars(slices_of([(0, 2, 5)])), "since": np.array([7])})
    store = store.added(late).added(late)
    assert len(store) == 2
    assert store.blocks[0].whole() is None
    slices = store.between(0, 8)
    assert slices is not None
    assert slices.results(np.array([0]), np.array([2]), "any")[0].to_pylist() == [11]


def only_totals(slices: HeldSlices) -> HeldSlices:
    partials = slices.partials
    return replace(slices, partials=Partials(partials.aggregates[:1], partials.rows, partials.columns[:1]))


def totals(store: SliceStore) -> list[Any]:
    slices = store.between(-1_000, 1_000)
    assert slices is not None
    each = np.arange(len(slices))
    columns = (slices.keys, slices.firsts, slices.lasts, slices.ends, slices.partials.rows)
    [found] = slices.results(each, each + 1, "disjoint")
    return [*zip(*(column.tolist() for column in columns), found.to_pylist(), strict=True)]


@settings(max_examples=examples(40))
@given(st.lists(ROWS, min_size=2, max_size=8), st.sampled_from([8, 64]))
def test_slices_that_wait_in_runs_are_those_that_are_put_together_at_once(batches: Any, span: int) -> None:
    found, spans = [], []
    for longest, tiny, most in ((1, 0, 0), (1 << 40, 0, 0), (1, 4, 3), (1 << 40, 4, 3)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(blocks, "_LONG_RUN", longest)
            patch.setattr(blocks, "_TINY_RUN", tiny)
            patch.setattr(blocks, "_MOST_TINY", most)
            stores = [SliceStore(64, span, eager=False)]
            for batch in batches:
                stores.append(stores[-1].added(only_totals(slices_of(batch))))
        found.append([(totals(store), len(store)) for store in stores[1:]])
        spans.append([store.span for store in stores[1:]])
    assert found[1:] == [found[0]] * 3
    assert spans[0] == spans[1]  # while tiny runs wait, blocks stay as long as they are


def test_tiny_runs_wait_for_others_like_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "_TINY_RUN", 2)
    monkeypatch.setattr(blocks, "_MOST_TINY", 3)
    store, lengths = SliceStore(64, 64, eager=False), []
    for rows in ([(0, 0, 1)], *[[(0, 4 * (k % 2), 1)] for k in range(6)], [(0, 4 * k, 1) for k in range(3)]):
        store = store.added(only_totals(slices_of(rows)))
        lengths.append([len(run) for run in store.blocks[0].runs])
    assert lengths == [[1], [1, 1], [1, 1, 1], [1, 1, 1, 1], [2], [2, 1], [2, 1, 1], [3]]
    assert [total for *_, total in totals(store)] == [5, 4, 1]


def test_a_long_run_waits_until_others_are_a_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "_LONG_RUN", 2)
    monkeypatch.setattr(blocks, "_TINY_RUN", 0)
    many, few = [(0, 4 * k, 1) for k in range(16)], [(0, 4 * k, 1) for k in range(3)]
    store = SliceStore(64, 64, eager=False).added(only_totals(slices_of(many)))
    lengths = []
    for _ in range(2):
        for row in few:
            store = store.added(only_totals(slices_of([row])))
            lengths.append([len(run) for run in store.blocks[0].runs])
        assert store.blocks[0].most == 19
        assert [total for *_, total in totals(store)][:4] == [2 + len(lengths) // 4] * 3 + [1]
        assert store.blocks[0].most == len(store) == 16, "runs are not kept beside what they became"
    assert lengths == [[16, 1], [16, 2], [16, 3], [16, 1], [16, 2], [16, 3]]
    store = store.added(only_totals(slices_of([(1, 4 * k, 1) for k in range(4)])))
    assert [len(run) for run in store.blocks[0].runs] == [20]


def test_only_native_aggregates_of_windrow_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "_LONG_RUN", 2)
    store = stored([[(0, 4 * k, 1) for k in range(16)], [(0, 4, 1)]], 64)
    assert [len(run) for run in store.blocks[0].runs] == [16]
    assert store.blocks[0].slices.may_wait_for(store.blocks[0].slices) is False
