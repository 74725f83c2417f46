"""Small inputs go through one general kernel; larger ones through a kernel for just what they have (nulls, an
order of their own, ranges without values). Both give the same results, bit by bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from support.oracle_checks import check
from windrow.compile import general
from windrow.compile.native import build
from windrow.partials import over_ranges

TIMES = {"sorted": list(range(40)), "unsorted": [(k * 17) % 40 for k in range(40)]}
VALUES = {
    "values": [float((k * k) % 11) - 4.5 for k in range(40)],
    "nulls": [None if k % 3 == 0 or 10 <= k < 20 else k / 7 for k in range(40)],
}
QUERIES = {
    "tumbling": lambda query: query.window(wr.Tumbling(5)),
    "sliding": lambda query: query.window(wr.Sliding(10, slide=3)),
    "several": lambda query: query.window(a=wr.Sliding(10, slide=3), b=wr.Tumbling(4), c=wr.Session(1)),
    "rolling": lambda query: query.rolling(7),
    "rolling rows": lambda query: query.rolling(rows=4),
}


def results(query: wr.Query, table: pa.Table) -> list[pa.Table]:
    operator = query.open()
    pushed = [operator.push(table.slice(k, 16)) for k in range(0, table.num_rows, 16)]
    streamed = pa.concat_tables([*pushed, operator.finish()], promote_options="permissive")
    return [check(query, table), streamed]


@pytest.mark.parametrize("kind", QUERIES)
@pytest.mark.parametrize("order", TIMES)
@pytest.mark.parametrize("values", VALUES)
def test_kernels_for_many_rows_give_what_the_general_one_gives(
    kind: str, order: str, values: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pa.table({"t": TIMES[order], "x": pa.array(VALUES[values], pa.float64())})
    query = QUERIES[kind](wr.query(time="t", watermark=100)).agg(s=wr.sum("x"), top=wr.max("x"))
    small = results(query, table)
    monkeypatch.setattr(general, "SMALL", 0)
    for many, few in zip(results(query, table), small, strict=True):
        assert many.equals(few)


def test_small_inputs_of_every_kind_share_their_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[Any] = []

    def counted(factory: Any, *others: Any, **arguments: Any) -> Any:
        built.append(factory)
        return build(factory, *others, **arguments)

    monkeypatch.setattr(over_ranges, "build", counted)
    monkeypatch.setattr("windrow.swag.native.kernels.build", counted)
    mine = wr.monoid(name="mine", lift=lambda v: v, combine=lambda a, b: a + b, identity=0.0)
    counts = []
    for order in TIMES.values():
        for values in VALUES.values():
            table = pa.table({"t": order, "x": pa.array(values, pa.float64())})
            for start in (QUERIES["tumbling"], QUERIES["rolling"], QUERIES["rolling rows"]):
                start(wr.query(time="t")).agg(s=mine("x")).run(table)
            counts.append(len(built))
    assert counts == [3] * 4


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("algorithm", [wr.swag.TwoStacksLite, wr.swag.DABALite, wr.swag.SubtractOnEvict])
def test_rolls_of_many_rows_give_what_the_general_kernel_gives(
    algorithm: Any, values: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    column = pa.array(VALUES[values], pa.float64())
    small = algorithm(wr.count).roll(column, size=4)
    monkeypatch.setattr(general, "SMALL", 0)
    assert algorithm(wr.count).roll(column, size=4) == small


@pytest.mark.parametrize("values", VALUES)
def test_trees_of_many_rows_give_what_the_general_kernel_gives(
    values: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("windrow.swag.fiba.FiBA._goes_natively", lambda *_: True)
    times, column = np.array(TIMES["unsorted"]), pa.array(VALUES[values], pa.float64())
    tree = wr.swag.FiBA(wr.max)
    tree.bulk_insert(times, column)
    monkeypatch.setattr(general, "SMALL", 0)
    other = wr.swag.FiBA(wr.max)
    other.bulk_insert(times, column)
    assert other.range_query(0, 25) == tree.range_query(0, 25)
