"""Aggregates that a query has more of when its state is restored: null over rows that came before them, and
exact over all others."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from support.small_chunks import small_chunks
from windrow.errors import ChangedQuery
from windrow.state import MemoryStore

OLD = {"n": wr.count(), "total": wr.sum("v")}
NEW = {
    "mean": wr.mean("w"),
    "known": wr.count("w"),
    "text": wr.concat("s"),
    "latest": wr.last("s"),
    "middle": wr.median("w"),
    "both": wr.together(total=wr.sum, top=wr.max)("w"),
}


def rows(*times: int, key: str = "a") -> pa.Table:
    columns = {"t": list(times), "k": [key] * len(times), "v": list(times), "w": [10.0 * t for t in times]}
    return pa.table(columns | {"s": [f"<{t}>" for t in times]})


def listed(found: pa.Table, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in found.to_pylist()]


@pytest.mark.parametrize("name", NEW)
@pytest.mark.parametrize("stored", [False, True])
def test_an_added_aggregate_is_null_in_windows_that_began_before_it(name: str, stored: bool) -> None:
    query = wr.query(time="t", by="k").window(ten=wr.Tumbling(10), visit=wr.Session(4))
    more = query.agg(**OLD, new=NEW[name])
    store = MemoryStore()
    operator = query.agg(**OLD).open(store=store) if stored else query.agg(**OLD).open()
    operator.push(rows(1, 2, 12))
    operator = more.open(store=store) if stored else more.restore(operator.snapshot())
    operator.push(rows(15, 31, 33))
    found = operator.finish()
    expected = more.run(pa.concat_tables([rows(1, 2, 12), rows(15, 31, 33)]))
    complete = {(r["window"], r["window_start"]): r["new"] for r in expected.to_pylist()}
    assert listed(found, "window", "window_start", "n", "total", "new") == [
        ("ten", 0, 2, 3, None),
        ("ten", 10, 2, 27, None),
        ("ten", 30, 2, 64, complete["ten", 30]),
        ("visit", 1, 2, 3, None),
        ("visit", 12, 2, 27, None),
        ("visit", 31, 2, 64, complete["visit", 31]),
    ]
    assert found.schema.field("new").type == expected.schema.field("new").type


def test_a_key_without_rows_from_before_has_an_added_aggregate_at_once() -> None:
    query = wr.query(time="t", by="k").window(wr.Tumbling(10))
    operator = query.agg(**OLD).open()
    operator.push(rows(1))
    operator = query.agg(**OLD, mean=wr.mean("w")).restore(operator.snapshot())
    operator.push(rows(2, key="b"))
    operator.push(rows(3))
    assert listed(operator.finish(), "k", "n", "mean") == [("a", 2, None), ("b", 1, 20.0)]


def test_an_added_count_of_rows_is_exact_at_once() -> None:
    query = wr.query(time="t", by="k").window(ten=wr.Tumbling(10), visit=wr.Session(4), pair=wr.Rows(2))
    operator = query.agg(total=wr.sum("v")).open()
    operator.push(rows(1, 2))
    operator = query.agg(total=wr.sum("v"), n=wr.count()).restore(operator.snapshot())
    operator.push(rows(3, 4))
    assert listed(operator.finish(), "window", "n", "total") == [
        ("ten", 4, 10),
        ("visit", 4, 10),
        ("pair", 2, 3),
        ("pair", 2, 7),
    ]


def test_rows_that_are_written_anew_for_an_added_aggregate_are_read_from_there() -> None:
    store = MemoryStore()
    query = wr.query(time="t", watermark=100).rolling(rows=2)
    with small_chunks(1, 2):
        query.agg(total=wr.sum("v")).open(store=store).push(rows(1, 2, 3))
        more = query.agg(total=wr.sum("v"), text=wr.concat("s"))
        operator = more.open(store=store, cache_bytes=0)
        for time in (4, 5, 6):
            operator.push(rows(time))
        assert listed(operator.finish(), "t", "total", "text") == [
            (1, 1, None),
            (2, 3, None),
            (3, 5, None),
            (4, 7, None),
            (5, 9, "<4><5>"),
            (6, 11, "<5><6>"),
        ]


def test_an_added_aggregate_of_columns_that_were_read_is_exact_over_rows_that_are_held() -> None:
    for query in (wr.query(time="t").rolling(5), wr.query(time="t").window(pair=wr.Rows(2))):
        operator = query.agg(total=wr.sum("v")).open()
        operator.push(rows(1, 2))
        operator = query.agg(top=wr.max("v"), mean=wr.mean("w"), total=wr.sum("v")).restore(
            operator.snapshot()
        )
        operator.push(rows(3, 4))
        found = listed(operator.finish(), "total", "top", "mean")
        expected = query.agg(total=wr.sum("v"), top=wr.max("v")).run(rows(1, 2, 3, 4))
        assert [each[:2] for each in found] == listed(expected, "total", "top")
        assert found[0][2] is None


def test_a_later_addition_does_not_take_rows_for_held_that_an_earlier_one_has_not_seen() -> None:
    query = wr.query(time="t").rolling(rows=3)
    operator = query.agg(n=wr.count()).open()
    operator.push(rows(1))
    operator = query.agg(n=wr.count(), text=wr.concat("s")).restore(operator.snapshot())
    operator.push(rows(2))
    more = query.agg(n=wr.count(), text=wr.concat("s"), again=wr.concat("s"))
    operator = more.restore(operator.snapshot())
    operator.push(rows(3, 4, 5))
    found = listed(more.restore(operator.snapshot()).finish(), "t", "text", "again")
    assert found == [
        (1, None, None),
        (2, None, None),
        (3, None, None),
        (4, "<2><3><4>", None),
        (5, "<3><4><5>", "<3><4><5>"),
    ]


def test_an_added_aggregate_sees_rows_in_order_where_its_columns_were_read_before() -> None:
    query = wr.query(time="t").window(wr.Tumbling(10))
    operator = query.agg(latest=wr.last("s")).open()
    operator.push(rows(1))
    operator = query.agg(latest=wr.last("s"), text=wr.concat("s")).restore(operator.snapshot())
    for time in (19, 11, 15, 12):
        operator.push(rows(time))
    assert listed(operator.finish(), "latest", "text") == [("<1>", None), ("<19>", "<11><12><15><19>")]


def test_late_rows_that_correct_windows_give_no_part_of_an_added_aggregate() -> None:
    query = wr.query(time="t", watermark=0, allowed_lateness=50, output="update").window(wr.Tumbling(10))
    operator = query.agg(n=wr.count()).open()
    operator.push(rows(1, 12))
    operator = query.agg(n=wr.count(), mean=wr.mean("w")).restore(operator.snapshot())
    found = [
        row
        for t in (3, 25, 21)
        for row in listed(operator.push(rows(t)), "window_start", "revision", "n", "mean")
    ]
    assert found == [(0, 1, 2, None), (10, 1, 1, None), (20, 0, 1, 250.0), (20, 1, 2, 230.0)]


@pytest.mark.parametrize("rolls", [False, True])
def test_a_policy_that_reads_an_added_aggregate_is_another_policy(rolls: bool) -> None:
    def made(policy: Any, **aggregates: Any) -> Any:
        start = wr.query(time="t")
        return (start.rolling(policy) if rolls else start.window(heavy=policy)).agg(**aggregates)

    def heavy(total: Any, old: Any) -> bool:
        return bool(total.n - old.n >= 2)

    before = made(wr.Policy(heavy), n=wr.count()).open()
    before.push(rows(1, 2))
    made(wr.Policy(heavy), n=wr.count(), total=wr.sum("v")).restore(before.snapshot())

    def heavy(total: Any, old: Any) -> bool:  # type: ignore[no-redef]
        return any(total.total - old.total >= limit for limit in (5,))

    with pytest.raises(ChangedQuery, match=r"policy.* reads 'total', which was not there"):
        made(wr.Policy(heavy), n=wr.count(), total=wr.sum("v")).restore(before.snapshot())


@pytest.mark.parametrize("order", [(), ("v",)], ids=["by time", "by a column"])
def test_sessions_that_were_open_when_an_aggregate_of_order_was_added_can_be_read(order: Any) -> None:
    """A session of several moments is one slice from before; its state was refused as damaged."""
    visits = wr.query(time="t", order=order, watermark=0, allowed_lateness=50).window(visit=wr.Session(11))
    before = visits.agg(n=wr.count())
    after = visits.agg(n=wr.count(), text=wr.concat("s"))
    rows = pa.table({"t": [1, 6], "v": [1, 2], "s": ["a", "b"]})
    later = pa.table({"t": [12, 4, 40], "v": [3, 4, 5], "s": ["d", "c", "e"]})
    operator = before.open()
    operator.push(rows)
    operator = after.restore(operator.snapshot())
    operator.push(later.slice(0, 2))
    operator = after.restore(operator.snapshot())
    found = [*operator.push(later.slice(2)).to_pylist(), *operator.finish().to_pylist()]
    assert [(row["window_start"], row["window_end"], row["n"], row["text"]) for row in found] == [
        (1, 23, 4, None),
        (40, 51, 1, "e"),
    ]
