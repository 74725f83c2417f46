"""Keys of any type, keys that are forgotten, rows in order across pushes, late rows and metrics."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from windrow.testing import assert_same_results

TEXT = pa.array(["a", "b", "a", None])
KEYS = {
    "struct": pa.array([{"a": 1, "b": "x"}, {"a": 2, "b": "y"}, {"a": 1, "b": "x"}, None]),
    "list": pa.array([[1], [2], [1], None]),
    "decimal": pa.array([Decimal("1.10"), Decimal("2.20"), Decimal("1.10"), None]),
    "date": pa.array([date(2024, 1, 1), date(2024, 1, 2), date(2024, 1, 1), None]),
    "timestamp": pa.array([datetime(2024, 1, 1), datetime(2024, 1, 2), datetime(2024, 1, 1), None]),
    "duration": pa.array([1, 2, 1, None], pa.duration("us")),
    "binary": pa.array([b"a", b"b", b"a", None]),
    "fixed binary": pa.array([b"a", b"b", b"a", None], pa.binary(1)),
    "dictionary": TEXT.dictionary_encode(),
    "view": TEXT.cast(pa.string_view()),
    "large text": TEXT.cast(pa.large_string()),
    "boolean": pa.array([True, False, True, None]),
    "float": pa.array([1.5, float("nan"), 1.5, None]),
}


@pytest.mark.parametrize(
    "by", [*([kind] for kind in KEYS), ["struct", "decimal"], ["date", "dictionary", "view"]]
)
def test_keys_of_any_type_and_of_several_columns(by: list[str]) -> None:
    query = (
        wr.query(time="t", by=by).window(a=wr.Tumbling(10), b=wr.Session(5), c=wr.Rows(1)).agg(n=wr.count())
    )
    rows = pa.table({"t": [1, 2, 3, 4], **{name: KEYS[name] for name in by}})
    operator = query.open()
    operator.push(rows)
    operator = query.restore(operator.snapshot())
    operator.push(rows)
    found, expected = operator.finish(), query.run(pa.concat_tables([rows, rows]))
    assert_same_results(found, expected)
    assert found.schema == expected.schema


@pytest.mark.parametrize("window", [wr.Sliding(20, slide=10), wr.Session(5)])
def test_keys_that_nothing_refers_to_are_forgotten(window: Any) -> None:
    """50,000 keys one after the other: state does not grow with those that have gone."""
    operator = wr.query(time="t", by="k", watermark=10).window(window).agg(n=wr.count()).open()
    largest, fired = 0, 0
    for first in range(0, 50_000, 500):
        keys = np.arange(first, first + 500)
        fired += operator.push(pa.table({"t": keys // 50, "k": keys})).num_rows
        largest = max(largest, operator.metrics.keys)
    assert largest <= 2 * 2_500 + 1_024 + 500
    assert operator.metrics.state_bytes < 500_000
    fired += operator.finish().num_rows
    assert fired == 50_000 * (2 if isinstance(window, wr.Sliding) else 1)
    assert (operator.metrics.keys, operator.metrics.state_bytes) == (0, 0)


def test_results_keep_their_keys_when_others_are_forgotten() -> None:
    operator = wr.query(time="t", by="k", watermark=0).window(wr.Session(1_000)).agg(n=wr.count()).open()
    for first in range(0, 20_000, 1_000):
        keys = [f"old {k}" for k in range(first, first + 999)]
        operator.push(pa.table({"t": [5 * first] * 1_000, "k": [*keys, "stays"]}))
    found = operator.finish().to_pylist()
    assert sum(row["k"] == "stays" for row in found) == 1
    assert all(row["n"] == 1 for row in found if row["k"] != "stays")


# -- order ---------------------------------------------------------------------------------------------------

AGGREGATES = {
    "text": wr.concat("v"),
    "first": wr.first("v"),
    "last": wr.last("v"),
    "run": wr.longest_run("o"),
    "all": wr.collect("v"),
}


@pytest.mark.parametrize("restores", [False, True])
def test_equal_times_are_ordered_by_a_column_across_pushes(restores: bool) -> None:
    query = (
        wr.query(time="t", by="k", order="o")
        .window(a=wr.Sliding(20, slide=10), b=wr.Session(3), c=wr.Rows(3), d=wr.Session(3, max_size=5))
        .agg(**AGGREGATES)
    )
    random = np.random.default_rng(3)
    times = random.integers(0, 12, 40)
    rows = pa.table(
        {
            "t": times,
            "k": (times * 7 + np.arange(40)) % 2,
            "o": random.permutation(40),
            "v": [chr(97 + k % 26) for k in range(40)],
        }
    )
    operator = query.open()
    for first in range(0, 40, 7):
        operator.push(rows.slice(first, 7))
        if restores:
            operator = query.restore(operator.snapshot())
    assert_same_results(operator.finish(), query.run(rows))


def test_without_a_column_equal_times_are_taken_as_they_came() -> None:
    operator = wr.query(time="t").window(wr.Tumbling(10)).agg(text=wr.concat("v")).open()
    for time, value in ((5, "c"), (1, "a"), (5, "d"), (1, "b"), (5, "e")):
        operator.push(pa.table({"t": [time], "v": [value]}))
    assert operator.finish()["text"].to_pylist() == ["abcde"]


# -- late rows and metrics -----------------------------------------------------------------------------------


def test_late_rows_come_back_whole_once_with_how_late_they_were() -> None:
    query = wr.query(time="t", watermark="5s", late="return").window(wr.Tumbling("10s")).agg(n=wr.count())
    operator = query.open()
    names = ["t", "late_by", "late_reason"]
    assert operator.late_rows().schema.names == names[1:]
    start = datetime(2024, 5, 1)
    operator.push(pa.table({"t": [start, start + timedelta(seconds=40)]}))
    nothing = operator.late_rows()
    operator.push(pa.table({"t": [start + timedelta(seconds=3)], "other": [7]}))
    operator = query.restore(operator.snapshot())
    late = operator.late_rows()
    assert late.to_pylist() == [
        {
            "t": start + timedelta(seconds=3),
            "other": 7,
            "late_by": timedelta(seconds=32),
            "late_reason": "window_fired",
        }
    ]
    assert operator.late_rows() == nothing
    assert [late.schema.field(name).type for name in names] == nothing.schema.types


def test_late_rows_whose_other_columns_changed_their_types_come_back_as_text() -> None:
    query = wr.query(time="t", watermark=0, late="return").window(wr.Tumbling(10)).agg(n=wr.count())
    operator = query.open()
    operator.push(pa.table({"t": [50]}))
    operator.push(pa.table({"t": [1], "x": [3]}))
    operator.push(pa.table({"t": [2], "x": ["three"]}))
    assert operator.late_rows()["x"].to_pylist() == ["3", "three"]


def test_metrics_as_a_dict_have_every_number_and_add_up() -> None:
    query = (
        wr.query(time="t", by="k", watermark=0, allowed_lateness=5)
        .window(a=wr.Tumbling(10), b=wr.Session(3))
        .agg(n=wr.count())
    )
    operator = query.open()
    operator.push(pa.table({"t": [1, 12, None, 30], "k": ["x", "x", "x", "y"]}))
    operator.push(pa.table({"t": [2, 28], "k": ["x", "y"]}))
    operator.push(pa.table({"t": [29], "k": ["y"]}))
    found = operator.metrics.as_dict()
    assert found["rows_in"] == 7 == found["rows_aggregated"] + found["rows_late"] + found["rows_rejected"]
    assert found["late"] == {"window_fired": 1}
    assert found["rejected"] == {"no_time": 1}
    assert (found["windows_fired"], found["windows_corrected"], found["windows_retracted"]) == (5, 1, 0)
    assert found["watermark"] == 30
    numbers = set(vars(operator.metrics)) - {"late_times"}
    assert set(found) == numbers | {"rows_late", "rows_rejected"}
