"""Jobs with ``where``, derived columns and Kafka's values on Spark: the results of the local engine."""

from __future__ import annotations

import datetime as dt
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cli_jobs import GOOD, rows_of, write_calls, write_job
from support.derived_jobs import CHAINED, DERIVED, guide_job, kafka_job, write_guide_rows
from windrow.cli.execution.spark.derive import derived, with_value_columns
from windrow.cli.execution.spark.run import start_stream
from windrow.cli.execution.spark.watch import watch
from windrow.cli.job import Job, read_job
from windrow.cli.main import main
from windrow.cli.record import Record
from windrow.cli.show import reporter_for
from windrow.testing import assert_same_results

KAFKA = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("timestampType", pa.int32()),
    ]
)
START = dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)


def on_both(folder: Path, text: str, *options: str) -> tuple[pa.Table, pa.Table]:
    assert main(["run", str(write_job(folder, text)), "--quiet"]) == 0
    own = write_job(folder, text.replace('"results"', '"local"'), "local.toml")
    assert main(["run", str(own), "--engine", "local", "--quiet", *options]) == 0
    return rows_of(folder / "results"), rows_of(folder / "local")


def test_the_job_of_the_guide_gives_the_same_on_both_engines(spark: Any, tmp_path: Path) -> None:
    write_guide_rows(tmp_path)
    found, expected = on_both(tmp_path, guide_job())
    assert found.num_rows > 5
    assert_same_results(found, expected)


def test_a_row_that_where_leaves_out_stops_neither_engine(spark: Any, tmp_path: Path) -> None:
    write_calls(tmp_path)
    text = GOOD.replace("stream = true\n", 'stream = false\nwhere = "len <> 37 and ratio < 1e6"\n')
    text = text.replace('checkpoint = "checkpoint"\ntrigger = "available_now"\n', "")
    text = text.replace(
        "[events]\n", '[source.columns]\nratio = "1 / (len - 37)"\nbad = "1 / (len - len)"\n\n[events]\n'
    )
    found, expected = on_both(tmp_path, text.replace('"max(len)"', '"max(ratio)"'))
    assert_same_results(found, expected)


def finite(text: str) -> str:
    text = text.replace("stream = true\n", "stream = false\n")
    return text.replace('checkpoint = "checkpoint"\ntrigger = "available_now"\n', "")


def test_a_plan_does_not_double_with_each_derived_column(spark: Any, tmp_path: Path) -> None:
    write_calls(tmp_path)
    start = time.perf_counter()
    found, expected = on_both(tmp_path, finite(CHAINED))
    assert time.perf_counter() - start < 120  # with 12 columns it took an hour
    assert found.num_rows > 5
    assert_same_results(found, expected)


def test_a_row_that_is_left_out_fails_in_no_column_that_is_computed_apart(spark: Any, tmp_path: Path) -> None:
    write_calls(tmp_path)
    text = finite(CHAINED).replace("c30 between 1 and 4", "len <> 37 and c30 between 1 and 4")
    ratios = "".join(f'r{k} = "r{k - 1} + r{k - 1}"\n' for k in range(1, 9))
    text = text.replace('c0 = "', f'r0 = "1 / (len - 37)"\n{ratios}c0 = "', 1).replace(
        '"max(len)"', '"max(r8)"'
    )
    found, expected = on_both(tmp_path, text)
    assert_same_results(found, expected)


def test_a_stream_with_rows_left_out_gives_what_the_local_engine_gives(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_calls(tmp_path, files=4)
    text = DERIVED.replace("header = true", "header = true\nmaxFilesPerTrigger = 1")
    # no row of the second file stays
    text = text.replace("region = 'NORTH'", "region = 'NORTH' and not hour(ts) = 13")
    assert main(["run", str(write_job(tmp_path, text)), "--json"]) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    own = write_job(tmp_path, text.replace('"results"', '"local"'), "local.toml")
    assert main(["run", str(own), "--engine", "local", "--batch-rows", "60", "--json"]) == 0
    mine = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert events[-1]["rows"] == mine[-1]["rows"] > 0
    assert events[-1]["late"] == mine[-1]["late"] == 1
    assert (events[-1]["filtered"], mine[-1]["filtered"]) == (None, 241 - mine[-1]["rows"])
    assert [e["rows"] for e in events if e["event"] == "progress"][1] == 0

    assert_same_so_far(rows_of(tmp_path / "results"), rows_of(tmp_path / "local"))


def assert_same_so_far(found: pa.Table, every: pa.Table) -> None:
    """The windows that a stream has emitted, of those that the local engine emits at its end."""
    watermark = max(found.column("window_end").to_pylist())
    due = [row for row in every.to_pylist() if row["window_end"] <= watermark]
    assert_same_results(found, pa.Table.from_pylist(due, every.schema))


def test_a_stream_whose_columns_are_computed_apart_gives_what_the_local_engine_gives(
    spark: Any, tmp_path: Path
) -> None:
    write_calls(tmp_path, files=4)
    found, every = on_both(tmp_path, CHAINED)
    assert found.num_rows > 5
    assert_same_so_far(found, every)


def test_a_replay_on_spark_applies_the_same_expressions(spark: Any, tmp_path: Path) -> None:
    write_calls(tmp_path)
    for file in (tmp_path / "data").glob("*.csv"):
        file.write_text(file.read_text().replace("ts,", "at,"))
    text = DERIVED.replace('ts = "timestamp"', 'at = "string"')
    text = text.replace("[source.columns]\n", '[source.columns]\nts = "to_timestamp(at)"\n')
    job, out = write_job(tmp_path, text), tmp_path / "replayed"
    assert main(["replay", str(job), "--speed", "max", "--quiet", "--out", str(out)]) == 0
    found = rows_of(out).to_pylist()
    assert {row["region"] for row in found} == {"NORTH"}
    assert "c3" not in {row["who"] for row in found}


# -- Kafka ---------------------------------------------------------------------------------------------------


def record(k: int, value: bytes | None, topic: str = "calls-a") -> dict[str, Any]:
    moment = START + dt.timedelta(minutes=k)
    return {
        "key": b"k%d" % k,
        "value": value,
        "topic": topic,
        "partition": 0,
        "offset": k,
        "timestamp": moment,
    }


def call(k: int, **changed: Any) -> bytes:
    moment = (START + dt.timedelta(minutes=k)).isoformat()
    return json.dumps({"ts": moment, "region": "north", "len": k} | changed).encode()


#: 20 good calls, then what may come instead of them
RECORDS = [record(k, call(k)) for k in range(20)]
RECORDS += [
    record(20, b'{"ts": "2024-05-01'),
    record(21, None),
    record(22, b""),
    record(23, call(23, ts="noon")),
    record(24, call(24, len="many")),
    record(25, call(25, more={"a": 1})),
    record(26, call(26), topic="calls-test"),
]


def as_kafka(records: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist([{"timestampType": 0, **each} for each in records], KAFKA)


def job_of(folder: Path) -> Job:
    text = kafka_job().replace("[events]\n", '[source.columns]\nsender = "upper(kafka_key)"\n\n[events]\n', 1)
    return read_job(write_job(folder, text.replace('n = "count()"', 'n = "count()"\nwho = "max(sender)"')))


def test_values_of_kafka_become_columns(spark: Any, tmp_path: Path) -> None:
    pq.write_table(as_kafka(RECORDS), tmp_path / "records.parquet")
    job = job_of(tmp_path)
    frame = with_value_columns(spark.read.parquet(str(tmp_path / "records.parquet")), job.source)
    names = [
        "ts",
        "region",
        "len",
        "kafka_key",
        "kafka_topic",
        "kafka_partition",
        "kafka_offset",
        "kafka_timestamp",
    ]
    assert frame.columns == names
    rows = {row["kafka_offset"]: row for row in derived(frame, job).toArrow().to_pylist()}
    assert sorted(rows) == list(range(26))
    assert rows[3] == {
        "ts": START + dt.timedelta(minutes=3),
        "region": "north",
        "len": 3,
        "kafka_key": "k3",
        "kafka_topic": "calls-a",
        "kafka_partition": 0,
        "kafka_offset": 3,
        "kafka_timestamp": START + dt.timedelta(minutes=3),
        "sender": "K3",
    }
    for malformed in (20, 21, 22):
        assert (rows[malformed]["ts"], rows[malformed]["region"], rows[malformed]["len"]) == (
            None,
            None,
            None,
        )
    assert (rows[23]["ts"], rows[24]["len"], rows[24]["region"], rows[25]["len"]) == (None, None, "north", 25)


def test_malformed_values_of_a_stream_are_rejected_and_counted(spark: Any, tmp_path: Path) -> None:
    source = tmp_path / "records"
    source.mkdir()
    pq.write_table(as_kafka(RECORDS), source / "0.parquet")
    job = job_of(tmp_path)
    stored = spark.read.parquet(str(source)).schema
    stream = spark.readStream.schema(stored).parquet(str(source))
    frame = derived(with_value_columns(stream, job.source), job)
    started, _ = start_stream(job, frame)
    seen = Record(job, "spark")
    watch(job, started, seen, reporter_for(False, True))
    assert (seen.totals.rows, seen.totals.rejected, seen.totals.late) == (26, 4, 0)


def test_options_of_the_value_reach_spark(spark: Any, tmp_path: Path) -> None:
    text = kafka_job().replace(
        'format = "json"\n', 'format = "json"\noptions = { timestampFormat = "dd.MM.yyyy HH:mm" }\n', 1
    )
    job = read_job(write_job(tmp_path, text))
    pq.write_table(as_kafka([record(0, call(0, ts="01.05.2024 12:00"))]), tmp_path / "records.parquet")
    frame = with_value_columns(spark.read.parquet(str(tmp_path / "records.parquet")), replace(job.source))
    assert frame.toArrow().column("ts").to_pylist() == [START]
