"""Python workers of Spark use one thread each: Spark runs a task per core."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa


def test_a_query_in_a_task_uses_one_thread_unless_it_is_given_a_number(spark: Any) -> None:
    def threads_in_task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """How many threads a query uses that a user's function runs."""
        from unittest.mock import patch

        import windrow as wr
        from windrow.threads import _current

        query = wr.query(time="t").rolling(rows=2).agg(n=wr.count())
        with patch("windrow.engines.local.run", lambda query, data: _current.get()):
            for batch in batches:
                used = [query.run(pa.table({"t": [1]})), query.run(pa.table({"t": [1]}), threads=3)]
                yield pa.RecordBatch.from_pydict({"used": used if batch.num_rows else []})

    found = spark.range(1, numPartitions=1).mapInArrow(threads_in_task, "used bigint").collect()
    assert [row.used for row in found] == [1, 3]
