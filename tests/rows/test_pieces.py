"""Passes over rows in pieces give what one pass gives, with any number of threads."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest

from windrow import threads
from windrow.rows.keys import encoded_keys, numbered_values
from windrow.rows.merging import sort_in_pieces
from windrow.rows.pieces import (
    between,
    counts_before,
    extremes,
    key_counts,
    put_in_pieces,
    take_array,
    take_in_pieces,
)
from windrow.rows.sorting import counting_sort, stable_order
from windrow.slicing.finder.sorted_rows import rolling_time
from windrow.threads import using_threads

RANDOM = np.random.default_rng(3)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "PIECE", 16)


@pytest.mark.parametrize("count", [0, 1, 31, 32, 33, 100, 1000])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_sorting(count: int, number: int) -> None:
    numbers = RANDOM.integers(-50, 50, count)
    keys = RANDOM.integers(0, 5, count).astype(np.int32)
    order = RANDOM.permutation(count)
    with using_threads(number):
        assert (sort_in_pieces(numbers.copy()) == np.sort(numbers)).all()
        assert (stable_order(numbers) == np.argsort(numbers, kind="stable")).all()
        assert (counting_sort(keys, 5, None) == np.argsort(keys, kind="stable")).all()
        assert (counting_sort(keys, 5, order) == order[np.argsort(keys[order], kind="stable")]).all()
        assert (key_counts(keys, 5) == np.bincount(keys, minlength=5)).all()
        assert (take_in_pieces(numbers, order) == numbers[order]).all()
        assert (put_in_pieces(numbers, order, count + 1)[order] == numbers).all()
        for column in (pa.array(numbers), pa.array(numbers.astype(str)), pa.array(numbers, mask=numbers < 0)):
            assert take_array(column, order).equals(column.take(pa.array(order)))
        before = counts_before(numbers > 0, order)
        assert (before == np.concatenate([[0], np.cumsum(numbers[order] > 0)])).all()
        stops = np.arange(count + 1)
        assert (between(before, stops // 2, stops) == before[stops] - before[stops // 2]).all()
        if count:
            assert extremes(numbers) == (numbers.min(), numbers.max())


@pytest.mark.parametrize("number", [1, 3])
@pytest.mark.parametrize(
    "column",
    [
        pa.array(RANDOM.choice(["a", "b", None, ""], 300)),
        pa.array(RANDOM.choice([0.0, -0.0, np.nan, 2.5], 300), mask=RANDOM.random(300) < 0.1),
        pa.array(np.sort(RANDOM.integers(0, 9, 300))),
        pa.array(np.arange(300)),
        pa.array(RANDOM.random(300) < 0.5),
    ],
    ids=["text", "float", "sorted", "distinct", "boolean"],
)
def test_keys_are_numbered_in_order_of_first_appearance(
    column: pa.Array, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pa.table({"k": column})
    with using_threads(number):
        codes, values = numbered_values(column)
        keys, rows = encoded_keys(("k",), table)
    monkeypatch.setattr(threads, "PIECE", 1000)
    wanted_codes, wanted_values = numbered_values(column)
    wanted_keys, wanted_rows = encoded_keys(("k",), table)
    assert codes.tolist() == wanted_codes.tolist()
    assert repr(values.to_pylist()) == repr(wanted_values.to_pylist())
    assert (keys.tolist(), rows.tolist()) == (wanted_keys.tolist(), wanted_rows.tolist())


@pytest.mark.parametrize("number", [1, 3])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_rolling_time_is_what_its_definition_says(size: int, number: int) -> None:
    runs = np.array([0, 3, 3, 150, 151, 200])
    times = np.concatenate([np.sort(RANDOM.integers(-60, 60, n)) for n in np.diff(runs)])
    with using_threads(number):
        fronts, stops = rolling_time(times, runs, size)
    for begin, end in itertools.pairwise(runs):
        for i in range(begin, end):
            inside = [j for j in range(begin, end) if times[i] - size < times[j] <= times[i]]
            assert (fronts[i], stops[i]) == (inside[0], inside[-1] + 1)
