"""Random queries on Spark against the local engine, with rows and shuffles in more than one layout.

Results must depend on neither: not on how many partitions the input has, not on which rows lie in which, and
not on how many partitions a shuffle makes. Where rows of equal time have no order of their own they count as
they came, by partition and place; rows that are dealt out at random get the place they had as ``order``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import windrow as wr
from engines.spark.more_aggregates import with_more
from engines.spark.spark_frames import in_partitions, settings_of
from engines.spark.spark_frames import table_of as rows_of
from support.budget import examples
from windrow.testing import assert_same_results
from windrow.testing.strategies import queries, rolling_queries, streams, table_of

pytestmark = pytest.mark.filterwarnings("ignore:.*have no time:windrow.RejectedRows")

#: what fails is shown as it is drawn: to make it smaller would take Spark minutes
RANDOM = settings(
    max_examples=examples(12),
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def layout(partitions: str) -> dict[str, str]:
    return {
        "spark.sql.shuffle.partitions": partitions,
        "spark.sql.adaptive.coalescePartitions.enabled": "false",  # as many as were asked for
    }


def cut(table: pa.Table, parts: int) -> list[pa.Table]:
    edges = [table.num_rows * part // parts for part in range(parts + 1)]
    return [table.slice(edges[part], edges[part + 1] - edges[part]) for part in range(parts)]


def check(spark: Any, query: wr.Query, table: pa.Table, order: list[int] | None) -> None:
    """In one partition, and in five: cut as the rows came, or dealt out in this order."""
    table = table.append_column("place", pa.array(np.arange(table.num_rows)))
    dealt = query if order is None else replace(query, order=(*query.order, "place"))
    parts = cut(table if order is None else table.take(pa.array(order, pa.int64())), 5)
    for shuffled, lie, asked in [("1", [table], query), ("3", parts, dealt)]:
        with settings_of(spark, layout(shuffled)):
            found = asked.run(in_partitions(spark, lie))
            expected = asked.run(table)
            assert found.columns == expected.column_names
            assert_same_results(rows_of(found), expected)


@pytest.mark.parametrize("clock", ["integer", "timestamp"])
@RANDOM
@given(data=st.data())
def test_results_are_those_of_the_local_engine_wherever_rows_lie(
    spark: Any, clock: Any, data: st.DataObject
) -> None:
    query = data.draw(with_more(st.one_of(rolling_queries(clock), queries(clock))))
    table = table_of(data.draw(streams(clock, null_times=True)), clock)
    orders = st.one_of(st.none(), st.permutations(range(table.num_rows)))
    check(spark, query, table, data.draw(orders))
