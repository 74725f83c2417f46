"""Late and rejected rows: to the sinks that a job has for them, or among results, in columns ``late`` and
``rejected``, as streams on Spark have them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from windrow.cli.execution.local.sinks import LocalSink, open_sink
from windrow.cli.job import Job
from windrow.engines.stream import Operator
from windrow.result_names import LATE, REJECTED

__all__ = ["HandedBack", "close_all", "with_rows_back"]


def with_rows_back(results: pa.Table, back: pa.Table, name: str) -> pa.Table:
    """Results, then a row for each one that comes back, whose other columns are null.

    >>> late = pa.table({"t": [3], "late_by": [7]})
    >>> with_rows_back(pa.table({"n": [2]}), late, "late").to_pylist()
    [{'n': 2, 'late': None}, {'n': None, 'late': {'t': 3, 'late_by': 7}}]
    """
    rows = back.combine_chunks()
    arrays = [rows.column(k).combine_chunks() for k in range(rows.num_columns)]
    kind = pa.struct(list(rows.schema))
    struct = pa.StructArray.from_arrays(arrays, fields=list(kind)) if rows.num_rows else pa.array([], kind)
    found = results.append_column(name, pa.nulls(results.num_rows, kind))
    if not rows.num_rows:
        return found
    nulls = [pa.nulls(rows.num_rows, field.type) for field in results.schema]
    return pa.concat_tables([found, pa.table([*nulls, struct], schema=found.schema)])


class HandedBack:
    """Where the rows of a job go that no result holds."""

    def __init__(self, job: Job, overwrite: bool = False) -> None:
        self._query = job.query
        #: the columns of rows as the source has them
        self._names: list[str] = []
        self._sinks: dict[str, LocalSink] = {
            name: open_sink(sink, overwrite) for name, sink in job.dead_letters.items()
        }

    def seen(self, tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
        """Tables on their way to the operator, which moves columns that it reads to the front."""
        for table in tables:
            self._names = self._names or table.column_names
            yield table

    def after(self, operator: Operator, results: pa.Table) -> pa.Table:
        """The results of a step, once the rows that it handed back are where they go."""
        if self._query.late == "return":
            results = self._with(results, operator.late_rows(), LATE)
        if self._query.on_error == "reject":
            results = self._with(results, operator.rejected_rows(), REJECTED)
        return results

    def write(self, name: str, rows: pa.Table) -> None:
        if name in self._sinks:
            self._sinks[name].write(rows)

    def _with(self, results: pa.Table, back: pa.Table, name: str) -> pa.Table:
        names = [each for each in self._names if each in back.column_names]
        back = back.select([*names, *(each for each in back.column_names if each not in names)])
        if name not in self._sinks:
            return with_rows_back(results, back, name)
        self._sinks[name].write(back)
        return results

    def close(self, is_complete: bool) -> None:
        close_all(list(self._sinks.values()), is_complete)


def close_all(sinks: Sequence[LocalSink | HandedBack], is_complete: bool) -> None:
    """Close all of them; after one that cannot be completed, the others leave nothing either."""
    for place, sink in enumerate(sinks):
        try:
            sink.close(is_complete)
        except BaseException:
            close_all(sinks[place + 1 :], False)
            raise
