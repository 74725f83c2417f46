"""An operator whose watermark nobody moves says so, once; rolling counts what comes out."""

from __future__ import annotations

import warnings
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr

ROWS = pa.table({"t": [1, 2], "v": [1, 2]})
COUNT = {"n": wr.count()}


def warned(operator: Any, pushes: int = 40) -> list[str]:
    """What an operator says while it is pushed to."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(pushes):
            operator.push(ROWS)
    return [str(each.message) for each in caught if each.category is wr.WatermarkNeeded]


@pytest.mark.parametrize(
    "query",
    [
        wr.query(time="t").window(wr.Tumbling(10)),
        wr.query(time="t").window(wr.Session(10)),
        wr.query(time="t").window(wr.Rows(3)),
        wr.query(time="t").rolling(10),
    ],
    ids=repr,
)
def test_an_operator_without_a_watermark_kept_all_rows_without_a_word(query: Any) -> None:
    (message,) = warned(query.agg(**COUNT).open())
    assert message == (
        "20 rows of 10 pushes wait, and no result can be emitted: the watermark has never moved. Set how far "
        "it stays behind the latest row with wr.query(watermark='10m'), or move it with advance(time)"
    )


def test_who_needs_no_watermark_or_has_one_is_not_told_so() -> None:
    windows = wr.query(time="t").window(wr.Tumbling(10)).agg(**COUNT)
    advanced = windows.open()
    advanced.advance(0)
    updates = wr.query(time="t", output="update").window(wr.Tumbling(10)).agg(**COUNT).open()
    delayed = wr.query(time="t", watermark=100).window(wr.Tumbling(10)).agg(**COUNT).open()
    asof = wr.query(time="t").asof(10).agg(**COUNT).open()
    begun = windows.open(history=ROWS, history_until=1)
    for operator in (advanced, updates, delayed, asof, begun):
        assert warned(operator) == []
    assert warned(windows.open(), pushes=9) == []


def test_results_of_rolling_were_not_counted_as_fired() -> None:
    for query in (
        wr.query(time="t", watermark=0).rolling(10),
        wr.query(time="t", watermark=0).rolling(5, 10),
    ):
        operator = query.agg(**COUNT).open()
        assert operator.push(ROWS).num_rows == 1 == operator.metrics.windows_fired
        assert operator.finish().num_rows == 1
        assert operator.metrics.windows_fired == 2
