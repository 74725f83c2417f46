"""Jobs on the local engine: formats in and out, the same results as the query, exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq
import pytest

from support.aggregate_texts import aggregate_texts
from support.cli_jobs import (
    GOOD,
    STRANGE_NUMBERS,
    STRANGE_RESULTS,
    write_calls,
    write_job,
    write_strange_numbers,
)
from windrow.cli.execution.local.files import read_batches
from windrow.cli.job import read_job
from windrow.cli.main import main
from windrow.testing import assert_same_results

BATCH = GOOD.replace("stream = true", "stream = false").replace(
    'checkpoint = "checkpoint"\ntrigger = "available_now"\n', ""
)


def run(file: Path, *options: str) -> int:
    return main(["run", str(file), "--engine", "local", *options])


def results(folder: Path) -> pa.Table:
    (part,) = folder.glob("part-*.parquet")
    return pq.read_table(part)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_calls(tmp_path)
    return tmp_path


def test_a_finite_table_gives_what_the_query_gives(folder: Path) -> None:
    file = write_job(folder, BATCH)
    assert run(file) == 0
    job = read_job(file)
    expected = job.query.run(pa.concat_tables(read_batches(job.source, 1_000)))
    assert_same_results(results(folder / "results"), expected)


def test_aggregates_of_moments_time_counters_and_lists_as_text(folder: Path) -> None:
    texts = aggregate_texts("len", "len", "caller", "ts")
    lines = "".join(f'{name} = "{text}"\n' for name, text in texts.items())
    file = write_job(folder, BATCH.replace("[agg]\n", f"[agg]\n{lines}"))
    assert run(file) == 0
    job = read_job(file)
    assert set(texts) < {name for name, _ in job.query.aggregates}
    expected = job.query.run(pa.concat_tables(read_batches(job.source, 1_000)))
    assert_same_results(results(folder / "results"), expected)


ONE_FILE = GOOD.replace("header = true", "header = true\nmaxFilesPerTrigger = 1")


def test_a_stream_in_micro_batches_counts_late_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_calls(tmp_path, files=3)
    assert run(write_job(tmp_path, ONE_FILE), "--batch-rows", "25", "--json") == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    steps = [event for event in events if event["event"] == "progress"]
    # the watermark of a micro-batch is made of those before; the last is without data
    assert [step["rows"] for step in steps] == [60, 60, 61, 0]
    assert [step["late"] for step in steps] == [0, 0, 1, 0]
    watermarks = [step["watermark"] for step in steps]
    assert watermarks == [None, *(f"2024-05-01T{hour}:49:00+00:00" for hour in (12, 13, 14))]
    end = events[-1]
    assert (end["event"], end["status"], end["rows"], end["late"]) == ("end", "done", 181, 1)
    assert end["results"] == results(tmp_path / "results").num_rows


def test_all_files_are_one_micro_batch_unless_the_job_says_otherwise(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(write_job(folder), "--batch-rows", "60", "--json") == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [event["rows"] for event in events if event["event"] == "progress"] == [121, 0]
    assert events[-1]["late"] == 0


def test_late_rows_are_handed_back(tmp_path: Path) -> None:
    write_calls(tmp_path, files=3)
    text = ONE_FILE.replace('watermark = "10m"', 'watermark = "10m"\nlate = "emit"')
    assert run(write_job(tmp_path, text), "--quiet") == 0
    late = [row["late"] for row in results(tmp_path / "results").to_pylist() if row["late"] is not None]
    assert [(row["caller"], row["late_reason"]) for row in late] == [("late", "window_fired")]


@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_formats_in(tmp_path: Path, kind: str) -> None:
    (tmp_path / "data").mkdir()
    rows = [("2024-05-01T12:00:00Z", "n", "a", 3), ("2024-05-01T12:01:00Z", None, "b", 4)]
    names = ["ts", "region", "caller", "len"]
    if kind == "json":
        text = "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows)
    else:
        text = "".join(",".join("" if v is None else str(v) for v in row) + "\n" for row in [names, *rows])
    if kind == "parquet":
        table = pa.table({n: [row[k] for row in rows] for k, n in enumerate(names)})
        times = table.column("ts").cast(pa.timestamp("ns", "UTC"))
        pq.write_table(table.set_column(0, "ts", times), tmp_path / "data" / "a.parquet")
    else:
        (tmp_path / "data" / f"a.{kind}").write_text(text)
    (tmp_path / "data" / "_hidden").write_text("no data")
    job = read_job(write_job(tmp_path, GOOD.replace('"csv"', f'"{kind}"')))
    (table,) = read_batches(job.source, 100)
    assert table.schema.field("ts").type == pa.timestamp("us", "UTC")
    assert table.column("region").to_pylist() == ["n", None]
    assert table.column("len").to_pylist() == [3, 4]


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_formats_out(folder: Path, kind: str) -> None:
    text = GOOD.replace('"parquet"', f'"{kind}"').replace('"results"', f'"out.{kind}"')
    assert run(write_job(folder, text), "--quiet") == 0
    read = pyarrow.csv.read_csv if kind == "csv" else pyarrow.json.read_json
    found = read(folder / f"out.{kind}")
    assert found.num_rows > 10
    assert {"region", "window", "longest", "who", "n"} <= set(found.column_names)
    assert not list(folder.glob(".*unfinished"))


def test_json_has_text_for_nan_and_infinities_as_spark_writes_it(tmp_path: Path) -> None:
    write_strange_numbers(tmp_path)
    assert run(write_job(tmp_path, STRANGE_NUMBERS), "--quiet") == 0
    lines = (tmp_path / "out.json").read_text().splitlines()
    found = [json.loads(line, parse_constant=pytest.fail) for line in lines]
    assert {row["k"]: {name: row[name] for name in ("top", "every")} for row in found} == STRANGE_RESULTS


def test_results_are_not_overwritten_unasked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_job(folder)
    assert run(file, "--quiet") == 0
    before = results(folder / "results")
    assert run(file, "--quiet") == 2
    assert "has results already: give --overwrite" in capsys.readouterr().err
    assert run(file, "--quiet", "--overwrite") == 0
    assert_same_results(results(folder / "results"), before)


def test_console(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = BATCH.replace('format = "parquet"\npath = "results"', 'format = "console"')
    assert run(write_job(folder, text)) == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines()[0].split()[:4] == ["region", "window", "window_start", "window_end"]
    assert captured.err.splitlines()[-1].startswith("done: 121 rows in")


def test_a_value_of_the_wrong_type_fails_and_leaves_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "data" / "calls-9.csv").write_text("ts,region,caller,len\n2024-05-01T12:00:00Z,n,a,many\n")
    assert run(write_job(folder)) == 1
    assert "calls-9.csv" in capsys.readouterr().err
    assert not list((folder / "results").glob("*"))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('format = "csv"', 'format = "orc"', "the local engine reads parquet, csv, json, not 'orc'"),
        ('path = "data"', 'path = "nothing"', "there are no csv files"),
        ('path = "data"', 'path = "s3://b/data"', "the local engine reads local files"),
        ('format = "parquet"', 'format = "delta"', "the local engine writes parquet, csv, json, console"),
    ],
)
def test_what_the_local_engine_cannot_do(
    folder: Path, old: str, new: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(write_job(folder, GOOD.replace(old, new))) == 2
    assert said in capsys.readouterr().err


OWN = """
import windrow as wr
spread = wr.monoid(
    name="spread", lift=lambda x: (x, x), lower=lambda s: s[1] - s[0], commutative=True,
    combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])), identity=(float("inf"), float("-inf")))
broken = wr.monoid(name="broken", lift=float, combine=lambda a, b: a - b, identity=0.0)
"""


def test_own_monoids_come_from_the_command_line_alone(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "own.py").write_text(OWN)
    file = write_job(folder, GOOD.replace('"max(len)"', '"spread(len)"'))
    assert run(file, "--quiet") == 2
    assert "use one of" in capsys.readouterr().err
    assert run(file, "--quiet", "--monoids", str(folder / "own.py")) == 0
    assert max(results(folder / "results").column("longest").to_pylist()) > 50


def test_own_monoids_are_checked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "own.py").write_text(OWN)
    own = ["--monoids", str(folder / "own.py")]
    file = write_job(folder, GOOD.replace('"max(len)"', '"spread(len)"'))
    assert main(["check", str(file), *own]) == 0
    assert "ok    laws of longest: spread holds purity" in capsys.readouterr().out
    file = write_job(folder, GOOD.replace('"max(len)"', '"broken(len)"'))
    assert main(["check", str(file), *own]) == 2
    assert "broken is not associative" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [("x = 1", "no monoid is defined there"), ("1 / 0", "ZeroDivisionError"), (None, "no such Python file")],
)
def test_files_of_monoids_that_hold_none(
    folder: Path, text: str | None, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if text is not None:
        (folder / "own.py").write_text(text)
    assert run(write_job(folder), "--monoids", str(folder / "own.py")) == 2
    assert said in capsys.readouterr().err


def command(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-m", "windrow.cli", *arguments], text=True, **options)


def test_ctrl_c_stops_after_the_batch(folder: Path) -> None:
    import signal

    job = str(write_job(folder))
    process = command(
        *["replay", job, "--engine", "local", "--speed", "60", "--out", str(folder / "played"), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if '"progress"' in line:
            break
    process.send_signal(signal.SIGINT)
    rest = process.stdout.read()
    assert process.wait() == 130
    assert '"status": "stopped"' in rest
    assert not list((folder / "played").glob("*"))  # a part of the results would pass for all of them


ONCE = GOOD.replace("stream = true", "stream = false").replace(
    'checkpoint = "checkpoint"\ntrigger = "available_now"\n', ""
)
SLOW = """\
import time
import windrow as wr

def wait(a, b):
    print("combining", flush=True)
    time.sleep(600)
    return a

slow = wr.monoid(name="slow", lift=lambda x: x, combine=wait, lower=lambda s: s, identity=0, commutative=True,
                 result_type="int64")
"""


@pytest.mark.parametrize("is_stream", [True, False])
def test_sigterm_stops_a_local_job_at_once_with_130_and_leaves_no_results(
    folder: Path, is_stream: bool
) -> None:
    import signal

    text = GOOD if is_stream else ONCE
    (folder / "slow.py").write_text(SLOW)
    file = write_job(folder, text.replace("max(len)", "slow(len)"))
    process = command(
        *["run", str(file), "--engine", "local", "--json", "--monoids", str(folder / "slow.py")],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if "combining" in line:
            break
    process.send_signal(signal.SIGTERM)
    if is_stream:  # the first asks for the end of the micro-batch
        assert "stopping after" in process.stdout.readline()
        process.send_signal(signal.SIGTERM)
    rest = process.stdout.read()
    assert process.wait() == 130
    assert '"status": "stopped"' in rest
    assert not (folder / "results").exists() or not list((folder / "results").iterdir())
