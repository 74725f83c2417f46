"""Slices that Spark itself folds: where all aggregates of a query are sums, extremes or moments of numbers.

Spark's own grouping, by key and slice, needs no crossing to Python for rows; what it gives are the partials
that :mod:`windrow.engines.spark.fold_task` would, in the same columns, and the rest of the plan is the same.
NaN is in every extreme that it takes part in, as everywhere in windrow; integers whose sum over one slice
leaves 64 bits are Spark's own error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow.engines.frame import plain_type
from windrow.engines.spark.frames import column, microseconds
from windrow.engines.spark.slice_runs import SliceTable
from windrow.monoids.base import Aggregate
from windrow.slicing import Slicer
from windrow.spec import Spec
from windrow.windows import TimeWindow, Tumbling

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

__all__ = ["each_slice_is_a_window", "spark_finishes", "spark_folds", "spark_results", "spark_slices"]

_KNOWN = ("count", "sum", "mean", "max", "min", "var", "stddev")
#: those whose results are easily said in Spark's words, too
_FINISHED = ("count", "sum", "mean", "max", "min")


def spark_folds(query: Spec, schema: pa.Schema, session: Any) -> bool:
    """Whether Spark's own aggregates give the partials of all slices."""
    if str(session.conf.get("spark.sql.ansi.enabled")) != "true" and _may_wrap(query, schema):
        return False
    windows = [window for _, window in query.windows]
    if not all(isinstance(w, TimeWindow) and w.edge_progressions() is not None for w in windows):
        return False
    return all(_is_known(aggregate, schema) for _, aggregate in query.aggregates)


def _may_wrap(query: Spec, schema: pa.Schema) -> bool:
    """Whether a sum in a slice may leave 64 bits, which Spark tells only where it follows the ANSI rules."""
    added = [a.columns[0] for _, a in query.aggregates if a.columns and a.monoid.name in ("sum", "mean")]
    kinds = [plain_type(schema.field(name).type) for name in added]
    return any(pa.types.is_int64(kind) for kind in kinds)


def _is_known(aggregate: Aggregate, schema: pa.Schema) -> bool:
    monoid = aggregate.monoid
    if not aggregate.columns:
        return True
    if not monoid.builtin or monoid.name not in _KNOWN or monoid.nan != "propagate":
        return False
    kind = plain_type(schema.field(aggregate.columns[0]).type)
    return bool(pa.types.is_integer(kind) or pa.types.is_float32(kind) or pa.types.is_float64(kind))


def each_slice_is_a_window(query: Spec) -> bool:
    """Whether nothing is left to assemble: one tumbling window, and no gaps to be filled."""
    (_, only), *more = query.windows
    return not more and isinstance(only, Tumbling) and query.empty == "skip"


def spark_finishes(query: Spec, schema: pa.Schema) -> bool:
    """Whether Spark's own expressions make results of slices that are windows: rows never leave the JVM."""
    kind = schema.field(query.time).type
    has_plain_time = pa.types.is_integer(kind) or (pa.types.is_timestamp(kind) and kind.tz is not None)
    monoids = [aggregate.monoid for _, aggregate in query.aggregates if aggregate.columns]
    are_plain = all(monoid.name in _FINISHED and monoid.nulls == "skip" for monoid in monoids)
    return each_slice_is_a_window(query) and has_plain_time and are_plain


def spark_results(query: Spec, slices: DataFrame, results: StructType, schema: pa.Schema) -> DataFrame:
    """The results of slices that are windows; ``results`` is how Spark has them."""
    from pyspark.sql import functions

    ((name, window),) = query.windows
    assert isinstance(window, Tumbling)
    (progression,) = Slicer([window]).progressions
    end = functions.col("end")
    is_integer = pa.types.is_integer(schema.field(query.time).type)

    def moment(micros: Column) -> Column:
        return micros if is_integer else functions.timestamp_micros(micros)

    found = [functions.col(f"k{k}") for k in range(len(query.by))]
    found += [functions.lit(name)] if query.names_windows else []
    found += [moment(end - progression.period), moment(end)]
    found += [_result(k, aggregate, query.min_count) for k, (_, aggregate) in enumerate(query.aggregates)]
    named = zip(found, results.fields, strict=True)
    return slices.select(*(value.cast(field.dataType).alias(field.name) for value, field in named))


def _result(k: int, aggregate: Aggregate, min_count: int) -> Column:
    """What the aggregate makes of its partial; null where too few values are."""
    from pyspark.sql import functions

    rows = functions.col("rows")
    if not aggregate.columns:
        return functions.when(rows >= min_count, rows) if min_count else rows
    result = functions.col(f"a{k}_0")
    if aggregate.monoid.name == "mean":
        count = functions.col(f"a{k}_1")
        result = functions.when(count > 0, result.cast("double") / count)
    if aggregate.monoid.name == "count" or min_count > 1:
        values = rows - functions.col(f"a{k}_skipped")
        return functions.when(values >= min_count, result) if min_count else result
    return result  # null where there is no value


def spark_slices(
    query: Spec, rows: DataFrame, tables: SliceTable, schema: pa.Schema, are_results: bool = False
) -> DataFrame:
    """The slices of all rows, in the columns of a slice table. With ``are_results`` a partial without a value
    is null, and not the identity."""
    from pyspark.sql import functions

    time = microseconds(rows, query.time)
    keys = [column(name).alias(f"k{k}") for k, name in enumerate(query.by)]
    needed = [column(c).alias(f"c{k}") for k, c in enumerate(_inputs(query))]
    cells = rows.select(*keys, time.alias("t"), *needed)
    names = {name: f"c{k}" for k, name in enumerate(_inputs(query))}
    folded = [
        functions.min("t").alias("first"),
        functions.max("t").alias("last"),
        functions.lit(0).cast("long").alias("part"),
        functions.count("*").alias("rows"),
    ]
    for k, (_, aggregate) in enumerate(query.aggregates):
        if aggregate.columns:
            folded += _members(k, aggregate, names, schema, are_results)
    grouped = cells.groupBy(*tables.key_names, _next_edge(query).alias("end")).agg(*folded)
    return grouped.select(*tables.schema.names)


def _inputs(query: Spec) -> list[str]:
    return list(dict.fromkeys(c for _, a in query.aggregates for c in a.columns))


def _next_edge(query: Spec) -> Column:
    """The first edge of any window after a row: it tells which slice the row is in."""
    from pyspark.sql import functions

    time = functions.col("t")
    windows = [window for _, window in query.windows if isinstance(window, TimeWindow)]
    edges = [
        time + (functions.lit(p.period) - functions.pmod(time - p.anchor, functions.lit(p.period)))
        for p in Slicer(windows).progressions
    ]
    return functions.least(*edges) if len(edges) > 1 else edges[0]


def _members(
    k: int, aggregate: Aggregate, names: dict[str, str], schema: pa.Schema, are_results: bool
) -> list[Column]:
    """The members of an aggregate's native partial, and how many rows it skips."""
    from pyspark.sql import functions

    (name,) = aggregate.columns
    value = functions.col(names[name])
    is_float = bool(pa.types.is_floating(plain_type(schema.field(name).type)))
    number = value.cast("double" if is_float else "long")
    found = [
        member if are_results or identity is None else functions.coalesce(member, functions.lit(identity))
        for member, identity in _partials(aggregate.monoid.name, number, is_float)
    ]
    skipped = functions.count("*") - functions.count(value)
    return [*(m.alias(f"a{k}_{i}") for i, m in enumerate(found)), skipped.alias(f"a{k}_skipped")]


def _partials(name: str, number: Column, is_float: bool) -> list[tuple[Column, Any]]:
    """The members that the monoid of this name has in its partial, which are null where there is no value,
    and what its identity has there; None: the member is never null."""
    from pyspark.sql import functions

    count, total = functions.count(number), functions.sum(number)
    if name == "count":
        return [(count, None)]
    if name in ("sum", "mean"):
        zero = 0.0 if is_float else 0
        return [(total, zero)] if name == "sum" else [(total, zero), (count, None)]
    if name in ("var", "stddev"):
        return [(count, None), (functions.avg(number), 0.0), (functions.var_pop(number) * count, 0.0)]
    if name == "max":  # NaN is the largest number for Spark
        return [(functions.max(number), float("-inf") if is_float else -(2**63))]
    lowest = functions.min(number)
    if is_float:
        lowest = functions.when(functions.max(functions.isnan(number)), float("nan")).otherwise(lowest)
    return [(lowest, float("inf") if is_float else 2**63 - 1)]
