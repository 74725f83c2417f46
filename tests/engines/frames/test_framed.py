"""RollingRows with frames: what is held for frames, when a result comes out, and what raises."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from support.budget import examples
from support.small_chunks import small_chunks
from windrow.engines.frames.rolling_part import RollingRows
from windrow.engines.kept_rows.row_table import Held
from windrow.errors import AggregateError, CorruptState
from windrow.state.codec import pack
from windrow.testing import assert_same_results
from windrow.windows import to_us

END = 2**62
BY_KEY = wr.query(time="ts", by="key")
ROWS = pa.table({"ts": [1, 2, 3, 5, 8], "key": list("aabaa"), "s": list("vwxyz"), "other": [1, 2, 3, 4, 5]})


def opened(query: wr.Query, **options: Any) -> RollingRows:
    assert query.rolling_over is not None
    return RollingRows(query, query.rolling_over, **options)


def pushed(query: wr.Query, table: pa.Table = ROWS) -> RollingRows:
    rows = opened(query)
    rows.push(table, np.arange(table.num_rows))
    return rows


def times_of(rows: Held | None) -> list[int]:
    return [] if rows is None else sorted(rows.times.tolist())


# -- when results come out -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("closed", "shift", "due_at"),
    [
        ("left", 0, 6),  # it ends before the row, and comes out with it
        ("both", -3, 6),
        ("right", 2, 8),
        ("both", 2, 8),
        ("left", 2, 7),
        ("neither", 2, 7),
        ("neither", 1, 6),
    ],
)
def test_a_result_comes_out_once_no_row_to_come_can_be_in_its_frame(
    closed: Any, shift: int, due_at: int
) -> None:
    query = wr.query(time="ts").rolling(4, closed=closed, shift=shift).agg(all=wr.concat("s"))
    rows = pushed(query, ROWS.slice(3, 1))
    assert rows.due(due_at - 1) is None
    found = rows.due(due_at)
    assert found is not None
    assert found["ts"].to_pylist() == [5]


def test_a_month_ahead_is_as_long_as_the_month() -> None:
    times = [datetime(2024, 1, 29), datetime(2024, 1, 31), datetime(2024, 2, 1)]
    query = wr.query(time="ts").rolling("1mo", shift="1mo", closed="left").agg(all=wr.collect("n"))
    rows = pushed(query, pa.table({"ts": pa.array(times, pa.timestamp("us")), "n": [1, 2, 3]}))
    found = [rows.due(to_us(day)) for day in ("2024-02-28", "2024-02-29", "2024-03-01")]
    assert [None if each is None else each["all"].to_pylist() for each in found] == [
        None,
        [[1, 2, 3], [1, 2, 3]],  # of 29 and 31 January: [29 January, 29 February)
        [[3]],
    ]


def test_rows_of_a_key_wait_for_those_behind_them_until_the_end() -> None:
    query = BY_KEY.rolling(rows=2, shift=1).agg(all=wr.concat("s"))
    rows = pushed(query)
    found = rows.due(100)
    assert found is not None
    assert found["all"].to_pylist() == ["vw", "wy", "yz"]
    assert rows.due(1000) is None
    rest = rows.due(END, closing=True)
    assert rest is not None
    assert rest.select(["key", "all"]).to_pylist() == [{"key": "b", "all": "x"}, {"key": "a", "all": "z"}]
    assert (rows.rows, rows.nbytes) == (0, 0)


# -- what is held --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("over", "up_to", "context", "waits"),
    [
        ({"sizes": [3, 6]}, 9, [5, 8], []),  # (9 - 6, 9]
        ({"sizes": [3], "closed": "both"}, 8, [5], [8]),
        ({"sizes": [3], "closed": "left", "shift": -2}, 9, [5, 8], []),  # [9 - 5, 9 - 2)
        ({"sizes": [2], "closed": "both", "shift": 2}, 9, [8], [8]),
        ({"sizes": [2], "shift": 4}, 9, [8], [5, 8]),  # (5 + 2, 5 + 4]
        ({"sizes": [1], "closed": "neither", "shift": 90}, 9, [], [1, 2, 3, 5, 8]),
        ({"sizes": ["all"]}, 9, [1, 2, 3, 5, 8], []),
        ({"rows": [1, 3]}, 9, [3, 5, 8], []),
        ({"rows": 2, "closed": "left"}, 9, [3, 5, 8], []),
        ({"rows": 2, "shift": -1}, 9, [3, 5, 8], []),
        ({"rows": 1, "shift": 2}, 9, [3, 5, 8], [3, 5, 8]),
        ({"rows": 1, "closed": "neither"}, 9, [], []),
    ],
    ids=str,
)
def test_what_frames_hold(over: dict[str, Any], up_to: int, context: list[int], waits: list[int]) -> None:
    sizes, options = over.get("sizes", []), {k: v for k, v in over.items() if k != "sizes"}
    rows = pushed(BY_KEY.rolling(*sizes, **options).agg(all=wr.concat("s")))
    rows.due(up_to)
    held = rows.log.all()
    assert times_of(held) == context
    assert times_of(rows.waiting.all()) == waits
    if held is not None:
        assert held.table.column_names == ["ts", "key", "s"]
    assert rows.rows == len(context) + len(waits)


@settings(max_examples=examples(20))
@given(size=st.integers(1, 9), shift=st.integers(-6, 6), steps=st.lists(st.integers(1, 12), max_size=8))
def test_rows_of_the_past_are_forgotten(size: int, shift: int, steps: list[int]) -> None:
    query = wr.query(time="ts").rolling(size, closed="both", shift=shift).agg(all=wr.concat("s"))
    rows, now = opened(query), 0
    with small_chunks(1, 1):
        for step in steps:
            rows.push(pa.table({"ts": range(now, now + step), "s": ["a"] * step}), np.arange(now, now + step))
            now += step
            rows.due(now)
            held = rows.log.all()
            earliest = min(now, now - max(shift, 0)) + shift - size
            assert held is None or held.times.min() >= earliest


# -- errors --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "over", [{"size": 60}, {"size": 60, "shift": 1}, {"rows": 60}, {"rows": 60, "shift": 1}]
)
def test_what_raises_names_the_row_and_leaves_everything_as_it_was(over: dict[str, Any]) -> None:
    broken = [False]

    def combine(a: str, b: str) -> str:
        if broken[0] and "y" in b:
            raise ArithmeticError("no")
        return a + b

    fragile = wr.monoid(name="fragile", lift=str, combine=combine, identity="", compile=False)
    query = wr.query(time="ts").rolling(**over, closed="both").agg(all=fragile("s"))
    rows = opened(query)
    found: list[Any] = []
    with small_chunks(1, 2):
        rows.push(ROWS, np.arange(10, 15))
        found += [rows.due(3)]
        before, broken[0] = pack("test", rows.state()), True
        with pytest.raises(AggregateError, match="raised ArithmeticError at row 13"):
            rows.due(END, closing=True)
        broken[0] = False
        assert pack("test", rows.state()) == before
        found += [rows.due(6), rows.due(END, closing=True)]
    assert_same_results(
        [row for each in found if each is not None for row in each.to_pylist()], query.run(ROWS)
    )


@pytest.mark.parametrize("context", [None, ROWS.slice(0, 1)], ids=["no rows", "other rows"])
def test_state_in_which_rows_wait_that_are_not_among_the_others_is_refused(context: Any) -> None:
    query = BY_KEY.rolling(rows=1, shift=1).agg(all=wr.concat("s"))
    rows = pushed(query)
    rows.due(9)
    state = rows.state()
    forged = None
    if context is not None:
        forged = {**state["context"], "table": context.select(["ts", "key", "s"]), "arrivals": np.array([77])}
    again = opened(query)
    again.restore(state | {"context": forged})
    with pytest.raises(CorruptState, match="rows that wait"):
        again.due(END, closing=True)


@pytest.mark.parametrize(
    ("over", "waits"),
    [
        ({"rows": 1, "shift": 2**63 - 1}, 5),
        ({"rows": 2**62, "shift": 2**62}, 5),
        ({"rows": 1, "shift": -(2**63)}, 0),
        ({"rows": 2**63 - 1, "shift": -(2**63) + 5}, 0),
        ({"rows": [2**63 - 1, 3]}, 0),
    ],
    ids=str,
)
def test_numbers_of_rows_at_the_end_of_64_bits(over: dict[str, Any], waits: int) -> None:
    query = wr.query(time="ts").rolling(**over).agg(all=wr.concat("s"))
    rows = pushed(query)
    found = [rows.due(2), rows.due(100)]
    assert len(rows.waiting) == waits
    found.append(rows.due(END, closing=True))
    results = [row for each in found if each is not None for row in each.to_pylist()]
    assert_same_results(results, query.run(ROWS))
