"""A job with late rows whose results, and whose late rows, go to files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

JOB = """\
[source]
format = "csv"
path = "in"
stream = true
options = {{ header = "true", maxFilesPerTrigger = 1 }}
schema = {{ v = "double", ts = "timestamp", k = "string", d = "date" }}
[events]
time = "ts"
by = "k"
watermark = "10m"
[[window]]
kind = "tumbling"
size = "1h"
[agg]
n = "count()"
first_ts = "min(ts)"
day = "max(d)"
[sink]
format = "{format}"
path = "out"
checkpoint = "point"
trigger = "available_now"
[late]
format = "{format}"
path = "late"
[spark]
master = "local[2]"
"""
FILES = (
    "1.5,2024-05-01T12:00:00Z,a,2024-05-01\n2,2024-05-01T12:00:30.5Z,a,2024-05-01\n",
    "4,2024-05-01T14:30:00Z,b,2024-05-01\n",
    "4,2024-05-01T10:00:00.5Z,b,2024-05-01\n5,2024-04-29T10:00:00Z,b,2024-05-01\n6,2024-05-01T15:30:00Z,b,\n",
)


def write_files(folder: Path, written: str) -> Path:
    (folder / "in").mkdir(parents=True)
    for number, rows in enumerate(FILES):
        file = folder / "in" / f"{number}.csv"
        file.write_text("v,ts,k,d\n" + rows)
        os.utime(file, (1_700_000_000 + number,) * 2)
    job = folder / "job.toml"
    job.write_text(JOB.format(format=written))
    return job


def rows_in(folder: Path) -> list[dict[str, Any]]:
    lines = [line for file in sorted(folder.glob("**/part-*.json")) for line in file.read_text().splitlines()]
    return [json.loads(line) for line in lines]
