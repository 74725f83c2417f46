"""What windows over slices cost in combines, counted: a row is combined once however many windows there are,
and a window costs O(1), O(log n) or O(sqrt(n)) combines, never one a slice.

The aggregate is plain Python and commutative, so that a slice is an edge-to-edge stretch and not a moment.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from windrow.partials.plain_tree import PlainTree


class Counting:
    """A sum that counts calls of combine."""

    def __init__(self) -> None:
        self.calls = 0
        self.monoid = wr.monoid(
            name="counting",
            lift=lambda v: v,
            combine=self._combine,
            lower=lambda v: v,
            identity=0,
            commutative=True,
            compile=False,
        )

    def _combine(self, a: int, b: int) -> int:
        self.calls += 1
        return a + b

    def cost(self, operation: Callable[[], Any]) -> tuple[int, Any]:
        before = self.calls
        found = operation()
        return self.calls - before, found


def opened(counting: Counting, windows: list[Any], **options: Any) -> Any:
    named = {f"w{number}": window for number, window in enumerate(windows)}
    return wr.query(time="t", **options).window(**named).agg(total=counting.monoid("v")).open()


def rows(times: Any) -> pa.Table:
    return pa.table({"t": times, "v": np.ones(len(times), np.int64)})


@pytest.mark.parametrize("count", [1, 10, 200])
def test_a_row_is_combined_once_however_many_windows_there_are(count: int) -> None:
    counting = Counting()
    windows = [wr.Sliding(100 * (1 + k % 20), slide=100) for k in range(count - 1)] + [wr.Tumbling(100)]
    operator = opened(counting, windows)
    cost, _ = counting.cost(lambda: operator.push(rows(np.arange(1_000))))
    assert cost == 1_000 - 10  # ten slices; the first row of each is not combined with anything
    cost, _ = counting.cost(lambda: operator.push(rows(np.arange(1_000))))
    assert cost == 1_000 - 10 + 10  # and each slice of the batch once with the slice that is there


@pytest.mark.parametrize("size", [32, 1_024])
def test_a_sliding_window_that_fires_alone_costs_its_slices_lazily_and_far_less_eagerly(size: int) -> None:
    counting = Counting()
    operator = opened(counting, [wr.Sliding(size, slide=1)], watermark=0)
    for first in range(0, 2 * size, 16):
        operator.push(rows(np.arange(first, first + 16)))
    store = operator._state.time.store
    assert store.eager == (size > 64)
    costs = []
    for time in range(2 * size, 2 * size + 33):
        cost, found = counting.cost(lambda t=time: operator.push(rows([t])))
        assert found["total"].to_pylist() == [size]
        costs.append(cost)
    # eager: slices of the blocks at both ends, one partial per block in between, and now and then the partial
    # of a block that is complete
    bound = 3 * store.span + size / store.span if store.eager else size
    assert np.mean(costs) <= bound
    assert not store.eager or bound <= 4 * math.sqrt(size)


@pytest.mark.parametrize("size", [64, 1_024])
def test_many_sliding_windows_that_fire_together_cost_a_constant_each(size: int) -> None:
    counting = Counting()
    operator = opened(counting, [wr.Sliding(size, slide=1)])
    operator.push(rows(np.arange(8 * size)))
    cost, found = counting.cost(lambda: operator.advance(8 * size))
    assert found.num_rows == 8 * size
    assert cost <= 4 * found.num_rows  # Two-Stacks: a push, a flip and a query


def test_many_kinds_of_windows_ask_a_tree() -> None:
    counting = Counting()
    windows = [wr.Sliding(256 - k, slide=1) for k in range(10)]
    operator = opened(counting, windows)
    operator.push(rows(np.arange(1_024)))
    cost, found = counting.cost(lambda: operator.advance(1_024))
    assert found.num_rows == 10 * 1_024
    assert cost <= 1_024 + found.num_rows * 2 * math.log2(1_024)
    assert cost < found.num_rows * 256 / 10


def test_a_correction_costs_no_more_than_the_windows_it_corrects() -> None:
    counting = Counting()
    operator = opened(counting, [wr.Sliding(100, slide=1)], allowed_lateness=1_000)
    operator.push(rows(np.arange(500)))
    operator.advance(500)
    cost, found = counting.cost(lambda: operator.push(rows([250])))
    assert found.num_rows == 100
    assert found["total"].to_pylist() == [101] * 100
    assert cost <= 1 + 200 + 100 * 2 * math.log2(200)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 100])
def test_the_tree_combines_neighbours_in_order_and_few_times(count: int) -> None:
    calls = 0

    def combine(a: str, b: str) -> str:
        nonlocal calls
        calls += 1
        assert ord(b[0]) == ord(a[-1]) + 1, "neighbours, from left to right"
        return a + b

    values = [chr(256 + k) for k in range(count)]
    tree = PlainTree(combine, values)
    assert calls <= count - 1
    for front in range(count):
        for stop in range(front + 1, count + 1):
            calls = 0
            assert tree.fold(front, stop) == "".join(values[front:stop])
            assert calls <= 2 * math.log2(count) + 1
