"""ohlc: open, high, low and close."""

from __future__ import annotations

import math
from decimal import Decimal

import polars as pl
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from support.engine_checks import check_engines
from support.monoid_folds import grouped_fold, result
from windrow.monoids.laws import check
from windrow.monoids.ohlc import OHLC
from windrow.state.codec import pack, unpack


@given(st.lists(st.one_of(st.integers(-9, 9), st.floats(-9, 9)), min_size=1), st.integers(0, 2**32))
def test_it_is_first_largest_smallest_and_last(values, seed):
    found = wr.ohlc.lower(grouped_fold(wr.ohlc, values, seed))
    assert found == (values[0], max(values), min(values), values[-1])


def test_nan_is_the_extreme_and_texts_and_decimals_work():
    found = result(wr.ohlc, [1.0, math.nan, 3.0])
    assert (found.open, found.close) == (1.0, 3.0)
    assert math.isnan(found.high)
    assert math.isnan(found.low)
    assert result(wr.ohlc, ["b", "a", "c"]) == ("b", "c", "a", "c")
    assert result(wr.ohlc, [Decimal("1.5"), Decimal(1)]) == (Decimal("1.5"), Decimal("1.5"), 1, 1)
    assert wr.swag.DABA(wr.ohlc).query() is None


@given(st.lists(st.floats(), min_size=1, max_size=4))
@settings(max_examples=10)
def test_laws(values):
    assert check(wr.ohlc, values, cases=100)
    assert wr.ohlc.properties == ("idempotent",)


def test_a_candle_can_be_stored():
    assert unpack("test", pack("test", OHLC(1, 4, 0, 3))) == OHLC(1, 4, 0, 3)


@given(
    st.lists(st.tuples(st.integers(0, 30), st.one_of(st.none(), st.integers(0, 99))), min_size=1, max_size=30)
)
@settings(max_examples=5, deadline=None)
def test_tables_operators_and_stores_give_what_the_oracle_gives(rows):
    times, values = zip(*rows, strict=True)
    check_engines(pa.table({"t": times, "v": pa.array(values, pa.int64())}), o=wr.ohlc("v"))


def test_results_are_a_struct_of_the_type_of_the_column():
    for kind in (pa.int64(), pa.float64(), pa.string()):
        table = pa.table({"t": [1, 2, 11], "v": pa.array([5, 4, None], pa.int64()).cast(kind)})
        found = wr.events(table, time="t").window(wr.Tumbling(10)).agg(o=wr.ohlc("v"))["o"]
        assert found.type == pa.struct([(name, kind) for name in ("open", "high", "low", "close")])
        assert found[1].as_py() is None


def test_polars_gives_the_same():
    table = pa.table({"t": range(60), "v": [i * i % 17 for i in range(60)]})
    found = wr.events(table, time="t").window(wr.Tumbling(10)).agg(o=wr.ohlc("v"))
    v = pl.col("v")
    theirs = pl.from_arrow(table).group_by_dynamic("t", every="10i")
    theirs = theirs.agg(open=v.first(), high=v.max(), low=v.min(), close=v.last()).drop("t")
    assert found["o"].to_pylist() == theirs.to_dicts()
