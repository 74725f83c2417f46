"""Lists of values and counts: top_k, bottom_k, first_k, last_k, histogram; and mode."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from support.engine_checks import check_engines
from support.monoid_folds import grouped_fold, native_result, result
from windrow.spec_text import SpecTextError, aggregate_of

values = st.lists(st.one_of(st.integers(-20, 20), st.floats(-20, 20)), min_size=1, max_size=30)
NAN = math.nan


@given(values, st.integers(1, 5), st.integers(0, 2**32))
def test_k_values_are_slices_of_all_values_in_any_grouping(rows, k, seed):
    wanted = {
        wr.top_k: sorted(rows, reverse=True)[:k],
        wr.bottom_k: sorted(rows)[:k],
        wr.first_k: rows[:k],
        wr.last_k: rows[-k:],
    }
    for monoid, expected in wanted.items():
        assert monoid(k=k).lower(grouped_fold(monoid(k=k), rows, seed)) == expected


def test_nan_is_the_extreme_of_top_k_and_bottom_k():
    rows = [1.0, NAN, 3.0, NAN]
    assert repr(result(wr.top_k(k=3), rows)) == "[nan, nan, 3.0]"
    assert repr(result(wr.bottom_k(k=3), rows)) == "[nan, nan, 1.0]"
    assert repr(result(wr.first_k(k=2), rows)) == "[1.0, nan]"
    assert result(wr.top_k(k=2), ["b", "a", "c"]) == ["c", "b"]


@pytest.mark.parametrize("name", ["top_k", "bottom_k", "first_k", "last_k"])
def test_k_is_needed_and_positive(name):
    aggregate = getattr(wr, name)
    with pytest.raises(TypeError, match=f"{name} needs k"):
        aggregate("len")
    with pytest.raises(TypeError, match=f"{name} needs k"):
        aggregate.lift(1)
    for wrong in (0, -1, True, 2.0, None):
        with pytest.raises(ValueError, match="k="):
            aggregate("len", k=wrong)
    assert repr(aggregate("len", 3)) == repr(aggregate_of(f"{name}(len, 3)")) == f"{name}('len', k=3)"
    assert repr(aggregate("len", k=2, nulls="propagate")) == f"{name}('len', k=2, nulls='propagate')"


@given(st.lists(st.one_of(st.integers(0, 4), st.just(NAN)), min_size=1), st.integers(0, 2**32))
def test_mode_is_the_most_frequent_value_and_of_several_the_smallest(rows, seed):
    found = wr.mode.lower(grouped_fold(wr.mode, rows, seed))
    counts = Counter("nan" if row != row else row for row in rows)
    most = [value for value, count in counts.items() if count == max(counts.values())]
    expected = min((value for value in most if value != "nan"), default="nan")
    assert ("nan" if found != found else found) == expected


def test_mode_of_other_types():
    assert result(wr.mode, ["b", "a", "b", "a"]) == "a"
    assert result(wr.mode, [Decimal(2), Decimal(1), Decimal(2)]) == 2
    assert result(wr.mode, [True, False, False]) is False
    with pytest.raises(TypeError, match="mode needs values that can be hashed"):
        wr.mode.lift([1])


@given(values, st.lists(st.integers(-15, 15), min_size=2, max_size=6, unique=True), st.integers(0, 2**32))
def test_a_histogram_is_that_of_numpy(rows, edges, seed):
    monoid = wr.histogram(edges=sorted(edges))
    counts = np.histogram(rows, sorted(edges))[0].tolist()
    assert list(monoid.lower(grouped_fold(monoid, rows, seed))) == counts


def test_a_histogram_counts_edges_once_and_nothing_outside():
    monoid = wr.histogram(edges=[0.0, 1.0, math.inf])
    rows = [0.0, 1.0, math.inf, -math.inf, NAN, -0.0]
    assert result(monoid, rows) == (2, 2)
    assert native_result(monoid, np.array(rows)) == (2, 2)
    assert result(wr.histogram(edges=[0, 1]), [Decimal("0.5")]) == (1,)
    assert monoid.properties == ("commutative", "invertible")


@pytest.mark.parametrize("bins", [1, 64, 65])
def test_a_histogram_of_many_bins(bins):
    aggregate = wr.histogram("x", list(range(bins + 1)))
    assert bool(aggregate.monoid.compiles_for) == (bins <= 64)
    table = pa.table({"t": range(100), "x": [i * 7 % 71 for i in range(100)]})
    found = wr.events(table, time="t").window(wr.Tumbling(50)).agg(h=aggregate)["h"]
    assert found.type == pa.list_(pa.int64())
    halves = [table["x"].to_numpy()[:50], table["x"].to_numpy()[50:]]
    assert found.to_pylist() == [np.histogram(half, range(bins + 1))[0].tolist() for half in halves]


def test_edges_are_needed_and_rise():
    with pytest.raises(TypeError, match="histogram needs edges"):
        wr.histogram("len")
    for wrong in ([1], [2, 1], [1, 1], [0, NAN], "ab", 5, None):
        with pytest.raises(ValueError, match="edges="):
            wr.histogram("len", edges=wrong)
    expected = "histogram('len', edges=(0, 10, 60))"
    given_ways = [
        wr.histogram("len", [0, 10, 60]),
        wr.histogram("len", np.array([0, 10, 60])),
        wr.histogram("len", edges=(0, 10, 60)),
        wr.histogram(edges=[0, 10, 60])("len"),
        aggregate_of("histogram(len, [0, 10, 60])"),
        aggregate_of("histogram(len, edges=[0, 10, 60])"),
    ]
    assert [repr(way) for way in given_ways] == [expected] * 6
    with pytest.raises(SpecTextError):
        aggregate_of("histogram(len, [0, 'x'])")


rows_with_nulls = st.lists(
    st.tuples(
        st.integers(0, 30),
        st.one_of(st.none(), st.integers(-9, 9)),
        st.one_of(st.none(), st.sampled_from("abc")),
    ),
    min_size=1,
    max_size=30,
)


@given(rows_with_nulls)
@settings(max_examples=5, deadline=None)
def test_tables_operators_and_stores_give_what_the_oracle_gives(rows):
    times, x, s = zip(*rows, strict=True)
    table = pa.table({"t": times, "x": pa.array(x, pa.int64()), "s": pa.array(s, pa.string())})
    check_engines(
        table,
        h=wr.histogram("x", [-5, 0, 9]),
        top=wr.top_k("x", 2),
        low=wr.bottom_k("s", 2),
        head=wr.first_k("s", 2),
        tail=wr.last_k("x", 3),
        often=wr.mode("s"),
    )


def test_polars_and_pandas_give_the_same():
    table = pa.table({"t": range(60), "x": [i * i % 17 for i in range(60)]})
    found = wr.events(table, time="t").window(wr.Tumbling(10))
    found = found.agg(
        top=wr.top_k("x", 3),
        low=wr.bottom_k("x", 3),
        head=wr.first_k("x", 3),
        tail=wr.last_k("x", 3),
        often=wr.mode("x"),
    )
    x = pl.col("x")
    theirs = pl.from_arrow(table).group_by_dynamic("t", every="10i")
    theirs = theirs.agg(
        top=x.sort(descending=True).head(3),
        low=x.sort().head(3),
        head=x.head(3),
        tail=x.tail(3),
        often=x.mode().min(),
    )
    for name in ("top", "low", "head", "tail", "often"):
        assert found[name].to_pylist() == theirs[name].to_list()
    modes = table.to_pandas().groupby(pd.Series(range(60)) // 10)["x"].agg(lambda group: group.mode()[0])
    assert found["often"].to_pylist() == modes.tolist()
