"""What a user's function raises, wherever it runs: the error names the aggregate, the key and the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from engines.spark.worker.test_rolling_task import rolled
from engines.spark.worker.test_window_tasks import by_rows, by_slices
from windrow.swag import AggregateError

#: key b adds up to more than the aggregates below take, at the row of time 21
TABLE = pa.table({"ts": [1, 2, 11, 12, 21], "key": ["a", "a", "b", "b", "b"], "v": [1.0, 2.0, 3.0, 3.0, 4.0]})
KEEP = wr.Policy(lambda total, old: False)


def strict(where: str, compiled: bool = True) -> Any:
    """A sum that raises beyond 6, in combine or in lower."""

    def combine(a: float, b: float) -> float:
        if a + b > 6.5:
            raise ValueError("too much")
        return a + b

    def lower(a: float) -> float:
        if a > 6.5:
            raise ValueError("too much")
        return a

    functions: Any = {"combine": combine} if where == "combine" else {"lower": lower}
    shared: Any = {"lift": lambda v: v, "combine": lambda a, b: a + b, "identity": 0.0}
    names = {"name": "strict", "result_type": "float64"}
    return wr.monoid(**(shared | functions | names), commutative=True, compile=compiled)("v")


def asked(build: Callable[[wr.Query], wr.Query], aggregate: Any) -> wr.Query:
    return build(wr.query(time="ts", by="key")).agg(x=aggregate)


ROLLING: dict[str, Callable[[wr.Query], wr.Query]] = {
    "by time": lambda q: q.rolling(15),
    "by rows": lambda q: q.rolling(rows=3),
    "policy": lambda q: q.rolling(KEEP),
}
ORDERED: dict[str, Callable[[wr.Query], wr.Query]] = {
    "sliding": lambda q: q.window(wr.Sliding(30, slide=10)),
    "rows": lambda q: q.window(wr.Rows(3)),
    "policy": lambda q: q.window(KEEP),
    "session with a longest size": lambda q: q.window(wr.Session(15, 20)),
}
ROW = r"'strict' raised ValueError at the row with ts=21 of key 'b'.*: too much"
ROWS = r"'strict' raised ValueError at the rows from 11 to 21 of key 'b': too much"


@pytest.mark.parametrize("compiled", [True, False], ids=["native", "plain"])
@pytest.mark.parametrize("where", ["combine", "lower"])
@pytest.mark.parametrize("over", ROLLING)
def test_rolling(over: str, where: str, compiled: bool) -> None:
    with pytest.raises(AggregateError, match=ROW):
        rolled(asked(ROLLING[over], strict(where, compiled)), TABLE, [2])


@pytest.mark.parametrize("compiled", [True, False], ids=["native", "plain"])
@pytest.mark.parametrize("where", ["combine", "lower"])
@pytest.mark.parametrize("window", ORDERED)
def test_windows_by_rows(window: str, where: str, compiled: bool) -> None:
    with pytest.raises(AggregateError, match=ROW):
        by_rows(asked(ORDERED[window], strict(where, compiled)), TABLE, [2])


@pytest.mark.parametrize("where", ["combine", "lower"])
@pytest.mark.parametrize("window", [wr.Sliding(30, slide=10), wr.Tumbling(30)], ids=repr)
def test_windows_assembled_from_slices_of_several_tasks(window: Any, where: str) -> None:
    with pytest.raises(AggregateError, match=ROWS):
        by_slices(asked(lambda q: q.window(window), strict(where)), TABLE, [1], 2)


def test_a_policy_that_raises_is_named_too() -> None:
    policy = wr.Policy(lambda total, old: 1 / 0 > 1)
    query = wr.query(time="ts", by="key").rolling(policy).agg(x=wr.sum("v"))
    message = r"Policy\(<lambda>\) raised ZeroDivisionError at the row with ts=\d+ of key '[ab]'"
    with pytest.raises(AggregateError, match=message):
        rolled(query, TABLE, [2])
    with pytest.raises(AggregateError, match=r"Policy\(<lambda>\) raised ZeroDivisionError at row 0 of key"):
        query.run(TABLE)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (ROLLING["by time"], ROW),
        (ROLLING["policy"], ROW),
        (ORDERED["rows"], ROW),
        (ORDERED["sliding"], ROWS),
    ],
    ids=["rolling", "rolling by policy", "windows in order", "windows by slices"],
)
def test_the_error_reaches_the_driver(spark: Any, build: Any, message: str) -> None:
    frame = spark.createDataFrame(TABLE)
    with pytest.raises(Exception, match=message):
        asked(build, strict("combine")).run(frame).toArrow()
