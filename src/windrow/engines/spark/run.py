"""Queries on Spark DataFrames: what is checked before anything runs, and which plan is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow.engines.spark.compat import is_streaming
from windrow.engines.spark.frames import arrow_schema
from windrow.engines.spark.rejected import has_own_aggregates, rolled_without_raising, without_raising
from windrow.engines.spark.rolling.run import roll
from windrow.engines.spark.worker_python import prepare_workers
from windrow.names import check_columns
from windrow.partials.result_types import check_inputs
from windrow.result_names import check_names, check_table_names
from windrow.rows.columns import needed_columns
from windrow.rows.times import TimeAxis, check_time_kind
from windrow.spec import Spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["run"]


def run(
    query: Spec, frame: DataFrame, history: DataFrame | None = None, history_until: Any = None
) -> DataFrame:
    """The results of a query on a DataFrame, as a lazy DataFrame; of a stream, as a stream, which may begin
    with history."""
    check(query, frame)
    prepare_workers(frame.sparkSession, is_streaming(frame))
    if is_streaming(frame):
        from windrow.engines.spark.streaming.run import run_stream

        return run_stream(query, frame, history, history_until)
    rejects = has_own_aggregates(query)
    if query.is_rolling:
        return rolled_without_raising(query, frame, roll) if rejects else roll(query, frame)
    from windrow.engines.spark.windows.run import windowed

    return windowed(query, without_raising(query, frame) if rejects else frame)


def check(query: Spec, frame: DataFrame) -> None:
    """Raise what can be known to be wrong from the query and the schema alone."""
    is_endless = is_streaming(frame)  # asked first: it names the remedy where Spark answers nothing
    check_columns(needed_columns(query), frame.columns, "the DataFrame")
    _check_names(query, frame, is_endless)
    check_inputs(query, arrow_schema(frame, needed_columns(query)))
    kind = arrow_schema(frame, [query.time]).field(0).type
    if not (pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_integer(kind)):
        raise TypeError(
            f"time column {query.time!r} is of type {kind}: give timestamps, dates or integers, or cast it"
        )
    check_time_kind(query, TimeAxis(kind))


def _check_names(query: Spec, frame: DataFrame, is_endless: bool) -> None:
    check_names(query)
    check_table_names(query, frame.columns, endless=is_endless)
    own = next((name for name in frame.columns if name.startswith("__windrow_")), None)
    if own is not None:
        raise ValueError(
            f"the DataFrame has a column {own!r}, a name of the kind that windrow has for its own: rename it"
        )
