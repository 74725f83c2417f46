"""What a type checker says of programs that use windrow, right ones and wrong ones; ``make types`` checks it.

Nothing here runs. Where a mistake is expected, the line names the rule that finds it; a rule that finds
nothing is itself an error of the check.
"""

from typing import Any, assert_type

import pandas as pd
import polars as pl

import windrow as wr
import windrow.frames
from windrow.monoids.base import Aggregate, Monoid
from windrow.query import Query


def right(calls: pd.DataFrame, clicks: pl.DataFrame, labels: pd.DataFrame) -> None:
    assert_type(wr.max, Monoid)
    assert_type(wr.max("len"), Aggregate)
    assert_type(wr.count(), Aggregate)
    assert_type(wr.count(where="is_paid"), Aggregate)
    assert_type(wr.quantile("len", 0.99), Aggregate)
    assert_type(wr.max_by("caller", "len"), Aggregate)
    assert_type(wr.bloom("len"), Aggregate)

    hours = wr.query(time="ts", by=["region", "caller"], watermark="10m", late="return")
    assert_type(hours, Query)
    query = hours.window(hour=wr.Sliding("1h", slide="5m")).agg(longest=wr.max("len"), n=wr.count())
    assert_type(query, Query)
    assert_type(query.run(calls), pd.DataFrame)
    assert_type(query.run(clicks), pl.DataFrame)
    assert_type(calls.pipe(query), pd.DataFrame)
    assert_type(query.explain(), str)

    features = wr.query(time="ts", by="user").asof("1d", week="7d").agg(n=wr.count())
    assert_type(features.run(clicks, at=labels, at_time="label_ts"), pd.DataFrame)

    rolled = wr.events(calls, time="ts").rolling("24h", min_count=3).agg(mean=wr.mean("len"))
    assert_type(rolled, pd.DataFrame)

    with query.open(lateness="spark") as operator:
        assert_type(operator, wr.Operator)
        assert_type(operator.push(calls), pd.DataFrame)
        assert_type(operator.metrics, wr.Metrics)
        assert_type(operator.metrics.rows_late, int)

    spread = wr.monoid(lift=lambda v: (v, v), combine=max, identity=(0, 0))
    assert_type(spread("len"), Aggregate)
    assert_type(wr.spark.SETTINGS, dict[str, tuple[str, str]])
    assert issubclass(wr.TooManyWindows, Exception)


def wrong(calls: pd.DataFrame, clicks: pl.DataFrame) -> Any:
    wr.maxx("len")  # pyright: ignore[reportAttributeAccessIssue]
    wr.query()  # pyright: ignore[reportCallIssue]
    wr.query(time="ts", watermrk="10m")  # pyright: ignore[reportCallIssue]
    wr.query(time="ts", late="emitted")  # pyright: ignore[reportArgumentType]
    wr.events(calls, tme="ts")  # pyright: ignore[reportCallIssue]
    wr.events(calls, time="ts", empty="all")  # pyright: ignore[reportArgumentType]
    hours = wr.query(time="ts").window(wr.Tumbling("1h"))
    hours.agg(longest="max(len)")  # pyright: ignore[reportArgumentType]
    hours.agg(longest=wr.max)  # pyright: ignore[reportArgumentType]
    wr.query(time="ts").window("1h")  # pyright: ignore[reportArgumentType]
    wr.query(time="ts").rolling("1h", closed="start")  # pyright: ignore[reportArgumentType]
    query = hours.agg(n=wr.count())
    query.run(calls, thread=2)  # pyright: ignore[reportCallIssue]
    query.open(lateness="flink")  # pyright: ignore[reportArgumentType]
    query.explain(dat=calls)  # pyright: ignore[reportCallIssue]
    wr.spark.sesion()  # pyright: ignore[reportAttributeAccessIssue]
    return query.run(clicks).to_pylist()  # pyright: ignore[reportAttributeAccessIssue]
