"""Queries, streams and SQL on a session of either kind: what the local engine gives.

Run by ``test_connect.py`` on Spark Connect, and by ``make compat`` on both kinds and with several versions of
PySpark. Cases that are marked ``compat`` are for the latter alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import windrow as wr
from engines.spark.spark_frames import KIND, settings_of
from support.cli_jobs import GOOD, write_calls, write_job
from windrow.cli.main import main
from windrow.engines.spark.compat import is_connect, parallelism
from windrow.engines.spark.rolling.skew import SETTING
from windrow.testing import assert_same_results

#: of calls
SCHEMA = "ts long, key string, len long, seq long"


def calls(rows: int = 400) -> pa.Table:
    rng = np.random.default_rng(1)
    return pa.table(
        {
            "ts": rng.integers(0, 200, rows),
            "key": pa.array(["a", "b", None]).take(pa.array(rng.integers(0, 3, rows))),
            "len": rng.integers(0, 50, rows),
            "seq": rng.permutation(rows),
        }
    )


def frame_of(spark: Any, table: pa.Table) -> Any:
    """Row by row, as every version of PySpark can."""
    return spark.createDataFrame([tuple(row.values()) for row in table.to_pylist()], SCHEMA)


def rows_of(frame: Any) -> list[dict[str, Any]]:
    return [row.asDict(recursive=True) for row in frame.collect()]


AGGREGATES = {"total": wr.sum("len"), "all": wr.collect("len"), "n": wr.count()}
SPREAD = wr.monoid(
    lift=lambda v: (v, v),
    combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
    lower=lambda p: p[1] - p[0],
    identity=(2**60, -(2**60)),
    result_type="int64",
)
QUERIES = {
    "rolling": wr.query(time="ts", by="key", order="seq").rolling(20).agg(**AGGREGATES),
    "rolling without a key": wr.query(time="ts", order="seq").rolling(5).agg(**AGGREGATES),
    "rolling by rows": wr.query(time="ts", by="key", order="seq").rolling(rows=7).agg(**AGGREGATES),
    "slices": wr.query(time="ts", by="key").window(wr.Sliding(20, slide=5)).agg(total=wr.sum("len")),
    "slices of one's own": wr.query(time="ts", by="key").window(wr.Tumbling(20)).agg(s=SPREAD("len")),
    "sessions": wr.query(time="ts", by="key").window(wr.Session(2)).agg(m=wr.approx_distinct("len")),
    "in order": wr.query(time="ts", by="key", order="seq").window(wr.Rows(5)).agg(**AGGREGATES),
}


def test_the_session_is_of_its_kind_and_has_its_settings(spark: Any) -> None:
    assert is_connect(spark) == (KIND == "remote")
    assert wr.spark.session() is spark
    for name, (value, _) in wr.spark.SETTINGS.items():
        assert spark.conf.get(name) == value
    assert parallelism(spark) == 2


@pytest.mark.compat
@pytest.mark.parametrize("name", QUERIES)
def test_results_are_those_of_the_local_engine(spark: Any, name: str) -> None:
    table = calls()
    frame = frame_of(spark, table)
    assert_same_results(rows_of(QUERIES[name].run(frame)), QUERIES[name].run(table))


@pytest.mark.compat
def test_hot_keys_are_split(spark: Any, tmp_path: Path) -> None:
    query, table = QUERIES["rolling"], calls()
    pq.write_table(table, tmp_path / "calls.parquet")
    frame = spark.read.parquet(str(tmp_path / "calls.parquet"))
    why = "Spark Connect does not show its plan" if is_connect(spark) else "the input is of "
    assert f"not split: {why}" in query.explain(frame)
    with settings_of(spark, {SETTING: "split"}):
        assert "split in time into segments" in query.explain(frame)
        assert_same_results(rows_of(query.run(frame)), query.run(table))


@pytest.mark.compat
def test_labels_see_what_was_before_them(spark: Any) -> None:
    query, table = wr.query(time="ts", by="key").asof(5, 20).agg(total=wr.sum("len"), n=wr.count()), calls()
    found = query.run(frame_of(spark, table), at=frame_of(spark, table).where("seq < 100").drop("len"))
    labels = table.filter(pc.less(table["seq"], 100)).drop_columns(["len"])
    assert_same_results(rows_of(found), query.run(table, at=labels))


@pytest.mark.compat
def test_sql(spark: Any) -> None:
    table = calls()
    frame_of(spark, table).createOrReplaceTempView("calls")
    wr.register(spark)
    found = spark.sql(
        "SELECT * FROM windrow_rolling(TABLE(calls) PARTITION BY key ORDER BY ts, time => 'ts', size => 20, "
        "n => 'count()')"
    )
    assert found.agg({"n": "sum"}).first()[0] == sum(
        wr.query(time="ts", by="key").rolling(20).agg(n=wr.count()).run(table).column("n").to_pylist()
    )


@pytest.mark.compat
def test_rows_are_counted(spark: Any) -> None:
    table = calls()
    frame, counts = wr.spark.counted(QUERIES["slices"], frame_of(spark, table))
    QUERIES["slices"].run(frame).collect()
    assert counts.get == {"rows_in": table.num_rows, "rows_rejected": 0}


def test_a_setting_of_the_server_is_refused_by_name(spark: Any) -> None:
    with pytest.raises(ValueError, match=r"spark\.driver\.memory cannot be set in the Spark session"):
        wr.spark.session({"spark.driver.memory": "2g"})


def test_a_job_with_a_stream_goes_on(spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From the file to the counts, the state and the checkpoint."""
    write_calls(tmp_path, files=3)
    text = GOOD.replace("header = true", "header = true\nmaxFilesPerTrigger = 1")
    text = text.replace('master = "local[2]"', f'{KIND} = "local[2]"')
    assert main(["run", str(write_job(tmp_path, text))]) == 0
    assert "late 1" in capsys.readouterr().err
    assert main(["state", str(tmp_path / "checkpoint")]) == 0
    assert "slices of 2 keys" in capsys.readouterr().out
    other = write_job(tmp_path, text.replace('size = "1h"', 'size = "2h"'), "other.toml")
    assert main(["run", str(other)]) != 0
    assert "To start afresh" in capsys.readouterr().err
    own = write_job(tmp_path, text.replace('"results"', '"local"'), "local.toml")
    assert main(["run", str(own), "--engine", "local", "--quiet"]) == 0
    found = spark.read.parquet(str(tmp_path / "results")).toArrow()
    last = max(found.column("window_end").to_pylist())
    every = spark.read.parquet(str(tmp_path / "local")).where(f"window_end <= timestamp '{last}'")
    assert_same_results(found, every.toArrow())


@pytest.mark.compat
def test_late_rows_of_a_stream_are_taken_apart(spark: Any, tmp_path: Path) -> None:
    query = (
        wr.query(time="ts", by="key", watermark=1, late="return").window(wr.Tumbling(20)).agg(n=wr.count())
    )
    frame_of(spark, calls()).write.parquet(str(tmp_path / "in"))
    stream = spark.readStream.schema(SCHEMA).parquet(str(tmp_path / "in"))
    results, late = str(tmp_path / "results"), str(tmp_path / "late")

    def keep_results(frame: Any, number: int) -> None:
        frame.write.mode("append").parquet(results)

    def keep_late(frame: Any, number: int) -> None:
        frame.write.mode("append").parquet(late)

    writer = query.run(stream).writeStream.foreachBatch(wr.spark.sink_both(keep_results, keep_late))
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
    writer.start().awaitTermination()
    expected = [row for row in query.run(calls()).to_pylist() if row["window_end"] < 200]
    assert_same_results(spark.read.parquet(results).toArrow().to_pylist(), expected)
    assert spark.read.parquet(late).count() == 0


@pytest.mark.compat
def test_before_4_1_a_stream_is_refused_by_name(spark: Any, tmp_path: Path) -> None:
    query = wr.query(time="ts", by="key", watermark=1).window(wr.Tumbling(20)).agg(n=wr.count())
    stream = spark.readStream.schema(SCHEMA).parquet(str(tmp_path))
    with pytest.raises(
        RuntimeError, match=r"transformWithState, which is in Spark 4\.1 and newer, and this is"
    ):
        query.run(stream)


@pytest.mark.compat
def test_before_4_0_sql_is_refused_by_name(spark: Any) -> None:
    with pytest.raises(RuntimeError, match=r"table functions .* Spark 4\.0 and newer, and this is"):
        wr.register(spark)
