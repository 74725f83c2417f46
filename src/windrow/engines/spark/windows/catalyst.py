"""Slices that Spark itself folds: where all aggregates of a query are counts, sums and extremes of numbers.

Spark's own grouping, by key and slice, needs no crossing to Python for rows; what it gives are the partials
that :mod:`windrow.engines.spark.worker.windows.fold_task` would, in the same columns, and the rest of the
plan is the same. NaN is in every extreme that it takes part in, as everywhere in windrow. Integers of 64 bits
are added up in two halves, so that no sum of fewer than 2**31 rows overflows, with ANSI rules or without.
Expressions are SQL text: as Spark objects, each of their parts would cost a call to the JVM."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from windrow.engines.spark.frames import literal, microseconds, quoted
from windrow.engines.spark.worker.windows.slice_tables import SliceTable
from windrow.monoids.base import Aggregate, Monoid
from windrow.rows.columns import plain_type
from windrow.slicing import Slicer
from windrow.spec import Spec
from windrow.windows import decided_by_time

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

__all__ = [
    "cells_of",
    "each_slice_is_a_window",
    "next_edge",
    "partials_of",
    "slice_edges",
    "spark_finishes",
    "spark_folds",
    "spark_results",
    "spark_slices",
]


def spark_folds(query: Spec, schema: pa.Schema) -> bool:
    """Whether Spark's own aggregates give the partials of all slices."""
    timed = query.time_windows
    if len(timed) < len(query.windows) or any(window.edge_progressions() is None for window in timed):
        return False
    return all(_is_known(aggregate, schema) for _, aggregate in query.aggregates)


def _is_known(aggregate: Aggregate, schema: pa.Schema) -> bool:
    monoid = aggregate.monoid
    if not aggregate.inputs:
        return True
    if monoid.spark is None or monoid.nan != "propagate" or aggregate.distinguishes_absent:
        return False
    return _letter(plain_type(schema.field(aggregate.inputs[0]).type)) in monoid.spark.kinds


def _letter(kind: pa.DataType) -> str:
    """The kind of a type of numbers, as numpy names it; for others a letter that stands for none."""
    is_number = pa.types.is_boolean(kind) or pa.types.is_integer(kind)
    is_number = is_number or pa.types.is_float32(kind) or pa.types.is_float64(kind)
    return str(np.dtype(kind.to_pandas_dtype()).kind) if is_number else "-"


def each_slice_is_a_window(query: Spec) -> bool:
    """Whether nothing is left to assemble: one window that holds each time once, and no gaps to be filled."""
    (_, only), *more = query.windows
    return not more and decided_by_time(only) and only.tiles and query.empty == "skip"


def spark_finishes(query: Spec, schema: pa.Schema) -> bool:
    """Whether Spark's own expressions make results of slices that are windows: rows never leave the JVM."""
    kind = schema.field(query.time).type
    has_plain_time = pa.types.is_integer(kind) or (pa.types.is_timestamp(kind) and kind.tz is not None)
    monoids = [aggregate.monoid for _, aggregate in query.aggregates if aggregate.inputs]
    are_plain = all(monoid.nulls == "skip" for monoid in monoids)
    return each_slice_is_a_window(query) and has_plain_time and are_plain


def slice_edges(query: Spec, schema: pa.Schema) -> tuple[str, str]:
    """Where a slice that is a window starts and ends, in SQL over the columns of a slice table."""
    (progression,) = Slicer(query.time_windows).progressions
    moment = "{}" if pa.types.is_integer(schema.field(query.time).type) else "timestamp_micros({})"
    return moment.format(f"(`end` - {progression.period}L)"), moment.format("`end`")


def spark_results(
    query: Spec, slices: DataFrame, results: StructType, schema: pa.Schema, edges: tuple[str, str]
) -> DataFrame:
    """The results of slices that are windows; ``results`` is how Spark has them, and ``edges`` where windows
    start and end."""
    ((name, _),) = query.windows
    found = [f"k{k}" for k in range(len(query.by))]
    # as a column of other plans, it may be null
    found += [f"IF(`rows` > 0, {literal(name)}, NULL)"] if query.names_windows else []
    found += edges
    made = list[str]()
    for k, ((_, aggregate), field) in enumerate(
        zip(query.aggregates, results.fields[len(found) :], strict=True)
    ):
        kind = None if not aggregate.inputs else plain_type(schema.field(aggregate.inputs[0]).type)
        result = _result(k, aggregate, query, kind is not None and bool(pa.types.is_int64(kind)), found)
        made.append(f"CAST({result} AS {field.dataType.simpleString()})")
    named = zip([*found, *made], results.names, strict=True)
    return slices.selectExpr(*(f"{value} AS {quoted(name)}" for value, name in named))


def _result(k: int, aggregate: Aggregate, query: Spec, is_long: bool, edges: list[str]) -> str:
    """What the aggregate makes of its partial; null where too few values are. ``edges``: the columns before
    the results, for messages; ``is_long``: sums come in two halves."""
    min_count = aggregate.least
    if not aggregate.inputs:
        return f"IF(`rows` >= {min_count}, `rows`, NULL)" if min_count else "`rows`"
    monoid = aggregate.monoid
    assert monoid.spark is not None
    members = [f"a{k}_{i}" for i in range(len(monoid.spark.members))]
    if is_long and monoid.adds_integers:
        members[0] = _whole(k, monoid, query, edges)
    result = monoid.spark.result.format(*members)
    if _needs_skipped(aggregate):
        return f"IF(`rows` - a{k}_skipped >= {min_count}, {result}, NULL)"
    return result  # null where there is no value


def _needs_skipped(aggregate: Aggregate) -> bool:
    """Whether a result depends on how many rows are skipped."""
    return aggregate.least > (0 if aggregate.monoid.empty is not None else 1)


def _whole(k: int, monoid: Monoid, query: Spec, edges: list[str]) -> str:
    """A sum of integers from its two halves; one that does not fit is an error, or a double."""
    high, low = f"(a{k}_high + shiftright(a{k}_0, 32))", f"(a{k}_0 & 4294967295L)"
    fits = f"{high} BETWEEN -2147483648L AND 2147483647L"
    whole = f"(shiftleft({high}, 32) | {low})"
    if monoid.integer_results:
        raised = _overflow(monoid, query, high, low, edges)
        return f"IF(a{k}_0 IS NULL OR {fits}, {whole}, {raised})"
    return f"IF({fits}, DOUBLE({whole}), DOUBLE({high}) * 4294967296D + DOUBLE({low}))"


def _overflow(monoid: Monoid, query: Spec, high: str, low: str, edges: list[str]) -> str:
    """The error for a sum that does not fit, in the words of :class:`~windrow.errors.IntegerOverflow`."""
    total = f"CAST({high} AS DECIMAL(20, 0)) * 4294967296BD + CAST({low} AS DECIMAL(20, 0))"
    start, end = edges[-2:]
    values = ", ".join(f"CAST({key} AS STRING)" for key in edges[: len(query.by)])
    keys = f", ' of key ', concat_ws(', ', {values})" if query.by else ""
    rows = f"'the rows from ', {start}, ' to before ', {end}{keys}"
    words = (f"IntegerOverflow: {monoid.name} = ", " does not fit int64: ")
    remedy = "cast the column to float64 or to a decimal, or leave such rows out"
    text = f"concat({literal(words[0])}, {total}, ' over ', {rows}, {literal(words[1] + remedy)})"
    return f"CAST(raise_error({text}) AS BIGINT)"


def spark_slices(
    query: Spec, rows: DataFrame, tables: SliceTable, schema: pa.Schema, are_results: bool = False
) -> DataFrame:
    """The slices of all rows, in the columns of a slice table. With ``are_results`` a partial without a value
    is null, and not the identity, and only the columns that results are made of are there."""
    from pyspark.sql import functions

    time = microseconds(query.time, schema)
    cells = cells_of(query, rows, f"{time} AS t", f"{next_edge(query, time)} AS `end`")
    folded = partials_of(query, schema, are_results)
    if not are_results:
        folded += ["min(t) AS `first`", "max(t) AS `last`", "0L AS part"]
    grouped = cells.groupBy(*tables.key_names, "end").agg(*map(functions.expr, folded))
    return grouped if are_results else grouped.select(*tables.schema.names)


def cells_of(query: Spec, rows: DataFrame, *more: str) -> DataFrame:
    """The keys of rows as ``k0``, ``k1`` and so on, what is folded as ``c0`` and so on, and ``more``."""
    keys = [f"{quoted(name)} AS k{k}" for k, name in enumerate(query.by)]
    needed = [f"{_passing(*each)} AS c{k}" for k, each in enumerate(_inputs(query))]
    return rows.selectExpr(*keys, *more, *needed)


def partials_of(query: Spec, schema: pa.Schema, are_results: bool) -> list[str]:
    """How many rows a group of cells has, and the partial of each aggregate over them."""
    names = {each: f"c{k}" for k, each in enumerate(_inputs(query))}
    folded = ["count(*) AS `rows`"]
    for k, (_, aggregate) in enumerate(query.aggregates):
        if aggregate.inputs:
            folded += _members(k, aggregate, names, schema, are_results)
    return folded


def _inputs(query: Spec) -> list[tuple[str, str | None]]:
    """The columns that are folded, each with the column that says which of its rows count."""
    return list(dict.fromkeys((c, a.where) for _, a in query.aggregates for c in a.inputs))


def _passing(name: str, where: str | None) -> str:
    """A column, null in rows that do not count."""
    return quoted(name) if where is None else f"IF({quoted(where)}, {quoted(name)}, NULL)"


def next_edge(query: Spec, time: str) -> str:
    """The first edge of any window after a row: it tells which slice the row is in."""
    edges = [
        f"({time} + ({p.period}L - pmod({time} - {literal(p.anchor)}, {p.period}L)))"
        for p in Slicer(query.time_windows).progressions
    ]
    return f"least({', '.join(edges)})" if len(edges) > 1 else edges[0]


def _members(
    k: int,
    aggregate: Aggregate,
    names: dict[tuple[str, str | None], str],
    schema: pa.Schema,
    are_results: bool,
) -> list[str]:
    """The members of an aggregate's native partial, and how many rows it skips."""
    (name,) = aggregate.inputs
    value = names[name, aggregate.where]
    kind = plain_type(schema.field(name).type)
    is_float = bool(pa.types.is_floating(kind))
    number = value  # decimals, dates and timestamps as they are
    if _letter(kind) != "-":
        number = f"{'DOUBLE' if is_float else 'BIGINT'}({value})"
    monoid = aggregate.monoid
    assert monoid.spark is not None
    forms = monoid.spark.of_floats if is_float else monoid.spark.members
    found, high = [form.format(x=number) for form in forms], list[str]()
    is_long = bool(pa.types.is_int64(kind))
    if monoid.adds_integers and (is_long or not (is_float or are_results)):
        upper = "0L"
        if is_long:
            upper, found[0] = f"sum(shiftright({number}, 32))", f"sum({number} & 4294967295L)"
            upper = upper if are_results else f"coalesce({upper}, 0L)"
        high = [f"{upper} AS a{k}_high"]
    if not are_results:
        nothing = _identity(monoid, "f8" if is_float else "i8")
        found = [f"coalesce({m}, {literal(zero)})" for m, zero in zip(found, nothing, strict=True)]
    folded = [*high, *(f"{m} AS a{k}_{i}" for i, m in enumerate(found))]
    if are_results and not _needs_skipped(aggregate):
        return folded
    return [*folded, f"count(*) - count({value}) AS a{k}_skipped"]


def _identity(monoid: Monoid, dtype: str) -> tuple[float | int, ...]:
    """The members of the native partial of no rows, over a column of this type."""
    found = monoid.identity if monoid.typed_identity is None else monoid.typed_identity(np.dtype(dtype))
    return found if isinstance(found, tuple) else (found,)
