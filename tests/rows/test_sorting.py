"""Sorting by digits, and numbers for integers: what NumPy and Arrow give, sooner."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.rows.keys import encoded_keys
from windrow.rows.sorting import are_sorted, order_of_floats, order_of_integers, radix_sort


@given(st.lists(st.integers(0, 2**45), max_size=60), st.integers(0, 12))
def test_digits_sort_as_numbers_do_and_leave_the_order_of_equal_ones(numbers: list[int], bits: int) -> None:
    found = radix_sort(np.array(numbers, np.int64), bits)
    assert found.tolist() == sorted(numbers, key=lambda number: number >> bits)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(-3, 3)), max_size=8))
def test_rows_are_sorted_if_sorting_changes_nothing(rows: list[tuple[int, int]]) -> None:
    keys, times = (np.array([row[k] for row in rows], np.int64) for k in range(2))
    assert are_sorted(keys, times) == (sorted(rows) == rows)
    assert are_sorted(keys[:0], times) == (sorted(times.tolist()) == times.tolist())


@pytest.mark.parametrize("fall", [None, 0, 1022, 1023, 1024, 1025, 2047, 2048, 2998])
def test_a_fall_is_seen_wherever_blocks_end(fall: int | None) -> None:
    values = np.arange(3_000) // 3
    if fall is not None:
        values[fall] = 5_000
    same = np.zeros(3_000, np.int32)
    for keys, times in ((same[:0], values), (same, values), (values, np.zeros(3_000, np.int64))):
        assert are_sorted(keys, times) == (fall is None)


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint16(), pa.int64(), pa.uint64()], ids=str)
@given(data=st.data())
def test_integer_keys_are_numbered_as_they_first_appear(kind: Any, data: st.DataObject) -> None:
    limits = np.iinfo(kind.to_pandas_dtype())
    small, any_ = st.integers(3, 12), st.integers(int(limits.min), int(limits.max))
    values = data.draw(st.lists(st.one_of(st.none(), small, any_), max_size=20))
    codes, firsts = encoded_keys(("k",), pa.table({"k": pa.array(values, kind)}))
    numbers = {value: number for number, value in enumerate(dict.fromkeys(values))}
    assert codes.tolist() == [numbers[value] for value in values]
    assert firsts.tolist() == [values.index(value) for value in numbers]


@given(st.lists(st.lists(st.sampled_from(["a", "b", "", None, "long enough"]), max_size=6), max_size=4))
def test_keys_that_are_encoded_are_numbered_as_others_are(parts: list[list[str | None]]) -> None:
    plain = pa.chunked_array([pa.array(part, pa.string()) for part in parts], pa.string())
    encoded = pa.chunked_array(
        [pa.array(part, pa.string()).dictionary_encode() for part in parts],
        pa.dictionary(pa.int32(), pa.string()),
    )
    wanted, found = (encoded_keys(("k",), pa.table({"k": column})) for column in (plain, encoded))
    for a, b in zip(wanted, found, strict=True):
        assert a.tolist() == b.tolist()


def test_a_dictionary_with_a_value_twice_has_one_key_of_it() -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([2, 0, 1, 2]), pa.array(["a", "a", "b"]))
    codes, firsts = encoded_keys(("k",), pa.table({"k": column}), np.array([0, 1, 2]))
    assert (codes.tolist(), firsts.tolist()) == ([0, 1, 1], [0, 1])


def test_a_dictionary_with_a_null_in_it_has_a_key_of_null() -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([1, 0, 1]), pa.array(["a", None]))
    assert encoded_keys(("k",), pa.table({"k": column}))[0].tolist() == [0, 1, 0]


@given(st.lists(st.tuples(st.integers(-5, 5), st.sampled_from("abc")), max_size=20))
def test_keys_of_two_columns_are_numbered_as_they_first_appear(rows: list[tuple[int, str]]) -> None:
    columns = {name: [row[k] for row in rows] for k, name in enumerate("ij")}
    codes, _ = encoded_keys(
        ("i", "j"),
        pa.table({"i": pa.array(columns["i"], pa.int64()), "j": pa.array(columns["j"], pa.string())}),
    )
    numbers = {row: number for number, row in enumerate(dict.fromkeys(rows))}
    assert codes.tolist() == [numbers[row] for row in rows]


@given(st.lists(st.floats(allow_nan=False), max_size=60))
def test_floats_are_put_in_the_order_that_numpy_has(numbers: list[float]) -> None:
    values = np.array(numbers, np.float64) + 0.0  # zeros of one sign
    assert order_of_floats(values).tolist() == np.argsort(values, kind="stable").tolist()


@pytest.mark.parametrize("count", [3, 3_000])
def test_floats_that_differ_in_their_last_bits_only_are_put_in_order(count: int) -> None:
    chance = np.random.default_rng(5)
    near = 1e6 + chance.permutation(count) // 2 * 2.0**-32  # each twice
    for values in (near, np.where(chance.random(count) < 0.5, -near, near)):
        assert order_of_floats(values).tolist() == np.argsort(values, kind="stable").tolist()


@given(st.lists(st.one_of(st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1)), max_size=60))
def test_integers_are_put_in_the_order_that_numpy_has(numbers: list[int]) -> None:
    values = np.array(numbers, np.int64)
    assert order_of_integers(values).tolist() == np.argsort(values, kind="stable").tolist()
