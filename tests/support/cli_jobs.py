"""A job that works, to be changed by tests, what it reads and what it wrote."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

GOOD = """\
[source]
format = "csv"
path = "data"
stream = true

[source.options]
header = true

[source.schema]
ts = "timestamp"
region = "string"
caller = "string"
len = "long"

[events]
time = "ts"
by = ["region"]
watermark = "10m"

[[window]]
name = "hour"
kind = "sliding"
size = "1h"
slide = "5m"

[[window]]
name = "spell"
kind = "session"
gap = "5m"

[agg]
longest = "max(len)"
who = "arg_max(len, caller)"
n = "count()"

[sink]
format = "parquet"
path = "results"
checkpoint = "checkpoint"
trigger = "available_now"

[spark]
master = "local[2]"
"""

#: a job whose results are NaN and infinite, and what they are as JSON
STRANGE_NUMBERS = """\
[source]
format = "parquet"
path = "numbers.parquet"

[events]
time = "t"
by = ["k"]

[[window]]
kind = "tumbling"
size = 10

[agg]
top = "max(v)"
every = "collect(v)"

[sink]
format = "json"
path = "out.json"

[spark]
master = "local[2]"
"""
STRANGE_RESULTS = {
    "nan": {"top": "NaN", "every": ["NaN", 1.5]},
    "high": {"top": "Infinity", "every": ["Infinity"]},
    "low": {"top": "-Infinity", "every": ["-Infinity"]},
}


def as_toml(job: dict[str, Any]) -> str:
    """Each table in one line: TOML's inline tables are nearly JSON."""
    return "\n".join(f"{name} = {_inline(value)}" for name, value in job.items())


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(name)} = {_inline(each)}" for name, each in value.items()) + "}"
    return "[" + ", ".join(map(_inline, value)) + "]" if isinstance(value, list) else json.dumps(value)


def write_strange_numbers(folder: Path) -> None:
    columns = {
        "t": [1, 2, 3, 4],
        "k": ["nan", "nan", "high", "low"],
        "v": [math.nan, 1.5, math.inf, -math.inf],
    }
    pq.write_table(pa.table(columns), folder / "numbers.parquet")


def write_job(folder: Path, text: str = GOOD, name: str = "calls.toml") -> Path:
    file = folder / name
    file.write_text(text)
    return file


def write_calls(folder: Path, files: int = 2, rows: int = 60) -> None:
    """A call a minute, each file an hour; one of the last file comes 3 hours late or more."""
    (folder / "data").mkdir(exist_ok=True)
    for number in range(files):
        lines = ["ts,region,caller,len"]
        for k in range(rows):
            region = "north" if k % 3 else "south"
            moment = f"2024-05-01T{12 + number:02}:{k % 60:02}:00Z"
            lines.append(f"{moment},{region},c{k % 7},{(k * 37 + number) % 101}")
        if number and number == files - 1:
            lines.append("2024-05-01T09:00:00Z,north,late,5")
        file = folder / "data" / f"calls-{number}.csv"
        file.write_text("\n".join(lines) + "\n")
        os.utime(file, (1_700_000_000 + number,) * 2)  # Spark takes files by age


def rows_of(folder: Path) -> pa.Table:
    """The results; Spark writes times in a form of its own, which Arrow reads without their zone."""
    parts = [pq.read_table(part) for part in sorted(folder.glob("part-*.parquet"))]
    table = pa.concat_tables(part for part in parts if part.num_rows)
    kinds = [pa.timestamp("us", "UTC") if pa.types.is_timestamp(f.type) else f.type for f in table.schema]
    return table.cast(pa.schema(list(zip(table.column_names, kinds, strict=True))))
