"""Rows over which an aggregate raises, on Spark: rejected by batch queries, and by streams into a sink."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import windrow as wr
from support.late_jobs import run_steps, write_late_files, write_late_job
from support.stream_source import counted, keep_in, kept_in
from windrow.cli.main import main
from windrow.testing import StreamOracle, assert_same_results, evaluate

PARTS = wr.monoid(name="parts", lift=lambda v: 60 // (v % 5), combine=lambda a, b: a + b, identity=0)


def calls(seed: int, rows: int = 120, first: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    times = pa.array(rng.integers(first, first + 100, rows), mask=rng.random(rows) < 0.05)
    keys = pa.array(["a", "b", None]).take(pa.array(rng.integers(0, 3, rows)))
    return pa.table({"ts": times, "key": keys, "len": rng.integers(0, 50, rows)})


def test_rows_that_raise_are_rejected_by_batch_queries(spark: Any) -> None:
    start, table = wr.query(time="ts", by="key", on_error="reject"), calls(1)
    frame = spark.createDataFrame(table)
    for query in (
        start.window(wr.Tumbling(20)).agg(parts=PARTS("len")),
        start.window(wr.Rows(3)).agg(parts=PARTS("len")),
        start.rolling(15).agg(parts=PARTS("len")),
    ):
        assert_same_results(query.run(frame).toArrow(), evaluate(query, table.to_pylist()))
    rejected = query.rejected_rows(frame).toArrow()
    assert_same_results(rejected, query.rejected_rows(table))
    assert set(rejected["rejected_reason"].to_pylist()) == {"no_time", "raised"}


def test_results_late_and_rejected_rows_of_a_stream_go_to_three_sinks(spark: Any, tmp_path: Path) -> None:
    wr.spark.session()
    start = wr.query(time="ts", by="key", watermark=5, late="return", on_error="reject")
    query = start.window(wr.Tumbling(20)).agg(parts=PARTS("len"))
    tables = [calls(2), calls(3, first=60), calls(4, first=20)]
    (tmp_path / "in").mkdir()
    for number, table in enumerate(tables):
        file = tmp_path / "in" / f"{number}.parquet"
        pq.write_table(table, file)
        os.utime(file, (1_700_000_000 + number,) * 2)  # Spark takes the oldest first
    stream = spark.readStream.schema("ts long, key string, len long").option("maxFilesPerTrigger", "1")
    places = {name: tmp_path / name for name in ("results", "late", "rejected")}
    results, late, rejected = (keep_in(place) for place in places.values())
    sink = wr.spark.sink_all(results, late=late, rejected=rejected)
    writer = query.run(stream.parquet(str(tmp_path / "in"))).writeStream.foreachBatch(sink)
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
    running = writer.start()
    running.awaitTermination()
    found = {name: kept_in(place).to_pylist() for name, place in places.items()}
    oracle = StreamOracle(query, judge="spark")
    expected = [row for table in (*tables, []) for row in oracle.push(table)]
    assert_same_results(found["results"], expected)
    assert_same_results(found["rejected"], oracle.rejected)
    assert len(found["late"]) == oracle.counts.rows_late > 0
    counts = counted(running)
    assert counts["rows_in"] == 360
    assert counts["rows_in"] == counts["rows_aggregated"] + len(found["late"]) + len(found["rejected"])


OWN = """
import windrow as wr

inverse = wr.monoid(name="inverse", lift=lambda v: 60 // (v % 7), combine=lambda a, b: a + b, identity=0)
"""
HALVES = '[[window]]\nname = "half"\nkind = "tumbling"\nsize = "30m"\n'
SINKS = (
    '\n[late]\nformat = "parquet"\npath = "{0} late"\n\n[rejected]\nformat = "parquet"\npath = "{0} bad"\n'
)


def test_a_job_writes_late_and_rejected_rows_alike_on_both_engines_and_verifies(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_late_files(tmp_path, files=4)
    (tmp_path / "own.py").write_text(OWN)
    steps, rows = {}, {}
    for engine in ("spark", "local"):
        agg = 'n = "count()"\nparts = "inverse(len)"'
        file = write_late_job(tmp_path, engine, "maxFilesPerTrigger = 1", windows=HALVES, agg=agg)
        file.write_text(file.read_text() + SINKS.format(engine))
        own = ["--engine", engine, "--monoids", str(tmp_path / "own.py")]
        steps[engine] = run_steps(file, capsys, *own)
        for name in ("late", "bad"):
            parts = sorted((tmp_path / f"{engine} {name}").rglob("part-*.parquet"))
            rows[engine, name] = [
                row["seq"] for part in parts for row in pq.ParquetFile(part).read().to_pylist()
            ]
        assert main(["verify", str(file), *own]) == 0, capsys.readouterr().out
    assert steps["spark"] == steps["local"]
    for name, outcome in (("late", "late"), ("bad", "rejected")):
        assert sorted(rows["spark", name]) == sorted(rows["local", name])
        assert len(rows["spark", name]) == sum(step[outcome] for step in steps["spark"]) > 0
