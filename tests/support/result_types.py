"""Columns of every type and aggregates of every kind: what the types of results are tried on."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

import windrow as wr
from windrow.monoids.base import Aggregate

_DAY = dt.datetime(2024, 1, 1)
_DAYS = [_DAY, _DAY + dt.timedelta(days=2), _DAY + dt.timedelta(days=1), None]
_TEXTS = ["a", "c", "b", None]

#: three values and a null each
COLUMNS: dict[str, Any] = {
    "bool": pa.array([True, False, True, None]),
    "int8": pa.array([1, 3, 2, None], pa.int8()),
    "int64": pa.array([1, 3, 2, None]),
    "uint8": pa.array([1, 3, 2, None], pa.uint8()),
    "uint64": pa.array([1, 3, 2, None], pa.uint64()),
    "float32": pa.array([1.5, 3.0, 2.0, None], pa.float32()),
    "float64": pa.array([1.5, 3.0, 2.0, None]),
    "decimal": pa.array([Decimal("1.50"), Decimal("12.25"), Decimal("2.00"), None], pa.decimal128(8, 2)),
    "string": pa.array(_TEXTS),
    "large_string": pa.array(_TEXTS, pa.large_string()),
    "string_view": pa.array(_TEXTS, pa.string_view()),
    "dictionary": pa.array(_TEXTS).dictionary_encode(),
    "binary": pa.array([b"a", b"c", b"b", None]),
    "date32": pa.array([None if day is None else day.date() for day in _DAYS]),
    "timestamp_s": pa.array(_DAYS, pa.timestamp("s")),
    "timestamp_ns": pa.array(_DAYS, pa.timestamp("ns")),
    "timestamp_zone": pa.array(_DAYS, pa.timestamp("us", "Europe/Berlin")),
    "time64": pa.array([dt.time(1), dt.time(3), dt.time(2), None], pa.time64("us")),
    "duration": pa.array([dt.timedelta(1), dt.timedelta(3), dt.timedelta(2), None], pa.duration("us")),
    "list": pa.array([[1], [3], [2], None]),
    "struct": pa.array([{"a": 1}, {"a": 3}, {"a": 2}, None]),
}

_OF_ONE_COLUMN = [
    *("all", "any", "approx_distinct", "bloom", "collect", "collect_distinct", "concat", "count"),
    *("count_min", "first", "geo_mean", "last", "longest_run", "m4", "max", "max_count", "mean", "median"),
    *("min", "min_count", "product", "range", "share", "stddev", "sum", "var"),
]

#: an aggregate over a column of any type, beside the integers ``n``
AGGREGATES: dict[str, Callable[[str], Aggregate]] = {
    **{name: getattr(wr, name) for name in _OF_ONE_COLUMN},
    "count()": lambda column: wr.count(),
    "quantile": wr.quantile(0.9),
    "arg_max": lambda column: wr.arg_max("n", value=column),
    "arg_min": lambda column: wr.arg_min("n", value=column),
    "max_by": lambda column: wr.max_by(column, "n"),
    "max_by of n": lambda column: wr.max_by("n", column),
    "arg_max of n": lambda column: wr.arg_max(column, value="n"),
    "exp_decay": lambda column: wr.exp_decay(half_life=10.0)(column, "n"),
    "together": wr.together(first=wr.first, top=wr.max, number=wr.count),
    "together in numbers": wr.together(total=wr.sum, mean=wr.mean),
}


def rows(names: list[str]) -> pa.Table:
    """Four rows with these columns; the last has nulls."""
    return pa.table({"t": [1, 2, 3, 4], "n": np.arange(4), **{name: COLUMNS[name] for name in names}})
