"""Results, late rows and rejected rows of a stream, taken apart. With ``late="return"`` and
``on_error="reject"`` a stream carries all: a row that comes back is in the column ``late`` or ``rejected``,
and has no results."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from windrow.result_names import LATE, REJECTED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["sink_all", "sink_both", "split_late", "split_rejected"]

#: what ``writeStream.foreachBatch`` takes
Writer = Callable[["DataFrame", int], None]


def split_late(frame: DataFrame) -> tuple[DataFrame, DataFrame]:
    """(results, late rows) of a DataFrame that a query with ``late="return"`` gave."""
    return _split(frame, LATE, "late='return'")


def split_rejected(frame: DataFrame) -> tuple[DataFrame, DataFrame]:
    """(results, rejected rows) of a DataFrame that a query with ``on_error="reject"`` gave."""
    return _split(frame, REJECTED, "on_error='reject'")


def _split(frame: DataFrame, name: str, setting: str) -> tuple[DataFrame, DataFrame]:
    from pyspark.sql import functions

    if name not in frame.columns:
        raise ValueError(f"there is no column {name!r}: run the query with wr.query({setting})")
    comes_back = functions.col(name).isNotNull()
    return frame.where(~comes_back).drop(name), frame.where(comes_back).select(f"{name}.*")


def sink_both(results: Writer, late: Writer) -> Writer:
    """For ``writeStream.foreachBatch``: each micro-batch's results to one function, its late rows to another,
    in one query."""
    return sink_all(results, late=late)


def sink_all(results: Writer, *, late: Writer | None = None, rejected: Writer | None = None) -> Writer:
    """For ``writeStream.foreachBatch``: each micro-batch's results to one function, its late rows and its
    rejected rows to others, in one query.

    Rows that come back go first, so that a micro-batch whose results are there has all its rows there. Of a
    micro-batch that is repeated after a failure, each function is called again, with the same number: what
    writes twice what it is given twice can tell by that.

    ::

        query = wr.query(time="ts", watermark="10m", late="return", on_error="reject")...
        sink = wr.spark.sink_all(write_results, late=write_late, rejected=write_rejected)
        query.run(stream).writeStream.foreachBatch(sink).option("checkpointLocation", "state").start()
    """
    others = [(split, to) for split, to in ((split_rejected, rejected), (split_late, late)) if to is not None]

    def write(batch: DataFrame, number: int) -> None:
        batch.persist()
        try:
            found = batch
            for split, to in others:
                found, back = split(found)
                to(back, number)
            results(found, number)
        finally:
            batch.unpersist()

    return write
