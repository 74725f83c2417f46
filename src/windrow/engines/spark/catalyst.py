"""Slices that Spark itself folds: where all aggregates of a query are sums, extremes or moments of numbers.

Spark's own grouping, by key and slice, needs no crossing to Python for rows; what it gives are the partials
that :mod:`windrow.engines.spark.fold_task` would, in the same columns, and the rest of the plan is the same.
NaN is in every extreme that it takes part in, as everywhere in windrow; integers whose sum over one slice
leaves 64 bits are Spark's own error. Expressions are SQL text: as objects of Spark's, each of their parts
would cost a call to the JVM.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow.engines.frame import plain_type
from windrow.engines.spark.frames import literal, microseconds, quoted
from windrow.engines.spark.slice_runs import SliceTable
from windrow.monoids.base import Aggregate
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
    ((name, window),) = query.windows
    assert isinstance(window, Tumbling)
    (progression,) = Slicer([window]).progressions
    moment = "{}" if pa.types.is_integer(schema.field(query.time).type) else "timestamp_micros({})"
    found = [f"k{k}" for k in range(len(query.by))]
    found += [literal(name)] if query.names_windows else []
    found += [moment.format(f"(`end` - {progression.period}L)"), moment.format("`end`")]
    for k, ((_, aggregate), field) in enumerate(
        zip(query.aggregates, results.fields[len(found) :], strict=True)
    ):
        found.append(f"CAST({_result(k, aggregate, query.min_count)} AS {field.dataType.simpleString()})")
    named = zip(found, results.names, strict=True)
    return slices.selectExpr(*(f"{value} AS {quoted(name)}" for value, name in named))


def _result(k: int, aggregate: Aggregate, min_count: int) -> str:
    """What the aggregate makes of its partial; null where too few values are."""
    if not aggregate.columns:
        return f"IF(`rows` >= {min_count}, `rows`, NULL)" if min_count else "`rows`"
    result = f"a{k}_0"
    if aggregate.monoid.name == "mean":
        result = f"IF(a{k}_1 > 0, DOUBLE(a{k}_0) / a{k}_1, NULL)"
    if min_count and (aggregate.monoid.name == "count" or min_count > 1):
        return f"IF(`rows` - a{k}_skipped >= {min_count}, {result}, NULL)"
    return result  # null where there is no value


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
    is_float = bool(pa.types.is_floating(plain_type(schema.field(name).type)))
    number = f"{'DOUBLE' if is_float else 'BIGINT'}({value})"
    found = [
        member if are_results or identity is None else f"coalesce({member}, {literal(identity)})"
        for member, identity in _partials(aggregate.monoid.name, number, is_float)
    ]
    skipped = f"count(*) - count({value})"
    return [*(f"{m} AS a{k}_{i}" for i, m in enumerate(found)), f"{skipped} AS a{k}_skipped"]


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
