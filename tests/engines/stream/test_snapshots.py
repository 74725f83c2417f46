"""Snapshots: what refuses them, and what may have been added to the query that restores one."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow.errors import ChangedQuery, CorruptState, UnstorableValue
from windrow.state.codec import pack

QUERY = (
    wr.query(time="t", by="k", watermark=2)
    .window(ten=wr.Tumbling(10), visit=wr.Session(3))
    .agg(n=wr.count(), total=wr.sum("v"))
)
EARLY = pa.table({"t": [1, 2, 13], "k": ["a", "b", "a"], "v": [1, 2, 3], "w": ["p", "q", "r"]})
LATER = pa.table({"t": [14, 15, 12], "k": ["a", "b", "a"], "v": [4, 5, 6], "w": ["s", "t", "u"]})


def taken() -> bytes:
    operator = QUERY.open()
    operator.push(EARLY)
    return operator.snapshot()


def results(operator: Any, *names: str) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """Push the later rows and finish: results by key, window and start."""
    tables = [operator.push(LATER), operator.finish()]
    return {
        (row["k"], row["window"], row["window_start"]): tuple(row[name] for name in names)
        for table in tables
        for row in table.to_pylist()
    }


def test_a_snapshot_goes_on_where_it_was_taken_and_is_the_same_bytes() -> None:
    operator = QUERY.open()
    operator.push(EARLY)
    restored = QUERY.restore(operator.snapshot())
    assert restored.snapshot() == operator.snapshot()
    assert restored.metrics.slices == operator.metrics.slices == 2
    assert restored.metrics.watermark == operator.metrics.watermark == 11
    assert results(restored, "n", "total") == results(operator, "n", "total")


def test_all_differences_of_another_query_are_named() -> None:
    other = (
        wr.query(time="ts", by="j", watermark=3, late="return", min_count=1, order="o")
        .window(ten=wr.Tumbling(5), other=wr.Session(3))
        .agg(n=wr.sum("v"), more=wr.max("v"))
    )
    with pytest.raises(ChangedQuery) as raised:
        other.restore(taken())
    for difference in (
        "time was t, is ts",
        "by was ('k',), is ('j',)",
        "order was (), is ('o',)",
        "late was count, is emit",
        "min_count was 0, is 1",
        "window 'ten' was Tumbling(10), is Tumbling(5)",
        "window 'visit' (Session(3)) is called 'other', and its state would be lost",
        "aggregate 'n' was count(), is sum(v)",
    ):
        assert difference in str(raised.value)


def test_what_is_cut_short_changed_or_something_else_is_corrupt() -> None:
    snapshot = taken()
    for cut in range(0, len(snapshot), 97):
        with pytest.raises(CorruptState):
            QUERY.restore(snapshot[:cut])
    for place in range(0, len(snapshot), 61):
        changed = bytearray(snapshot)
        changed[place] ^= 0x10
        with pytest.raises(ValueError, match=r"operator|expected"):
            QUERY.restore(bytes(changed))
    others = [b"", pickle.dumps({"rows": 1}), snapshot + b"x", pack("something else", {"n": 1})]
    for other in others:
        with pytest.raises(CorruptState):
            QUERY.restore(other)


def test_a_pickle_is_not_run() -> None:
    ran = []

    class Payload:
        def __reduce__(self) -> Any:
            return (ran.append, (1,))

    with pytest.raises(CorruptState):
        QUERY.restore(pickle.dumps(Payload()))
    assert ran == []


def test_partials_without_a_stored_form_are_named() -> None:
    class Box:
        pass

    boxed = wr.monoid(
        name="boxed", lift=lambda v: Box(), combine=lambda a, b: a, identity=None, compile=False
    )
    operator = wr.query(time="t").window(wr.Tumbling(10)).agg(x=boxed("v")).open()
    operator.push(pa.table({"t": [1], "v": [1]}))
    with pytest.raises(UnstorableValue, match="Box has no stored form"):
        operator.snapshot()


def test_partials_that_are_named_tuples_come_back_as_such() -> None:
    both = wr.together(total=wr.sum, top=wr.max)
    query = wr.query(time="t").window(wr.Tumbling(10)).agg(both=both("v"))
    operator = query.open()
    operator.push(pa.table({"t": [1, 2], "v": [3, 4]}))
    operator = query.restore(operator.snapshot())
    operator.push(pa.table({"t": [3], "v": [5]}))
    assert operator.finish()["both"].to_pylist() == [{"total": 12, "top": 5}]


# -- added to the query --------------------------------------------------------------------------------------


def test_an_added_window_sees_rows_that_come_from_now_on() -> None:
    added = (
        wr.query(time="t", by="k", watermark=2)
        .window(ten=wr.Tumbling(10), twenty=wr.Tumbling(20), visit=wr.Session(3), pair=wr.Rows(1))
        .agg(n=wr.count(), total=wr.sum("v"))
    )
    found = results(added.restore(taken()), "n")
    assert found["a", "ten", 10] == (3,)
    assert not any(name == "twenty" for _, name, _ in found)  # it would lack the row 13
    assert found["a", "visit", 12] == (3,)
    assert {key for key in found if key[1] == "pair"} == {("a", "pair", 14), ("b", "pair", 15)}


ADDED = {
    "native": (wr.max("v"), 5),
    "picks a row": (wr.first("v"), 5),
    "picks by a comparison": (wr.arg_max("v", value="w"), "t"),
    "in order": (wr.concat("w"), "t"),
    "counts values": (wr.count("w"), 1),
    "a sketch": (wr.median("v"), 5.0),
    "several": (wr.together(total=wr.sum, top=wr.max)("v"), {"total": 5, "top": 5}),
}


@pytest.mark.parametrize(("aggregate", "expected"), ADDED.values(), ids=ADDED)
def test_an_added_aggregate_is_null_over_rows_from_before(aggregate: Any, expected: Any) -> None:
    """Key a has the row 13 from before and 14, 12 from after, key b in the same window only rows from
    after."""
    added = (
        wr.query(time="t", by="k", watermark=2)
        .window(ten=wr.Tumbling(10), visit=wr.Session(3))
        .agg(new=aggregate, n=wr.count(), total=wr.sum("v"))
    )
    operator = added.restore(taken())
    found = results(added.restore(operator.snapshot()), "new", "n", "total")
    assert found == results(operator, "new", "n", "total")
    assert found["a", "ten", 10] == found["a", "visit", 12] == (None, 3, 13)
    assert found["b", "ten", 10] == found["b", "visit", 15] == (expected, 1, 5)


def test_an_added_aggregate_that_depends_on_order_sees_rows_in_order() -> None:
    added = QUERY.agg(n=wr.count(), total=wr.sum("v"), text=wr.concat("w"))
    operator = added.restore(taken())
    for time, letter in ((29, "z"), (21, "a"), (25, "m"), (22, "b")):
        operator.push(pa.table({"t": [time], "k": ["a"], "v": [1], "w": [letter]}))
    found = {row["window_start"]: row["text"] for row in operator.finish().to_pylist() if row["k"] == "a"}
    assert found[20] == "abmz"


def test_an_added_aggregate_that_depends_on_order_and_a_column_that_orders() -> None:
    query = wr.query(time="t", order="o").window(ten=wr.Tumbling(10), visit=wr.Session(3))
    operator = query.agg(n=wr.count()).open()
    operator.push(pa.table({"t": [5, 1], "o": [1, 1]}))
    operator = query.agg(n=wr.count(), text=wr.concat("w")).restore(operator.snapshot())
    operator.push(pa.table({"t": [4, 14, 14, 13], "o": [2, 2, 1, 9], "w": ["-", "c", "b", "a"]}))
    found = [(row["window"], row["n"], row["text"]) for row in operator.finish().to_pylist()]
    assert found == [("ten", 3, None), ("ten", 3, "abc"), ("visit", 3, None), ("visit", 3, "abc")]


def test_an_added_aggregate_where_rows_are_held() -> None:
    query = wr.query(time="t", by="k").window(pair=wr.Rows(2), heavy=wr.Policy(lambda total, old: False))
    operator = query.agg(n=wr.count()).open()
    operator.push(EARLY)
    operator.advance(2)
    operator = query.agg(n=wr.count(), total=wr.sum("v"), text=wr.concat("w")).restore(operator.snapshot())
    assert operator.push(LATER).num_rows == 0
    found = [
        (row["k"], row["window"], row["n"], row["total"], row["text"])
        for row in operator.finish().to_pylist()
    ]
    assert ("a", "pair", 2, None, None) in found
    assert ("a", "heavy", 3, None, None) in found
    assert ("b", "pair", 2, None, None) in found


@pytest.mark.parametrize("options", [{"rows": 2}, {"size": 5}])
def test_an_added_aggregate_in_a_rolling_query(options: Any) -> None:
    query = wr.query(time="t", by="k").rolling(**options)
    operator = query.agg(n=wr.count("v")).open()
    operator.push(EARLY.drop_columns(["w"]))
    operator.advance(5)
    operator = query.agg(n=wr.count("v"), text=wr.concat("w")).restore(operator.snapshot())
    operator.push(LATER)
    found = {row["t"]: (row["n"], row["text"]) for row in operator.finish().to_pylist() if row["k"] == "a"}
    # the rows 1 and 13 came before the aggregate
    by_rows, by_time = (
        {12: (2, None), 13: (2, None), 14: (2, None)},
        {12: (1, "u"), 13: (2, None), 14: (3, None)},
    )
    assert found == (by_rows if "rows" in options else by_time)


def test_an_added_aggregate_keeps_moments_apart_from_the_session_that_was_there() -> None:
    """The old slice of the session reaches to 10, as the moment 9 does: they must not be fused."""
    query = wr.query(time="t").window(ten=wr.Tumbling(10), visit=wr.Session(30))
    operator = query.agg(n=wr.count()).open()
    operator.push(pa.table({"t": [1, 5], "w": ["-", "-"]}))
    operator = query.agg(n=wr.count(), text=wr.concat("w")).restore(operator.snapshot())
    for time, letter in ((9, "b"), (6, "a"), (17, "e"), (12, "c"), (15, "d")):
        operator.push(pa.table({"t": [time], "w": [letter]}))
    found = [(row["window"], row["n"], row["text"]) for row in operator.finish().to_pylist()]
    assert found == [("ten", 4, None), ("ten", 3, "cde"), ("visit", 7, None)]
