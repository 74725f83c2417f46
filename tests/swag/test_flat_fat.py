"""FlatFAT where it is more than a FIFO window: values that leave from the middle, resizes, changes that wait
for a query."""

from __future__ import annotations

import numpy as np
import pytest

import windrow as wr
from support.raising_combines import Brittle
from support.swag_windows import filled
from windrow.swag import AggregateError, FlatFAT


def test_remove_keeps_a_null_at_the_front_a_null() -> None:
    window = filled(FlatFAT(wr.max), [None, 5])
    window.remove(1)
    assert (window.query(), len(window)) == (None, 1)
    window = filled(FlatFAT(wr.max.with_rules(nulls="propagate")), [None, 5, 3])
    window.remove(1)
    assert window.query() is None
    window.remove(0)
    assert window.query() == 3


def test_remove_takes_the_time_of_its_value_along() -> None:
    window = FlatFAT(wr.concat)
    window.roll_time([0, 5, 6], list("abc"), 10)
    window.remove(1)
    assert window.roll_time([10], ["d"], 10) == ["cd"]
    window.remove(2)
    assert window.roll_time([15], ["e"], 6) == ["de"]


def test_remove_takes_the_time_of_its_value_along_behind_a_native_batch() -> None:
    window = FlatFAT(wr.sum)
    window.roll_time(np.array([-9, 0, 0, 5]), np.array([1, 2, 4, 8]), 10)
    window.remove(1)
    assert window.roll_time(np.array([9]), np.array([16]), 10).tolist() == [4 + 8 + 16]
    assert window.roll_time(np.array([11]), np.array([32]), 10).tolist() == [8 + 16 + 32]


def test_remove_after_a_native_roll_removes_the_value_that_was_asked_for() -> None:
    window = filled(FlatFAT(wr.sum), [1, 2, 4, 8])
    window.remove(1)  # native code needs the leaves without holes: from here on 1 is where 2 was
    assert window.roll(np.array([16]), 10).tolist() == [1 + 4 + 8 + 16]
    window.remove(0)
    assert window.query() == 4 + 8 + 16
    with pytest.raises(KeyError, match="value number 1 is not in the window"):
        window.remove(1)
    window.roll(np.array([32]), 10)
    window.remove(3)
    window.remove(5)
    assert window.query() == 4 + 16


def test_a_resize_whose_combine_raises_loses_nothing() -> None:
    brittle = Brittle()
    window = FlatFAT(brittle.monoid)
    filled(window, "abcd").query()
    brittle.stays_broken = True
    brittle.calls_left = 1
    filled(window, "e")  # doubles
    with pytest.raises(ZeroDivisionError):
        window.query()
    brittle.calls_left = 0
    assert (window.capacity, window.query()) == (8, "abcde")
    brittle.calls_left = 1
    window.evict_many(4)  # halves
    window.insert("f")
    with pytest.raises(ZeroDivisionError):
        window.range_query(0, 2)
    brittle.calls_left = 0
    assert (window.capacity, window.query()) == (4, "ef")


def test_only_queries_combine() -> None:
    brittle = Brittle()
    window = FlatFAT(brittle.monoid)
    brittle.stays_broken = True
    brittle.calls_left = 1
    filled(window, "abcdefghijklmnopqrstuvwxyz")
    window.remove(20)
    window.evict_many(19)
    window.evict()
    window.insert_partial("()")
    brittle.calls_left = 0
    assert window.query() == "vwxyz()"


def test_the_query_after_a_resize_makes_the_whole_tree() -> None:
    calls = []
    window = FlatFAT(
        wr.monoid(lift=str, combine=lambda a, b: calls.append(a) or a + b, identity="", compile=False)
    )
    filled(window, "abcdefgh").query()
    calls.clear()
    filled(window, "i")
    assert (window.capacity, len(calls)) == (16, 0)
    assert window.query() == "abcdefghi"
    assert len(calls) == 8  # the 15 inner nodes but for those over free leaves


def test_a_window_that_is_never_asked_stays_bounded() -> None:
    window, values = FlatFAT(wr.sum), list[int]()
    for number in range(20_000):
        window.insert(number)
        values.append(number)
        if len(window) > 4:
            window.evict()
            del values[0]
        if number % 7 == 0:
            window.remove(number)
            values.remove(number)
    kept = sum(len(value) for value in vars(window).values() if hasattr(value, "__len__"))
    assert kept < 100
    assert window.query() == sum(values)


def test_a_combine_that_raises_over_the_tree_of_a_native_roll_names_the_row() -> None:
    def combine(a: int, b: int) -> int:
        return a + b + 0 // (a + b <= 100)

    window = filled(FlatFAT(wr.monoid(name="small", lift=lambda v: v, combine=combine, identity=0)), [60, 60])
    with pytest.raises(AggregateError, match="'small' raised ZeroDivisionError at row 0"):
        window.roll(np.array([1, 2]), 9)
    assert len(window) == 2
    window.remove(0)
    assert window.roll(np.array([1, 2]), 9).tolist() == [61, 63]
    with pytest.raises(AggregateError, match="'small' raised ZeroDivisionError at row 1"):
        window.roll(np.array([3, 90]), 9)
    assert (len(window), window.query()) == (3, 63)


def test_values_of_a_native_roll_keep_their_numbers_when_a_batch_raises() -> None:
    window = FlatFAT(wr.monoid(name="mine", lift=lambda v: 12 // v, combine=lambda a, b: a + b, identity=0))
    filled(window, [1, 2, 3])
    window.remove(1)
    window.roll([4], 9)
    with pytest.raises(AggregateError, match="row 1"):
        window.roll([6, 0], 2)
    window.remove(0)
    assert window.query() == 4 + 3
