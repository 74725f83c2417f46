"""first, last, collect, collect_distinct, concat."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.budget import examples
from support.monoid_folds import fold, grouped_fold, native_result, result
from windrow.monoids.equality import same
from windrow.monoids.laws import check
from windrow.monoids.positional import collect, collect_distinct, concat, first, last

values = st.one_of(st.integers(), st.floats(), st.text(max_size=3), st.booleans())
seeds = st.integers(0, 2**32)


@given(st.lists(values, min_size=1), seeds)
def test_first_and_last_are_the_ends_however_the_rows_are_grouped(rows, seed):
    assert same(first.lower(grouped_fold(first, rows, seed)), rows[0])
    assert same(last.lower(grouped_fold(last, rows, seed)), rows[-1])


def test_a_value_like_the_native_identity_is_still_a_value():
    assert native_result(first, np.array([0.0, 5.0])) == 0.0
    assert native_result(last, np.array([5, 0])) == 0
    assert fold(first, [None]) == (True, None)


@pytest.mark.parametrize("dtype", ["f8", "i8", "?"])
@pytest.mark.parametrize("monoid", [first, last], ids=repr)
def test_native_first_and_last_keep_the_type_of_the_column(monoid, dtype):
    column = np.array([1, 0, 1], dtype)
    answer = native_result(monoid, column)
    assert answer == monoid.lower(fold(monoid, column.tolist()))
    assert np.asarray(answer).dtype == dtype


@given(st.lists(values), seeds)
def test_collect_keeps_all_values_in_order(rows, seed):
    assert same(collect.lower(grouped_fold(collect, rows, seed)), rows)


@given(st.lists(st.one_of(st.integers(-3, 3), st.sampled_from([math.nan, -0.0, "a", "b"]))), seeds)
def test_collect_distinct_is_the_order_of_first_appearance(rows, seed):
    expected = []
    for value in rows:
        if not any(same(value, known) for known in expected):
            expected.append(value)
    assert same(collect_distinct.lower(grouped_fold(collect_distinct, rows, seed)), expected)


def test_nans_are_one_value_whichever_object_they_are():
    rows = [float("nan"), 1.0, float("-nan"), np.float64("nan")]
    assert same(result(collect_distinct, rows), [math.nan, 1.0])


def test_collect_distinct_says_what_to_do_about_values_without_a_hash():
    with pytest.raises(TypeError, match=r"hashed.*\[1\].*tuple"):
        collect_distinct.lift([1])


@given(st.lists(st.text(max_size=3)), st.sampled_from(["", ",", "--"]), seeds)
def test_concat_joins(rows, sep, seed):
    joined = grouped_fold(concat(sep=sep) if sep else concat, rows, seed)
    assert joined == (sep.join(rows) if rows or not sep else None)


@given(st.lists(st.binary(max_size=3), min_size=1), seeds)
def test_concat_joins_bytes(rows, seed):
    assert grouped_fold(concat, rows, seed) == b"".join(rows)
    assert grouped_fold(concat(sep=b"|"), rows, seed) == b"|".join(rows)


def test_an_empty_text_is_a_row_where_there_is_a_separator():
    assert result(concat(sep=","), ["", "", "x"]) == ",,x"


def test_concat_refuses_numbers_and_a_wrong_separator():
    with pytest.raises(TypeError, match=r"int: 3.*[Cc]ast"):
        concat.lift(3)
    with pytest.raises(TypeError, match="sep=3"):
        concat(sep=3)


def test_concat_binds_columns_and_keeps_its_separator():
    assert repr(concat("name", sep=", ")) == "concat('name', sep=', ')"
    assert concat("name", sep=", ").monoid.combine("a", "b") == "a, b"


@given(st.lists(values, min_size=1, max_size=5))
@settings(max_examples=examples(20))
def test_laws(rows):
    for monoid in (first, last, collect, collect_distinct):
        assert check(monoid, rows, cases=100)


@given(st.lists(st.text(max_size=3), min_size=1, max_size=5), st.sampled_from(["", ";"]))
@settings(max_examples=examples(20))
def test_laws_of_concat(rows, sep):
    assert check(concat(sep=sep), rows, cases=100)
    assert check(concat(sep=sep.encode()), [row.encode() for row in rows], cases=100)


def test_results_are_fresh_lists():
    partial = fold(collect, [1, 2])
    collect.lower(partial).append(3)
    assert collect.lower(partial) == [1, 2]
