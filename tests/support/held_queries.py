"""A query for each way in which rows are held: rolling, and windows that data decide. What a small step costs
is counted (tests/engines/spark/worker/test_step_costs.py) and timed (bench/held.py) for the same ones."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import windrow as wr

FLAGS = [("ends", pa.bool_()), ("goes_on", pa.bool_())]
SCHEMA = pa.schema([("t", pa.int64()), ("k", pa.int64()), ("v", pa.int64()), *FLAGS])
START = wr.query(time="t", by="k", watermark=0)


def keep(count: int) -> wr.Policy:
    """The last rows."""
    return wr.Policy(lambda total, old: total.n - old.n >= count)


def queries(size: int, rows: int, kept: int) -> dict[str, Any]:
    """Without aggregates; ``size``: of windows by time, ``rows``: by rows, ``kept``: by policies."""
    return {
        "rolling by time": START.rolling(size),
        "rolling by rows": START.rolling(rows=rows),
        "Rows": START.window(wr.Rows(rows)),
        "Delta": START.window(wr.Delta("t", size=size)),
        "Punctuation": START.window(wr.Punctuation("ends")),
        "Threshold": START.window(wr.Threshold("goes_on")),
        "Policy": START.window(keep(kept)),
        "rolling by policy": START.rolling(keep(kept)),
    }
