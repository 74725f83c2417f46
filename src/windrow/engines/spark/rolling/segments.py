"""Hot keys, cut in time: which segment of its key a row is in, and for which later segments it is context.

A segment of a key is a key of its own for the shuffle, the sort and the task. Rows before it that its windows
reach come along as *context*: they are aggregated and not given back, so that every result sees the rows it
would see without cuts. By time these are the rows within one window before the cut. By number of rows they
are found by counting: the rows of a hot key are counted in cells, several a segment, and whole cells come
along until they hold as many rows as a window reaches back.

The time line of a hot key is cut into segments of equal length, each of at least four windows, so that
context is about a quarter of its rows at most. Where cuts are comes from a sample, in which a few times far
from all others do not count; it decides how even segments are, and never what results are.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints
from windrow.engines.spark.compat import parallelism
from windrow.engines.spark.frames import arrow_schema, column, mapped, microseconds
from windrow.engines.spark.worker.local_task import CONTEXT, SEGMENT
from windrow.spec import Spec

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["hot_keys", "in_segments", "later_segments", "named", "place", "with_hot"]


#: the share of rows that is looked at to find hot keys
_SAMPLED = 0.02
#: segments lie between these shares of a key's times; the first and the last take what is beyond
_INNER = (0.01, 0.99)
#: segments a core: the more, the more evenly they spread
_SEGMENTS = 3
#: windows a segment is at least long
_WINDOWS = 4
#: cells a segment, in which rows are counted
_CELLS = 16


def in_segments(query: Spec, frame: DataFrame) -> DataFrame:
    """The rows with the segment of their key, and context rows once more for each segment they are for."""
    from pyspark.sql import functions

    over = query.rolling_over
    assert over is not None
    time = functions.expr(microseconds(query.time, arrow_schema(frame, [query.time])))
    hot = hot_keys(query, frame, time)
    known = with_hot(query, frame, hot)
    low, width, last = (named(each) for each in ("low", "width", "last"))
    if over.size is not None:
        own = place(time, low, width, last)
        near = functions.when(own < last, time > low + (own + 1) * width - over.size.units)
        later = functions.when(near, functions.array(own + 1)).otherwise(_none())
    else:
        cells = _counted(query, known, time, over.rows or 1)
        cell = place(time, low, _cell_width(width), _last_cell(last))
        known = _with_cells(query, known.withColumn("__windrow_cell", cell), cells)
        own = functions.call_function("div", named("cell"), functions.lit(_CELLS))
        later = functions.coalesce(named("later"), _none())
    segments = functions.explode(functions.concat(functions.array(own), later))
    rows = known.select(*map(column, frame.columns), own.alias("__windrow_own"), segments.alias(SEGMENT))
    return rows.withColumn(CONTEXT, column(SEGMENT) > named("own")).drop("__windrow_own")


def _none() -> Column:
    from pyspark.sql import functions

    return functions.array().cast("array<long>")


def named(name: str) -> Column:
    return column(f"__windrow_{name}")


def place(time: Column, low: Column, width: Column, last: Column) -> Column:
    """Which of the pieces of this width a time is in, the first and the last without end; 0 for keys that are
    not cut and rows without a time."""
    from pyspark.sql import functions

    since = functions.greatest(functions.try_subtract(time, low), functions.lit(0))
    whole = functions.call_function("div", since, width)
    return functions.coalesce(functions.least(whole, last), functions.lit(0).cast("long"))


# -- hot keys ------------------------------------------------------------------------------------------------


def hot_keys(query: Spec, frame: DataFrame, time: Column) -> DataFrame:
    """For each hot key: where its first segment starts, how long segments are, and the number of the last.

    Keys are hot that hold more than half of what one core would have if rows were even."""
    from pyspark.sql import Window, functions

    cores = parallelism(frame.sparkSession)
    sample = frame.where(time.isNotNull()).sample(_SAMPLED, 7)
    keys = [column(name).alias(f"__windrow_k{k}") for k, name in enumerate(query.by)]
    totals = sample.groupBy(*keys).agg(
        functions.count("*").alias("__windrow_rows"),
        functions.percentile_approx(time, _INNER[0], 1_000).alias("__windrow_low"),
        functions.percentile_approx(time, _INNER[1], 1_000).alias("__windrow_high"),
    )
    if query.by:
        share = named("rows") / functions.sum("__windrow_rows").over(Window.partitionBy())
        totals = totals.withColumn("__windrow_share", share).where(named("share") > 0.5 / cores)
    span, count = _span(), _count(query, cores)
    width = functions.greatest(functions.ceil(span / count).cast("long"), functions.lit(_shortest(query)))
    chosen = [functions.col(f"__windrow_k{k}") for k in range(len(query.by))]
    edges = [named("low"), width.alias("__windrow_width"), (count - 1).alias("__windrow_last")]
    return totals.select(*chosen, *edges)


def _span() -> Column:
    """How long the time of a key is; 1 where it is longer than 64 bits tell, so that nothing is cut."""
    from pyspark.sql import functions

    return functions.coalesce(
        functions.try_subtract(named("high"), named("low")) + 1, functions.lit(1).cast("long")
    )


def _shortest(query: Spec) -> int:
    """A segment is no shorter than this, so that context is of the segment before and no other."""
    over = query.rolling_over
    assert over is not None
    return _CELLS if over.size is None else over.size.units


def _count(query: Spec, cores: int) -> Column:
    """How many segments a key gets."""
    from pyspark.sql import functions

    over = query.rolling_over
    assert over is not None
    if over.size is not None:
        windows = _span() / functions.lit(over.size.units)
    else:
        counted = named("rows") / functions.lit(_SAMPLED * (over.rows or 1))
        windows = functions.least(counted, _span() / functions.lit(_CELLS))
    most = functions.least(functions.lit(_SEGMENTS * cores), functions.floor(windows / _WINDOWS))
    return functions.greatest(most, functions.lit(1)).cast("long")


def with_hot(query: Spec, frame: DataFrame, hot: DataFrame) -> DataFrame:
    from pyspark.sql import functions

    if not query.by:
        return frame.join(hot)
    return frame.join(functions.broadcast(hot), _same_key(query), "left")


def _same_key(query: Spec) -> Column:
    pairs = [column(name).eqNullSafe(column(f"__windrow_k{k}")) for k, name in enumerate(query.by)]
    return reduce(lambda a, b: a & b, pairs)


# -- context by number of rows -------------------------------------------------------------------------------


def _cell_width(width: Column) -> Column:
    from pyspark.sql import functions

    return functions.ceil(width / _CELLS).cast("long")


def _last_cell(last: Column) -> Column:
    return (last + 1) * _CELLS - 1


def _counted(query: Spec, known: DataFrame, time: Column, rows: int) -> DataFrame:
    """For each cell of a hot key: the segments that its rows are context for."""
    from pyspark.sql import functions
    from pyspark.sql.types import ArrayType, LongType, StructField, StructType

    low, width, last = (named(each) for each in ("low", "width", "last"))
    keys = [f"__windrow_k{k}" for k in range(len(query.by))]
    timed = known.where(time.isNotNull() & (last > 0))
    cell = place(time, low, _cell_width(width), _last_cell(last)).alias("__windrow_cell")
    counts = timed.select(*keys, last, cell).groupBy(*keys, "__windrow_cell")
    found = counts.agg(
        functions.max("__windrow_last").alias("__windrow_last"), functions.count("*").alias("__windrow_rows")
    )
    fields = [known.schema[name] for name in keys]
    fields.append(StructField("__windrow_cell", LongType()))
    fields.append(StructField("__windrow_later", ArrayType(LongType())))
    one = found.coalesce(1).sortWithinPartitions(*keys, "__windrow_cell")
    return mapped(one, CountedCells(keys, rows).task, StructType(fields))


def _with_cells(query: Spec, known: DataFrame, cells: DataFrame) -> DataFrame:
    from pyspark.sql import functions

    names = {f"__windrow_k{k}": f"__windrow_c{k}" for k in range(len(query.by))}
    other = cells.withColumnsRenamed(names | {"__windrow_cell": "__windrow_at"})
    pairs = [column(a).eqNullSafe(column(b)) for a, b in names.items()]
    same = reduce(lambda a, b: a & b, pairs, named("cell") == named("at"))
    return known.join(functions.broadcast(other), same & (named("last") > 0), "left")


class CountedCells:
    """What a task makes of counted cells, which come sorted by key and cell and are few."""

    def __init__(self, keys: list[str], rows: int) -> None:
        self._keys = keys
        self._rows = rows

    def task(self, batches: Iterable[Any]) -> Iterator[Any]:
        from windrow.rows.keys import KeyRuns

        held = [batch for batch in batches if batch.num_rows]
        if not held:
            return
        table = pa.Table.from_batches(held)
        starts = KeyRuns(self._keys).starts(table) if self._keys else np.arange(table.num_rows) == 0
        cells, rows = (table.column(f"__windrow_{name}").to_numpy() for name in ("cell", "rows"))
        edges = [*np.flatnonzero(starts).tolist(), len(cells)]
        later: list[list[int]] = []
        for first, stop in itertools.pairwise(edges):
            later += later_segments(cells[first:stop], rows[first:stop], self._rows)
        columns = {name: table.column(name) for name in (*self._keys, "__windrow_cell")}
        columns["__windrow_later"] = pa.array(later, pa.list_(pa.int64()))
        yield from pa.table(columns).to_batches()


def later_segments(cells: Ints, rows: Ints, size: int) -> list[list[int]]:
    """For each cell of a key, in order, the later segments with rows whose windows of ``size`` rows reach
    back to it.

    >>> later_segments(np.array([0, 15, 16, 50]), np.array([5, 1, 1, 9]), size=3)
    [[1], [1, 3], [3], []]
    """
    found: list[list[int]] = [[] for _ in cells]
    before = np.concatenate([[0], np.cumsum(rows)])
    own = cells // _CELLS
    for stop in np.flatnonzero(own[1:] != own[:-1]) + 1:
        # the cells that hold the last size - 1 rows before the segment
        first = int(np.searchsorted(before, before[stop] - (size - 1), side="right")) - 1
        for place in range(max(first, 0), int(stop)):
            found[place].append(int(own[stop]))
    return found
