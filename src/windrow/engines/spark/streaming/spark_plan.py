"""Spark's own plan of a stream: which queries may take it, why others may not, and how it runs.

Windows that do not overlap are groups of Spark's: there is no Python stage, and state is Spark's own. What it
cannot give is an account of late rows, so ``late="drop"`` opens it. Invariant: results are those of windrow's
plan for every input. Sums of floats are rounded in the order in which rows come, and of 0.0 and -0.0 either
may be the extreme: both follow from the shuffle in either plan, as they do from one run to the next.

Spark takes its first watermark, 0, for one, and drops rows of windows that end by 1970. windrow has none yet.
So the edge by which Spark judges a group is at least one microsecond after 1970: it stands beside the end of
the window, in one column. ``session_window`` leaves no room for that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow.arrays import END_OF_TIME
from windrow.engines.spark.frames import arrow_schema, microseconds, quoted
from windrow.engines.spark.streaming.event_time import SPARK_DELAY
from windrow.engines.spark.windows.catalyst import (
    cells_of,
    next_edge,
    partials_of,
    slice_edges,
    spark_results,
)
from windrow.engines.stream.plan import Plan
from windrow.engines.stream.watermark import delay_ms
from windrow.monoids.base import Aggregate
from windrow.rows.columns import needed_columns, plain_type
from windrow.spec import Spec
from windrow.windows import decided_by_gaps, decided_by_time

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType, StructType

__all__ = ["groups_of", "results_of_groups", "takes_sparks_plan"]

#: of a sum of decimals with at most so many digits no window has enough rows to overflow
_MOST_DIGITS = 28
#: groups of keys that are held for longer are many, and windrow's state holds many more cheaply
_LONGEST_HELD_US = 3_600_000_000


def takes_sparks_plan(query: Spec, frame: DataFrame, beside: str = "") -> tuple[bool, str]:
    """Whether a stream runs on Spark's own plan, and why not. ``beside``: what speaks against it besides the
    query and its columns."""
    if query.plan == "windrow":
        return False, "plan='windrow' asks for it"
    reason = beside or why_not(query) or _why_not_columns(query, frame)
    if query.plan == "spark":
        if reason:
            raise ValueError(f"plan='spark' cannot run this query: {reason}")
        return True, "plan='spark' asks for it"
    reason = reason or _why_not_by_itself(query)
    return not reason, reason or "it gives the same results, and late rows are dropped"


def why_not(query: Spec) -> str:
    """Why Spark's own plan cannot give the results of a query over columns of any type; empty: it may."""
    refused = {
        f"late={query.late!r} counts late rows one by one: write late='drop'": query.late != "drop",
        "allowed_lateness corrects windows that have fired": query.corrects,
        "output='update' gives results before they are final": query.output != "final",
        "empty='include' gives windows without rows": query.empty != "skip",
        "on_error='reject' hands rows back": query.on_error != "raise",
        "max_ahead rejects rows": query.max_ahead is not None,
        "max_windows limits a step": query.max_windows is not None,
        "idle_timeout moves the watermark without rows": query.idle_timeout is not None,
        "it gives a result for each row or label, and no windows": not query.windows,
        "it has several windows": len(query.windows) > 1,
    }
    return next((reason for reason, holds in refused.items() if holds), "") or _why_not_window(query)


def _why_not_window(query: Spec) -> str:
    ((_, window),) = query.windows
    if decided_by_gaps(window):
        if not window.refuses_lateness:
            return f"{window!r} judges late rows by sessions: write late_by='row'"
        return "" if query.by else f"{window!r} needs a key on Spark's plan"
    if not decided_by_time(window):
        return f"{window!r} is decided by data"
    if not window.tiles:
        return f"{window!r} puts a row into several windows, or into none"
    if window.edge_progressions() is None:
        return f"{window!r} follows a calendar"
    return ""


def _why_not_by_itself(query: Spec) -> str:
    """Why ``plan="auto"`` leaves windrow's plan in place where Spark's could be asked for."""
    ((_, window),) = query.windows
    if decided_by_gaps(window):
        return f"for {window!r} Spark drops rows before 1970 as late: plan='spark' takes it nevertheless"
    assert decided_by_time(window)
    assert query.watermark is not None
    held = Plan.of(query).reach + query.watermark.units
    if query.by and held > _LONGEST_HELD_US:
        return "keys are held for more than an hour, many of which windrow's state holds more cheaply"
    return ""


def _why_not_columns(query: Spec, frame: DataFrame) -> str:
    source = arrow_schema(frame, needed_columns(query))
    kind = source.field(query.time).type
    if not (pa.types.is_timestamp(kind) and kind.tz is not None):
        return f"column {query.time!r} is of type {kind}, and Spark's watermarks are of timestamps"
    for name in query.by:
        if not _groups_alike(frame.schema[name].dataType):
            return f"key {name!r} is of type {frame.schema[name].dataType.simpleString()}"
    unlike = next((a for _, a in query.aggregates if not _is_alike(a, source)), None)
    return "" if unlike is None else f"{unlike!r} over {_kinds(unlike, source)} has no equal there"


def _groups_alike(kind: DataType) -> bool:
    """Whether Spark has the same groups of values: floats have several bits for one value."""
    from pyspark.sql import types

    alike = (types.IntegralType, types.BooleanType, types.DateType, types.DecimalType, types.BinaryType)
    moments = (types.TimestampType, types.TimestampNTZType)
    return isinstance(kind, (*alike, *moments)) or kind == types.StringType()


def _is_alike(aggregate: Aggregate, source: pa.Schema) -> bool:
    """Whether Spark's expressions give the results of an aggregate for every input."""
    monoid = aggregate.monoid
    if not aggregate.inputs:
        return True
    if monoid.spark is None or (monoid.nulls, monoid.nan) != ("skip", "propagate"):
        return False
    kind = plain_type(source.field(aggregate.inputs[0]).type)
    if monoid.adds_integers:  # int64: windrow raises as soon as a sum does not fit, and Spark as it fires
        return pa.types.is_floating(kind) or _is_short(kind) or _is_short_decimal(monoid, kind)
    if monoid.is_extreme:
        has_order = (pa.types.is_date32, pa.types.is_decimal128, pa.types.is_timestamp, pa.types.is_floating)
        return pa.types.is_integer(kind) or any(test(kind) for test in has_order)
    return monoid.counts_rows or _is_short(kind) or pa.types.is_boolean(kind) or pa.types.is_floating(kind)


def _is_short(kind: Any) -> bool:
    return bool(pa.types.is_integer(kind)) and kind.bit_width < 64


def _is_short_decimal(monoid: Any, kind: Any) -> bool:
    return monoid.integer_results and pa.types.is_decimal128(kind) and kind.precision <= _MOST_DIGITS


def _kinds(aggregate: Aggregate, source: pa.Schema) -> str:
    return ", ".join(str(source.field(name).type) for name in aggregate.inputs)


# -- the plan ------------------------------------------------------------------------------------------------


def groups_of(query: Spec, rows: DataFrame, source: pa.Schema, description: str) -> DataFrame:
    """Windows and the partials of their aggregates, one row for each as Spark lets them out. ``description``:
    what the column of the checkpoint is called by which the state says whose it is."""
    from pyspark.sql import functions

    assert query.watermark is not None
    delay = delay_ms(query.watermark)
    most = END_OF_TIME - Plan.of(query).reach
    time = microseconds(query.time, source)
    inside = rows.where(f"{time} > {-most}L AND {time} < {most}L")  # a time that is null is not
    timed = inside.withWatermark(query.time, f"{delay} milliseconds")
    folded = list(map(functions.expr, partials_of(query, source, True)))
    keys = [f"k{k}" for k in range(len(query.by))]
    ((_, window),) = query.windows
    if decided_by_gaps(window):
        cells = cells_of(query, timed, f"{quoted(query.time)} AS t").withColumnRenamed("k0", description)
        session = functions.session_window("t", f"{window.gap_us} microseconds").alias("edges")
        return cells.groupBy(quoted(description), *keys[1:], session).agg(*folded)
    end = next_edge(query, time)
    edges = f"struct(timestamp_micros({end}) AS `end`, timestamp_micros(greatest({end}, 1L)) AS fires)"
    cells = cells_of(query, timed, f"{edges} AS edges")
    judged = functions.col("edges").alias(description, metadata={SPARK_DELAY: delay})
    inputs = [name for name in cells.columns if name not in (*keys, "edges")]
    return cells.select(*keys, judged, *inputs).groupBy(quoted(description), *keys).agg(*folded)


def results_of_groups(
    query: Spec,
    groups: DataFrame,
    results: StructType,
    source: pa.Schema,
    description: str,
    marks: dict[str, dict[str, Any]],
) -> DataFrame:
    """The results of windows, with the metadata of result columns."""
    from pyspark.sql import functions

    ((_, window),) = query.windows
    if decided_by_gaps(window):
        found = groups.withColumnRenamed(description, "k0")
        found = spark_results(query, found, results, source, ("edges.`start`", "edges.`end`"))
    else:
        slices = groups.withColumn("end", functions.expr(f"unix_micros({quoted(description)}.`end`)"))
        found = spark_results(query, slices, results, source, slice_edges(query, source))
    columns = (
        functions.col(quoted(name)).alias(name, metadata=marks.get(name, {})) for name in found.columns
    )
    return found.select(*columns)
