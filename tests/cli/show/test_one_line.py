"""Whatever is wrong with a job, its data or the machine: one line that names it, and the exit code for it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cli_jobs import GOOD, write_calls, write_job
from windrow.cli.execution.spark.progress import step_of
from windrow.cli.main import main

SCHEMA = GOOD[GOOD.index("[source.schema]") : GOOD.index("[events]")]
STREAM = GOOD.replace('format = "csv"', 'format = "parquet"').replace(
    "[source.options]\nheader = true\n\n", ""
)
SINK = '[sink]\nformat = "parquet"\npath = "results"'


def once(text: str) -> str:
    text = text.replace("stream = true", "stream = false")
    return text.replace('checkpoint = "checkpoint"\ntrigger = "available_now"\n', "")


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """The exit code, and the last line; there is no traceback."""
    code = main(arguments)
    errors = capsys.readouterr().err
    assert "Traceback" not in errors
    return code, errors.splitlines()[-1]


# -- times beyond those of Python ----------------------------------------------------------------------------


def write_years(folder: Path, *years: int) -> None:
    (folder / "data").mkdir()
    times = [(year - 1970) * 31_556_952_000_000 for year in years]
    columns = {
        "ts": pa.array(times, pa.timestamp("us", "UTC")),
        "region": ["a"] * len(times),
        "caller": ["b"] * len(times),
        "len": list(range(len(times))),
    }
    pq.write_table(pa.table(columns), folder / "data" / "a.parquet")


@pytest.mark.parametrize("years", [(9998, 9999), (9999, 10_000), (11_000, 12_000), (-3000, 2024)])
@pytest.mark.parametrize("kind", ["parquet", "json", "csv", "console"])
@pytest.mark.parametrize("text", [STREAM, once(STREAM)])
def test_times_beyond_those_of_python_are_computed_shown_and_written(
    years: tuple[int, ...], kind: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_years(tmp_path, *years)
    path = "" if kind == "console" else '\npath = "results"'
    file = str(write_job(tmp_path, text.replace(SINK, f'[sink]\nformat = "{kind}"{path}')))
    report = tmp_path / "report.html"
    assert main(["run", file, "--engine", "local", "--report", str(report)]) == 0
    captured = capsys.readouterr()
    assert "could not be written" not in captured.err
    assert "done: 2 rows" in captured.err
    assert str(years[1]) in report.read_text()
    if kind == "json":
        results = "".join(part.read_text() for part in (tmp_path / "results").glob("part-*"))
        assert f'"window_start": "{years[1]}-' in results
    assert main(["check", file, "--engine", "local"]) == 0


def test_progress_has_a_watermark_beyond_those_of_python(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_years(tmp_path, 11_000, 12_000)
    assert main(["run", str(write_job(tmp_path, STREAM)), "--engine", "local"]) == 0
    assert "watermark 12000-01-01 06:26:00" in capsys.readouterr().err


def test_spark_may_tell_of_a_watermark_beyond_those_of_python() -> None:
    progress: dict[str, Any] = {"batchId": 1, "eventTime": {"watermark": "+12000-01-01T00:00:00.000Z"}}
    assert step_of(progress, 0.0).watermark == "+12000-01-01T00:00:00.000Z"
    assert step_of(progress, 0.0, is_integer_time=True).watermark == 316_516_204_800_000
    assert step_of(progress, 0.0).as_dict()["lag_seconds"] is None


# -- files and folders ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [[], ["--overwrite"]])
@pytest.mark.parametrize("path", ["results", "results/deep/er", "results/out.parquet"])
def test_a_sink_whose_folder_is_a_file(
    path: str, more: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_calls(tmp_path)
    (tmp_path / "results").write_text("precious")
    file = write_job(tmp_path, GOOD.replace('"results"', f'"{path}"'))
    code, line = said(capsys, "run", str(file), "--engine", "local", *more)
    assert code == 2
    assert line == f"error: [sink] path: '{tmp_path}/results' is a file: results need a folder there"
    assert (tmp_path / "results").read_text() == "precious"


@pytest.mark.parametrize("more", [[], ["--overwrite"]])
def test_a_sink_whose_file_is_a_folder(
    more: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_calls(tmp_path)
    (tmp_path / "out.parquet").mkdir()
    file = write_job(tmp_path, GOOD.replace('"results"', '"out.parquet"'))
    code, line = said(capsys, "run", str(file), "--engine", "local", *more)
    assert code == 2
    assert line.startswith(f"error: [sink] path: '{tmp_path}/out.parquet' is a folder: name a file")


def test_a_report_that_is_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_calls(tmp_path)
    options = ["--engine", "local", "--report", str(tmp_path)]
    code, line = said(capsys, "run", str(write_job(tmp_path)), *options)
    assert code == 2
    assert line.startswith(f"error: --report {tmp_path}: this is a folder")


@pytest.mark.parametrize("kind", ["json", "csv", "parquet"])
@pytest.mark.parametrize("text", [GOOD, once(GOOD)])
def test_a_full_disk(kind: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_calls(tmp_path)
    (tmp_path / f".out.{kind}.unfinished").symlink_to("/dev/full")
    file = write_job(tmp_path, text.replace(SINK, f'[sink]\nformat = "{kind}"\npath = "out.{kind}"'))
    code, line = said(capsys, "run", str(file), "--engine", "local")
    assert code == 1
    assert line.startswith(f"failed: {tmp_path}/out.{kind}: the results cannot be written: No space left")
    assert "make room there" in line
    assert not [name for name in os.listdir(tmp_path) if "out." in name]


# -- data ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["run", "check"])
@pytest.mark.parametrize("schema", [SCHEMA, ""])
@pytest.mark.parametrize("head", ["ts,region,caller,len,len", "ts,region,caller,ts,len"])
def test_columns_of_the_same_name(
    command: str, schema: str, head: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data").mkdir()
    row = ",".join({"ts": "2024-05-01T12:00:00Z", "len": "1"}.get(name, "x") for name in head.split(","))
    (tmp_path / "data" / "a.csv").write_text(f"{head}\n{row}\n")
    double = "ts" if head.count("ts") == 2 else "len"
    for kind in ("csv", "parquet"):
        if kind == "parquet":
            names = head.split(",")
            columns = [pa.array([k]) for k in range(len(names))]
            pq.write_table(pa.Table.from_arrays(columns, names=names), tmp_path / "data" / "a.parquet")
            (tmp_path / "data" / "a.csv").unlink()
        text = once(GOOD).replace(SCHEMA, schema).replace('"csv"', f'"{kind}"')
        code, line = said(capsys, command, str(write_job(tmp_path, text)), "--engine", "local")
        assert code == (1 if command == "run" else 2)
        assert line.endswith(f"a.{kind}: 2 columns have the name '{double}': give each its own")


@pytest.mark.parametrize("command", ["run", "check"])
def test_data_in_a_time_zone_that_is_not_known(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data").mkdir()
    times = pa.array([1_700_000_000_000_000], pa.timestamp("us", "Mars/Phobos"))
    columns = {"ts": times, "region": ["a"], "caller": ["b"], "len": [1]}
    pq.write_table(pa.table(columns), tmp_path / "data" / "a.parquet")
    file = str(write_job(tmp_path, once(STREAM).replace(SCHEMA, "")))
    code, line = said(capsys, command, file, "--engine", "local")
    assert code == (1 if command == "run" else 2)
    assert "a.parquet: column 'ts' is in the time zone 'Mars/Phobos', which is not known" in line
    assert main([command, str(write_job(tmp_path, once(STREAM))), "--engine", "local"]) == 0


# -- job files -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            lambda text: text.replace("[spark]", "[spark]\nx = " + "[" * 1_000 + "]" * 1_000),
            "nested too deeply",
        ),
        (lambda text: text.replace("[spark]", "[spark]\nx = " + "{a=" * 100_000), "nested too deeply"),
        (
            lambda text: text.replace('slide = "5m"', f"slide = {'9' * 5_000}"),
            "calls.toml:24: this number is",
        ),
        (lambda text: text.replace('"10m"', f'"{"9" * 5_000}m"'), "does not fit in 64 bits"),
        (lambda text: text.replace('"long"', f'"{"array<" * 3_000}int{">" * 3_000}"'), "nested too deeply"),
        (
            lambda text: text.replace("stream = true", f'stream = true\nwhere = "len > {"9" * 5_000}"'),
            "the number 99999999999999999999... has 5,000 characters",
        ),
        (
            lambda text: text.replace(
                "header = true", f'header = true\nmaxFilesPerTrigger = "{"9" * 5_000}"'
            ),
            "is not a whole number",
        ),
        (lambda text: text.replace("header = true", 'header = true\nsep = "ab"'), "takes one character"),
        (lambda text: text.replace('"results"', '"a\\u0000b"'), "a path cannot have a zero byte"),
        (
            lambda text: text.replace('slide = "5m"', 'slide = "5m"\ntimezone = "Mars/Phobos"'),
            "calls.toml:25: [[window]] timezone: timezone 'Mars/Phobos' is not known",
        ),
        (
            lambda text: text + '\n[spark.conf]\n"spark.sql.session.timeZone" = "Mars/Phobos"\n',
            "calls.toml:46: [spark.conf] spark.sql.session.timeZone: timezone 'Mars/Phobos' is not known",
        ),
    ],
)
def test_a_job_file_that_nobody_would_write(
    change: Callable[[str], str], expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_calls(tmp_path)
    code, line = said(capsys, "run", str(write_job(tmp_path, change(GOOD))), "--engine", "local")
    assert code == 2
    assert line.startswith("error: ")
    assert expected in line


# -- what nobody foresaw -------------------------------------------------------------------------------------


@pytest.mark.parametrize("verbose", [False, True])
def test_a_bug_is_one_line_that_names_the_file_with_all_of_it(
    verbose: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: Any, **named: Any) -> None:
        raise ZeroDivisionError("no hunter2-secret here\nnor \x1b there")

    monkeypatch.setattr("windrow.cli.execution.local.run.run_local", broken)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    text = GOOD.replace("header = true", 'header = true\npassword = "hunter2-secret"')
    more = ["--verbose"] if verbose else []
    assert main(["run", str(write_job(tmp_path, text)), "--engine", "local", *more]) == 1
    errors = capsys.readouterr().err
    line = errors.splitlines()[-1]
    assert line.startswith("failed: this is a bug in windrow: ZeroDivisionError: no *** here nor \\x1b there")
    assert ("Traceback" in errors) == verbose
    written = "".join(file.read_text() for file in tmp_path.glob("windrow-error-*"))
    assert ("ZeroDivisionError" in written) != verbose
    assert "hunter2" not in errors + written
    if not verbose:
        assert str(next(tmp_path.glob("windrow-error-*"))) in line
