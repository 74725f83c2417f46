"""A job whose columns, keys and values are markup, SQL and commands to a terminal."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

HOSTILE_KEY_COLUMN = "k`; DROP TABLE calls; --<img src=x onerror=alert(1)>'\""
HOSTILE_VALUE_COLUMN = "v` FROM x; \x1b[2J${jndi:ldap://x}"
HOSTILE_RESULT = "<script>alert('n')</script>\x1b]0;owned\x07"
HOSTILE_KEYS = [
    "<script>alert(1)</script>",
    "'; DROP TABLE calls; --",
    "`) OR 1=1 --",
    "\x1b[31mred\x07\u202e",
    "line\nbreak\ttab",
    '"},{"a":"',
    None,
]


def toml_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in escaped) + '"'


HOSTILE_JOB = f"""\
[source]
format = "parquet"
path = "rows.parquet"

[events]
time = "ts"
by = [{toml_text(HOSTILE_KEY_COLUMN)}]

[[window]]
kind = "tumbling"
size = "10m"

[agg]
{toml_text(HOSTILE_RESULT)} = "count()"
n = "max(plain)"
most = {toml_text(f"max({HOSTILE_VALUE_COLUMN!r})")}

[sink]
format = "parquet"
path = "results"

[spark]
master = "local[2]"
"""


def write_hostile_rows(folder: Path) -> None:
    start = dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)
    count = len(HOSTILE_KEYS) * 12
    rows = {
        "ts": [start + dt.timedelta(minutes=k) for k in range(count)],
        HOSTILE_KEY_COLUMN: [HOSTILE_KEYS[k % len(HOSTILE_KEYS)] for k in range(count)],
        HOSTILE_VALUE_COLUMN: list(range(count)),
        "plain": [k * k % 17 for k in range(count)],
    }
    table = pa.table({name: pa.array(values) for name, values in rows.items()})
    pq.write_table(table, folder / "rows.parquet")
