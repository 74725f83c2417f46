"""As-of queries and rolling frames on DataFrames, against the local engine."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from engines.spark.spark_frames import settings_of
from windrow.testing import assert_same_results, no_leak
from windrow.testing.strategies import CONCATENATION

pytestmark = pytest.mark.filterwarnings("ignore:.*have no time:UserWarning")

START = datetime(2024, 3, 1, tzinfo=UTC)


def events(count: int = 400, keys: int = 7, hot: float = 0.0) -> pa.Table:
    rng = np.random.default_rng(count)
    owner = np.where(rng.random(count) < hot, 0, rng.integers(0, keys, count))
    minutes = rng.integers(0, 60 * 24 * 10, count)
    return pa.table(
        {
            "ts": pa.array([START + timedelta(minutes=int(m)) for m in minutes], pa.timestamp("us", "UTC")),
            "user": pa.array([f"u{k}" if k else None for k in owner]),
            "amount": pa.array(rng.integers(1, 100, count), mask=rng.random(count) < 0.1),
            "shop": pa.array(rng.choice(["x", "y", "z"], count)),
            "nr": pa.array(np.arange(count)),
            "note": pa.array(["long text that no aggregate reads"] * count),
        }
    )


def labels(count: int = 90, keys: int = 9) -> pa.Table:
    rng = np.random.default_rng(count)
    minutes = rng.integers(-60 * 24, 60 * 24 * 12, count)
    return pa.table(
        {
            "label.id": pa.array(np.arange(count)),
            "user_id": pa.array([f"u{k}" if k else None for k in rng.integers(0, keys, count)]),
            "at": pa.array(
                [START + timedelta(minutes=int(m)) for m in minutes],
                pa.timestamp("us", "UTC"),
                mask=rng.random(count) < 0.1,
            ),
        }
    )


FEATURES: dict[str, Any] = {
    "spent": wr.sum("amount"),
    "n": wr.count(),
    "top": wr.arg_max("amount", value="shop"),
    "p90": wr.quantile("amount", 0.9),
    "shops": wr.count_distinct("shop"),
    "text": CONCATENATION("shop"),
}


@pytest.mark.parametrize(
    "frames",
    [
        {"sizes": ("1d", "7d")},
        {"sizes": ("1d", "all"), "closed": "both", "lag": "2h"},
        {"sizes": ("1mo",), "timezone": "Europe/Berlin"},
        {"sizes": (), "rows": [1, 5]},
        {"sizes": ("1d", "3d"), "direction": "forward"},
        {"sizes": ("1d", "7d"), "order": ()},
        {"sizes": (), "rows": [2, 9], "order": ()},
        {"sizes": ("2d", "all"), "closed": "neither", "order": (), "by": ()},
    ],
    ids=str,
)
def test_labels_get_what_the_local_engine_gives(spark: Any, frames: dict[str, Any]) -> None:
    """With ``order`` Spark sorts by key and time, without it by places."""
    options = {"order": "nr", "by": ("user",), **frames}
    by = options.pop("by")
    query = wr.query(time="ts", by=by, order=options.pop("order"))
    query = query.asof(*options.pop("sizes"), **options).agg(**FEATURES)
    known, asked = events(), labels()
    whose = by and "user_id"
    found = query.run(
        spark.createDataFrame(known), at=spark.createDataFrame(asked), at_time="at", at_by=whose
    )
    assert found.columns == [*asked.column_names, *query.result_names]
    expected = query.run(known, at=asked, at_time="at", at_by=whose)
    assert_same_results(found.toArrow(), expected)


def test_labels_without_a_key_and_of_other_types(spark: Any) -> None:
    known = pa.table(
        {"t": pa.array([1, 5, 9], pa.int32()), "k": pa.array([1, 2, 1], pa.int32()), "v": [1, 2, 4]}
    )
    asked = pa.table({"t": pa.array([6, 10], pa.int64()), "who": pa.array([1, 2], pa.int64())})
    frames = [spark.createDataFrame(table) for table in (known, asked)]
    for by, at_by in (((), ()), (("k",), ("who",))):
        query = wr.query(time="t", by=by).asof(5, "all").agg(total=wr.sum("v"), n=wr.count())
        found = query.run(frames[0], at=frames[1], at_by=at_by)
        assert_same_results(found.toArrow(), query.run(known, at=asked, at_by=at_by))


def test_no_label_sees_its_future(spark: Any) -> None:
    query = wr.query(time="ts", by="user").asof("1d", "7d").agg(spent=wr.sum("amount"), n=wr.count())
    columns: Any = {"at_time": "at", "at_by": "user_id"}

    def run(known: pa.Table, asked: pa.Table) -> Any:
        frames = [spark.createDataFrame(table) for table in (known, asked)]
        found = query.run(frames[0], at=frames[1], **columns).toArrow()
        return found.sort_by("label.id")

    no_leak(query, events(60), labels(10), **columns, run=run, most=1)


@pytest.mark.classic("events are not pruned, since its plan is not shown")
def test_events_that_no_label_sees_do_not_reach_the_shuffle(spark: Any) -> None:
    query = wr.query(time="t", by="k").asof(10).agg(total=wr.sum("v"))
    known = spark.range(10_000).selectExpr("id as t", "id % 100 as k", "id as v")
    asked = spark.createDataFrame(pa.table({"k": [3], "t": [510]}))
    assert rows_shuffled(query, known, asked) == 10_001  # a look at labels costs more than few events
    with settings_of(spark, {"spark.windrow.prune.minBytes": "1000"}):
        assert rows_shuffled(query, known, asked) <= 20


def rows_shuffled(query: wr.Query, known: Any, asked: Any) -> int:
    found = query.run(known, at=asked)
    assert [row.asDict() for row in found.collect()] == [{"k": 3, "t": 510, "total": 503}]
    return max(shuffled_rows(found._jdf.queryExecution().executedPlan()))


def shuffled_rows(plan: Any) -> list[int]:
    """How many rows each exchange of a finished plan has written; subqueries are not looked at."""
    name, children = plan.nodeName(), plan.children()
    below = [children.apply(k) for k in range(children.size())]
    if "AdaptiveSparkPlan" in name:
        below.append(plan.executedPlan())
    if "QueryStage" in name:
        below.append(plan.plan())
    own = [plan.metrics().apply("shuffleRecordsWritten").value()] if name == "Exchange" else []
    return own + [count for each in below for count in shuffled_rows(each)]


@pytest.mark.parametrize("order", ["nr", ()])
def test_hot_keys_are_split_and_results_stay(spark: Any, order: Any) -> None:
    query = wr.query(time="ts", by="user", order=order).asof("2h", "6h", lag="1h").agg(**FEATURES)
    known, asked = events(4_000, hot=0.7), labels(300)
    expected = query.run(known, at=asked, at_time="at", at_by="user_id")
    with settings_of(spark, {"spark.windrow.skew": "split"}):
        frames = [spark.createDataFrame(table) for table in (known, asked)]
        found = query.run(frames[0], at=frames[1], at_time="at", at_by="user_id")
        assert_same_results(found.toArrow(), expected)
        rolling = wr.query(time="ts", by="user", order="nr").rolling("1h", "5h", shift="30m").agg(**FEATURES)
        assert_same_results(rolling.run(frames[0]).toArrow(), rolling.run(known))


@pytest.mark.parametrize(
    "frames",
    [
        {"sizes": ("1h", "1d"), "closed": "left"},
        {"sizes": ("2h",), "shift": "1h"},
        {"sizes": (), "rows": [3, 10], "shift": -2},
    ],
    ids=str,
)
def test_rolling_frames_give_what_the_local_engine_gives(spark: Any, frames: dict[str, Any]) -> None:
    options = dict(frames)
    query = wr.query(time="ts", by="user", order="nr").rolling(*options.pop("sizes"), **options)
    known = events()
    found = query.agg(**FEATURES).run(spark.createDataFrame(known))
    assert_same_results(found.toArrow(), query.agg(**FEATURES).run(known))


def test_a_table_and_a_dataframe_together_are_refused(spark: Any) -> None:
    query = wr.query(time="t").asof(5).agg(n=wr.count())
    with pytest.raises(TypeError, match=r"the events are a Spark DataFrame and the labels are not"):
        query.run(spark.range(3).withColumnRenamed("id", "t"), at=pa.table({"t": [1]}))


def test_names_types_and_times_that_do_not_fit_are_refused(spark: Any) -> None:
    known = spark.range(3).selectExpr("id as t", "id as k")
    query = wr.query(time="t", by="k").asof(5).agg(n=wr.count())
    for columns, error in {
        "id as t, string(id) as k": r"key column 'k' of the events is of type int64",
        "timestamp_micros(id) as t, id as k": r"holds integers and column 't' of the labels holds timestamps",
        "id as t, id as k, id as n": r"the labels have a column 'n' already",
        "id as t": r"'k'",
    }.items():
        with pytest.raises((TypeError, ValueError, KeyError), match=error):
            query.run(known, at=spark.range(3).selectExpr(*columns.split(", ")))
