"""A job with as-of windows, to be changed by tests, and its tables."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

ASOF = """\
[source]
format = "parquet"
path = "payments"

[events]
time = "ts"
by = ["user"]

[asof]
size = ["1d", "7d"]
lag = "1h"

[at]
format = "parquet"
path = "labels.parquet"
time = "decided_at"
by = "user_id"

[agg]
spent = "sum(amount)"
n = "count()"

[sink]
format = "parquet"
path = "results"

[spark]
master = "local[2]"
"""

_START = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)
_UTC = pa.timestamp("us", "UTC")


def payments() -> pa.Table:
    """One every three hours for three weeks, in no order."""
    steps = [(k * 37) % 168 for k in range(168)]
    return pa.table(
        {
            "ts": pa.array([_START + dt.timedelta(hours=3 * step) for step in steps], _UTC),
            "user": [("ann", "bob", "cid")[step % 3] for step in steps],
            "amount": [step % 11 for step in steps],
        }
    )


def labels() -> pa.Table:
    """Some at the time of a payment, one of a user without payments, one without a time."""
    times = [_START + dt.timedelta(hours=9 * k) for k in range(40)]
    users = [("ann", "bob", "eve")[k % 3] for k in range(40)]
    return pa.table(
        {
            "user_id": [*users, "ann"],
            "decided_at": pa.array([*times, None], _UTC),
            "is_fraud": [k % 5 == 0 for k in range(41)],
        }
    )


def write_payments(folder: Path) -> None:
    (folder / "payments").mkdir()
    rows = payments()
    pq.write_table(rows.slice(0, 100), folder / "payments" / "a.parquet")
    pq.write_table(rows.slice(100), folder / "payments" / "b.parquet")
    pq.write_table(labels(), folder / "labels.parquet")
