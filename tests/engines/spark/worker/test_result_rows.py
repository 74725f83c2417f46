"""What a step gives, as lists that Spark unfolds: any type goes through, and lists are not too long."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from windrow.engines.spark.worker.streaming.result_rows import lists_of_rows
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


def as_spark_reads(lists: list[Any], kind: Any) -> pa.RecordBatch:
    """What Spark's worker makes of values, and sends."""
    batch = pa.RecordBatch.from_pylist([{"rows": each} for each in lists], pa.schema({"rows": kind}))
    batch.validate(full=True)
    return batch


def test_values_of_every_type_and_nulls_are_the_same_in_lists() -> None:
    made = [pa.array([int(v) if pa.types.is_uint64(given) else v, None], given) for _, given, v in TYPES]
    table = pa.table(made, names=[f"c{k}" for k in range(len(made))])
    kind = listed(pa.struct([(f"c{k}", wanted) for k, (wanted, _, _) in enumerate(TYPES)]))
    (rows,) = as_spark_reads(lists_of_rows(kind, table, {}), kind).column("rows").to_pylist()
    expected = {f"c{k}": pa.scalar(v, wanted).as_py() for k, (wanted, _, v) in enumerate(TYPES)}
    assert rows == [expected, dict.fromkeys(expected)]


@pytest.mark.parametrize(("count", "lengths"), [(0, []), (3, [3]), (4, [4]), (9, [4, 4, 1])])
def test_no_list_is_longer_than_it_may_be(count: int, lengths: list[int]) -> None:
    kind = listed(pa.struct([("n", pa.int64())]))
    table = pa.concat_tables([pa.table({"n": [k]}) for k in range(count)] or [pa.table({"n": pa.nulls(0)})])
    lists = lists_of_rows(kind, table, {}, most=4)
    assert [len(each) for each in lists] == lengths
    rows = [row for each in as_spark_reads(lists, kind).column("rows").to_pylist() for row in each]
    assert rows == [{"n": k} for k in range(count)]


def test_results_without_rows_may_have_any_type() -> None:
    kind = listed(pa.struct([("pair", PAIR)]))
    assert lists_of_rows(kind, pa.table({"pair": pa.array([], pa.string())}), {}) == []


def test_late_rows_are_structs_in_a_column_of_their_own() -> None:
    late = pa.struct([("t", pa.int64()), ("late_reason", pa.string())])
    kind = listed(pa.struct([("total", pa.int64()), ("late", late)]))
    behind = pa.table({"t": [7], "late_reason": ["window_fired"]})
    lists = lists_of_rows(kind, pa.table({"total": [1, 2]}), {LATE: [behind]})
    assert as_spark_reads(lists, kind).column("rows").to_pylist() == [
        [{"total": 1, "late": None}, {"total": 2, "late": None}],
        [{"total": None, "late": {"t": 7, "late_reason": "window_fired"}}],
    ]
