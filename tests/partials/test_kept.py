"""Aggregates that are answered from kept values: every family against folding in Python."""

from __future__ import annotations

import datetime as dt
import functools
import itertools
import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from support.budget import examples
from windrow.partials.columns import column_from, join
from windrow.partials.value_aggregates import family_of
from windrow.partials.value_aggregates.bags import Bag, shortened
from windrow.partials.value_aggregates.column import KeptColumn, kept_column
from windrow.partials.value_aggregates.rows import kept_values
from windrow.state.codec import pack, unpack

FLOATS = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, 2.5, math.inf, -math.inf, math.nan]), st.floats(-100, 100)
)
TEXT = st.text("ab", max_size=2)
COLUMNS = {
    "float": (pa.float64(), FLOATS),
    "int": (pa.int64(), st.integers(-3, 3)),
    "large": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "bool": (pa.bool_(), st.booleans()),
    "text": (pa.string(), TEXT),
    "bytes": (pa.binary(), st.binary(max_size=2)),
    "moment": (pa.timestamp("us"), st.datetimes(dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 2))),
    "second": (pa.timestamp("s"), st.sampled_from([dt.datetime(2024, 1, d) for d in (1, 2, 3)])),
    "day": (pa.date32(), st.dates(dt.date(2024, 1, 1), dt.date(2024, 1, 5))),
    "decimal": (pa.decimal128(10, 2), st.sampled_from([Decimal("1.50"), Decimal("-2.25"), Decimal("0.00")])),
}
NUMBERS = ("float", "int", "large", "bool")
ANY = tuple(COLUMNS)
CASES = [
    *((m, kind) for m in (wr.median, wr.quantile(0.9), wr.approx_quantile(0.3)) for kind in NUMBERS),
    *((m, kind) for m in (wr.collect, wr.collect_distinct, wr.count_distinct) for kind in ANY),
    *((m, kind) for m in (wr.approx_distinct(4), wr.bloom(bits=64), wr.count_min(8, 2)) for kind in ANY),
    *((m, kind) for m in (wr.mode, wr.first_k(k=2), wr.last_k(k=2)) for kind in ANY),
    *((m, kind) for m in (wr.top_k(k=2), wr.bottom_k(k=2)) for kind in ANY if kind != "bool"),
    *((wr.concat(sep=sep), "text") for sep in ("", ", ")),
    (wr.concat, "bytes"),
]
cases = pytest.mark.parametrize(("monoid", "kind"), CASES, ids=[f"{m!r} of {kind}" for m, kind in CASES])


@st.composite
def ranges(draw, count):
    """Fronts and stops of windows over so many values: sliding, side by side, or as they come."""
    edges = st.integers(0, count)
    shape = draw(st.sampled_from(["sliding", "side by side", "any"]))
    if shape == "side by side":
        cuts = sorted(draw(st.lists(edges, min_size=1, max_size=8)))
        return np.array(cuts[:-1], np.int64), np.array(cuts[1:], np.int64)
    pairs = draw(st.lists(st.tuples(edges, edges), max_size=8))
    if shape == "sliding":
        fronts, stops = sorted(a for a, _ in pairs), sorted(b for _, b in pairs)
    else:
        fronts, stops = [a for a, _ in pairs], [b for _, b in pairs]
    return np.array(fronts, np.int64), np.maximum(np.array(fronts, np.int64), np.array(stops, np.int64))


def folded(monoid, values):
    partials = [monoid.lift(v) for v in values if v is not None]
    return functools.reduce(monoid.combine, partials, monoid.identity)


def same(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (a != a and b != b)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


def values_of(data, kind):
    type_, each = COLUMNS[kind]
    return pa.array(data.draw(st.lists(st.one_of(st.none(), each), max_size=20)), type_)


def kept(monoid, values):
    skipped = values.is_null().to_numpy(zero_copy_only=False)
    bag, before = kept_values(monoid, values, skipped if skipped.any() else None)
    return bag, np.arange(len(values) + 1) if before is None else before


@cases
@given(data=st.data())
@settings(max_examples=examples(40))
def test_windows_over_kept_values_are_what_folding_them_gives(monoid, kind, data):
    values = values_of(data, kind)
    fronts, stops = data.draw(ranges(len(values)))
    family = family_of(monoid, values.type)
    assert family is not None
    bag, before = kept(monoid, values)
    found = family.answers(monoid, bag, before[fronts], before[stops]).to_pylist()
    rows = values.to_pylist()
    for result, front, stop in zip(found, fronts, stops, strict=True):
        if any(value is not None for value in rows[front:stop]):
            assert same(result, monoid.lower(folded(monoid, rows[front:stop])))


@cases
@given(data=st.data())
@settings(max_examples=examples(25))
def test_slices_of_kept_values_fuse_move_join_and_come_back_from_storage(monoid, kind, data):
    values = values_of(data, kind)
    cuts = data.draw(st.lists(st.integers(0, len(values)), min_size=1, max_size=6))
    starts = np.array(sorted([0, *cuts, len(values)]), np.int64)
    aggregate, (bag, before) = monoid("x"), kept(monoid, values)
    column = kept_column(aggregate, None, bag, before[starts])
    rows = values.to_pylist()
    slices = [rows[a:b] for a, b in itertools.pairwise(starts)]
    order = data.draw(st.permutations(range(len(slices))))
    column, slices = column.take(np.array(order)), [slices[k] for k in order]
    column, slices = join([column, column]), slices * 2
    column = column_from(aggregate, unpack("column", pack("column", column.state())))
    column.check_invariants(np.array([max(len(each), 1) for each in slices]))
    runs = np.array(sorted({0, len(slices), *data.draw(st.lists(st.integers(0, len(slices))))}), np.int64)
    column = column.folded(runs)
    slices = [[*itertools.chain.from_iterable(slices[a:b])] for a, b in itertools.pairwise(runs)]
    fronts, stops = data.draw(ranges(len(slices)))
    counts = np.concatenate([[0], np.cumsum([sum(v is not None for v in each) for each in slices])])
    held = counts[stops] - counts[fronts]
    found = column.results(fronts, stops, "any", held).to_pylist()
    plain = column.as_plain().results(fronts, stops, "any", held).to_pylist()
    for result, other, front, stop in zip(found, plain, fronts, stops, strict=True):
        inside = [value for each in slices[front:stop] for value in each if value is not None]
        if inside:
            assert same(result, monoid.lower(folded(monoid, inside)))
            assert same(result, other)


def test_many_values_are_sorted_in_several_groups():
    numbers = np.random.default_rng(4).normal(size=200_000)
    table = pa.table({"t": np.arange(200_000), "x": numbers})
    found = wr.events(table, time="t").rolling(rows=1500).agg(m=wr.quantile("x", 0.9))["m"].to_numpy()
    for row in [0, 10, 1499, 1500, 33_000, 65_535, 131_071, 199_999]:
        assert found[row] == pytest.approx(np.quantile(numbers[max(0, row - 1499) : row + 1], 0.9), rel=1e-12)


def test_lists_side_by_side_are_not_copied():
    table = pa.table({"t": np.arange(1000), "x": np.arange(1000.0)})
    found = wr.events(table, time="t").window(wr.Tumbling(10)).agg(x=wr.collect("x"))
    lists = found["x"].chunk(0)
    assert lists.values.buffers()[1].address == table["x"].chunk(0).buffers()[1].address


def test_types_of_columns_stay_in_lists():
    table = pa.table({"t": [1, 2], "x": pa.array([1, 2], pa.int32())})
    found = (
        wr.events(table, time="t").window(wr.Tumbling(10)).agg(a=wr.collect("x"), b=wr.collect_distinct("x"))
    )
    assert found["a"].type == found["b"].type == pa.list_(pa.int32())


@pytest.mark.parametrize(
    "change",
    [
        {"offsets": np.array([0, 2, 1])},
        {"offsets": np.array([0, 1])},
        {"counts": np.array([1, 0])},
        {"counts": np.array([1])},
        {"values": pa.array(["a", "b"])},
        {"values": pa.array([1.0, None])},
        {"values": pa.array([1, 2], pa.int32())},
    ],
)
def test_stored_columns_that_lie_are_refused(change):
    aggregate = wr.approx_distinct("x")
    bag, before = kept(aggregate.monoid, pa.array([1, 2]))
    state = kept_column(aggregate, None, bag, before).state() | change
    with pytest.raises((wr.StateError, ValueError)):
        column_from(aggregate, state).check_invariants(np.array([1, 1]))


def test_cells_outside_of_a_sketch_are_refused():
    aggregate = wr.bloom("x", bits=64)
    bag, before = kept(aggregate.monoid, pa.array([1]))
    state = kept_column(aggregate, None, bag, before[[0, 1]]).state()
    state["values"] = pa.array([64], pa.int16())
    state["offsets"] = np.array([0, 1])
    with pytest.raises((wr.StateError, ValueError), match="outside"):
        column_from(aggregate, state).check_invariants(np.array([1]))


@pytest.mark.parametrize(
    "monoid", [wr.approx_distinct(16), wr.bloom(bits=1 << 20), wr.count_min(1 << 15, 2)], ids=repr
)
def test_slices_of_few_values_keep_each_cell_of_a_large_sketch_once(monoid):
    bag, before = kept(monoid, pa.array([5, 6, 5, 5, 7, 5]))
    once, places = kept(monoid, pa.array([5, 6, 7, 5]))
    column = kept_column(monoid("x"), None, bag, before[[0, 4, 6]])
    assert column.bag.values.equals(once.values)
    assert column.offsets.tolist() == places[[0, 2, 4]].tolist()
    assert (column.bag.counts is None) == (monoid.keeps != "counters")
    if column.bag.counts is not None:
        assert column.bag.counts.tolist() == [3, 1, 1, 1], "of values, in an integer each"


def test_cells_and_counts_are_held_in_short_integers():
    aggregate = wr.count_min("x")
    bag, before = kept(aggregate.monoid, pa.array([5, 6, 5]))
    column = kept_column(aggregate, None, bag, before[[0, 3]])
    assert column.bag.tallies.tolist() == [2, 1]
    assert column.bag.nbytes == 2 * (4 + 1)


@pytest.mark.parametrize("monoid", [wr.count_min(16, 3), wr.count_min], ids=repr)
def test_slices_of_many_values_keep_counters(monoid):
    size = monoid.parameters["width"] * monoid.parameters["depth"]
    values = pa.array(np.arange(3 * size))
    few = kept_column(monoid("x"), None, *kept_with_offsets(monoid, values, [0, 3]))
    many = kept_column(monoid("x"), None, *kept_with_offsets(monoid, values, [0, len(values)]))
    assert len(few.bag) == 3
    assert len(many.bag) <= size, "of which each is one of the sketch"
    both = join([many, few]).folded(np.array([0, 2]))
    assert len(both.bag) <= size
    expected = monoid.lower(
        functools.reduce(monoid.combine, map(monoid.lift, [*values.to_pylist(), *values.to_pylist()[:3]]))
    )
    for column in (both, column_from(monoid("x"), both.state())):
        assert column.results(np.array([0]), np.array([1]), "any", np.array([1])).to_pylist() == [expected]
    assert monoid.lower(both.as_plain().objects[0]) == expected


def kept_with_offsets(monoid, values, offsets):
    bag, _ = kept(monoid, values.slice(0, offsets[-1]))
    return bag, np.array(offsets)


def test_counts_beyond_32_bits_join_exactly():
    aggregate = wr.count_min("x", width=8, depth=1)
    bag, before = kept(aggregate.monoid, pa.array([5]))
    columns = [
        KeptColumn(aggregate, None, Bag(bag.values, counts), before)
        for counts in (shortened(np.array([2**60 + 1])), shortened(np.array([7])), np.array([1]))
    ]
    assert join(columns).bag.tallies.tolist() == [2**60 + 1, 7, 1]
