"""Files of the local engine hold times and durations as those of Spark do."""

from __future__ import annotations

from pathlib import Path

from support.file_jobs import rows_in, write_files
from windrow.cli.main import main


def test_late_rows_had_seconds_for_an_interval_and_columns_in_another_order(tmp_path: Path) -> None:
    assert main(["run", str(write_files(tmp_path, "json")), "--engine", "local"]) == 0
    late = sorted(rows_in(tmp_path / "late"), key=lambda row: -row["v"])
    assert [*late[1]] == ["v", "ts", "k", "d", "late_by", "late_reason"]
    assert [(row["ts"], row["late_by"]) for row in late] == [
        ("2024-04-29T10:00:00.000Z", "INTERVAL '2 01:50:30.5' DAY TO SECOND"),
        ("2024-05-01T10:00:00.500Z", "INTERVAL '0 01:50:30' DAY TO SECOND"),
    ]
    first = rows_in(tmp_path / "out")[0]
    assert (first["window_start"], first["day"]) == ("2024-05-01T12:00:00.000Z", "2024-05-01")


def test_times_in_csv_were_in_a_form_of_their_own(tmp_path: Path) -> None:
    assert main(["run", str(write_files(tmp_path, "csv")), "--engine", "local"]) == 0
    (out,), (late,) = ([*(tmp_path / name).glob("part-*.csv")] for name in ("out", "late"))
    header, first, *_ = out.read_text().replace('"', "").splitlines()
    assert header == "k,window_start,window_end,n,first_ts,day"
    assert (
        first == "a,2024-05-01T12:00:00.000Z,2024-05-01T13:00:00.000Z,2,2024-05-01T12:00:00.000Z,2024-05-01"
    )
    assert sorted(late.read_text().replace('"', "").splitlines())[1] == (
        "5,2024-04-29T10:00:00.000Z,b,2024-05-01,INTERVAL '2 01:50:30.5' DAY TO SECOND,window_fired"
    )
