"""Batches: ``roll`` and ``roll_time`` against the definition, natively and plainly, in any cut of the
input."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from support.aggregates import ALGORITHMS, CASES, Case
from support.budget import examples
from support.swag_windows import filled
from windrow.monoids.equality import magnitude, same
from windrow.swag.native.drivers import _is_cheap

NATIVE = [
    wr.swag.Recalc,
    wr.swag.TwoStacks,
    wr.swag.TwoStacksLite,
    wr.swag.DABA,
    wr.swag.DABALite,
    wr.swag.FlatFAT,
    wr.swag.BInt,
]


def expected(monoid: Any, window: list[Any]) -> Any:
    oracle = wr.swag.Recalc(monoid)
    for row in window:
        oracle.insert(row)
    return oracle.query()


def by_count(monoid: Any, rows: list[Any], size: int) -> list[Any]:
    return [expected(monoid, rows[max(0, i + 1 - size) : i + 1]) for i in range(len(rows))]


def by_time(monoid: Any, times: list[int], rows: list[Any], size: int) -> list[Any]:
    return [
        expected(monoid, [r for s, r in zip(times, rows, strict=True) if t - size < s <= t]) for t in times
    ]


def agree(found: Any, wanted: Any, inputs: list[Any]) -> bool:
    return same(list(found), list(wanted), slack=1e-9 * (1.0 + magnitude(inputs) + magnitude(wanted)))


def in_pieces(rows: list[Any], cuts: list[int]) -> list[list[Any]]:
    edges = sorted({0, len(rows), *(c % (len(rows) + 1) for c in cuts)})
    return [rows[a:b] for a, b in itertools.pairwise(edges)]


#: one algorithm with every aggregate, and every algorithm with a few: each pair compiles kernels of its own
FEW = ("sum of ints", "max", "arg_max", "stddev", "user: spread", "user: concatenation")
PAIRS = [
    pytest.param(algorithm, case, id=f"{algorithm.__name__}-{case}")
    for algorithm in (*NATIVE, wr.swag.SubtractOnEvict)
    for case in CASES
    if case.monoid.invertible or not algorithm.needs_inverse
    if algorithm is wr.swag.DABALite or case.name in FEW
]


@pytest.mark.parametrize(("algorithm", "case"), PAIRS)
def test_count_windows_in_any_cut(algorithm: type[wr.swag.Swag], case: Case) -> None:
    @settings(max_examples=examples(10), database=None)
    @given(
        st.lists(st.one_of(case.rows, case.rows, case.rows, st.none()), max_size=20),
        st.integers(1, 8),
        st.lists(st.integers(0, 20), max_size=3),
    )
    def run(rows: list[Any], size: int, cuts: list[int]) -> None:
        window = algorithm(case.monoid)
        found: list[Any] = []
        for piece in in_pieces(rows, cuts):
            found.extend(window.roll(piece, size))
            window.check_invariants()
        wanted = by_count(case.monoid, rows, size)
        assert agree(found, wanted, rows), (found, wanted)

    run()


@pytest.mark.parametrize("algorithm", [*ALGORITHMS, wr.swag.Recalc])
@settings(max_examples=examples(25), database=None)
@given(data=st.data())
def test_time_windows_in_any_cut(algorithm: type[wr.swag.Swag], data: st.DataObject) -> None:
    """(t - size, t], peers included, negative times too; single operations in between change nothing."""
    rows = data.draw(st.lists(st.one_of(st.integers(-9, 9), st.none()), max_size=25))
    gaps = data.draw(st.lists(st.integers(0, 4), min_size=len(rows), max_size=len(rows)))
    times = np.cumsum([-20, *gaps])[1:].tolist()
    size = data.draw(st.integers(1, 9))
    monoid = wr.sum
    window = algorithm(monoid)
    wanted = by_time(monoid, times, rows, size)
    found: list[Any] = []
    for run in in_pieces(list(range(len(rows))), data.draw(st.lists(st.integers(0, 20), max_size=3))):
        # peers that lie in two batches do not see each other: keep them together
        run = [i for i in range(len(rows)) if run and i >= len(found) and times[i] <= times[run[-1]]]
        found.extend(window.roll_time([times[i] for i in run], [rows[i] for i in run], size))
        window.query()
    assert found == wanted


@pytest.mark.parametrize("algorithm", NATIVE)
def test_single_operations_between_batches(algorithm: type[wr.swag.Swag]) -> None:
    values = np.arange(1.0, 200.0)
    window, oracle = algorithm(wr.sum), wr.swag.Recalc(wr.sum)
    for start in range(0, 190, 19):
        piece = values[start : start + 19]
        np.testing.assert_allclose(window.roll(piece, 50), oracle.roll(piece, 50))
        for each in (window, oracle):
            each.insert(float(start))
            each.evict()
        assert window.query() == pytest.approx(oracle.query())
        window.check_invariants()
        assert len(window) == len(oracle)


@pytest.mark.parametrize("algorithm", NATIVE)
def test_a_window_may_shrink_and_grow_between_batches(algorithm: type[wr.swag.Swag]) -> None:
    values = list(range(100))
    window = algorithm(wr.concat)
    numbers = algorithm(wr.sum)
    for size, piece in ((10, values[:30]), (3, values[30:60]), (500, values[60:])):
        texts = window.roll([chr(97 + v % 26) for v in piece], size)
        sums = numbers.roll(piece, size)
        assert texts[-1] == "".join(
            chr(97 + v % 26) for v in values[piece[-1] + 1 - len(texts[-1]) : piece[-1] + 1]
        )
        assert sums[-1] == sum(values[piece[-1] + 1 - len(texts[-1]) : piece[-1] + 1])
    assert len(window) == len(numbers) == 43


def one_by_one(window: Any, values: Any, size: int) -> list[Any]:
    """A result per row, by single operations."""
    found = []
    for value in values:
        if len(window) == size:
            window.evict()
        window.insert(value)
        found.append(window.query())
    return found


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 32])
@pytest.mark.parametrize("aggregate", ["sum", "stddev", "last"])
@pytest.mark.parametrize("algorithm", [wr.swag.TwoStacksLite, wr.swag.DABALite])
def test_rows_in_blocks_have_the_bits_of_rows_one_by_one(
    algorithm: type[wr.swag.Swag], aggregate: str, size: int
) -> None:
    values = [
        None if i % 11 == 5 else value
        for i, value in enumerate(np.random.default_rng(size).standard_normal(400).tolist())
    ]
    monoid = getattr(wr, aggregate)
    window, single = algorithm(monoid), algorithm(monoid)
    for first, last in itertools.pairwise((0, 3, 150, 151, 151 + 2 * size, 390)):
        batch = pa.array(values[first:last], pa.float64())
        assert window.roll(batch, size).to_pylist() == one_by_one(single, values[first:last], size)
        window.check_invariants()
        assert window.query() == single.query()
    assert one_by_one(window, values[390:], size) == one_by_one(single, values[390:], size)


def test_blocks_lift_values_twice_only_where_that_costs_nothing() -> None:
    assert _is_cheap(wr.sum.lift)
    assert _is_cheap(wr.stddev.lift), "functions that cost as little"
    assert not _is_cheap(wr.geo_mean.lift), "a logarithm"


def test_rolling_rows_of_a_query_in_blocks_have_the_bits_of_rows_one_by_one() -> None:
    values = np.random.default_rng(3).standard_normal(600)
    whose = np.random.default_rng(4).integers(0, 3, 600)
    table = pa.table({"ts": np.arange(600), "key": whose, "v": values})
    for size in (1, 3, 4, 9, 64, 1_000, 2**62):
        found = wr.query(time="ts", by="key").rolling(rows=size).agg(r=wr.sum("v")).run(table)
        for key in range(3):
            wanted = one_by_one(wr.swag.TwoStacksLite(wr.sum), values[whose == key].tolist(), size)
            assert found["r"].to_numpy()[whose == key].tolist() == wanted


def test_results_come_back_as_the_kind_that_went_in() -> None:
    window = wr.swag.DABALite(wr.mean)
    assert window.roll([1, 2], 2) == [1.0, 1.5]
    found = wr.swag.DABALite(wr.mean).roll(np.array([1, 2]), 2)
    assert isinstance(found, np.ndarray)
    assert found.dtype == np.float64
    arrow = wr.swag.DABALite(wr.mean).roll(pa.array([None, 1, 2]), 2)
    assert arrow.equals(pa.array([None, 1.0, 1.5]))
    chunked = pa.chunked_array([[1, 2], [], [None, 4]])
    assert wr.swag.DABALite(wr.sum).roll(chunked, 2).to_pylist() == [1, 3, 2, 4]
    texts = pa.array(["a", None, "b"])
    assert wr.swag.DABALite(wr.concat).roll(texts, 2).to_pylist() == ["a", "a", "b"]
    structs = wr.swag.DABALite(wr.m4).roll(pa.array([3, 1, 2]), 3)
    assert structs.to_pylist()[-1] == {"first": 3, "last": 2, "min": 1, "max": 3}
    nothing = wr.swag.DABALite(wr.sum).roll(np.empty(0), 3)
    assert len(nothing) == 0


def test_results_can_be_written_into_an_array() -> None:
    out = np.zeros(4)
    found = wr.swag.TwoStacksLite(wr.sum).roll(np.arange(4.0), 2, out=out)
    assert found is out
    assert out.tolist() == [0.0, 1.0, 3.0, 5.0]
    with pytest.raises(ValueError, match="shape"):
        wr.swag.TwoStacksLite(wr.sum).roll(np.arange(4.0), 2, out=np.zeros(3))


def test_several_inputs() -> None:
    lengths, callers = np.array([3.0, 9.0, 9.0, 1.0]), np.array([10, 11, 12, 13])
    assert wr.swag.DABALite(wr.arg_max).roll((lengths, callers), 3).tolist() == [10, 11, 11, 11]
    rows = [(3.0, "ann"), (9.0, "bob"), (9.0, "cy"), (1.0, "dee")]
    assert wr.swag.DABALite(wr.arg_max).roll(rows, 3) == ["ann", "bob", "bob", "bob"]
    with pytest.raises(ValueError, match="different lengths"):
        wr.swag.DABALite(wr.arg_max).roll((lengths, callers[:2]), 3)


def test_moments_and_durations_of_numpy() -> None:
    times = np.array(["2024-01-01T00:00", "2024-01-01T00:01", "2024-01-01T00:03"], "datetime64[m]")
    found = wr.swag.DABALite(wr.sum).roll_time(times, np.array([1, 2, 4]), np.timedelta64(120, "s"))
    assert found.tolist() == [1, 3, 4]


def test_bad_batches_are_refused_and_change_nothing() -> None:
    window = wr.swag.DABALite(wr.sum)
    window.roll_time([1, 2], [1, 1], 5)
    for times, values, size, message in (
        ([3, 2], [1, 1], 5, "must not fall"),
        ([1], [1], 5, "must not fall"),
        ([3], [1, 1], 5, "1 times for 2 values"),
        ([3], [1], 0, "size must be positive"),
    ):
        with pytest.raises(ValueError, match=message):
            window.roll_time(times, values, size)
    assert window.query() == 2
    with pytest.raises(ValueError, match="at least 1"):
        window.roll([1], 0)
    counted = wr.swag.DABALite(wr.sum)
    counted.insert(1)
    with pytest.raises(ValueError, match="without times"):
        counted.roll_time([1], [1], 5)


def test_a_time_window_grows_past_its_ring() -> None:
    rng = np.random.default_rng(3)
    times = np.sort(rng.integers(0, 1_000, 200_000))
    values = rng.random(200_000)
    found = wr.swag.DABALite(wr.max).roll_time(times, values, 600)
    first = np.searchsorted(times, times - 600, side="right")
    last = np.searchsorted(times, times, side="right")
    for i in rng.integers(0, 200_000, 50):
        assert found[i] == values[first[i] : last[i]].max()


@pytest.mark.parametrize("monoid", [wr.sum, wr.approx_distinct, wr.concat], ids=["native", "sketch", "plain"])
def test_a_batch_without_values_changes_nothing(monoid: Any) -> None:
    window, values = wr.swag.DABALite(monoid), list("abc") if monoid is wr.concat else [1, 2, 4]
    window.roll_time([1, 2, 3], values, 9)
    before = window.query()
    assert list(window.roll([], size=1)) == []
    assert (window.query(), len(window)) == (before, 3)
    expected = filled(wr.swag.Recalc(monoid), [values[2], values[0]]).query()
    assert window.roll_time([11], values[:1], 9) == [expected]
