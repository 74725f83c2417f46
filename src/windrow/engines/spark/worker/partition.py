"""The rows of a partition, those of a key together: in memory while they are few, and else in parts on disk.

Spark's part is the shuffle by key. Its rows are taken as they come, unsorted. Up to a budget they are one
table. Above it they are spread by a second hash of their key over files (grace hash), which are taken one
after the other; a file that is still too large is spread once more. A key that is larger than the budget by
itself becomes *runs*, each sorted by time, which are merged: it is taken a stretch of time after the other.

Files have no name once they are open, so that the disk forgets them whatever becomes of the worker. They are
where Spark keeps its own (``SPARK_LOCAL_DIRS``).

Cost: O(rows), and O(rows log rows) for a key that is too large. Memory: the budget, and a batch.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import END_OF_TIME, Ints
from windrow.monoids.hashing import encode_array
from windrow.rows.keys import shared_keys
from windrow.rows.stable_codes import Codes, stable_codes

__all__ = ["LargeKey", "parts"]

#: files that rows are spread over
_FAN = 16
#: rows that are written at once
_BATCH_ROWS = 1 << 16
#: times of a run that are looked at to cut it into stretches
_SAMPLES = 256


class _Stream:
    """A file that whoever reads or writes it leaves open."""

    closed = False

    def __init__(self, file: Any) -> None:
        self.read, self.write, self.seek, self.tell = file.read, file.write, file.seek, file.tell
        self.flush = file.flush

    def close(self) -> None:
        """Stays open."""


class _File:
    """Rows on disk, in the order in which they were written."""

    def __init__(self, schema: pa.Schema) -> None:
        folder = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or None
        self._file = tempfile.TemporaryFile(dir=folder, prefix="windrow-")  # noqa: SIM115 (see close)
        self._writer: Any = pa.ipc.new_stream(pa.PythonFile(_Stream(self._file), "w"), schema)
        self.schema = schema
        self.nbytes = 0
        #: codes of keys
        self.low, self.high = np.iinfo(np.uint64).max, 0

    @property
    def is_of_one_key(self) -> bool:
        return self.low == self.high

    def write(self, table: pa.Table, codes: Codes | None = None) -> None:
        try:
            self._writer.write_table(table, _BATCH_ROWS)
        except OSError as error:
            raise OSError(
                error.errno,
                f"no room for {table.nbytes:,} more bytes of a partition that is larger than "
                f"spark.windrow.taskMemory ({error.strerror or error}): free the disk of spark.local.dir, "
                f"use more partitions, or raise spark.windrow.taskMemory",
            ) from error
        self.nbytes += table.nbytes
        if codes is not None:
            self.low, self.high = min(self.low, int(codes.min())), max(self.high, int(codes.max()))

    def read(self) -> Iterator[pa.Table]:
        """The rows, batch by batch."""
        self._writer.close()
        self._file.seek(0)
        for batch in pa.ipc.open_stream(pa.PythonFile(_Stream(self._file), "r")):
            yield pa.Table.from_batches([batch])

    def close(self) -> None:
        self._file.close()


@dataclass(frozen=True)
class LargeKey:
    """The rows of one key that are more than the budget."""

    rows: _File
    budget: int

    @property
    def schema(self) -> pa.Schema:
        return self.rows.schema

    def in_order(self, times_of: Callable[[pa.Table], Ints]) -> Iterator[tuple[pa.Table, int]]:
        """Its rows by stretches of time, and from when on the rows of the next ones are; ``times_of`` gives
        times, by which each run is sorted."""
        runs: list[_File] = []
        samples: list[Ints] = []
        try:
            for table in _up_to(self.rows.read(), self.budget // 2):
                times = times_of(table)
                order = np.argsort(times, kind="stable")
                runs.append(_File(table.schema))
                runs[-1].write(table.take(pa.array(order)))
                step = max(len(order) // _SAMPLES, 1)
                samples.append(times[order[::step]])
            self.rows.close()
            yield from _merged(runs, np.sort(np.concatenate(samples)), times_of)
        finally:
            for run in runs:
                run.close()


def _merged(
    runs: Sequence[_File], sample: Ints, times_of: Callable[[pa.Table], Ints]
) -> Iterator[tuple[pa.Table, int]]:
    """Stretches of time of as many rows as a run has, of all runs."""
    cuts = np.unique(sample[len(sample) // len(runs) :: max(len(sample) // len(runs), 1)]).tolist()
    readers = [_Reader(run.read(), times_of) for run in runs]
    for cut in [*cuts, END_OF_TIME]:
        found = [table for reader in readers for table in reader.before(cut)]
        if found or cut == END_OF_TIME:
            yield pa.concat_tables([runs[0].schema.empty_table(), *found]), cut


class _Reader:
    """A run on its way through."""

    def __init__(self, tables: Iterator[pa.Table], times_of: Callable[[pa.Table], Ints]) -> None:
        self._tables, self._times_of = tables, times_of
        self._rest: pa.Table | None = None

    def before(self, cut: int) -> Iterator[pa.Table]:
        """The next rows, up to the first that is not before a time."""
        while True:
            table = next(self._tables, None) if self._rest is None else self._rest
            self._rest = None
            if table is None:
                return
            end = int(np.searchsorted(self._times_of(table), cut))
            if end:
                yield table.slice(0, end)
            if end < table.num_rows:
                self._rest = table.slice(end)
                return


def parts(batches: Iterable[Any], keys: Sequence[str], budget: int) -> Iterator[pa.Table | LargeKey]:
    """All rows of a partition, those of a key in one part.

    >>> rows = [pa.record_batch({"k": [1, 2, 1]}), pa.record_batch({"k": [2]})]
    >>> [part.num_rows for part in parts(rows, ["k"], 1 << 20)]
    [4]
    """
    tables = (pa.Table.from_batches([batch]) for batch in batches if batch.num_rows)
    yield from _parts(tables, keys, budget, 0)


def _parts(
    tables: Iterator[pa.Table], keys: Sequence[str], budget: int, level: int
) -> Iterator[pa.Table | LargeKey]:
    held: list[pa.Table] = []
    nbytes = 0
    for table in tables:
        held.append(table)
        nbytes += table.nbytes
        if nbytes > budget:
            break
    else:
        if held:
            yield pa.concat_tables(held)
        return
    files = _spread(_drained(held, tables), keys, level)
    try:
        for file in files:
            if file.nbytes > budget and file.is_of_one_key:
                yield LargeKey(file, budget)
            else:
                yield from _parts(file.read(), keys, budget, level + 1)
            file.close()
    finally:
        for file in files:
            file.close()


def _drained(held: list[pa.Table], tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Tables that are held, of which nothing stays in memory, and the rest."""
    held.reverse()
    while held:
        yield held.pop()
    yield from tables


def _spread(tables: Iterable[pa.Table], keys: Sequence[str], level: int) -> list[_File]:
    """Rows in files, those of a key in one of them."""
    files: dict[int, _File] = {}
    try:
        for table in tables:
            codes = _codes(table, keys)
            mixed = encode_array((codes + np.uint64(level + 1)).view(np.int64))
            places = (mixed % np.uint64(_FAN)).astype(np.int64)
            for place in np.unique(places).tolist():
                wanted = places == place
                some = table if wanted.all() else table.filter(pa.array(wanted))
                if place not in files:
                    files[place] = _File(table.schema)
                files[place].write(some, codes[wanted])
    except BaseException:
        for file in files.values():
            file.close()
        raise
    return list(files.values())


def _codes(table: pa.Table, keys: Sequence[str]) -> Codes:
    """The codes of rows' keys; of key columns those count that the table has."""
    keys = [name for name in keys if name in table.column_names]
    if not keys:
        return np.zeros(table.num_rows, np.uint64)
    distinct, (numbers,) = shared_keys(tuple(keys), [table])
    return stable_codes(distinct)[numbers]


def _up_to(tables: Iterator[pa.Table], nbytes: int) -> Iterator[pa.Table]:
    """Tables of about so many bytes."""
    held: list[pa.Table] = []
    size = 0
    for table in tables:
        held.append(table)
        size += table.nbytes
        if size >= nbytes:
            yield pa.concat_tables(held).combine_chunks()
            held, size = [], 0
    if held:
        yield pa.concat_tables(held).combine_chunks()
