"""``where=`` of aggregates in job files: read, checked, explained, run without Spark."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from support.cli_jobs import GOOD, write_calls, write_job
from support.where_jobs import SOME
from windrow.cli.errors import JobError
from windrow.cli.job import read_job
from windrow.cli.main import main


def with_aggregate(text: str) -> str:
    return SOME.replace('"count(where=is_long)"', f'"{text}"')


def test_where_names_a_column_without_quotes(tmp_path: Path) -> None:
    job = read_job(write_job(tmp_path, SOME))
    assert {name: repr(aggregate) for name, aggregate in job.query.aggregates} == {
        "long": "count(where='is_long')",
        "total": "sum('len', where='is_long')",
        "p90": "quantile('len', q=0.9, where='is_long')",
        "who": "arg_max('len', value='caller', where='is_north')",
        "n": "count()",
    }


def test_a_job_with_where_runs(tmp_path: Path) -> None:
    write_calls(tmp_path)
    assert main(["run", str(write_job(tmp_path, SOME)), "--engine", "local", "--quiet"]) == 0
    (part,) = (tmp_path / "results").glob("part-*.parquet")
    found = pq.read_table(part)
    assert found.num_rows > 5
    assert any(0 < row["long"] < row["n"] for row in found.to_pylist())
    for row in found.to_pylist():
        assert (row["total"] is None) == (row["long"] == 0)
        assert (row["who"] is None) == (row["region"] != "north")


def test_check_and_explain_show_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_calls(tmp_path)
    file = str(write_job(tmp_path, SOME))
    assert main(["check", file, "--engine", "local"]) == 0
    assert main(["explain", file]) == 0
    assert "total = sum('len', where='is_long')" in capsys.readouterr().out


def test_check_tries_laws_on_rows_that_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_calls(tmp_path)
    (tmp_path / "own.py").write_text(
        "import math\nimport windrow as wr\n"
        "logs = wr.monoid(name='logs', lift=lambda v: math.log(v - 20), combine=lambda a, b: a + b, "
        "identity=0.0, result_type='float64')\n"
    )
    file = str(write_job(tmp_path, with_aggregate("logs(len, where=is_long)")))
    assert main(["check", file, "--engine", "local", "--monoids", str(tmp_path / "own.py")]) == 0
    assert "ok    laws of long: logs" in capsys.readouterr().out


def test_check_tries_no_laws_where_no_row_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_calls(tmp_path)
    (tmp_path / "own.py").write_text(
        "import windrow as wr\nown = wr.monoid(name='own', lift=float, combine=max, identity=0.0)\n"
    )
    file = str(write_job(tmp_path, with_aggregate("own(len, where=is_long)").replace("len > 50", "len < 0")))
    assert main(["check", file, "--engine", "local", "--monoids", str(tmp_path / "own.py")]) == 0
    assert "skip  laws of long = own('len', where='is_long'): no rows to try it on" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("count(where=is_lnog)", "no column 'is_lnog': did you mean 'is_long'?"),
        ("count(where=len)", "where=len: the column is of type long: give a boolean column, or derive one"),
        ("count(where=len > 5)", "arguments are numbers"),
        ("count(where=5)", "where=5 is not the name of a column"),
        ("count(if=is_long)", "this cannot be read"),
        ("count(wher=is_long)", "arguments are numbers"),
    ],
)
def test_a_wrong_where_is_an_error_of_its_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(JobError, match=r"\[agg\] long") as caught:
        read_job(write_job(tmp_path, with_aggregate(text)))
    assert said in str(caught.value)


def test_a_column_of_unknown_type_is_checked_when_rows_are_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_calls(tmp_path)
    text = GOOD.replace('"count()"', '"count(where=some)"')
    text = text.replace("[events]\n", '[source.columns]\nsome = "len + 1"\n\n[events]\n')
    assert main(["run", str(write_job(tmp_path, text)), "--engine", "local", "--quiet"]) != 0
    assert "where='some': column 'some' is of type int64: give a boolean column" in capsys.readouterr().err
