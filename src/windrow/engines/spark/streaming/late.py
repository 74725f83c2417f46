"""Results and late rows of a stream, taken apart. With ``late="emit"`` a stream carries both: a late row is
in the column ``late``, and has no results."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from windrow.result_names import LATE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["sink_both", "split_late"]


def split_late(frame: DataFrame) -> tuple[DataFrame, DataFrame]:
    """(results, late rows) of a DataFrame that a query with ``late="emit"`` gave."""
    from pyspark.sql import functions

    if LATE not in frame.columns:
        raise ValueError("there is no column 'late': run the query with wr.query(late='emit')")
    is_late = functions.col(LATE).isNotNull()
    return frame.where(~is_late).drop(LATE), frame.where(is_late).select(f"{LATE}.*")


def sink_both(
    results: Callable[[DataFrame, int], None], late: Callable[[DataFrame, int], None]
) -> Callable[[DataFrame, int], None]:
    """For ``writeStream.foreachBatch``: each micro-batch's results to one function, its late rows to another,
    in one query."""

    def both(batch: DataFrame, number: int) -> None:
        batch.persist()
        try:
            found, behind = split_late(batch)
            results(found, number)
            late(behind, number)
        finally:
            batch.unpersist()

    return both
