"""bloom, approx_distinct and count_min: laws, native forms, and the error bounds that they state."""

from __future__ import annotations

import functools
import math

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from support.budget import examples
from support.monoid_folds import fold, grouped_fold, result
from windrow.compile.native import jit_for
from windrow.monoids.hashing import encode, encode_array
from windrow.monoids.laws import check
from windrow.monoids.sketches import (
    EXACT,
    approx_distinct,
    bloom,
    bloom_contains,
    count_min,
    count_min_estimate,
)

SMALL = [bloom(bits=128, hashes=3), approx_distinct(precision=4), count_min(width=10, depth=3)]
WIDE = [
    bloom,
    bloom(bits=64 * 157, hashes=7),
    approx_distinct,
    approx_distinct(precision=4),
    count_min,
    *SMALL,
]
values = st.one_of(st.integers(), st.floats(), st.text(max_size=4), st.binary(max_size=4), st.booleans())


@functools.cache
def native_fill(monoid):
    """A loop that lifts codes into a row."""
    lift_into = jit_for(checked=False)(monoid.wide.lift_into)

    @numba.njit
    def fill(codes, row):
        for code in codes:
            lift_into(row, code)

    return fill


def sketch_of(monoid, codes, row=None):
    """The row of many codes, by the native functions."""
    row = np.zeros(monoid.wide.width, monoid.wide.dtype) if row is None else row
    native_fill(monoid)(codes, row)
    return row


@given(st.lists(values, min_size=1, max_size=5))
@settings(max_examples=examples(20))
def test_laws(rows):
    for monoid in SMALL:
        assert check(monoid, rows, cases=100)


@pytest.mark.parametrize("monoid", [bloom, approx_distinct, count_min], ids=repr)
def test_laws_at_full_size(monoid):
    assert check(monoid, [1.5, -2.0, math.nan, 7.0])
    assert check(monoid, ["a", "b", ""])


@pytest.mark.parametrize("monoid", WIDE, ids=repr)
def test_native_and_plain_forms_give_the_same_bits(monoid):
    wide = monoid.wide
    jit = jit_for(checked=False)
    lift_into, combine_into = jit(wide.lift_into), jit(wide.combine_into)
    items = [3, -1, 0.25, math.nan, "text", b"bytes", 2**63 - 1]
    total = np.zeros(wide.width, wide.dtype)
    for item in items:
        row = np.zeros(wide.width, wide.dtype)
        lift_into(row, np.uint64(wide.encode(item)))
        plain = monoid.lift(item)
        assert plain.dtype == row.dtype
        np.testing.assert_array_equal(plain, row)
        combine_into(total, row, total)
    np.testing.assert_array_equal(total, fold(monoid, items))


@pytest.mark.parametrize("monoid", WIDE, ids=repr)
@pytest.mark.parametrize("jit", [jit_for(checked=False), lambda function: function], ids=["native", "plain"])
def test_combine_into_may_write_over_its_arguments(monoid, jit):
    a, b = fold(monoid, [1, 2, 3]), fold(monoid, [3, 4])
    expected = monoid.combine(a, b)
    for place in (0, 1, 2):
        rows = [a.copy(), b.copy(), np.ones_like(a)]
        jit(monoid.wide.combine_into)(rows[0], rows[1], rows[place])
        np.testing.assert_array_equal(rows[place], expected)


@given(st.lists(values, max_size=30), st.integers(0, 2**32))
def test_grouping_does_not_change_a_sketch(rows, seed):
    for monoid in SMALL:
        np.testing.assert_array_equal(fold(monoid, rows), grouped_fold(monoid, rows, seed))


def test_the_identity_cannot_be_written():
    with pytest.raises(ValueError, match="read-only"):
        bloom.identity[0] = 1


def test_results_of_empty_windows():
    assert bloom.empty_result() is None
    assert count_min.empty_result() is None
    assert approx_distinct.empty_result() == 0
    assert approx_distinct.lower(approx_distinct.identity) == 0
    assert bloom_contains(None, 1) is False
    assert count_min_estimate(None, 1) == 0


# -- bloom ---------------------------------------------------------------------------------------------------


@given(st.lists(values, min_size=1, max_size=50))
def test_bloom_has_no_false_negatives(rows):
    answer = result(bloom(bits=256, hashes=3), rows)
    assert all(bloom_contains(answer, row) for row in rows)


@pytest.mark.parametrize(("bits", "hashes"), [(16384, 4), (16384, 1), (64 * 157, 7), (1024, 4)])
@pytest.mark.parametrize("load", [0.05, 0.2, 0.5])
def test_bloom_false_positives_are_as_stated(bits, hashes, load):
    monoid = bloom(bits=bits, hashes=hashes)
    count, asked, rounds = int(bits * load), 2000, 20
    hits = 0
    for k in range(rounds):
        start = k * 10**7
        inside = sketch_of(monoid, encode_array(np.arange(start, start + count)))
        for code in encode_array(np.arange(start + 10**6, start + 10**6 + asked)):
            hits += not np.any(sketch_of(monoid, np.array([code])) & ~inside)
    bound = (1 - math.exp(-hashes * count / bits)) ** hashes
    noise = 5 * math.sqrt(bound * (1 - bound) / (asked * rounds)) + 0.02 * bound
    assert hits / (asked * rounds) <= bound + noise


# -- approx_distinct -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", [8, 12, 14])
def test_approx_distinct_has_the_stated_error_at_every_cardinality(precision):
    monoid = approx_distinct(precision=precision)
    lower = jit_for(checked=False, allocates=True)(monoid.lower)
    stated = 1.04 / math.sqrt(2**precision)
    for count in (1, 2, 3, 10, 30, 100, 300, 1000, 3000, 10**4, 3 * 10**4, 10**5, 10**6):
        rounds = 100 if count <= 1000 else 40 if count <= 10**5 else 8
        errors = []
        for k in range(rounds):
            start = k * 2**40
            estimate = lower(sketch_of(monoid, encode_array(np.arange(start, start + count))))
            errors.append(estimate / count - 1)
        root_mean_square = math.sqrt(np.mean(np.square(errors)))
        # the sample's own spread: with few rounds it may exceed the true standard error by chance
        assert root_mean_square <= stated * (1 + 3 / math.sqrt(2 * rounds)), count
        assert abs(np.mean(errors)) <= stated * 4 / math.sqrt(rounds), count


@pytest.mark.parametrize("precision", [4, 12])
@given(st.integers(1, 60), st.integers(0, 2**40), st.integers(0, 2**32))
def test_approx_distinct_counts_few_values_exactly(precision, count, start, seed):
    monoid = approx_distinct(precision=precision)
    rows = [start + k % count for k in range(2 * count)]
    rows = rows + rows[::-1]
    found = monoid.lower(grouped_fold(monoid, rows, seed))
    assert found == count if count <= EXACT else found > EXACT
    assert found == lowered_natively(monoid, encode_array(np.array(rows)))


def lowered_natively(monoid, codes):
    return jit_for(checked=False, allocates=True)(monoid.lower)(sketch_of(monoid, codes))


def test_three_values_are_never_counted_as_two():
    for start in range(0, 200_000, 3):
        codes = encode_array(np.arange(start, start + 3))
        assert lowered_natively(approx_distinct, codes) == 3


def test_bytes_of_sketches_carry_their_parameters():
    filters, counts = bloom(bits=1024, hashes=3), count_min(width=100, depth=7)
    seen, often = result(filters, range(50)), result(count_min(width=100, depth=7), [1] * 500 + [2])
    assert all(bloom_contains(seen, k) for k in range(50))
    assert not all(bloom_contains(seen, k) for k in range(50, 100))
    assert (count_min_estimate(often, 1), count_min_estimate(often, 2)) == (500, 1)
    for monoid, found in ((filters, seen), (counts, often)):
        assert wr.swag.DABALite(monoid).roll(np.arange(3), size=3)[0][:16] == found[:16]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (b"", "0 bytes that are not a result of bloom but other bytes"),
        (
            b"x" * 2048,
            "2048 bytes that are not a result of bloom but other bytes: give a value of the result",
        ),
        (result(bloom, [1])[:-1], "2063 bytes"),
        (result(count_min, [1]), "not a result of bloom but those of count_min"),
    ],
)
def test_bytes_that_are_no_filter_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        bloom_contains(given, 1)


def test_bytes_that_are_no_counters_are_refused():
    with pytest.raises(ValueError, match="not a result of count_min but those of bloom"):
        count_min_estimate(result(bloom, [1]), 1)


def test_approx_distinct_of_floats_and_text():
    random = np.random.default_rng(7)
    codes = encode_array(random.random(50_000))
    assert approx_distinct.lower(sketch_of(approx_distinct, codes)) == pytest.approx(50_000, rel=4 * 0.01625)
    codes = np.array([encode(f"user-{k}") for k in range(50_000)], np.uint64)
    assert approx_distinct.lower(sketch_of(approx_distinct, codes)) == pytest.approx(50_000, rel=4 * 0.01625)


@pytest.mark.parametrize("monoid", [approx_distinct, approx_distinct(precision=4)], ids=repr)
def test_native_estimates_are_bit_exact(monoid):
    lower = jit_for(checked=False, allocates=True)(monoid.lower)
    row = np.zeros(monoid.wide.width, monoid.wide.dtype)
    for start in range(0, 3000, 100):
        assert lower(row) == monoid.lower(row)
        sketch_of(monoid, encode_array(np.arange(start, start + 100)), row)
    registers = row[: 1 << monoid.parameters["precision"]]
    registers[:] = 64 - monoid.parameters["precision"] + 1  # saturated: nothing is left to estimate from
    assert lower(row) == monoid.lower(row) == 2**63 - 1
    registers[:] = 40
    assert lower(row) == monoid.lower(row) > 2**40


# -- count_min -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("width", "depth"), [(2048, 4), (272, 5), (64, 3)])
def test_count_min_is_never_too_low_and_rarely_too_high(width, depth):
    monoid = count_min(width=width, depth=depth)
    random = np.random.default_rng(11)
    too_high = asked = 0
    for k in range(10):
        rows = random.zipf(1.2, 20_000) % 10**6 + k * 10**7
        answer = monoid.lower(sketch_of(monoid, encode_array(rows)))
        truth = dict(zip(*np.unique(rows, return_counts=True), strict=True))
        for value in random.choice(list(truth), 100):
            excess = count_min_estimate(answer, int(value)) - truth[value]
            assert excess >= 0
            too_high += excess > math.e / width * len(rows)
            asked += 1
    assert too_high / asked <= math.exp(-depth)


@given(st.lists(values, max_size=20), st.lists(values, max_size=20))
def test_count_min_forgets_what_is_subtracted(old, new):
    monoid = SMALL[2]
    total = fold(monoid, old + new)
    np.testing.assert_array_equal(monoid.inverse(total, fold(monoid, old)), fold(monoid, new))


# -- parameters ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: bloom(bits=100), "multiple of 64, such as 128"),
        (lambda: bloom(bits=0), "bits=0"),
        (lambda: bloom(hashes=0), "hashes=0"),
        (lambda: approx_distinct(precision=3), "4 to 18"),
        (lambda: approx_distinct(precision=12.0), "whole number"),
        (lambda: count_min(width=0), "width=0"),
        (lambda: count_min(depth=True), "depth=True"),
    ],
)
def test_wrong_parameters_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_parameters_can_be_given_with_columns():
    assert repr(bloom("user", bits=1024)) == "bloom('user', bits=1024, hashes=4)"
    assert approx_distinct("user", 10).monoid.wide.width == 1024 + 8 * (EXACT + 1)
    assert approx_distinct(10).parameters == {"precision": 10}


@pytest.mark.parametrize("monoid", [bloom(bits=128), approx_distinct(precision=4), count_min(width=8)])
def test_lifting_into_a_row_is_combining_with_the_lift(monoid):
    """What the native form relies on: a value is added to a sketch in place."""
    row = monoid.identity.copy()
    expected = monoid.identity
    for item in [3, 3, "a", 7.5, -1, *range(40)]:
        monoid.wide.lift_into(row, np.uint64(monoid.wide.encode(item)))
        expected = monoid.combine(expected, monoid.lift(item))
        assert row.tolist() == expected.tolist()
