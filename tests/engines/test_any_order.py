"""Rows that are folded as they come give what sorted rows give, and are not sorted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import windrow as wr
from support.budget import examples
from support.oracle_checks import MANY, check, table
from windrow import threads
from windrow.partials import cells
from windrow.rows.frame import Sorting
from windrow.slicing import any_order
from windrow.testing import assert_same_results, evaluate
from windrow.testing.strategies import streams, table_of, windows

pytestmark = pytest.mark.filterwarnings("ignore:.*have no time:UserWarning")

CLOCKS = ["integer", "timestamp"]
TIMED = ("Tumbling", "Sliding", "Cumulative", "Fixed")
ANY_ORDER = {"n": wr.count(), "s": wr.sum("n"), "top": wr.max("x"), "known": wr.count("x"), "m": wr.mean("n")}
spread = wr.monoid(
    name="spread",
    lift=lambda v: (v, v),
    combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
    lower=lambda a: a[1] - a[0],
    identity=(float("inf"), float("-inf")),
    commutative=True,
)
latest = wr.monoid(
    name="latest",
    lift=lambda v: (v, 1),
    combine=lambda a, b: b if b[1] else a,
    lower=lambda a: a[0],
    identity=(0, 0),
)


@pytest.fixture
def sorts(monkeypatch: pytest.MonkeyPatch) -> list[Sorting]:
    """What was sorted."""
    found: list[Sorting] = []
    order = Sorting.order

    def noted(sorting: Sorting) -> Any:
        found.append(sorting)
        return order(sorting)

    monkeypatch.setattr(Sorting, "order", noted)
    return found


@pytest.fixture(params=["scattered", "gathered", "in pieces"])
def form(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each form that cells have, whatever the rows are."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param != "scattered":
            patch.setattr(any_order, "_FEW_PLACES", -(1 << 40) if request.param == "gathered" else 1 << 20)
        if request.param == "in pieces":
            patch.setattr(threads, "PIECE", 3)
            patch.setattr(cells, "_ROWS_A_CELL", 0)
        yield request.param


def shuffled(rows: pa.Table, seed: int = 0) -> pa.Table:
    return rows.take(np.random.default_rng(seed).permutation(rows.num_rows))


# -- against the oracle --------------------------------------------------------------------------------------


@pytest.mark.parametrize("clock", CLOCKS)
@settings(max_examples=examples(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_windows_by_time_over_rows_in_any_order(form: str, clock: Any, data: st.DataObject) -> None:
    kinds = st.dictionaries(st.sampled_from("abc"), windows(clock, kinds=TIMED), min_size=1, max_size=3)
    empty = data.draw(st.sampled_from(["skip", "emit"]))
    query = wr.query(time="ts", by="key", empty=empty, max_windows=100_000).window(**data.draw(kinds))
    rows = data.draw(streams(clock, null_times=True))
    check(query.agg(**ANY_ORDER), table_of(data.draw(st.permutations(rows)), clock))


SHAPES = {
    "no row": [],
    "one row": [3],
    "equal times": [5, 5, 5, 5],
    "negative times": [-1, -10, -11, -20, 0],
    "falling times": [40, 30, 29, 11, 10],
    "a null time": [12, None, 4],
    "only null times": [None, None],
    "far apart": [-(2**61), 2**61, 5, 4],
    "exact edges": [40, 20, 10, 30, 0, -10],
}


@pytest.mark.parametrize("times", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("window", [wr.Tumbling(10), wr.Sliding(10, slide=4), wr.Fixed(0, 15)], ids=repr)
def test_tables_of_any_shape(form: str, times: list[int | None], window: Any) -> None:
    rows = table(pa.array(times, pa.int64()), key=pa.array(["b", None, "a", "b", None, "b"])[: len(times)])
    for by in (None, "key"):
        query = wr.query(time="ts", by=by).window(window)
        check(query.agg(n=wr.count(), s=wr.sum("n"), top=wr.max("n")), rows)


@pytest.mark.parametrize("other", [wr.concat("s"), wr.first("s"), wr.collect("n"), latest("n")], ids=repr)
def test_one_aggregate_that_needs_order_sorts_for_all(form: str, sorts: list[Any], other: Any) -> None:
    query = wr.query(time="ts").window(wr.Sliding(20, slide=5))
    check(query.agg(total=wr.sum("n"), top=wr.max("n"), other=other), table(MANY))
    assert len(sorts) == 1


def test_commutative_aggregates_of_a_user_are_not_sorted_for(form: str, sorts: list[Any]) -> None:
    rows = table(MANY, x=pa.array([1.0, 2.0, None, 4.0, 5.0, -6.0, 7.0, 8.0]))
    check(wr.query(time="ts").window(wr.Sliding(20, slide=5)).agg(r=spread("x")), rows)
    assert not sorts
    check(wr.query(time="ts").window(wr.Sliding(20, slide=5)).agg(r=latest("x")), rows)
    assert len(sorts) == 1


def test_sessions_beside_a_sum_are_sorted_for(sorts: list[Any]) -> None:
    query = wr.query(time="ts").window(a=wr.Tumbling(10), b=wr.Session(3)).agg(total=wr.sum("n"))
    check(query, table(MANY))
    assert len(sorts) == 1
    assert "rows: sorted by ts" in query.explain()


# -- the same results ----------------------------------------------------------------------------------------


def random_rows(count: int = 5_000) -> pa.Table:
    rng = np.random.default_rng(count)
    return pa.table(
        {
            "ts": np.sort(rng.integers(-9_000, 9_000, count)),
            "key": pa.array(rng.choice(["a", "b", "c", None], count)),
            "n": rng.integers(-99, 99, count),
            "x": rng.integers(-99, 99, count) / 4,
        }
    )


def in_order(results: pa.Table) -> pa.Table:
    return results.sort_by([(name, "ascending") for name in ("key", "window", "window_start")])


@pytest.mark.parametrize("seed", range(3))
def test_shuffled_and_sorted_rows_of_exact_values_give_the_same(
    form: str, sorts: list[Any], seed: int
) -> None:
    rows = random_rows()
    kinds = {"hour": wr.Tumbling(60), "day": wr.Sliding(1_440, slide=60), "odd": wr.Sliding(100, slide=33)}
    query = wr.query(time="ts", by="key").window(**kinds).agg(**ANY_ORDER, v=wr.var("n"), r=spread("x"))
    found = query.run(shuffled(rows, seed))
    assert not sorts
    wanted = query.run(rows.sort_by([("key", "ascending"), ("ts", "ascending")]))
    for name in wanted.column_names:
        a, b = (in_order(each)[name].combine_chunks() for each in (found, wanted))
        if name == "v":
            assert np.allclose(a.fill_null(0).to_numpy(), b.fill_null(0).to_numpy())
        else:
            assert a.equals(b)


def test_results_do_not_depend_on_chunks(form: str) -> None:
    rows = shuffled(random_rows())
    rows = rows.set_column(3, "x", pa.array(np.random.default_rng(1).random(rows.num_rows)))
    query = wr.query(time="ts", by="key").window(wr.Tumbling(600)).agg(s=wr.sum("x"), v=wr.var("x"))
    chunked = pa.concat_tables([rows.slice(0, 17), rows.slice(17, 2_000), rows.slice(2_017)])
    assert query.run(chunked).equals(query.run(rows))


def test_results_do_not_depend_on_the_number_of_threads(form: str) -> None:
    rows = shuffled(random_rows())
    rows = rows.set_column(3, "x", pa.array(np.random.default_rng(1).random(rows.num_rows)))
    query = wr.query(time="ts", by="key").window(wr.Sliding(600, slide=60)).agg(s=wr.sum("x"), v=wr.var("x"))
    assert query.run(rows, threads=4).equals(query.run(rows, threads=1))


def test_windows_come_by_kind_then_by_key_as_keys_appear_then_by_time() -> None:
    rows = pa.table({"ts": [25, 3, 14, 1, 22], "key": ["b", "a", "b", "c", "a"], "n": [1, 2, 3, 4, 5]})
    query = wr.query(time="ts", by="key").window(w=wr.Tumbling(10), v=wr.Tumbling(20)).agg(s=wr.sum("n"))
    found = [tuple(row.values())[:3] for row in query.run(rows).to_pylist()]
    tens = [("b", "w", 10), ("b", "w", 20), ("a", "w", 0), ("a", "w", 20), ("c", "w", 0)]
    assert found == [*tens, ("b", "v", 0), ("b", "v", 20), ("a", "v", 0), ("a", "v", 20), ("c", "v", 0)]


# -- what falls back -----------------------------------------------------------------------------------------


def test_sums_beyond_64_bits_are_the_same_error_as_of_sorted_rows(form: str) -> None:
    rows = pa.table({"ts": [12, 1, 2, 11], "n": [1, 2**62, 2**62, 1]})
    query = wr.query(time="ts").window(wr.Tumbling(10)).agg(s=wr.sum("n"))
    messages = []
    for each in (rows, rows.sort_by("ts")):
        with pytest.raises(OverflowError) as raised:
            query.run(each)
        messages.append(str(raised.value))
    assert messages[0] == messages[1]


def test_partial_sums_beyond_64_bits_whose_total_fits_are_exact(form: str) -> None:
    rows = pa.table({"ts": [2, 1, 3], "n": [2**62, 2**62, -(2**62)]})
    check(wr.query(time="ts").window(wr.Tumbling(10)).agg(s=wr.sum("n")), rows)


@pytest.mark.parametrize("commutative", [False, True])
def test_a_function_that_raises_names_the_same_row_sorted_or_not(form: str, commutative: bool) -> None:
    inverse = wr.monoid(
        name="inverse",
        lift=lambda v: 1.0 / v,
        combine=lambda a, b: a + b,
        lower=lambda a: a,
        identity=0.0,
        commutative=commutative,
    )
    rows = pa.table({"ts": [13, 2, 7, 4], "key": ["a", "b", "a", "b"], "n": [1, 0, 0, 2]})
    query = wr.query(time="ts", by="key").window(wr.Tumbling(10)).agg(r=inverse("n"))
    with pytest.raises(Exception, match=r"row 2\b.*'a'"):
        query.run(rows)


def test_a_column_without_native_form_is_sorted_for(sorts: list[Any]) -> None:
    rows = table(MANY, n=pa.array(range(8), pa.decimal128(5, 1)))
    check(wr.query(time="ts").window(wr.Tumbling(10)).agg(s=wr.sum("n")), rows)
    assert len(sorts) == 1


# -- operators -----------------------------------------------------------------------------------------------


def test_operators_fold_pushes_as_they_come(form: str, sorts: list[Any]) -> None:
    rows = shuffled(random_rows())
    kinds = {"hour": wr.Tumbling(60), "day": wr.Sliding(1_440, slide=60), "odd": wr.Sliding(100, slide=33)}
    query = wr.query(time="ts", by="key").window(**kinds).agg(**ANY_ORDER, r=spread("x"))
    operator = query.open()
    for k in range(5):
        operator.push(rows.slice(1_000 * k, 1_000))
    found = operator.finish()
    assert not sorts
    assert in_order(found.select(query.run(rows).column_names)).equals(in_order(query.run(rows)))


def test_operators_pick_rows_as_they_come(form: str, sorts: list[Any]) -> None:
    rows = shuffled(random_rows(900))
    rows = rows.append_column("word", pa.array([f"w{k % 50}" for k in range(900)]))
    picks = {
        "a": wr.first("word"),
        "z": wr.last("x"),
        "top": wr.arg_max("n", value="word"),
        "low": wr.arg_min("x", value="n"),
    }
    query = wr.query(time="ts", by="key").window(wr.Sliding(3_000, slide=500)).agg(**picks, s=wr.sum("n"))
    operator = query.open()
    for k in range(3):
        operator.push(rows.slice(300 * k, 300))
    found = operator.finish()
    assert not sorts
    assert_same_results(found.select(query.run(rows).column_names), evaluate(query, rows))
    assert sorts


def test_late_rows_of_a_push_in_any_order_are_told_apart(form: str) -> None:
    query = wr.query(time="ts", by="key", late="return").window(wr.Tumbling(10)).agg(s=wr.sum("n"))
    operator = query.open()
    operator.advance(20)
    rows = pa.table({"ts": [25, 3, 31, 22, 14], "key": ["b", "a", "b", "a", "b"], "n": [1, 2, 3, 4, 5]})
    operator.push(rows)
    assert operator.late_rows()["ts"].to_pylist() == [3, 14]
    assert sorted(operator.finish()["s"].to_pylist()) == [1, 3, 4]
