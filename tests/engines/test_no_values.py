"""Windows in which an aggregate has no value: null, or what the aggregate states as ``empty=``, on every
engine; and ``lower`` is not asked for them."""

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from windrow.state import MemoryStore
from windrow.testing import assert_same_results, evaluate

ALGORITHMS = [
    wr.swag.Recalc,
    wr.swag.TwoStacks,
    wr.swag.TwoStacksLite,
    wr.swag.FOA,
    wr.swag.IOA,
    wr.swag.DABA,
    wr.swag.DABALite,
    wr.swag.FlatFAT,
    wr.swag.BInt,
    wr.swag.LogMTA,
    wr.swag.AMTA,
    wr.swag.FiBA,
]


def spread(**options):
    return wr.monoid(
        name="spread",
        lift=lambda v: (v, v),
        combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
        lower=lambda a: a[1] - a[0],
        identity=(math.inf, -math.inf),
        **options,
    )


def average(**options):
    """An aggregate whose lower raises for the identity."""
    return wr.monoid(
        name="average",
        lift=lambda v: (v, 1),
        combine=lambda a, b: (a[0] + b[0], a[1] + b[1]),
        lower=lambda a: a[0] / a[1],
        identity=(0.0, 0),
        **options,
    )


@pytest.fixture
def rows():
    """A row every ten units; those from 30 to 60 have no value."""
    values = [1.0, 4.0, 2.0, None, None, None, 8.0, 5.0]
    return pa.table({"ts": pa.array(range(0, 80, 10)), "v": pa.array(values)})


QUERIES = {
    "tumbling": lambda: wr.query(time="ts").window(wr.Tumbling(30)),
    "filled": lambda: wr.query(time="ts", empty="include").window(wr.Tumbling(5)),
    "sliding": lambda: wr.query(time="ts").window(wr.Sliding(20, slide=10)),
    "several": lambda: wr.query(time="ts").window(a=wr.Sliding(20, slide=10), b=wr.Tumbling(30)),
    "session": lambda: wr.query(time="ts").window(wr.Session(5)),
    "count": lambda: wr.query(time="ts").window(wr.Rows(2)),
    "policy": lambda: wr.query(time="ts").window(wr.Policy(lambda total, old: total.n - old.n >= 2)),
    "rolling": lambda: wr.query(time="ts").rolling(20),
    "rolling rows": lambda: wr.query(time="ts").rolling(rows=2),
}


@pytest.mark.parametrize("kind", QUERIES)
@pytest.mark.parametrize("make", [spread, average])
@pytest.mark.parametrize(
    "options", [{}, {"empty": -1.0}, {"compile": False}, {"compile": False, "empty": -1.0}]
)
def test_no_values_give_null_or_what_the_aggregate_states(rows, kind, make, options):
    query = QUERIES[kind]().agg(s=make(**options)("v"), n=wr.count())
    expected = evaluate(query, rows)
    found = [r["s"] for r in expected]
    assert options.get("empty") in found
    assert -math.inf not in found
    assert_same_results(query.run(rows), expected)
    operator = query.open()
    streamed = pa.concat_tables([operator.push(rows), operator.finish()], promote_options="default")
    assert streamed["s"].to_pylist() == found
    stored = query.open(store=MemoryStore(), name="q")
    streamed = pa.concat_tables([stored.push(rows), stored.finish()], promote_options="default")
    assert streamed["s"].to_pylist() == found


def test_one_window_of_nulls_keeps_a_lower_that_divides_in_native_code(rows, monkeypatch):
    def refuse(*_):
        raise AssertionError("this ran in plain Python")

    monkeypatch.setattr("windrow.partials.aggregate.plain_results", refuse)
    monkeypatch.setattr("windrow.partials.columns.NativeColumn.as_plain", refuse)
    monkeypatch.setattr("windrow.swag.base.Swag._roll_plainly", refuse)
    monkeypatch.setattr("windrow.swag.base.Swag._roll_time_plainly", refuse)
    mine = average()
    for kind in ("tumbling", "filled", "sliding", "several", "session", "count", "rolling", "rolling rows"):
        query = QUERIES[kind]().agg(s=mine("v"))
        assert None in query.run(rows)["s"].to_pylist()
    operator = QUERIES["sliding"]().agg(s=mine("v")).open()
    operator.push(rows)
    assert None in operator.finish()["s"].to_pylist()
    values = rows["v"].combine_chunks()
    for algorithm in ALGORITHMS:
        if hasattr(algorithm, "operations"):
            assert algorithm(mine).roll(values, size=2).to_pylist()[4] is None
            assert algorithm(mine).roll_time(rows["ts"].to_numpy(), values, 20).to_pylist()[4] is None


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("compile", [True, False])
def test_a_bare_window_without_values_gives_null_or_what_the_aggregate_states(algorithm, compile):
    values = [1.0, None, None, 3.0]
    assert algorithm(average(compile=compile)).query() is None
    assert algorithm(average(compile=compile)).roll(values, size=2) == [1.0, 1.0, None, 3.0]
    assert algorithm(average(compile=compile, empty=-1.0)).query() == -1.0
    assert algorithm(average(compile=compile, empty=-1.0)).roll(values, size=2) == [1.0, 1.0, -1.0, 3.0]


def test_an_empty_result_of_another_type_is_not_rounded():
    most = wr.monoid(name="most", lift=lambda v: v, combine=lambda a, b: max(a, b), identity=-1, empty=0.5)
    assert wr.swag.DABALite(most).roll([1, None, None], size=2) == [1, 1, 0.5]
    named = wr.monoid(
        name="named", lift=lambda v: v, combine=lambda a, b: max(a, b), identity=-1, empty="none"
    )
    assert wr.swag.DABALite(named).roll([1, None, None], size=2) == [1, 1, "none"]
    for beyond in (math.inf, 2**70):
        assert wr.swag.DABALite(replace(most, empty=beyond)).roll([1, None, None], size=2) == [1, 1, beyond]
    found = wr.swag.DABALite(average(empty=math.nan)).roll(pa.array([1.0, None, None]), size=2)
    assert found.type == pa.float64()
    assert math.isnan(found[2].as_py())
    assert wr.swag.FiBA(most).roll_unordered(np.array([0, 10]), [1, None], 5) == [1, 0.5]


def test_a_range_of_nulls_in_a_tree_has_no_values():
    for tree in (wr.swag.FlatFAT(average()), wr.swag.FiBA(average())):
        for k, value in enumerate([1.0, None, None]):
            tree.insert_at(k, value) if isinstance(tree, wr.swag.FiBA) else tree.insert(value)
        assert tree.range_query(1, 3) is None
        assert tree.range_query(0, 3) == 1.0


def test_rolling_unordered_with_nulls_only_stays_native(monkeypatch):
    def refuse(*_):
        raise AssertionError("this ran in plain Python")

    monkeypatch.setattr("windrow.swag.fiba.FiBA._to_plain", refuse)
    monkeypatch.setattr("windrow.swag.fiba.FiBA._goes_natively", lambda *_: True)
    window = wr.swag.FiBA(average())
    times = np.array([0, 10, 11])
    assert window.roll_unordered(times, [1.0, None, 3.0], 5) == [1.0, None, 3.0]


def test_an_empty_result_that_can_change_is_not_shared():
    listed = wr.monoid(name="listed", lift=lambda v: [v], combine=lambda a, b: a + b, identity=[], empty=[])
    first = wr.swag.DABA(listed).query()
    first.append(1)
    assert wr.swag.DABA(listed).query() == []


def test_laws_do_not_ask_lower_for_the_identity():
    asked = []

    def lower(a):
        asked.append(a)
        return a[0] / a[1]

    mine = wr.monoid(
        name="average",
        lift=lambda v: (v, 1),
        combine=lambda a, b: (a[0] + b[0], a[1] + b[1]),
        lower=lower,
        identity=(0.0, 0),
    )
    assert wr.laws.check(mine, [1.0, 2.0, 4.0])
    assert (0.0, 0) not in asked
