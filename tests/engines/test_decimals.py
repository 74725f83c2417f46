"""The type of a result over decimals follows from the type of the column, as on Spark, on every engine;
digits are never lost on the way, and a result with too many of them is an error."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow.testing import assert_same_results, evaluate

MONEY = pa.decimal128(10, 2)
FIVE = {"open": MONEY, "high": MONEY, "low": MONEY, "close": MONEY}
#: what each aggregate of a column of decimal(10, 2) gives
TYPES: dict[str, tuple[Any, Any]] = {
    "max": (wr.max, MONEY),
    "min": (wr.min, MONEY),
    "sum": (wr.sum, pa.decimal128(20, 2)),
    "mean": (wr.mean, pa.decimal128(14, 6)),
    "range": (wr.range, pa.decimal128(11, 2)),
    "product": (wr.product, pa.decimal128(38, 2)),
    "ohlc": (wr.ohlc, pa.struct(list(FIVE.items()))),
    "m4": (wr.m4, pa.struct([(name, MONEY) for name in ("first", "last", "min", "max")])),
    "first": (wr.first, MONEY),
    "last": (wr.last, MONEY),
    "mode": (wr.mode, MONEY),
    "top": (wr.top_k(k=2), pa.list_(MONEY)),
    "all": (wr.collect, pa.list_(MONEY)),
    "distinct": (wr.collect_distinct, pa.list_(MONEY)),
    "both": (
        wr.together(total=wr.sum, mean=wr.mean, top=wr.max),
        pa.struct([("total", pa.decimal128(20, 2)), ("mean", pa.decimal128(14, 6)), ("top", MONEY)]),
    ),
}
AGGREGATES = {name: monoid("v") for name, (monoid, _) in TYPES.items()}
STARTS = {
    "windows": lambda query: query.window(wr.Sliding(6, slide=2)),
    "filled": lambda query: query.window(wr.Tumbling(2)),
    "sessions": lambda query: query.window(wr.Session(2)),
    "rows": lambda query: query.window(wr.Rows(2)),
    "rolling": lambda query: query.rolling(4),
    "rolling rows": lambda query: query.rolling(rows=3),
    "frames": lambda query: query.rolling(4, closed="left"),
    "policy": lambda query: query.rolling(policy=lambda total, old: total.rows > 2),
}


def decimals(values: list[Any], kind: Any = MONEY) -> Any:
    return pa.array([None if value is None else Decimal(value) for value in values], kind)


def payments(values: list[Any], kind: Any = MONEY) -> pa.Table:
    return pa.table({"t": pa.array(range(len(values)), pa.int64()), "v": decimals(values, kind)})


ROWS = payments(["1.50", None, "12345678.25", "0.01", None, None, None, "99999999.99", "-2"])


def operators(query: wr.Query) -> Iterator[Any]:
    yield query.open()
    yield query.open(store=wr.state.MemoryStore(), name="these")


def same(found: pa.Table, expected: list[dict[str, Any]]) -> None:
    """Compare with brute force, but for products, which are rounded to their type."""
    rows = [{k: v for k, v in row.items() if k != "product"} for row in expected]
    assert_same_results(found.drop_columns(["product"]), rows)


def is_declared(table: pa.Table) -> bool:
    found = {name: table.schema.field(name).type for name in TYPES if name in table.column_names}
    return found == {name: kind for name, (_, kind) in TYPES.items() if name in found}


@pytest.mark.parametrize("start", STARTS)
def test_types_of_decimal_results_do_not_depend_on_values(start: str) -> None:
    base = (
        wr.query(time="t", watermark=0, empty="include")
        if start == "filled"
        else wr.query(time="t", watermark=0)
    )
    query = STARTS[start](base).agg(**AGGREGATES, rows=wr.count())
    for rows in (ROWS, ROWS.slice(0, 1), ROWS.slice(4, 3), ROWS.slice(0, 0)):
        found = query.run(rows)
        assert is_declared(found)
        same(found, evaluate(query, rows))
    for operator in operators(query):
        pieces = [operator.push(ROWS.slice(k, 1)) for k in range(ROWS.num_rows)]
        assert all(map(is_declared, pieces))
        together = pa.concat_tables([*pieces, operator.finish()])
        same(together, evaluate(query, ROWS))


def test_types_of_decimal_results_in_a_store_of_rolling_windows() -> None:
    for over in ({"size": 4}, {"rows": 2}):
        query = wr.query(time="t").rolling(**over, store=wr.state.MemoryStore()).agg(**AGGREGATES)
        assert is_declared(query.run(ROWS))


def test_types_of_decimal_results_as_of_a_label() -> None:
    query = wr.query(time="t").asof(3).agg(**AGGREGATES)
    labels = pa.table({"t": [0, 1, 5, 7, 9]})
    expected = evaluate(query, ROWS, at=labels)
    found = query.run(ROWS, at=labels)
    operator = query.open()
    operator.push(ROWS)
    for table in (found, operator.at(labels), *(operator.at(labels.slice(k, 1)) for k in range(5))):
        assert is_declared(table)
    same(found, expected)
    same(operator.at(labels), expected)


def test_types_of_decimal_results_after_a_restart() -> None:
    query = wr.query(time="t", watermark=0).window(wr.Sliding(6, slide=2)).agg(**AGGREGATES)
    operator = query.open()
    before = operator.push(ROWS.slice(0, 4))
    restored = query.restore(operator.snapshot())
    found = pa.concat_tables([before, restored.push(ROWS.slice(4)), restored.finish()])
    assert is_declared(found)
    same(found, evaluate(query, ROWS))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (pa.decimal128(38, 2), {"sum": pa.decimal128(38, 2), "mean": pa.decimal128(38, 6)}),
        (pa.decimal128(38, 38), {"sum": pa.decimal128(38, 38), "mean": pa.decimal128(38, 38)}),
        (pa.decimal128(3, 0), {"sum": pa.decimal128(13, 0), "mean": pa.decimal128(7, 4)}),
        (pa.decimal256(50, 2), {"sum": pa.decimal256(60, 2), "max": pa.decimal256(50, 2)}),
    ],
)
def test_types_of_sums_and_means_are_those_of_spark(kind: Any, expected: dict[str, Any]) -> None:
    rows = payments(["0", None], kind)
    asked = {name: AGGREGATES[name] for name in expected}
    found = wr.events(rows, time="t").window(wr.Tumbling(10)).agg(**asked)
    assert {name: found.schema.field(name).type for name in expected} == expected


@pytest.mark.parametrize("start", STARTS)
def test_sums_of_decimals_keep_more_than_28_digits(start: str) -> None:
    values = [
        "99999999999999999999999999999999.01",
        "0.02",
        "0.03",
        "-0.01",
        "77777777777777777777777777777777.77",
    ]
    rows = payments(values, pa.decimal128(38, 2))
    query = STARTS[start](wr.query(time="t", watermark=0))
    query = query.agg(sum=wr.sum("v"), mean=wr.mean("v"), range=wr.range("v"), rows=wr.count())
    expected = evaluate(query, rows)
    assert Decimal(values[0]) + Decimal(values[1]) not in [row["sum"] for row in expected]
    assert_same_results(query.run(rows), expected)
    for operator in operators(query):
        pieces = [operator.push(rows.slice(k, 2)) for k in range(0, 5, 2)]
        assert_same_results(pa.concat_tables([*pieces, operator.finish()]), expected)


def test_products_of_decimals_are_rounded_to_the_digits_of_the_column() -> None:
    found = wr.events(payments(["1.50", "0.33", "-1.01"]), time="t").rolling(rows=3).agg(p=wr.product("v"))
    assert found["p"].to_pylist() == [Decimal("1.50"), Decimal("0.50"), Decimal("-0.50")]


def test_exact_sums_of_decimals() -> None:
    thirds = payments(["1", "0", "0"])
    found = wr.events(thirds, time="t").window(wr.Tumbling(10)).agg(m=wr.mean("v"), s=wr.sum("v"))
    assert found["m"].to_pylist() == [Decimal("0.333333")]
    halves = payments(["0.00", "0.01"] + ["0.00"] * 6, pa.decimal128(6, 2))
    mean = wr.events(halves, time="t").window(wr.Tumbling(10)).agg(m=wr.mean("v"))["m"]
    assert mean.to_pylist() == [Decimal("0.001250")]
    for algorithm in (wr.swag.DABA, wr.swag.SubtractOnEvict):
        big = [Decimal(10**35), Decimal("0.1"), Decimal("0.2")]
        found = algorithm(wr.sum).roll(big, size=2)
        assert [str(each) for each in found] == [str(10**35), f"{10**35}.1", "0.3"]


LARGE = payments(["9" * 36 + ".99", "9" * 36 + ".99", "1"], pa.decimal128(38, 2))


@pytest.mark.parametrize(
    "start", ["windows", "sessions", "rows", "rolling", "rolling rows", "frames", "policy"]
)
def test_a_sum_of_decimals_that_does_not_fit_is_an_error(start: str) -> None:
    query = STARTS[start](wr.query(time="t", watermark=0)).agg(total=wr.sum("v"), rows=wr.count())
    message = r"sum = [12][09]{36}\.98 over .* does not fit decimal128\(38, 2\): cast"
    with pytest.raises(wr.DecimalOverflow, match=message):
        query.run(LARGE)


def test_an_operator_refuses_rows_whose_sum_of_decimals_does_not_fit_and_is_as_it_was() -> None:
    query = wr.query(time="t", watermark=0).window(wr.Tumbling(100)).agg(total=wr.sum("v"))
    for operator in operators(query):
        operator.push(LARGE.slice(0, 1))
        with pytest.raises(
            wr.DecimalOverflow, match=r"the rows from 0 to 1 does not fit decimal128\(38, 2\)"
        ):
            operator.push(LARGE.slice(1, 1))
        operator.push(payments(["-1"], pa.decimal128(38, 2)))
        assert operator.finish()["total"].to_pylist() == [Decimal("9" * 35 + "8.99")]
