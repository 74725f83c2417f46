"""``where=``: rows in which a boolean column is not true are absent for one aggregate, as in SQL's FILTER, on
tables, operators and stores; windows, sessions and frames are still those of all rows."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from support.aggregates import CASES, CONCATENATION, INTS, MATRIX, SPREAD, Case
from support.budget import examples
from support.oracle_checks import check
from windrow.errors import ChangedQuery, UnknownColumn
from windrow.testing import assert_same_results

ROWS = pa.table(
    {
        "t": [1, 2, 3, 4, 11, 12, 25, 26],
        "v": [5, None, 7, 1, 2, 3, None, 9],
        "s": ["a", "b", None, "d", "e", "f", "g", "h"],
        "ok": [True, True, False, None, False, None, True, True],
    }
)
TENS = wr.query(time="t").window(wr.Tumbling(10))

#: MATRIX lowers to tuples, which a table has as structs
AGGREGATES = [case for case in CASES if case.monoid is not MATRIX]
AGGREGATES.append(Case("user: matrix", replace(MATRIX, lower=lambda m: m[1]), INTS))
KINDS = {
    "windows": lambda query: query.window(
        slide=wr.Sliding(10, slide=3),
        visit=wr.Session(4),
        cut=wr.Session(4, max_size=6),
        rows=wr.Rows(3),
        day=wr.Cumulative(20, step=5),
    ),
    "filled": lambda query: query.window(wr.Tumbling(5)),
    "rolling": lambda query: query.rolling(7),
    "rolling rows": lambda query: query.rolling(rows=4),
    "policy": lambda query: query.rolling(wr.Policy(lambda total, old: total.n - old.n >= 3)),
}


def results(query: wr.Query, table: pa.Table, **options: Any) -> pa.Table:
    """What an operator gives that is pushed a table in pieces."""
    operator = query.open(**options)
    pieces = [operator.push(table.slice(k, 5)) for k in range(0, table.num_rows, 5)]
    return pa.concat_tables([*pieces, operator.finish()], promote_options="permissive")


def inputs(case: Case) -> int:
    return case.monoid.arity[0]


@st.composite
def tables(draw: st.DrawFn, case: Case) -> pa.Table:
    """Rows that suit an aggregate, some of them null, out of order."""
    rows = draw(st.lists(st.one_of(case.rows, case.rows, st.none()), min_size=1, max_size=25))
    width = inputs(case)
    nothing: Any = (None,) * width
    cells = [(nothing if row is None else row) if width > 1 else (row,) for row in rows]
    times = [max(0, k - draw(st.integers(0, 4))) * 2 for k in range(len(rows))]
    flags = [draw(st.sampled_from([True, False, None])) for _ in rows]
    columns = {f"c{k}": list(column) for k, column in enumerate(zip(*cells, strict=True))}
    typed = {name: pa.array(column) for name, column in columns.items()}
    if any(pa.types.is_null(column.type) for column in typed.values()):  # they have the type that suits
        other = draw(case.rows)
        values = other if width > 1 else (other,)
        kinds = [pa.array([value]).type for value in values]
        typed = {
            name: pa.array(column.to_pylist(), kind) if pa.types.is_null(column.type) else column
            for (name, column), kind in zip(typed.items(), kinds, strict=True)
        }
    keys = [draw(st.sampled_from("ab")) for _ in rows]
    return pa.table({"t": times, "k": keys, "ok": pa.array(flags, pa.bool_())} | typed)


@pytest.mark.parametrize("case", AGGREGATES, ids=str)
@settings(max_examples=examples(2))
@given(data=st.data())
def test_every_aggregate_with_where_against_the_oracle(case: Case, data: st.DataObject) -> None:
    table = data.draw(tables(case))
    columns = [f"c{k}" for k in range(inputs(case))]
    aggregates = {"a": case.monoid(*columns, where="ok"), "all": case.monoid(*columns), "n": wr.count()}
    for kind, start in KINDS.items():
        by, least = ("k", 0) if kind != "rolling" else (None, data.draw(st.integers(0, 2)))
        empty = "emit" if kind == "filled" else "skip"
        query = start(wr.query(time="t", by=by, watermark=20, min_count=least, empty=empty))
        query = query.agg(**aggregates)
        expected = check(query, table)
        for options in ({}, {"store": wr.state.MemoryStore(), "name": "q"}):
            found = results(query, table, **options)
            assert_same_results(found.select(expected.column_names), expected)


# -- by definition -------------------------------------------------------------------------------------------


def test_rows_that_do_not_pass_are_absent() -> None:
    query = TENS.agg(
        n=wr.count(where="ok"),
        known=wr.count("v", where="ok"),
        total=wr.sum("v", where="ok"),
        first=wr.first("v", where="ok"),
        all=wr.collect("s", where="ok"),
        top=wr.arg_max("v", value="s", where="ok"),
        mine=CONCATENATION("s", where="ok"),
        wide=SPREAD("v", where="ok"),
    )
    assert check(query, ROWS).select(query_names(query)).to_pylist() == [
        {"n": 2, "known": 1, "total": 5, "first": 5, "all": ["a", "b"], "top": "a", "mine": "ab", "wide": 0},
        {"n": 0, "known": 0} | dict.fromkeys(["total", "first", "all", "top", "mine", "wide"]),
        {"n": 2, "known": 1, "total": 9, "first": 9, "all": ["g", "h"], "top": "h", "mine": "gh", "wide": 0},
    ]


def query_names(query: wr.Query) -> list[str]:
    return [name for name, _ in query.aggregates]


def test_windows_sessions_and_frames_are_those_of_all_rows() -> None:
    for start in (
        wr.query(time="t").window(wr.Session(5)),
        wr.query(time="t").window(wr.Rows(3)),
        wr.query(time="t").rolling(rows=3),
    ):
        found = start.agg(some=wr.count(where="ok"), n=wr.count()).run(ROWS)
        without = start.agg(n=wr.count()).run(ROWS)
        assert found.drop_columns(["some"]).equals(without)


def test_min_count_counts_the_values_that_pass() -> None:
    query = wr.query(time="t", min_count=2).window(wr.Tumbling(10))
    query = query.agg(n=wr.count(where="ok"), total=wr.sum("v", where="ok"), all=wr.sum("v"))
    assert check(query, ROWS).select(["n", "total", "all"]).to_pylist() == [
        {"n": 2, "total": None, "all": 13},
        {"n": None, "total": None, "all": 5},
        {"n": 2, "total": None, "all": None},
    ]


PROPAGATING = {
    "sum": wr.sum("v", nulls="propagate", where="ok"),
    "last": wr.last("v", nulls="propagate", where="ok"),
    "collect": wr.collect("v", nulls="propagate", where="ok"),
    "median": wr.median("v", nulls="propagate", where="ok"),
    "count": wr.count("v", nulls="propagate", where="ok"),
    "mine": CONCATENATION("v", nulls="propagate", where="ok"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_nulls_that_pass_propagate_and_those_that_do_not_are_absent(kind: str) -> None:
    rows = pa.table(
        {
            "t": [0, 1, 2, 10, 11, 20, 21, 30, 40],
            "v": [1, None, 3, None, 4, None, None, 5, None],
            "ok": [True, False, True, True, True, False, None, True, True],
        }
    )
    query = KINDS[kind](wr.query(time="t", watermark=100)).agg(**PROPAGATING, n=wr.count())
    expected = check(query, rows)
    found = set(map(str, expected["sum"].to_pylist()))
    assert "None" in found
    assert len(found) > 1
    assert_same_results(results(query, rows), expected)
    assert_same_results(results(query, rows, store=wr.state.MemoryStore(), name="q"), expected)
    operator = query.open()
    begun = operator.push(rows.slice(0, 4))
    restored = query.restore(operator.snapshot())
    pieces = [begun, restored.push(rows.slice(4)), restored.finish()]
    assert_same_results(pa.concat_tables(pieces, promote_options="permissive"), expected)


@pytest.mark.parametrize("kind", ["rolling", "rolling rows", "policy"])
def test_rolling_in_a_store(kind: str) -> None:
    query = KINDS[kind](wr.query(time="t")).agg(
        **PROPAGATING, n=wr.count(), some=wr.count(where="ok"), top=wr.max("v", where="ok")
    )
    expected = check(query, ROWS)
    over = query.rolling_over
    assert over is not None
    sized = {"rows": over.rows} if over.rows else {}
    what = over.policy or (7 if over.size is not None else None)
    arguments = () if what is None else (what,)
    stored = wr.query(time="t").rolling(*arguments, store=wr.state.MemoryStore(), **sized)
    found = stored.agg(**dict(query.aggregates)).run(ROWS)
    assert_same_results(found, expected)


def test_a_policy_sees_the_partial_of_rows_that_pass() -> None:
    policy = wr.Policy(lambda total, old: total.some - old.some >= 2)
    query = wr.query(time="t").rolling(policy).agg(some=wr.count(where="ok"), n=wr.count())
    assert check(query, ROWS)["some"].to_pylist() == [1, 2, 2, 2, 2, 2, 2, 2]


def test_the_filter_of_duckdb_gives_the_same() -> None:
    table = pa.table(
        {
            "t": list(range(60)),
            "v": [None if k % 7 == 0 else (k * 37) % 50 for k in range(60)],
            "s": [f"s{k % 13}" for k in range(60)],
            "ok": [None if k % 11 == 0 else k % 3 == 0 or 40 <= k < 50 for k in range(60)],
        }
    ).filter(pa.array([not 20 <= k < 30 or k % 3 == 1 for k in range(60)]))
    found = TENS.agg(
        n=wr.count(where="ok"),
        known=wr.count("v", where="ok"),
        total=wr.sum("v", where="ok"),
        top=wr.max("v", where="ok"),
        who=wr.arg_max("v", value="s", where="ok"),
        mid=wr.median("v", where="ok"),
        dev=wr.stddev("v", where="ok"),
        some=wr.count_distinct("s", where="ok"),
        texts=wr.collect("s", where="ok"),
    ).run(table)
    expected = duckdb.sql(
        """
        SELECT t // 10 * 10 AS window_start, t // 10 * 10 + 10 AS window_end,
            count(*) FILTER (ok) AS n, count(v) FILTER (ok) AS known, (sum(v) FILTER (ok))::BIGINT AS total,
            max(v) FILTER (ok) AS top, arg_max(s, v) FILTER (ok) AS who, median(v) FILTER (ok) AS mid,
            stddev(v) FILTER (ok) AS dev, count(DISTINCT s) FILTER (ok) AS some,
            list(s ORDER BY t) FILTER (ok) AS texts
        FROM "table" GROUP BY ALL
        """
    ).to_arrow_table()
    assert 0 in expected["n"].to_pylist()
    assert_same_results(found, expected)


# -- columns -------------------------------------------------------------------------------------------------


def test_a_column_that_is_not_boolean_is_refused() -> None:
    query = TENS.agg(total=wr.sum("v", where="s"))
    message = "where='s': column 's' is of type string: give a boolean column"
    with pytest.raises(TypeError, match=message):
        query.run(ROWS)
    operator = query.open()
    with pytest.raises(TypeError, match=message):
        operator.push(ROWS)
    assert operator.metrics.rows_in == 0


def test_a_column_that_is_missing_is_named() -> None:
    query = TENS.agg(n=wr.count(where="okay"))
    with pytest.raises(UnknownColumn, match="no column 'okay': did you mean 'ok'"):
        query.run(ROWS)
    with pytest.raises(UnknownColumn, match="no column 'okay'"):
        query.open().push(ROWS)


def test_a_column_of_nulls_passes_nothing_and_may_have_values_later() -> None:
    unknown = ROWS.set_column(3, "ok", pa.nulls(ROWS.num_rows))
    query = TENS.agg(n=wr.count(where="ok"), total=wr.sum("v", where="ok"))
    assert query.run(unknown).select(["n", "total"]).to_pylist() == [{"n": 0, "total": None}] * 3
    operator = query.open()
    operator.push(unknown)
    operator.push(ROWS)
    assert operator.finish()["n"].to_pylist() == [2, 0, 2]


def test_flags_of_other_libraries() -> None:
    import pandas as pd
    import polars as pl

    query = TENS.agg(n=wr.count(where="ok"))
    frame = ROWS.to_pandas()
    for flags in (frame["ok"], frame["ok"].astype("boolean"), pd.Categorical(frame["ok"])):
        assert query.run(frame.assign(ok=flags))["n"].tolist() == [2, 0, 2]
    assert query.run(pl.from_arrow(ROWS))["n"].to_list() == [2, 0, 2]


@pytest.mark.parametrize("given", [5, True, lambda row: row["ok"], ["ok"]])
def test_where_is_the_name_of_a_column(given: Any) -> None:
    with pytest.raises(TypeError, match="is not the name of a column: give a boolean column"):
        wr.sum("v", where=given)


def test_where_needs_rows_of_a_table() -> None:
    for refused in (
        lambda: wr.swag.DABA(wr.max("v", where="ok")),
        lambda: wr.together(n=wr.count(where="ok")),
        lambda: wr.laws.check(wr.sum("v", where="ok"), [1, 2]),
    ):
        with pytest.raises(TypeError, match="leave where= out"):
            refused()
    with pytest.raises(TypeError, match="quantile reads 1 column and got none"):
        wr.quantile(0.9, where="ok")


# -- names ---------------------------------------------------------------------------------------------------


def test_reprs_and_default_names() -> None:
    found = [
        wr.count(where="ok"),
        wr.sum("x", where="ok"),
        wr.quantile("x", 0.9, where="ok", nan="ignore"),
        SPREAD("x", where="ok"),
        wr.together(total=wr.sum)("x", where="ok"),
    ]
    assert list(map(repr, found)) == [
        "count(where='ok')",
        "sum('x', where='ok')",
        "quantile('x', q=0.9, where='ok', nan='ignore')",
        "spread('x', where='ok')",
        "together(total=sum)('x', where='ok')",
    ]
    assert [a.default_name for a in found[:2]] == ["count_ok", "x_sum_ok"]
    query = TENS.agg(wr.sum("v"), wr.sum("v", where="ok"))
    assert query_names(query) == ["v_sum", "v_sum_ok"]
    with pytest.raises(ValueError, match="would both be named 'v_sum_ok'"):
        TENS.agg(wr.sum("v", where="ok"), wr.sum("v", where="ok", nan="ignore"))


# -- state ---------------------------------------------------------------------------------------------------


def test_another_where_is_another_query() -> None:
    rows = ROWS.append_column("paid", ROWS["ok"])
    changed = [wr.sum("v"), wr.sum("v", where="paid")]
    operator = TENS.agg(total=wr.sum("v", where="ok")).open()
    operator.push(rows)
    for other in changed:
        with pytest.raises(ChangedQuery, match=r"was sum\(v, where='ok'\), is sum\(v"):
            TENS.agg(total=other).restore(operator.snapshot())
    without = TENS.agg(total=wr.sum("v")).open()
    without.push(rows)
    with pytest.raises(ChangedQuery, match=r"was sum\(v\), is sum\(v, where='ok'\)"):
        TENS.agg(total=wr.sum("v", where="ok")).restore(without.snapshot())


@pytest.mark.parametrize("start", [TENS, wr.query(time="t").window(wr.Rows(4))])
def test_an_aggregate_with_where_that_is_added_is_null_over_rows_before_it(start: Any) -> None:
    operator = start.agg(n=wr.count()).open()
    operator.push(ROWS.slice(0, 5).select(["t"]))
    more = start.agg(n=wr.count(), some=wr.count(where="ok"), all=wr.sum("v", where="ok"))
    restored = more.restore(operator.snapshot())
    begun = restored.push(ROWS.slice(5))
    found = pa.concat_tables([begun, restored.finish()], promote_options="permissive")
    assert found["some"].to_pylist() == ([None, None, 2] if start is TENS else [None, None])


def test_a_sum_of_rows_that_pass_may_leave_the_others_beyond_64_bits() -> None:
    rows = pa.table({"t": [1, 2, 3], "v": [2**62, 2**62, 5], "ok": [False, True, True]})
    query = TENS.agg(total=wr.sum("v", where="ok"), mean=wr.mean("v", where="ok"))
    assert query.run(rows)["total"].to_pylist() == [2**62 + 5]
    assert results(query, rows)["total"].to_pylist() == [2**62 + 5]
    assert math.isclose(query.run(rows)["mean"][0].as_py(), (2**62 + 5) / 2)
