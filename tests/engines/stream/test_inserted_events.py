"""Events inserted one by one: the same results as a push of the same rows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr

EVENTS = [
    (3, "ann", 1.0),
    (14, "bob", 2.5),
    (1, "ann", 4.0),
    (25, "ann", None),
    (26, None, 3.0),
    (8, "bob", 1.5),
    (41, "ann", 2.0),
]


def query(**settings: Any) -> Any:
    windows = {"ten": wr.Tumbling(10), "visit": wr.Session(6), "pairs": wr.Rows(2)}
    asked = wr.query(time="t", by="who", watermark=3, **settings).window(**windows)
    return asked.agg(total=wr.sum("v"), n=wr.count(), last=wr.last("v"))


def rows(events: list[tuple[Any, ...]]) -> pa.Table:
    times, names, values = zip(*events, strict=True)
    schema = pa.schema([("who", pa.string()), ("t", pa.int64()), ("v", pa.float64())])
    return pa.table([pa.array(names), pa.array(times), pa.array(values)], schema=schema)


def inserted(operator: Any, events: list[tuple[Any, ...]]) -> None:
    for t, who, v in events:
        operator.insert(t, who, v=v)


@pytest.mark.parametrize("size", [1, 2, 7])
def test_inserted_events_give_what_a_push_of_the_same_rows_gives(size: int) -> None:
    events, tables = query().open(), query().open()
    for begin in range(0, len(EVENTS), size):
        some = EVENTS[begin : begin + size]
        inserted(events, some)
        assert events.flush().to_pylist() == tables.push(rows(some)).to_pylist()
    assert events.metrics.as_dict() == tables.metrics.as_dict()
    assert events.finish().to_pylist() == tables.finish().to_pylist()


def test_events_that_wait_are_part_of_the_next_step() -> None:
    together = query().open().push(rows(EVENTS)).to_pylist()
    pushes = query().open()
    inserted(pushes, EVENTS[:4])
    assert pushes.push(rows(EVENTS[4:])).to_pylist() == together
    for step in (lambda operator: operator.advance(60), lambda operator: operator.finish()):
        events, plain = query().open(), query().open()
        inserted(events, EVENTS)
        wanted = plain.push(rows(EVENTS)).to_pylist() + step(plain).to_pylist()
        assert sorted(step(events).to_pylist(), key=repr) == sorted(wanted, key=repr)


def test_events_that_wait_are_in_a_snapshot() -> None:
    before, plain = query().open(), query().open()
    inserted(before, EVENTS[:2])
    before.flush()
    plain.push(rows(EVENTS[:2]))
    inserted(before, EVENTS[2:])
    after = query().restore(before.snapshot())
    after.insert(43, "bob", v=1.0)
    assert after.flush().to_pylist() == plain.push(rows([*EVENTS[2:], (43, "bob", 1.0)])).to_pylist()
    assert after.metrics.rows_in == plain.metrics.rows_in == len(EVENTS) + 1
    assert after.finish().to_pylist() == plain.finish().to_pylist()


def test_a_flush_that_fails_keeps_its_events() -> None:
    totals = wr.query(time="t", watermark=0).window(wr.Tumbling(10)).agg(total=wr.sum("v")).open()
    totals.insert(1, v=2**62)
    totals.insert(2, v=2**62)
    for _ in range(2):
        with pytest.raises(wr.IntegerOverflow):
            totals.flush()
    assert totals.metrics.rows_in == 0
    assert totals.drop_events() == 2
    totals.insert(3, v=7)
    assert totals.finish()["total"].to_pylist() == [7]


def test_an_event_that_does_not_fit_is_named_and_not_taken() -> None:
    operator = query().open()
    operator.insert(1, "ann", v=1.0)
    for event, why in (
        ((2, "bob", {"v": "much"}), r"the event at 2 of key 'bob': v='much' does not fit"),
        ((3, "bob", {}), r"the event at 3 of key 'bob' has no 'v'"),
        ((4, 5, {"v": 1.0}), r"the event at 4 of key 5: who=5 does not fit"),
        (("now", "bob", {"v": 1.0}), r"the event at 'now' of key 'bob': t='now' does not fit"),
        ((6, "bob", {"v": 1.0, "w": 2}), r"the event at 6 of key 'bob' has the values 'v', 'w'"),
    ):
        time, key, values = event
        with pytest.raises(TypeError, match=why):
            operator.insert(time, key, **values)
    with pytest.raises(TypeError, match="the event at 7: the query has a key for 'who'"):
        operator.insert(7, v=1.0)
    operator.flush()
    assert operator.metrics.rows_in == 1
    with pytest.raises(TypeError, match="v='much' does not fit"):
        operator.insert(2, "bob", v="much")


def test_an_integer_that_no_column_holds_is_named_by_the_flush() -> None:
    operator = wr.query(time="t").window(wr.Tumbling(10)).agg(top=wr.max("v")).open()
    operator.insert(1, v=3)
    operator.insert(2, v=2**70)
    with pytest.raises(TypeError, match=rf"the event at 2: v={2**70} does not fit"):
        operator.flush()


def test_windows_are_not_changed_under_events_that_wait() -> None:
    operator = query().open()
    operator.insert(1, "ann", v=1.0)
    with pytest.raises(RuntimeError, match=r"1 inserted event wait.*flush\(\) first"):
        operator.add_window(twenty=wr.Tumbling(20))
    operator.flush()
    operator.add_window(twenty=wr.Tumbling(20))


def test_events_with_moments_and_several_keys() -> None:
    begin = datetime(2024, 5, 1)
    asked = wr.query(time="ts", by=["a", "b"], watermark="0s").window(wr.Tumbling("1m")).agg(n=wr.count())
    operator = asked.open()
    for k in range(4):
        operator.insert(begin + timedelta(seconds=40 * k), ("x", k % 2))
    found = operator.flush().to_pylist()
    assert [(row["a"], row["b"], row["window_start"], row["n"]) for row in found] == [
        ("x", 0, begin, 1),
        ("x", 0, begin + timedelta(minutes=1), 1),
        ("x", 1, begin, 1),
    ]


def test_results_over_a_source_are_those_of_its_pushes() -> None:
    parts = [rows(EVENTS[:3]), rows(EVENTS[3:5]), rows(EVENTS[5:])]
    plain = query().open()
    wanted = [result.to_pylist() for result in map(plain.push, parts)]
    wanted = [each for each in [*wanted, plain.finish().to_pylist()] if each]

    async def source() -> AsyncIterator[pa.Table]:
        for part in parts:
            yield part

    async def waited_for() -> list[Any]:
        return [result.to_pylist() async for result in query().open().results(source())]

    assert [result.to_pylist() for result in query().open().over(parts)] == wanted
    assert asyncio.run(waited_for()) == wanted
    open_still = query().open()
    assert len(list(open_still.over(parts, finish=False))) == len(wanted) - 1
    assert open_still.finish().to_pylist() == wanted[-1]
