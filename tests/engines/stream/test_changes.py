"""Windows are added to and removed from a running operator; results keep one schema."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import windrow as wr

QUERY = wr.query(time="t", watermark=0).window(ten=wr.Tumbling(10)).agg(n=wr.count())


def table(*times: int) -> pa.Table:
    flags = [time % 5 == 0 for time in times]
    odd = [time % 2 == 1 for time in times]
    return pa.table({"t": list(times), "km": [float(time) for time in times], "done": flags, "odd": odd})


def listed(found: pa.Table) -> list[tuple[Any, ...]]:
    return [(r["window"], r["window_start"], r["window_end"], r["n"]) for r in found.to_pylist()]


ADDED = {
    # rows at 1, 3, 4 come before the window is added, rows at 6, 7, 10, 11, 40 after: windows that start
    # before 5 lack some, and sessions that start before 8 may have begun earlier
    "Tumbling": (wr.Tumbling(5), [(5, 10, 2), (10, 15, 2), (40, 45, 1)]),
    "Sliding": (wr.Sliding(20, slide=10), [(10, 30, 2), (30, 50, 1), (40, 60, 1)]),
    "Cumulative": (wr.Cumulative(20, step=10), [(40, 50, 1), (40, 60, 1)]),
    "Fixed": (wr.Fixed(0, 8), []),
    "Session": (wr.Session(3), [(40, 43, 1)]),
    "Session of a size": (wr.Session(3, max_size=4), [(10, 14, 2), (40, 43, 1)]),
    "Rows": (wr.Rows(2), [(6, 7, 2), (10, 11, 2)]),
    "Delta": (wr.Delta("km", size=10), [(6, 7, 2), (10, 11, 2), (40, 40, 1)]),
    "Punctuation": (wr.Punctuation("done"), [(6, 10, 3), (11, 40, 2)]),
    "Threshold": (wr.Threshold("odd"), [(7, 7, 1), (11, 11, 1)]),
    "Policy": (wr.Policy(lambda total, old: total.n - old.n >= 2), None),
}


@pytest.mark.parametrize("restores", [False, True])
@pytest.mark.parametrize(("window", "expected"), ADDED.values(), ids=ADDED)
def test_windows_that_lack_rows_from_before_the_addition_do_not_come_out(
    window: Any, expected: Any, restores: bool
) -> None:
    operator = QUERY.open()
    operator.push(table(1, 3, 4))
    operator.add_window(added=window)
    if restores:
        operator = operator.query.restore(operator.snapshot())
    found = [*listed(operator.push(table(6, 7, 10))), *listed(operator.push(table(11, 40)))]
    found += listed(operator.finish())
    assert [each for each in found if each[0] == "ten"] == [
        ("ten", 0, 10, 5),
        ("ten", 10, 20, 2),
        ("ten", 40, 50, 1),
    ]
    if expected is None:
        expected = [(6, 6, 1), (6, 7, 2), (7, 10, 2), (10, 11, 2), (11, 40, 2)]
    assert sorted(each[1:] for each in found if each[0] == "added") == sorted(expected)


def test_a_removed_window_gives_nothing_more_and_its_name_can_come_back() -> None:
    operator = (
        wr.query(time="t")
        .window(ten=wr.Tumbling(10), visit=wr.Session(3), pair=wr.Rows(2), twenty=wr.Sliding(20, slide=10))
        .agg(n=wr.count())
        .open()
    )
    operator.push(table(1, 2, 5))
    held = operator.metrics
    for name in ("visit", "pair", "twenty"):
        operator.remove_window(name)
    assert operator.metrics.rows_held == 0 < held.rows_held
    assert operator.metrics.slices == 1 < held.slices
    operator.add_window(visit=wr.Session(3), pair=wr.Rows(2), twenty=wr.Tumbling(20))
    operator.push(table(6, 7, 21, 22))
    assert listed(operator.finish()) == [
        ("ten", 0, 10, 5),
        ("ten", 20, 30, 2),
        ("twenty", 20, 40, 2),
        ("visit", 21, 25, 2),
        ("pair", 6, 7, 2),
        ("pair", 21, 22, 2),
    ]


def test_a_column_that_only_a_removed_window_read_is_not_asked_for_any_more() -> None:
    operator = QUERY.open()
    operator.push(table(1))
    operator.add_window(far=wr.Delta("km", size=5))
    with pytest.raises(KeyError, match="no column 'km'"):
        operator.push(pa.table({"t": [2]}))
    operator.remove_window("far")
    operator.push(pa.table({"t": [2]}))
    assert operator.metrics.rows_in == 2


def test_windows_are_added_together_or_not_at_all() -> None:
    operator = QUERY.open()
    operator.push(table(1))
    with pytest.raises(TypeError, match=r"Tumbling\('5m'\) is meant for timestamps"):
        operator.add_window(five=wr.Tumbling(5), minutes=wr.Tumbling("5m"))
    assert [name for name, _ in operator.query.windows] == ["ten"]


def test_what_cannot_be_added_or_removed() -> None:
    operator = QUERY.open()
    with pytest.raises(ValueError, match="there is a window 'ten' already"):
        operator.add_window(ten=wr.Tumbling(5))
    with pytest.raises(TypeError, match=r"five=5 is a duration: .* as in five=wr.Tumbling\(5\)"):
        operator.add_window(five=5)
    with pytest.raises(KeyError, match="no window 'five'; the operator has 'ten'"):
        operator.remove_window("five")
    with pytest.raises(ValueError, match=r"'ten' is the only window: finish\(\) the operator instead"):
        operator.remove_window("ten")
    for query in (wr.query(time="t").window(wr.Tumbling(5)), wr.query(time="t").rolling(5)):
        with pytest.raises(ValueError, match="whose windows have names"):
            query.agg(n=wr.count()).open().add_window(five=wr.Tumbling(5))


def test_windows_that_are_added_before_the_first_row_see_all() -> None:
    operator = QUERY.open()
    operator.add_window(five=wr.Tumbling(5), visit=wr.Session(2))
    found = [*listed(operator.push(table(1, 6))), *listed(operator.finish())]
    assert found == [
        ("five", 0, 5, 1),
        ("visit", 1, 3, 1),
        ("ten", 0, 10, 2),
        ("five", 5, 10, 1),
        ("visit", 6, 8, 1),
    ]


# -- one schema ----------------------------------------------------------------------------------------------

DOUBLED = wr.monoid(
    name="doubled", lift=lambda v: 2 * v, combine=lambda a, b: a + b, identity=0, compile=False
)
QUERIES = {
    "windows": wr.query(time="t", by="k").window(wr.Tumbling(10)).agg(n=wr.count(), top=wr.max("v")),
    "named": wr.query(time="t", by="k", allowed_lateness=5)
    .window(ten=wr.Tumbling(10), visit=wr.Session(3), two=wr.Rows(2))
    .agg(text=wr.concat("w"), first=wr.first("w")),
    "updates": wr.query(time="t", output="update")
    .window(a=wr.Tumbling(10), b=wr.Session(3))
    .agg(m=wr.mean("v")),
    "rolling": wr.query(time="t", output="update").rolling(5).agg(m=wr.mean("v")),
}


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_every_result_has_the_schema_of_the_first(query: Any) -> None:
    operator = query.open()
    before = operator.advance(-5)
    tables = [
        operator.push(pa.table({"t": [1], "k": ["a"], "v": [1], "w": ["x"]}).slice(0, 0)),
        operator.push(pa.table({"t": [1, 4], "k": ["a", None], "v": [None, 1], "w": [None, "x"]})),
        operator.advance(2),
        operator.push(pa.table({"t": [5, 30], "k": ["a", "b"], "v": [3, 4], "w": ["x", None]})),
        operator.advance(20),
        operator.push(pa.table({"t": [17], "k": ["a"], "v": [1], "w": ["y"]})),
        query.restore(operator.snapshot()).finish(),
        operator.finish(),
    ]
    assert len({found.schema for found in tables}) == 1
    assert any(found.num_rows for found in tables)
    if query.windows:
        assert before.schema.names == tables[0].schema.names
    assert set(query.run(pa.table({"t": [1], "k": ["a"], "v": [1], "w": ["x"]})).schema) <= set(
        tables[0].schema
    )


def test_a_type_that_only_results_tell_is_kept_once_it_is_known() -> None:
    operator = wr.query(time="t").window(a=wr.Tumbling(10)).agg(x=DOUBLED("v")).open()
    assert operator.push(pa.table({"t": [1], "v": [1]})).schema.field("x").type == pa.null()
    assert operator.advance(10).schema.field("x").type == pa.int64()
    operator.add_window(b=wr.Session(3))
    assert operator.advance(20).schema.field("x").type == pa.int64()


def test_a_session_that_is_added_adds_its_column_at_once_and_in_its_place() -> None:
    operator = wr.query(time="t", output="update").window(a=wr.Tumbling(10)).agg(n=wr.count()).open()
    operator.push(table(1))
    operator.add_window(b=wr.Session(3))
    nothing, something = operator.advance(2), operator.push(table(5))
    assert nothing.num_rows == 0 < something.num_rows
    assert nothing.schema == something.schema
    assert nothing.schema.names[-3:] == ["revision", "retracted", "is_final"]


def test_a_column_of_nulls_gets_its_type_when_a_table_knows_it() -> None:
    query = (
        wr.query(time="t", by="k")
        .window(wr.Tumbling(10))
        .agg(total=wr.sum("v"), first=wr.first("v"), text=wr.concat("w"))
    )
    operator = query.open()
    operator.push(pa.table({"t": [1, 2], "k": pa.nulls(2), "v": pa.nulls(2), "w": pa.nulls(2)}))
    operator = query.restore(operator.snapshot())
    operator.push(pa.table({"t": [5, 3], "k": ["a", None], "v": [3, 4], "w": ["x", "y"]}))
    operator.push(pa.table({"t": [0], "k": pa.nulls(1), "v": [7], "w": ["z"]}))
    found = {row["k"]: (row["total"], row["first"], row["text"]) for row in operator.finish().to_pylist()}
    assert found == {None: (11, 7, "zy"), "a": (3, 3, "x")}


def test_an_added_window_does_not_fill_what_lies_before_it() -> None:
    operator = (
        wr.query(time="t", watermark=0, empty="include").window(ten=wr.Tumbling(10)).agg(n=wr.count()).open()
    )
    operator.push(table(1, 25))
    operator.add_window(five=wr.Tumbling(5))
    operator = operator.query.restore(operator.snapshot())
    found = [*listed(operator.push(table(38, 46))), *listed(operator.finish())]
    assert [each for each in found if each[0] == "ten"] == [
        ("ten", 20, 30, 1),
        ("ten", 30, 40, 1),
        ("ten", 40, 50, 1),
    ]
    assert [each for each in found if each[0] == "five"] == [
        ("five", 35, 40, 1),
        ("five", 40, 45, 0),
        ("five", 45, 50, 1),
    ]
