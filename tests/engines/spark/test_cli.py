"""A job on Spark, from the file to the report: the same results as on the local engine."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from support.cli_jobs import (
    GOOD,
    STRANGE_NUMBERS,
    STRANGE_RESULTS,
    rows_of,
    write_calls,
    write_job,
    write_strange_numbers,
)
from support.scraping import scrapes
from support.serving import Scripted, last_looks
from support.strange_names import HOSTILE_JOB, write_hostile_rows
from windrow.cli.commands import serve
from windrow.cli.demo.on_spark import compare
from windrow.cli.main import main
from windrow.testing import assert_same_results


def test_a_stream_on_spark_gives_what_the_local_engine_gives(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_calls(tmp_path, files=3)  # rows are judged by the watermark of the micro-batch before
    text = GOOD.replace("header = true", "header = true\nmaxFilesPerTrigger = 1")
    file = write_job(tmp_path, text)
    report = tmp_path / "report.html"
    scraped, looked = scrapes(monkeypatch), last_looks(monkeypatch)
    assert main(["run", str(file), "--report", str(report), "--metrics", ":0", "--serve", ":0"]) == 0
    measured = dict(scraped)
    said = capsys.readouterr().err
    assert "late 1" in said
    assert re.search(r"rows in [^(]+ \(Spark started in ", said)

    own = write_job(tmp_path, text.replace('"results"', '"local"'), "local.toml")
    assert (
        main(["run", str(own), "--engine", "local", "--batch-rows", "60", "--quiet", "--metrics", ":0"]) == 0
    )
    assert {
        (name, *labels): n for (name, *labels), n in measured.items() if name == "windrow_rows_total"
    } == {
        ("windrow_rows_total", "aggregated", "calls"): 180,
        ("windrow_rows_total", "calls", "late"): 1,
        ("windrow_rows_total", "calls", "rejected"): 0,
    }
    beside = {"calls", "local"}  # the names of the two jobs
    names = [{(name, *(set(labels) - beside)) for name, *labels in each} for each in (measured, scraped)]
    assert names[1] - names[0] == {("windrow_rows_filtered_total",)}  # which Spark does not count
    assert names[0] <= names[1]
    found, every = rows_of(tmp_path / "results"), rows_of(tmp_path / "local")
    watermark = max(end for end in found.column("window_end").to_pylist())
    due = pa.Table.from_pylist(
        [row for row in every.to_pylist() if row["window_end"] <= watermark], every.schema
    )
    assert_same_results(found, due)
    assert looked["state"]["status"] == "done"
    assert looked["state"]["results"] == found.num_rows  # read where Spark has committed them
    assert looked["timeline"]["keys"] == ["north", "south"]
    assert "Results over time" in report.read_text()
    assert "largest: 0 B" not in report.read_text()

    assert main(["state", str(tmp_path / "checkpoint")]) == 0
    assert "slices of 2 keys" in capsys.readouterr().out
    monkeypatch.setattr(serve, "Stopping", Scripted)
    assert main(["serve", str(tmp_path / "checkpoint"), "--at", ":0"]) == 0
    assert (looked["state"]["engine"], looked["state"]["columns"]) == ("checkpoint", ["rows"])
    assert looked["state"]["results"] > 0
    assert "watermark" in [number["name"] for number in looked["state"]["numbers"]]


def test_hostile_names_and_keys_on_spark(spark: Any, tmp_path: Path) -> None:
    write_hostile_rows(tmp_path)
    assert main(["run", str(write_job(tmp_path, HOSTILE_JOB)), "--quiet"]) == 0
    own = write_job(tmp_path, HOSTILE_JOB.replace('"results"', '"local"'), "local.toml")
    assert main(["run", str(own), "--engine", "local", "--quiet"]) == 0
    assert_same_results(rows_of(tmp_path / "results"), rows_of(tmp_path / "local"))


def test_a_finite_table_on_spark(spark: Any, tmp_path: Path) -> None:
    write_calls(tmp_path)
    text = GOOD.replace("stream = true", "stream = false")
    text = text.replace('checkpoint = "checkpoint"\ntrigger = "available_now"\n', "")
    assert main(["run", str(write_job(tmp_path, text)), "--quiet"]) == 0
    own = write_job(tmp_path, text.replace('"results"', '"local"'), "local.toml")
    assert main(["run", str(own), "--engine", "local", "--quiet"]) == 0
    assert_same_results(rows_of(tmp_path / "results"), rows_of(tmp_path / "local"))

    as_json = text.replace('"results"', '"json"').replace('"parquet"', '"json"')
    report = tmp_path / "report.html"
    assert main(["run", str(write_job(tmp_path, as_json)), "--quiet", "--report", str(report)]) == 0
    assert "Results over time" in report.read_text()


def test_json_has_text_for_nan_and_infinities(spark: Any, tmp_path: Path) -> None:
    write_strange_numbers(tmp_path)
    assert main(["run", str(write_job(tmp_path, STRANGE_NUMBERS)), "--quiet"]) == 0
    lines = [line for part in tmp_path.glob("out.json/part-*") for line in part.read_text().splitlines()]
    found = [json.loads(line, parse_constant=pytest.fail) for line in lines]
    assert {row["k"]: {name: row[name] for name in ("top", "every")} for row in found} == STRANGE_RESULTS


def test_what_spark_refuses_is_one_line(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # where the whole error goes
    file = write_job(tmp_path, GOOD.replace('format = "csv"', 'format = "no_such_format"'))
    assert main(["run", str(file)]) == 1
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("failed:")]
    assert "no_such_format" in line


def test_the_demo_compares_equal_results(spark: Any, tmp_path: Path) -> None:
    told: list[str] = []
    found = compare(spark, tmp_path, 200, told.append, slide="6 hours")
    assert [what for what, _ in found.seconds] == ["50 calls", "200 calls"]
    assert all(seconds > 0 for _, times in found.seconds for seconds in times)
    assert "The results are equal." in found.about
    assert "bench/spark_batch.py --only day" in found.about
    assert told[1:] == [f"{n} calls by {way}" for n in (50, 200) for way in ("windrow", "Spark's window()")]


def test_the_guide_to_migration_gives_the_same_before_and_after(spark: Any, tmp_path: Path) -> None:
    text = (Path(__file__).parents[3] / "docs" / "migration.md").read_text()
    block = re.findall(r"```python\n(from pyspark.*?)```", text, re.DOTALL)[0]
    rows = [
        (f"2024-05-01 12:{k:02}:00", "north" if k % 2 else "south", f"c{k}", k * 7 % 31) for k in range(20)
    ]
    frame = spark.createDataFrame(rows, "at string, region string, caller string, len int")
    scope: dict[str, Any] = {"calls": frame.selectExpr("to_timestamp(at) AS ts", "*").drop("at"), "wr": wr}
    exec(block.replace("24 hours", "30 minutes"), scope)
    before = scope["before"].selectExpr("region", "window.start", "window.end", "longest", "who").collect()
    after = scope["after"].select("region", "window_start", "window_end", "longest", "who").collect()
    assert sorted(map(tuple, before)) == sorted(map(tuple, after))


def test_nothing_in_a_job_is_replaced_by_the_environment(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Spark replaces ${env:HOME} in SQL; here it is the name of a column, and a text."""
    name = "${env:HOME}"
    (tmp_path / "data").mkdir()
    rows = f"ts,{name},caller,len\n2024-05-01T12:00:00Z,{name},a,1\n2024-05-01T12:00:01Z,b,a,1\n"
    (tmp_path / "data" / "a.csv").write_text(rows)
    text = GOOD.replace("region = ", f'"{name}" = ').replace('["region"]', f'["{name}"]')
    text = text.replace("stream = true", f"stream = false\nwhere = \"`{name}` = '{name}'\"")
    text = text.replace('checkpoint = "checkpoint"\ntrigger = "available_now"\n', "")
    assert main(["run", str(write_job(tmp_path, text))]) == 0
    assert set(rows_of(tmp_path / "results").column(name).to_pylist()) == {name}
    missing = text.replace("max(len)", "max('${env:PATH}')").replace('len = "long"\n', "")
    assert main(["run", str(write_job(tmp_path, missing, "missing.toml"))]) == 2
    assert "'${env:PATH}'" in capsys.readouterr().err
