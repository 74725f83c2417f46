"""Streams of rows: out of order, with duplicates in time, negative times, nulls and NaN; and cuts of them."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from hypothesis import strategies as st

__all__ = ["HALF_HOUR", "ORIGINS", "Clock", "Row", "pushes", "streams", "table_of"]

Clock = Literal["integer", "timestamp"]
Row = dict[str, Any]

#: the epoch (times before it are negative), and days on which the clocks change in Berlin and in Sao Paulo
ORIGINS = [
    datetime(1970, 1, 1, tzinfo=UTC),
    datetime(2024, 3, 31, tzinfo=UTC),
    datetime(2018, 11, 4, tzinfo=UTC),
]
HALF_HOUR = timedelta(minutes=30)


@st.composite
def streams(
    draw: st.DrawFn,
    clock: Clock = "integer",
    *,
    min_size: int = 0,
    max_size: int = 30,
    span: int = 60,
    disorder: int = 20,
    null_times: bool = False,
) -> list[Row]:
    """Rows in order of arrival, with times from ``-span`` to ``span`` units around zero or another origin.

    Without a ``min_size`` most streams are of a few rows.

    >>> from hypothesis import find
    >>> from windrow.testing.strategies import streams
    >>> rows = find(streams(), lambda rows: len(rows) == 2)
    >>> rows[0]["ts"], rows[0]["key"]
    (0, None)
    """
    units = draw(st.lists(st.integers(-span, span), min_size=min_size, max_size=max_size))
    # A row arrives when its delay is over; equal arrivals keep the order in which they were drawn
    arrivals = [unit + draw(st.integers(0, disorder)) for unit in units]
    units = [units[i] for i in sorted(range(len(units)), key=arrivals.__getitem__)]
    origin = draw(st.sampled_from(ORIGINS)) if clock == "timestamp" else None
    rows: list[Row] = [{"ts": unit} | dict(zip(_COLUMNS, draw(_VALUES), strict=True)) for unit in units]
    _measure(draw, rows)
    for row in rows:
        row["ts"] = row["ts"] if origin is None else origin + row["ts"] * HALF_HOUR
        if null_times and draw(st.integers(0, 9)) == 9:
            row["ts"] = None
    return rows


_COLUMNS: dict[str, st.SearchStrategy[Any]] = {
    "seq": st.integers(0, 3),
    "key": st.sampled_from([None, "a", "b"]),
    "zone": st.sampled_from([None, 1, 2]),
    "n": st.one_of(st.none(), st.integers(-9, 9), st.integers(-9, 9)),
    "x": st.one_of(
        st.none(),
        st.integers(-40, 40).map(lambda quarters: quarters / 4),
        st.integers(-40, 40).map(lambda quarters: quarters / 4),
        st.sampled_from([math.nan, math.inf, -math.inf, -0.0]),
    ),
    "s": st.one_of(st.none(), st.sampled_from("abc"), st.sampled_from(["d", "ef", ""])),
    "flag": st.sampled_from([False, None, True]),
}
_VALUES = st.tuples(*_COLUMNS.values())


def _measure(draw: st.DrawFn, rows: list[Row]) -> None:
    """Give every row its ``km``, which grows with time and is the same for rows of equal time."""
    km = float(draw(st.integers(-20, 20)))
    reached: dict[int, float] = {}
    for time in sorted({row["ts"] for row in rows}):
        km += draw(st.sampled_from([0.0, 0.5, 3.0, 12.0]))
        reached[time] = km
    for row in rows:
        row["km"] = None if draw(st.integers(0, 9)) == 9 else reached[row["ts"]]


@st.composite
def pushes(draw: st.DrawFn, rows: list[Row], *, max_pushes: int = 6) -> list[list[Row]]:
    """The same rows cut into batches in order of arrival, some perhaps empty: what an operator is pushed.

    >>> from hypothesis import find
    >>> from windrow.testing.strategies import pushes
    >>> find(pushes([{"ts": 1}, {"ts": 2}]), lambda batches: len(batches) == 2)
    [[], [{'ts': 1}, {'ts': 2}]]
    """
    cuts = sorted(draw(st.lists(st.integers(0, len(rows)), max_size=max_pushes - 1)))
    return [rows[first:end] for first, end in zip([0, *cuts], [*cuts, len(rows)], strict=True)]


def table_of(rows: list[Row], clock: Clock = "integer") -> Any:
    """Rows of :func:`streams` as an Arrow table, with the same types whatever is null.

    >>> from windrow.testing.strategies import table_of
    >>> table_of([], "timestamp").schema.field("ts").type
    TimestampType(timestamp[us, tz=UTC])
    """
    # Imported here so that strategies alone need no Arrow
    import pyarrow as pa

    time = pa.int64() if clock == "integer" else pa.timestamp("us", "UTC")
    types = {
        "ts": time,
        "seq": pa.int64(),
        "key": pa.string(),
        "zone": pa.int64(),
        "n": pa.int64(),
        "x": pa.float64(),
        "s": pa.string(),
        "flag": pa.bool_(),
        "km": pa.float64(),
    }
    columns = {name: pa.array([row[name] for row in rows], type_) for name, type_ in types.items()}
    return pa.table(columns)
