"""The type that is declared for a result before there is one is the type of results, on every engine."""

from __future__ import annotations

import functools
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from support.result_types import AGGREGATES, COLUMNS, rows
from windrow.errors import AggregateError
from windrow.partials.result_types import planned_type, result_type
from windrow.state import MemoryStore

EVERYTHING = wr.query(time="t").window(wr.Tumbling(10))


@functools.cache
def table_types(name: str) -> dict[str, Any]:
    """The types of real results on a table, by column; without columns that the aggregate does not take."""
    found = {}
    for column in COLUMNS:
        query = EVERYTHING.agg(r=AGGREGATES[name](column))
        try:
            found[column] = query.run(rows([column])).schema.field("r").type
        except (AggregateError, TypeError):
            continue
    return found


@pytest.mark.parametrize("name", AGGREGATES)
def test_declared_types_are_those_of_tables(name: str) -> None:
    real = table_types(name)
    assert real, name
    schema = rows(list(real)).schema
    assert {column: result_type(AGGREGATES[name](column), schema) for column in real} == real


def types_of(table: pa.Table) -> dict[str, Any]:
    return {field.name: field.type for field in table.schema}


def check(found: pa.Table, expected: dict[str, Any]) -> None:
    assert {c: kind for c, kind in types_of(found).items() if c.startswith("r_")} == {
        f"r_{column}": kind for column, kind in expected.items()
    }


QUERIES = {
    "time": EVERYTHING,
    "rows": wr.query(time="t").window(wr.Rows(2)),
    "rolling": wr.query(time="t").rolling(2),
    "policy": wr.query(time="t").rolling(policy=lambda partials, oldest: False),
}


@pytest.mark.parametrize("name", AGGREGATES)
def test_declared_types_are_those_of_every_kind_of_query(name: str) -> None:
    expected = table_types(name)
    table = rows(list(expected))
    in_store = {"store": wr.query(time="t").rolling(2, store=MemoryStore())}
    for query in (QUERIES | in_store).values():
        asked = query.agg(**{f"r_{c}": AGGREGATES[name](c) for c in expected})
        for some in (table, table.slice(0, 1), table.slice(3), table.slice(0, 0)):
            check(asked.run(some), expected)


@pytest.mark.parametrize("name", AGGREGATES)
@pytest.mark.parametrize("kind", QUERIES)
def test_declared_types_are_those_of_operators(name: str, kind: str) -> None:
    expected = table_types(name)
    operator = QUERIES[kind].agg(**{f"r_{c}": AGGREGATES[name](c) for c in expected}).open()
    table = rows(list(expected))
    for some in (table.slice(0, 1), table.slice(1)):
        check(operator.push(some), expected)
    check(operator.finish(), expected)


@pytest.mark.parametrize("name", AGGREGATES)
def test_declared_types_are_those_of_operators_in_a_store(name: str) -> None:
    expected = {c: kind for c, kind in table_types(name).items() if c != "timestamp_ns"}  # not stored
    query = EVERYTHING.agg(**{f"r_{c}": AGGREGATES[name](c) for c in expected})
    operator = query.open(store=MemoryStore(), name="types")
    check(operator.push(rows(list(expected))), expected)
    check(operator.finish(), expected)


def test_sums_of_truth_values_in_a_store() -> None:
    query = wr.query(time="t").rolling(10, store=MemoryStore()).agg(total=wr.sum("bool"))
    assert query.run(rows(["bool"]))["total"].to_pylist() == [1, 1, 2, 2]


def test_together_sums_of_truth_values_are_numbers_in_an_operator() -> None:
    query = EVERYTHING.agg(both=wr.together(total=wr.sum, n=wr.count)("bool"))
    operator = query.open()
    operator.push(rows(["bool"]))
    assert operator.finish()["both"].to_pylist() == [{"total": 2, "n": 3}]
    assert query.run(rows(["bool"]))["both"].to_pylist() == [{"total": 2, "n": 3}]


def test_the_type_of_a_users_function_is_shown_by_results_or_planned() -> None:
    seen = []

    def lift(value: str) -> list[str]:
        seen.append(value)
        return [value]

    own = wr.monoid(lift=lift, combine=lambda a, b: a + b, lower=len, identity=[], compile=False)("string")
    schema = rows(["string"]).schema
    assert result_type(own, schema) == pa.null()
    assert not seen
    assert planned_type(own, schema) == pa.int64()
    assert seen


def test_planned_decimals_hold_the_results_of_tables() -> None:
    schema = rows(["decimal"]).schema
    names = ("sum", "max", "mean", "collect", "together in numbers")
    planned = {name: planned_type(AGGREGATES[name]("decimal"), schema) for name in names}
    assert planned == {
        "sum": pa.decimal128(18, 2),
        "max": pa.decimal128(8, 2),
        "mean": pa.decimal128(12, 6),
        "collect": pa.list_(pa.decimal128(8, 2)),
        "together in numbers": pa.struct({"total": pa.decimal128(18, 2), "mean": pa.decimal128(12, 6)}),
    }


def test_what_an_aggregate_does_not_take_is_refused_before_anything_runs() -> None:
    with pytest.raises(TypeError, match=r"sum\('string'\) does not work on column 'string' of type string"):
        planned_type(wr.sum("string"), rows(["string"]).schema)
