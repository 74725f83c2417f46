"""What a step gives, as lists that Spark unfolds: any type goes through, and lists are not too long."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from windrow.engines.spark.worker.streaming.result_rows import VALUE, goes_as_it_is, list_columns
from windrow.result_names import LATE


def listed(kind: Any) -> Any:
    """A list as Spark has it in Arrow."""
    return pa.list_(pa.field("element", kind))


PAIR = pa.struct([("x", pa.float64()), ("y", pa.string())])
#: a type as Spark asks for it, the type that an operator gives, and a value
TYPES: list[tuple[Any, Any, Any]] = [
    (pa.string(), pa.string(), "é"),
    (pa.string(), pa.large_string(), "a"),
    (pa.binary(), pa.binary(), b"\0\1"),
    (pa.bool_(), pa.bool_(), True),
    (pa.int64(), pa.int64(), -(2**63)),
    (pa.decimal128(20, 0), pa.uint64(), Decimal(2**64 - 1)),
    (pa.float64(), pa.float64(), float("-inf")),
    (pa.decimal128(10, 2), pa.decimal128(12, 4), Decimal("1.25")),
    (pa.date32(), pa.date32(), date(2024, 2, 29)),
    (pa.duration("us"), pa.duration("us"), 5),
    (pa.timestamp("us"), pa.timestamp("us"), -1),
    (pa.timestamp("us", "UTC"), pa.timestamp("us", "Asia/Kathmandu"), 1),
    (listed(pa.int64()), pa.list_(pa.int64()), [1, None]),
    (listed(PAIR), pa.list_(PAIR), [{"x": 1.5, "y": None}]),
    (PAIR, PAIR, {"x": 0.5, "y": "b"}),
    (pa.map_(pa.string(), pa.int64()), pa.map_(pa.string(), pa.int64()), [("k", 1)]),
]


def unfolded(fields: list[Any], table: pa.Table, back: Any = None, most: int = 4) -> list[Any]:
    """What Spark's worker makes of values, and Spark of that: lists of rows."""
    lists = [pa.list_(f.type if goes_as_it_is(f.type) else pa.struct({VALUE: f.type})) for f in fields]
    schema = pa.schema([(f.name, kind) for f, kind in zip(fields, lists, strict=True)])
    given = [
        dict(zip(schema.names, row, strict=True)) for row in list_columns(fields, table, back or {}, most)
    ]
    batch = pa.RecordBatch.from_pylist([dict.fromkeys(schema.names), *given], schema)
    batch.validate(full=True)
    found = []
    for k in range(1, batch.num_rows):
        columns = [column[k].values for column in batch.columns]
        values = [c if goes_as_it_is(f.type) else c.field(0) for f, c in zip(fields, columns, strict=True)]
        found.append(pa.table(values, schema=pa.schema(fields)).to_pylist())
    return found


def test_values_of_every_type_and_nulls_are_the_same_in_lists() -> None:
    made = [pa.array([int(v) if pa.types.is_uint64(given) else v, None], given) for _, given, v in TYPES]
    table = pa.table(made, names=[f"c{k}" for k in range(len(made))])
    fields = [pa.field(f"c{k}", wanted) for k, (wanted, _, _) in enumerate(TYPES)]
    expected = {f"c{k}": pa.scalar(v, wanted).as_py() for k, (wanted, _, v) in enumerate(TYPES)}
    assert unfolded(fields, table) == [[expected, dict.fromkeys(expected)]]
    assert unfolded(fields, table.slice(0, 1)) == [[expected]]


@pytest.mark.parametrize("kind", [pa.timestamp("us", "UTC"), pa.timestamp("us"), pa.duration("us")])
def test_the_least_of_all_integers_is_a_moment_like_others(kind: Any) -> None:
    values = pa.array([-(2**63), None, 2**63 - 1], pa.int64()).cast(kind)
    (row,) = list_columns([pa.field("t", kind)], pa.table({"t": values}), {})
    assert pa.array(row, pa.list_(kind)).values.cast(pa.int64()).to_pylist() == [-(2**63), None, 2**63 - 1]


def test_nan_and_minus_zero_stay_what_they_are() -> None:
    given = [float("nan"), -0.0, 0.0]
    for values in (given, [*given, None]):
        (rows,) = unfolded([pa.field("x", pa.float64())], pa.table({"x": pa.array(values, pa.float64())}))
        assert [repr(row["x"]) for row in rows] == [repr(value) for value in values]


@pytest.mark.parametrize(("count", "lengths"), [(0, []), (3, [3]), (4, [4]), (9, [4, 4, 1])])
def test_no_list_is_longer_than_it_may_be(count: int, lengths: list[int]) -> None:
    table = pa.concat_tables([pa.table({"n": [k]}) for k in range(count)] or [pa.table({"n": pa.nulls(0)})])
    lists = unfolded([pa.field("n", pa.int64())], table, most=4)
    assert [len(each) for each in lists] == lengths
    assert [row for each in lists for row in each] == [{"n": k} for k in range(count)]


def test_results_without_rows_may_have_any_type() -> None:
    assert unfolded([pa.field("pair", PAIR)], pa.table({"pair": pa.array([], pa.string())})) == []


def test_late_rows_are_structs_in_a_column_of_their_own() -> None:
    late = pa.struct([("t", pa.int64()), ("late_reason", pa.string())])
    fields = [pa.field("total", pa.int64()), pa.field("late", late)]
    behind = pa.table({"t": [7], "late_reason": ["window_fired"]})
    assert unfolded(fields, pa.table({"total": [1, 2]}), {LATE: [behind]}) == [
        [{"total": 1, "late": None}, {"total": 2, "late": None}],
        [{"total": None, "late": {"t": 7, "late_reason": "window_fired"}}],
    ]
