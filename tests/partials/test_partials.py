"""Partials of slices: however rows are cut, moved, fused and stored, results are those of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from support.aggregates import CASES, Case
from support.budget import examples
from windrow.partials.columns import NativeColumn, PickColumn, PlainColumn, UnseenColumn
from windrow.partials.partials import Partials
from windrow.partials.value_aggregates.column import KeptColumn
from windrow.rows.frame import build_frame
from windrow.state.codec import pack, unpack
from windrow.testing import assert_same_results

NAMES = ("x", "y", "z")


def bound(case: Case, values: list[Any]) -> tuple[Any, dict[str, list[Any]]]:
    """The aggregate bound to columns, and the columns."""
    rows = [value if isinstance(value, tuple) else (value,) for value in values]
    names = NAMES[: max((len(row) for row in rows), default=1)]
    columns = {name: [row[k] for row in rows] for k, name in enumerate(names)}
    return case.monoid(*names), columns


def made(aggregate: Any, columns: dict[str, list[Any]], edges: list[int]) -> tuple[Any, Partials]:
    """The query over windows of the slices, and the slices: row k is at time k."""
    count = len(next(iter(columns.values())))
    table = pa.table({"t": np.arange(count), **{n: pa.array(v) for n, v in columns.items()}})
    query = wr.query(time="t").window(wr.Fixed(0, max(count, 1))).agg(result=aggregate)
    frame = build_frame(query, table)
    return table, Partials.of_rows(frame, [aggregate], np.array(edges))


def shown(values: list[Any]) -> list[dict[str, Any]]:
    return [{"place": place, "result": value} for place, value in enumerate(values)]


def expected(table: pa.Table, aggregate: Any, first: int, last: int) -> Any:
    """The result of rows [first, last), from a query on the table."""
    query = wr.query(time="t").window(wr.Fixed(first, last - first)).agg(result=aggregate)
    return query.run(table)["result"].to_pylist()[0]


def results(partials: Partials, ranges: list[tuple[int, int]], shape: Any) -> list[dict[str, Any]]:
    fronts, stops = (np.array([each[k] for each in ranges]) for k in (0, 1))
    return shown(partials.results(fronts, stops, shape)[0].to_pylist())


def drawn_rows(case: Case, data: st.DataObject) -> list[Any]:
    values = data.draw(st.lists(st.one_of(case.rows, case.rows, st.none()), min_size=4, max_size=8))
    values.append(data.draw(case.rows))
    arity = max(len(value) if isinstance(value, tuple) else 1 for value in values)
    return [(None,) * arity if value is None and arity > 1 else value for value in values]


@pytest.mark.parametrize("case", CASES, ids=str)
@settings(max_examples=examples(5))
@given(data=st.data())
def test_partials_give_what_rows_give(case: Case, data: st.DataObject) -> None:
    values = drawn_rows(case, data)
    edges = [
        0,
        *sorted(data.draw(st.sets(st.integers(1, len(values) - 1), min_size=2, max_size=4))),
        len(values),
    ]
    aggregate, columns = bound(case, values)
    table, partials = made(aggregate, columns, edges)
    count = len(partials)
    single = [(k, k + 1) for k in range(count)]
    pairs = [(k, min(k + 2, count)) for k in range(count)]
    every = [(front, stop) for front in range(count) for stop in range(front + 1, count + 1)]
    rows = {(f, s): expected(table, aggregate, edges[f], edges[s]) for f, s in every}
    stored = Partials.restored([aggregate], unpack("test", pack("test", partials.state())), [0])
    joined = Partials.concat([partials.take(np.array([k])) for k in range(count)])
    for some in (partials, stored, joined):
        for ranges, shape in ((single, "disjoint"), (pairs, "sliding"), (every, "any")):
            assert_same_results(results(some, ranges, shape), shown([rows[each] for each in ranges]))
        fused = some.folded(np.array([0, 1, count]))
        assert_same_results(results(fused, [(0, 1), (1, 2)], "any"), shown([rows[0, 1], rows[1, count]]))


FORMS = {
    "sum": (wr.sum("x"), [1, 2, 3], NativeColumn),
    "arg_max": (wr.arg_max("x", value="y"), [1, 2, 3], PickColumn),
    "first": (wr.first("x"), [1, 2, 3], PickColumn),
    "concat": (wr.concat("x"), ["a", "b", "c"], KeptColumn),
    "max of text": (wr.max("x"), ["a", "b", "c"], PlainColumn),
    "sum of nothing": (wr.sum("x"), [None, None, None], UnseenColumn),
}


@pytest.mark.parametrize(("aggregate", "values", "form"), FORMS.values(), ids=FORMS)
def test_the_form_that_partials_have(aggregate: Any, values: Any, form: Any) -> None:
    _, partials = made(aggregate, {"x": values, "y": ["p", "q", "r"]}, [0, 1, 3])
    assert type(partials.columns[0]) is form


@pytest.mark.parametrize(("aggregate", "values", "form"), FORMS.values(), ids=FORMS)
def test_an_aggregate_that_was_added_has_seen_nothing(aggregate: Any, values: Any, form: Any) -> None:
    columns = {"x": values, "y": ["p", "q", "r"]}
    _, partials = made(aggregate, columns, [0, 1, 3])
    stored = {"rows": np.array([4, 5]), "columns": [], "unseen": []}
    unseen = Partials.restored([aggregate], stored, [None])
    assert results(unseen, [(0, 1), (0, 2)], "any") == shown([None, None])
    for parts, place in (([unseen, partials], 2), ([partials, unseen], 0), ([unseen, partials, unseen], 2)):
        joined = Partials.concat(parts)
        assert joined.rows.sum() == 3 + 9 * (len(parts) - 1)
        joined = Partials.restored([aggregate], joined.state(), [0])
        assert results(joined, [(place, place + 2)], "any") == results(partials, [(0, 2)], "any")
        for some in (joined, joined.folded(np.array([0, len(joined)]))):
            assert results(some, [(0, len(some))], "any") == shown([None])


def test_integers_that_might_leave_64_bits_become_python_integers() -> None:
    big = 2**62
    _, partials = made(wr.sum("x"), {"x": [big - 1, 5, big - 1]}, [0, 1, 2, 3])
    assert isinstance(partials.columns[0], NativeColumn)
    folded = partials.folded(np.array([0, 3]))
    assert isinstance(folded.columns[0], PlainColumn)
    assert folded.columns[0].objects == [2 * big + 3]
    small = partials.folded(np.array([0, 2, 3]))
    joined = Partials.concat([folded, small])
    assert joined.columns[0].objects == [2 * big + 3, big + 4, big - 1]  # type: ignore[union-attr]


def test_a_sum_that_leaves_64_bits_and_comes_back_in_one_push() -> None:
    big = 2**62
    operator = wr.query(time="t").window(wr.Tumbling(10)).agg(total=wr.sum("x")).open()
    operator.push(pa.table({"t": [1], "x": [big]}))
    with pytest.raises(wr.IntegerOverflow):  # what would bring it back may never come
        operator.push(pa.table({"t": [1], "x": [big]}))
    operator.push(pa.table({"t": [1, 2, 3], "x": [big, -big, -big]}))
    operator.push(pa.table({"t": [1], "x": [7]}))
    assert operator.finish()["total"].to_pylist() == [7]


def test_counts_without_a_column_are_the_rows() -> None:
    table = pa.table({"t": [0, 1, 2], "x": [1, None, 3]})
    frame = build_frame(wr.query(time="t").window(wr.Rows(1)).agg(n=wr.count()), table)
    partials = Partials.of_rows(frame, [wr.count(), wr.count("x")], np.array([0, 2, 3]))
    assert partials.columns[0] is None
    rows, values = partials.results(np.array([0]), np.array([2]), "any")
    assert (rows.to_pylist(), values.to_pylist()) == ([3], [2])


@pytest.mark.parametrize("name", ["last", "sum", "median", "collect", "max", "concat"])
def test_empty_ranges_over_no_slices_are_as_many_nulls(name: str) -> None:
    aggregate = getattr(wr, name)("x")
    _, partials = made(aggregate, {"x": ["a"] if name == "concat" else [1]}, [0, 1])
    none = partials.take(np.empty(0, np.int64))
    assert results(none, [(0, 0), (0, 0)], "sliding") == shown([None, None])
