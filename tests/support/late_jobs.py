"""Jobs whose rows come late, to be run on both engines: files by the hour, each with rows of many hours."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from windrow.cli.main import main

START = datetime(2024, 5, 1, tzinfo=UTC)

JOB = """\
[source]
format = "parquet"
path = "data"
stream = true

[source.options]
{options}

[source.schema]
ts = "timestamp"
region = "string"
seq = "long"
len = "long"

[events]
time = "ts"
by = ["region"]
watermark = "1h"
order = ["seq"]
{events}

{windows}

[agg]
{agg}

[sink]
format = "parquet"
path = "{sink}"
checkpoint = "checkpoint"
trigger = "available_now"

[spark]
master = "local[2]"
"""
WINDOWS = """
[[window]]
name = "half"
kind = "tumbling"
size = "30m"

[[window]]
name = "slide"
kind = "sliding"
size = "3h"
slide = "1h"

[[window]]
name = "visit"
kind = "session"
gap = "7m"
"""
AGGREGATES = 'n = "count()"\ntotal = "sum(len)"\nlast = "last(len)"'


def write_late_files(folder: Path, files: int = 10, rows: int = 120, mean_hours: float = 12.0) -> None:
    """A file every three hours; rows are up to days late, some without a time; names tell nothing of age."""
    (folder / "data").mkdir()
    for number in range(files):
        rng = np.random.default_rng(number)
        hours = 24 + 3 * number + rng.random(rows) - rng.exponential(mean_hours, rows)
        moments = [START + timedelta(microseconds=round(hour * 3.6e9)) for hour in hours]
        times = [None if k % 40 == 7 else moment for k, moment in enumerate(moments)]
        table = pa.table(
            {
                "ts": pa.array(times, pa.timestamp("us", "UTC")),
                "region": [("north", "south", None)[k] for k in rng.integers(0, 3, rows)],
                "seq": np.arange(rows) + number * rows,
                "len": rng.integers(0, 100, rows),
            }
        )
        file = folder / "data" / f"{(number * 7) % files:02}.parquet"
        pq.write_table(table, file)
        os.utime(file, (1_700_000_000 + number,) * 2)


def write_late_job(
    folder: Path, sink: str, options: str, events: str = "", windows: str = WINDOWS, agg: str = AGGREGATES
) -> Path:
    file = folder / f"{sink}.toml"
    file.write_text(JOB.format(sink=sink, options=options, events=events, windows=windows, agg=agg))
    return file


def run_steps(file: Path, capsys: pytest.CaptureFixture[str], *options: str) -> list[dict[str, Any]]:
    """What each micro-batch counted, and the watermark that windows fired up to in it."""
    capsys.readouterr()
    assert main(["run", str(file), "--json", *options]) == 0, capsys.readouterr().err
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
    names = ("batch", "rows", "late", "rejected", "windows", "corrected", "watermark")
    return [{name: event[name] for name in names} for event in events if event["event"] == "progress"]


def written(folder: Path) -> list[dict[str, Any]]:
    """The results of a run as plain values. Spark and Arrow write times and durations in forms of their own,
    and the fields of late rows in another order."""
    parts = [pq.read_table(part) for part in sorted(folder.glob("part-*.parquet"))]
    table = pa.concat_tables(part for part in parts if part.num_rows)
    return [{name: _plain(value) for name, value in row.items()} for row in table.to_pylist()]


def _plain(value: Any) -> Any:
    """Times in UTC, durations in microseconds, fields by name."""
    if isinstance(value, dict):
        return {name: _plain(value[name]) for name in sorted(value)}
    if isinstance(value, timedelta):
        return value // timedelta(microseconds=1)
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) else value
