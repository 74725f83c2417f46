"""Slices that Spark itself folds: where all aggregates of a query are sums, extremes or moments of numbers.

Spark's own grouping, by key and slice, needs no crossing to Python for rows; what it gives are the partials
that :mod:`windrow.engines.spark.worker.windows.fold_task` would, in the same columns, and the rest of the
plan is the same. NaN is in every extreme that it takes part in, as everywhere in windrow. Integers of 64 bits
are added up in two halves, so that no sum of fewer than 2**31 rows overflows, with ANSI rules or without.
Expressions are SQL text: as objects of Spark's, each of their parts would cost a call to the JVM."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from windrow.engines.spark.frames import literal, microseconds, quoted
from windrow.engines.spark.worker.windows.slice_tables import SliceTable
from windrow.monoids.base import Aggregate
from windrow.rows.columns import plain_type
from windrow.slicing import Slicer
from windrow.spec import Spec
from windrow.windows import TimeWindow, Tumbling

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

__all__ = ["each_slice_is_a_window", "spark_finishes", "spark_folds", "spark_results", "spark_slices"]

_KNOWN = ("count", "sum", "mean", "max", "min", "var", "stddev")
#: those whose results are easily said in Spark's words, too
_FINISHED = ("count", "sum", "mean", "max", "min")


def spark_folds(query: Spec, schema: pa.Schema) -> bool:
    """Whether Spark's own aggregates give the partials of all slices."""
    windows = [window for _, window in query.windows]
    if not all(isinstance(w, TimeWindow) and w.edge_progressions() is not None for w in windows):
        return False
    return all(_is_known(aggregate, schema) for _, aggregate in query.aggregates)


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
    ((name, window),) = query.windows
    assert isinstance(window, Tumbling)
    (progression,) = Slicer([window]).progressions
    moment = "{}" if pa.types.is_integer(schema.field(query.time).type) else "timestamp_micros({})"
    found = [f"k{k}" for k in range(len(query.by))]
    found += [literal(name)] if query.names_windows else []
    found += [moment.format(f"(`end` - {progression.period}L)"), moment.format("`end`")]
    made = list[str]()
    for k, ((_, aggregate), field) in enumerate(
        zip(query.aggregates, results.fields[len(found) :], strict=True)
    ):
        kind = None if not aggregate.columns else plain_type(schema.field(aggregate.columns[0]).type)
        result = _result(k, aggregate, query, kind is not None and bool(pa.types.is_int64(kind)), found)
        made.append(f"CAST({result} AS {field.dataType.simpleString()})")
    named = zip([*found, *made], results.names, strict=True)
    return slices.selectExpr(*(f"{value} AS {quoted(name)}" for value, name in named))


def _result(k: int, aggregate: Aggregate, query: Spec, is_long: bool, edges: list[str]) -> str:
    """What the aggregate makes of its partial; null where too few values are. ``edges``: the columns before
    the results, for messages; ``is_long``: sums come in two halves."""
    min_count = query.min_count
    if not aggregate.columns:
        return f"IF(`rows` >= {min_count}, `rows`, NULL)" if min_count else "`rows`"
    result = f"a{k}_0"
    if is_long and aggregate.monoid.name in ("sum", "mean"):
        high, low = f"(a{k}_high + shiftright(a{k}_0, 32))", f"(a{k}_0 & 4294967295L)"
        fits = f"{high} BETWEEN -2147483648L AND 2147483647L"
        whole = f"(shiftleft({high}, 32) | {low})"
        if aggregate.monoid.name == "sum":
            result = f"IF(a{k}_0 IS NULL OR {fits}, {whole}, {_overflow(query, high, low, edges)})"
        else:
            result = f"IF({fits}, DOUBLE({whole}), DOUBLE({high}) * 4294967296D + DOUBLE({low}))"
    if aggregate.monoid.name == "mean":
        result = f"IF(a{k}_1 > 0, DOUBLE({result}) / a{k}_1, NULL)"
    if min_count and (aggregate.monoid.name == "count" or min_count > 1):
        return f"IF(`rows` - a{k}_skipped >= {min_count}, {result}, NULL)"
    return result  # null where there is no value


def _overflow(query: Spec, high: str, low: str, edges: list[str]) -> str:
    """The error for a sum that does not fit, in the words of :class:`~windrow.errors.IntegerOverflow`."""
    total = f"CAST({high} AS DECIMAL(20, 0)) * 4294967296BD + CAST({low} AS DECIMAL(20, 0))"
    start, end = edges[-2:]
    values = ", ".join(f"CAST({key} AS STRING)" for key in edges[: len(query.by)])
    keys = f", ' of key ', concat_ws(', ', {values})" if query.by else ""
    rows = f"'the rows from ', {start}, ' to before ', {end}{keys}"
    told = ("IntegerOverflow: sum = ", " does not fit int64: ")
    remedy = "cast the column to float64 or to a decimal, or leave such rows out"
    text = f"concat({literal(told[0])}, {total}, ' over ', {rows}, {literal(told[1] + remedy)})"
    return f"CAST(raise_error({text}) AS BIGINT)"


def spark_slices(
    query: Spec, rows: DataFrame, tables: SliceTable, schema: pa.Schema, are_results: bool = False
) -> DataFrame:
    """The slices of all rows, in the columns of a slice table. With ``are_results`` a partial without a value
    is null, and not the identity, and only the columns that results are made of are there."""
    from pyspark.sql import functions

    time = microseconds(query.time, schema)
    keys = [f"{quoted(name)} AS k{k}" for k, name in enumerate(query.by)]
    names = {name: f"c{k}" for k, name in enumerate(_inputs(query))}
    needed = [f"{quoted(name)} AS {cell}" for name, cell in names.items()]
    cells = rows.selectExpr(*keys, f"{time} AS t", f"{_next_edge(query, time)} AS `end`", *needed)
    folded = ["count(*) AS `rows`"]
    if not are_results:
        folded += ["min(t) AS `first`", "max(t) AS `last`", "0L AS part"]
    for k, (_, aggregate) in enumerate(query.aggregates):
        if aggregate.columns:
            folded += _members(k, aggregate, names, schema, are_results)
    grouped = cells.groupBy(*tables.key_names, "end").agg(*map(functions.expr, folded))
    return grouped if are_results else grouped.select(*tables.schema.names)


def _inputs(query: Spec) -> list[str]:
    return list(dict.fromkeys(c for _, a in query.aggregates for c in a.columns))


def _next_edge(query: Spec, time: str) -> str:
    """The first edge of any window after a row: it tells which slice the row is in."""
    windows = [window for _, window in query.windows if isinstance(window, TimeWindow)]
    edges = [
        f"({time} + ({p.period}L - pmod({time} - {literal(p.anchor)}, {p.period}L)))"
        for p in Slicer(windows).progressions
    ]
    return f"least({', '.join(edges)})" if len(edges) > 1 else edges[0]


def _members(
    k: int, aggregate: Aggregate, names: dict[str, str], schema: pa.Schema, are_results: bool
) -> list[str]:
    """The members of an aggregate's native partial, and how many rows it skips."""
    (name,) = aggregate.columns
    value = names[name]
    kind = plain_type(schema.field(name).type)
    is_float = bool(pa.types.is_floating(kind))
    number = f"{'DOUBLE' if is_float else 'BIGINT'}({value})"
    partials, high = _partials(aggregate.monoid.name, number, is_float), list[str]()
    if aggregate.monoid.name in ("sum", "mean") and not is_float:
        upper = "0L"
        if pa.types.is_int64(kind):
            upper, lower = f"sum(shiftright({number}, 32))", f"sum({number} & 4294967295L)"
            partials[0] = (lower, 0)
            upper = upper if are_results else f"coalesce({upper}, 0L)"
        high = [f"{upper} AS a{k}_high"]
    found = [
        member if are_results or identity is None else f"coalesce({member}, {literal(identity)})"
        for member, identity in partials
    ]
    skipped = f"count(*) - count({value})"
    return [*high, *(f"{m} AS a{k}_{i}" for i, m in enumerate(found)), f"{skipped} AS a{k}_skipped"]


def _partials(name: str, number: str, is_float: bool) -> list[tuple[str, float | int | None]]:
    """The members that the monoid of this name has in its partial, which are null where there is no value,
    and what its identity has there; None: the member is never null."""
    count, total = f"count({number})", f"sum({number})"
    if name == "count":
        return [(count, None)]
    if name in ("sum", "mean"):
        zero = 0.0 if is_float else 0
        return [(total, zero)] if name == "sum" else [(total, zero), (count, None)]
    if name in ("var", "stddev"):
        return [(count, None), (f"avg({number})", 0.0), (f"var_pop({number}) * {count}", 0.0)]
    if name == "max":  # NaN is the largest number for Spark
        return [(f"max({number})", float("-inf") if is_float else -(2**63))]
    lowest = f"min({number})"
    if is_float:
        lowest = f"IF(max(isnan({number})), {literal(float('nan'))}, {lowest})"
    return [(lowest, float("inf") if is_float else 2**63 - 1)]
