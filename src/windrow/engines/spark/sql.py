"""Rolling queries in SQL: a table function that any session can register.

    SELECT * FROM windrow_rolling(
        TABLE(calls) PARTITION BY region ORDER BY ts,
        time => 'ts', size => '24h', longest => 'max(len)', n => 'count()')

Spark groups and sorts the rows as the call says and gives each key to an instance of its own; the schema is
that of the table with the aggregates behind it. Aggregates are written as in Python, and only windrow's own
have names here. Spark hands such functions row by row (functions over Arrow batches cannot say their schema),
which costs some microseconds per row; ``wr.events(...)`` on a DataFrame does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow.arrays import END_OF_TIME, START_OF_TIME
from windrow.engines.spark.compat import arrow_type, check_table_functions
from windrow.engines.spark.shipping import packed
from windrow.engines.spark.types import result_type
from windrow.engines.spark.worker.local_task import InOrder
from windrow.engines.spark.worker.query_bytes import unpacked
from windrow.engines.spark.worker_python import prepare_workers
from windrow.names import no_column
from windrow.partials.result_types import check_inputs
from windrow.rows.times import read_times
from windrow.spec import Rolling, Spec
from windrow.spec_text import aggregate_of
from windrow.windows.timeline.durations import fixed_duration

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register"]

_NAME = "windrow_rolling"
#: rows that go through at once
_ROWS = 1 << 13
_NUMBER = "__windrow_row"


def register(spark: SparkSession) -> None:
    """Make ``windrow_rolling`` known to a session."""
    check_table_functions(spark)
    from pyspark.sql.functions import udtf

    prepare_workers(spark)
    function: Any = udtf(_table_function())
    spark.udtf.register(_NAME, function)


def _rolling_query(options: dict[str, Any]) -> Spec:
    """The query that the named arguments of a call ask for."""
    time, size, rows = (options.pop(name, None) for name in ("time", "size", "rows"))
    if not isinstance(time, str):
        raise ValueError(f"{_NAME} needs time => 'column', the column that ORDER BY names")
    if (size is None) == (rows is None):
        raise ValueError(f"{_NAME} takes one of size => '24h' and rows => 100")
    if not options:
        raise ValueError(f"{_NAME} needs an aggregate, as in longest => 'max(len)'")
    over = Rolling(size=None if size is None else fixed_duration(size, "size"), rows=rows)
    aggregates = tuple((name, aggregate_of(text)) for name, text in options.items())
    return Spec(time=time, rolling_over=over, aggregates=aggregates)


class KeyRows:
    """The rows of one key on their way through: rows of Python values in, the same with results out.

    Only the columns that are read become Arrow columns; whole rows wait for their results as they are."""

    def __init__(self, query: Spec, fields: dict[str, Any]) -> None:
        read = dict.fromkeys([query.time, *(c for _, a in query.aggregates for c in a.reads)])
        self._fields = [(name, fields[name]) for name in read]
        self._schema = _arrow_schema(dict(self._fields))
        self._query, self._operator = query, InOrder(query)
        self._rows: list[Any] = []
        #: by number, in a column of the rows that the operator has
        self._waiting: dict[int, Any] = {}
        self._count = 0
        self._until = START_OF_TIME

    def push(self, row: Any) -> Iterator[tuple[Any, ...]]:
        if row[self._query.time] is None:  # it is in no window
            yield (*row, *(None for _ in self._query.aggregates))
            return
        self._rows.append(row)
        if len(self._rows) >= _ROWS:
            yield from self._taken(is_last=False)

    def finish(self) -> Iterator[tuple[Any, ...]]:
        yield from self._taken(is_last=True)

    def _taken(self, is_last: bool) -> Iterator[tuple[Any, ...]]:
        columns = [_arrow_column([row[name] for row in self._rows], kind) for name, kind in self._fields]
        numbers = range(self._count, self._count + len(self._rows))
        self._waiting |= zip(numbers, self._rows, strict=True)
        self._count, self._rows = self._count + len(self._rows), []
        table = pa.table(columns, schema=self._schema).append_column(_NUMBER, pa.array(numbers, pa.int64()))
        _, times, _ = read_times(table.column(self._query.time), self._query.time)
        if len(times) and int(times.min()) < self._until:
            raise ValueError(
                f"{_NAME}: rows come in another order than time says: ORDER BY {self._query.time}"
            )
        self._until = END_OF_TIME if is_last else int(times.max())
        found = self._operator.step(table, self._until)
        results = [found.column(name).to_pylist() for name, _ in self._query.aggregates]
        for number, *values in zip(found.column(_NUMBER).to_pylist(), *results, strict=True):
            yield (*self._waiting.pop(number), *values)


def _arrow_schema(fields: dict[str, Any]) -> pa.Schema:
    return pa.schema([(name, arrow_type(kind, "UTC")) for name, kind in fields.items()])


def _arrow_column(values: list[Any], kind: Any) -> Any:
    from pyspark.sql.types import TimestampType

    target = arrow_type(kind, "UTC")
    if isinstance(kind, TimestampType):  # without a zone, as Python sees them: Spark knows what they mean
        numbers = [None if value is None else kind.toInternal(value) for value in values]
        return pa.array(numbers, pa.int64()).cast(target)
    return pa.array(values, target)


def _table_function() -> type:
    """The class that Spark calls: ``analyze`` once on the driver, an instance per key on workers."""
    from pyspark.sql.types import StructType
    from pyspark.sql.udtf import AnalyzeArgument, AnalyzeResult

    from windrow.engines.spark.frames import spark_field

    @dataclass
    class Analysis(AnalyzeResult):
        payload: bytes = b""

    class WindrowRolling:
        def __init__(self, analysis: Analysis) -> None:
            query = unpacked(analysis.payload)
            self._rows = KeyRows(query, {field.name: field.dataType for field in analysis.schema.fields})

        @staticmethod
        def analyze(table: AnalyzeArgument, **options: AnalyzeArgument) -> Analysis:
            rows = table.dataType
            if not table.isTable or not isinstance(rows, StructType):
                raise ValueError(f"{_NAME} takes a table first: TABLE(calls) PARTITION BY ... ORDER BY ...")
            query = _rolling_query({name: argument.value for name, argument in options.items()})
            schema = _arrow_schema({field.name: field.dataType for field in rows.fields})
            _check_columns(query, schema)
            results = [spark_field(name, result_type(a, schema)) for name, a in query.aggregates]
            return Analysis(StructType([*rows.fields, *results]), payload=packed(query))

        def eval(self, table: Any, **options: Any) -> Iterator[tuple[Any, ...]]:
            return self._rows.push(table)

        def terminate(self) -> Iterator[tuple[Any, ...]]:
            return self._rows.finish()

    return WindrowRolling


def _check_columns(query: Spec, schema: pa.Schema) -> None:
    for name in [query.time, *(c for _, a in query.aggregates for c in a.reads)]:
        if name not in schema.names:
            raise ValueError(f"{_NAME}: {no_column(name, schema.names)}")
    check_inputs(query, schema)
