"""The plan in words."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow.compile.native import CompileWarning

CALLS = pa.table({"ts": [1, 2], "region": ["a", "b"], "len": [3, 4], "note": ["x", "y"]})


def test_rolling(spark: Any) -> None:
    frame = spark.createDataFrame(CALLS)
    text = (
        wr.query(time="ts", by="region").rolling(10).agg(m=wr.max("len"), c=wr.concat("note")).explain(frame)
    )
    assert "a result per row" in text
    assert "to one partition a key (region), with the order in which they came; nothing is sorted" in text
    assert "m = max('len'): native code; int64" in text
    assert "c = concat('note'): ranges of the values themselves; native code; string" in text
    assert "int64; TwoStacksLite: amortised constant time, the highest throughput" in text
    assert "MapInArrow" in text.split("Spark's plan:")[1]


def test_frames_of_rows_and_of_labels(spark: Any) -> None:
    """They have neither one size nor a number of rows, and as-of windows no rolling at all."""
    frame = spark.createDataFrame(CALLS)
    by_region = wr.query(time="ts", by="region")
    rolling = by_region.rolling(10, 20, closed="left", shift=-1).agg(m=wr.max("len"), n=wr.count())
    text = rolling.explain(frame)
    assert "rolling: a result per row, over\n  10: [t - 1 - 10, t - 1)\n  20: [t - 1 - 20" in text
    assert "each partition to the local engine, results in no order; memory: spark.windrow.taskMemory" in text
    assert "m = max('len'): native code; int64; TwoStacksLite" in text
    assert "n = count(): counted from the ranges alone" in text
    assert "MapInArrow" in text.split("Spark's plan:")[1]
    spark.conf.set("spark.windrow.skew", "split")
    try:
        assert "hot keys: split in time into segments that cores share" in rolling.explain(frame)
        asof = by_region.asof("all").agg(m=wr.max("len"), c=wr.concat("note")).explain(frame)
    finally:
        spark.conf.unset("spark.windrow.skew")
    assert "as-of windows: a result per label, over\n  all before t\n" in asof
    assert (
        "events and labels go to one partition a key (region), with the order in which they came; nothing"
        in asof
    )
    assert "hot keys: not split: how far a frame reaches is not a fixed time" in asof
    assert "m = max('len'): native code; int64; TwoStacksLite" in asof
    assert "Spark's plan" not in asof
    stream = spark.readStream.format("rate").load().withColumnRenamed("timestamp", "ts")
    served = wr.query(time="ts", watermark="1m").asof("1h", "2h").agg(n=wr.count()).explain(stream)
    assert "as-of windows on streams: a result per label, over\n" in served
    assert "a label comes out once the watermark has passed what it may see" in served
    framed = wr.query(time="ts", watermark="1m").rolling("1h", "2h").agg(n=wr.count()).explain(stream)
    assert "rolling on a stream: a result per row, over\n" in framed
    held = wr.query(time="ts", watermark="1m").window(wr.Tumbling("1m")).agg(m=wr.median("value"))
    assert "state of m: every value of its windows, so that state grows with the rows" in held.explain(stream)


def test_why_an_aggregate_is_not_native(spark: Any) -> None:
    mine: Any = {"lift": lambda v: v, "combine": lambda a, b: b, "identity": 0, "result_type": "string"}
    texts, fixed = wr.monoid(name="texts", **mine), wr.monoid(name="fixed", compile=False, **mine)
    odd = wr.monoid(name="odd", **mine | {"lower": lambda a: f"{a:.1f}"})
    query = wr.query(time="ts", by="region").rolling(10)
    with pytest.warns(CompileWarning, match="no native form"):
        text = query.agg(a=texts("note"), b=fixed("len"), c=odd("len"), d=wr.max("note")).explain(
            spark.createDataFrame(CALLS)
        )
    assert "a = texts('note'): plain Python: values of type string have no native form" in text
    assert "b = fixed('len'): plain Python: it was made with compile=False" in text
    assert "c = odd('len'): plain Python: lower does not compile for int64" in text
    assert "d = max('note'): plain Python: values of type string have no native form" in text


def test_windows_by_slices_and_in_order(spark: Any) -> None:
    frame = spark.createDataFrame(CALLS)
    query = wr.query(time="ts", by="region").window(wr.Sliding(10, slide=2))
    sliced = query.agg(m=wr.mean("len")).explain(frame)
    assert "windows by slices: Sliding(10, slide=2)" in sliced
    assert "shuffle: partials only, by region" in sliced
    assert "TwoStacksLite: amortised constant time, the highest throughput" in sliced
    ordered = query.agg(c=wr.collect("len")).explain(frame)
    assert "why: c = collect('len') depends on the order of rows" in ordered
    by_rows = wr.query(time="ts").window(r=wr.Rows(3)).agg(n=wr.count()).explain(frame)
    assert "why: r is decided by the rows of a key in their order" in by_rows
