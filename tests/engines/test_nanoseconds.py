"""Times in nanoseconds: all that 64 bits hold (1677 to 2262), on tables and operators, up to the edges."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow.errors import RejectedRows
from windrow.testing import assert_same_results, evaluate

LEAST, MOST = -(2**63), 2**63 - 1
#: the first and last times there are, some around them, and the year 2128, behind 2**62 nanoseconds
TIMES = [MOST, 5 * 10**18, LEAST, MOST - 10**9, LEAST + 3 * 10**12, -5 * 10**18, 0, MOST - 10**12]
ROWS = pa.table({"t": pa.array(TIMES, pa.timestamp("ns")), "v": range(len(TIMES)), "k": list("aabbabab")})

WINDOWS = {
    "tumbling": wr.Tumbling("1h"),
    "sliding": wr.Sliding("1h", slide="25m"),
    "session": wr.Session("40m"),
    "cumulative": wr.Cumulative("1d", step="6h"),
    "months": wr.Tumbling("1mo", timezone="Europe/Berlin"),
    "rows": wr.Rows(2),
}


def floored(table: pa.Table) -> pa.Table:
    """The same rows with times in microseconds, which have room on both sides."""
    moments = [time // 1000 for time in table.column("t").cast(pa.int64()).to_pylist()]
    return table.set_column(0, "t", pa.array(moments, pa.int64()).cast(pa.timestamp("us")))


def pushed(query: Any, table: pa.Table) -> pa.Table:
    """All results of an operator that gets the rows one by one and is advanced twice."""
    operator = query.open()
    found = [operator.push(table.slice(k, 1)) for k in range(table.num_rows)]
    found += [operator.advance(datetime(1900, 1, 1)), operator.advance(datetime(2262, 4, 11, 23, 47))]
    found = [*found, operator.finish()]
    return pa.concat_tables([in_microseconds(table) for table in found], promote_options="permissive")


def in_microseconds(table: pa.Table) -> pa.Table:
    for name in ("window_start", "window_end"):
        place = table.column_names.index(name)
        table = table.set_column(place, name, table.column(name).cast(pa.timestamp("us")))
    return table


@pytest.mark.parametrize("names", [[name] for name in WINDOWS] + [list(WINDOWS)], ids=" ".join)
@pytest.mark.parametrize("run", [lambda query, table: query.run(table), pushed], ids=["table", "operator"])
def test_every_nanosecond_time_of_64_bits_has_windows(run: Any, names: list[str]) -> None:
    query = wr.query(time="t", by="k").window(**{name: WINDOWS[name] for name in names})
    query = query.agg(n=wr.count(), top=wr.max("v"))
    assert_same_results(run(query, ROWS), evaluate(query, floored(ROWS)))


@pytest.mark.parametrize("over", [{"size": "1h"}, {"rows": 2}], ids=["time", "rows"])
def test_every_nanosecond_time_of_64_bits_rolls(over: Any) -> None:
    query = wr.query(time="t", by="k").rolling(**over).agg(n=wr.count(), top=wr.max("v"))
    expected = {row["v"]: (row["n"], row["top"]) for row in evaluate(query, floored(ROWS))}
    operator = query.open()
    operator.push(ROWS.slice(0, 3))
    operator.push(ROWS.slice(3))
    for found in (query.run(ROWS), operator.finish()):
        assert found.schema.field("t").type == pa.timestamp("ns")
        columns = [found.column(name).to_pylist() for name in ("v", "n", "top")]
        assert {v: (n, top) for v, n, top in zip(*columns, strict=True)} == expected
        assert sorted(found.column("t").cast(pa.int64()).to_pylist()) == sorted(TIMES)


@pytest.mark.parametrize(("times", "unit"), [([5 * 10**18], "ns"), ([0, MOST], "us"), ([0, LEAST], "us")])
def test_edges_that_nanoseconds_cannot_hold_are_microseconds(times: list[int], unit: str) -> None:
    rows = pa.table({"t": pa.array(times, pa.timestamp("ns", "UTC"))})
    query = wr.query(time="t").window(hour=wr.Tumbling("1h"), visit=wr.Session("1s")).agg(n=wr.count())
    operator = query.open()
    operator.push(rows)
    for found in (query.run(rows), operator.finish()):
        kinds = {found.schema.field(name).type for name in ("window_start", "window_end")}
        assert kinds == {pa.timestamp(unit, "UTC")}


def test_a_row_without_a_time_does_not_change_the_order_of_nanoseconds() -> None:
    rows = pa.table({"t": pa.array([7, 5, None, 6], pa.timestamp("ns")), "v": [7, 5, 0, 6]})
    with pytest.warns(RejectedRows):
        found = wr.events(rows, time="t").window(wr.Rows(3)).agg(every=wr.collect("v"))
    assert found["every"].to_pylist() == [[5, 6, 7]]
