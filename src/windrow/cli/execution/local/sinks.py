"""Results out, without Spark: parquet, CSV and JSON lines to a file or a folder, or text to the terminal.

What is written gets its name when it is complete: a run that fails or is stopped leaves no half file under a
name that anyone reads."""

from __future__ import annotations

import base64
import contextlib
import datetime as dt
import errno
import os
import shutil
import sys
import uuid
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from windrow.cli.errors import JobError, JobFailed
from windrow.cli.job import FILE_FORMATS, Sink
from windrow.cli.json_text import json_text
from windrow.cli.show.moments import plain_rows
from windrow.cli.show.tables import text_table

__all__ = ["LocalSink", "open_sink"]


class LocalSink(Protocol):
    def write(self, table: pa.Table) -> None: ...

    def close(self, is_complete: bool) -> None: ...


def open_sink(sink: Sink, overwrite: bool = False) -> LocalSink:
    """What writes the results; raises if it may not."""
    if sink.format == "noop":
        return _Nothing()
    if sink.format == "console":
        return _Console()
    if sink.format not in FILE_FORMATS:
        known = ", ".join((*FILE_FORMATS, "console", "noop"))
        raise JobError(
            f"[{sink.table}] format: the local engine writes {known}, not {sink.format!r}: use Spark"
        )
    if "://" in str(sink.path):
        raise JobError(f"[{sink.table}] path: the local engine writes local files, not {sink.path!r}")
    return _Files(sink, Path(str(sink.path)), overwrite or sink.mode == "overwrite")


class _Nothing:
    def write(self, table: pa.Table) -> None:
        pass

    def close(self, is_complete: bool) -> None:
        pass


class _Console:
    def write(self, table: pa.Table) -> None:
        if table.num_rows:
            width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 160
            print(text_table(table, 20, width), flush=True)

    def close(self, is_complete: bool) -> None:
        pass


class _Files:
    """One file: at the path itself if that has the format's ending, else as a part in a folder."""

    def __init__(self, sink: Sink, path: Path, overwrite: bool) -> None:
        self._format, self._table = sink.format, sink.table
        self._is_file = path.suffix in (f".{sink.format}", ".jsonl", ".ndjson", ".pq")
        self._folder = path.parent if self._is_file else path
        self._old = [path] if self._is_file else sorted(path.glob("part-*")) if path.is_dir() else []
        self._check(path, sink, overwrite)
        name = path.name if self._is_file else f"part-00000-{uuid.uuid4().hex[:8]}.{sink.format}"
        self._target = self._folder / name
        self._partial = self._folder / f".{name}.unfinished"
        self._replaces = overwrite
        self._options = {option.name.lower(): option.value for option in sink.options}
        self._writer: Any = None
        self._schema: pa.Schema | None = None

    def _check(self, path: Path, sink: Sink, overwrite: bool) -> None:
        self._check_kind(path)
        if (path / "_spark_metadata").exists():
            raise JobError(
                f"[{sink.table}] path: {str(path)!r} is kept by a Spark stream: choose another folder"
            )
        present = path.exists() and (self._is_file or any(path.iterdir()))
        if present and not overwrite and (self._is_file or sink.mode != "append" or sink.checkpoint):
            raise JobError(
                f"[{sink.table}] path: {str(path)!r} has results already: give --overwrite, or move them"
            )

    def _check_kind(self, path: Path) -> None:
        """A file where a folder is needed, and a folder where a file is."""
        if self._is_file and path.is_dir():
            raise JobError(
                f"[{self._table}] path: {str(path)!r} is a folder: name a file in it, or another name"
            )
        blocking = next((p for p in (self._folder, *self._folder.parents) if p.exists()), None)
        if blocking is not None and not blocking.is_dir():
            raise JobError(f"[{self._table}] path: {str(blocking)!r} is a file: results need a folder there")

    def write(self, table: pa.Table) -> None:
        with self._failures():
            self._write(table)

    @contextlib.contextmanager
    def _failures(self) -> Iterator[None]:
        """What the machine refuses, with the file that it is about."""
        try:
            yield
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else str(error)
            room = error.errno in (errno.ENOSPC, errno.EDQUOT)
            remedy = "make room there" if room else "look whether the folder can be written"
            raise JobFailed(
                f"{self._target}: the results cannot be written: {why}: {remedy}, or name another path in "
                f"[{self._table}]"
            ) from error

    def _write(self, table: pa.Table) -> None:
        if not table.num_rows:
            self._schema = self._schema or table.schema
            return
        if self._writer is None:
            self._open(table.schema)
        try:
            table = table if table.schema == self._schema else table.cast(self._schema)
            if self._format == "json":
                self._writer.writelines(json_text(row, _plain) + "\n" for row in plain_rows(table))
            else:
                self._writer.write_table(_as_spark_csv(table) if self._format == "csv" else table)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
            raise JobFailed(f"the results cannot be written as {self._format}: {error}") from error

    def _open(self, schema: pa.Schema) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._schema = schema
        self._writer = self._opened(schema)

    def _opened(self, schema: pa.Schema) -> Any:
        if self._format == "parquet":
            return pyarrow.parquet.ParquetWriter(self._partial, schema)
        if self._format == "json":
            return self._partial.open("w", encoding="utf-8")
        nested = [field.name for field in schema if pa.types.is_nested(field.type)]
        if nested:
            raise JobFailed(f"csv cannot hold column {nested[0]!r}: write parquet or json")
        header = self._options.get("header", "true") == "true"
        options = pyarrow.csv.WriteOptions(include_header=header)
        texts = _as_spark_csv(schema.empty_table()).schema
        return pyarrow.csv.CSVWriter(self._partial, texts, write_options=options)

    def close(self, is_complete: bool) -> None:
        if not is_complete:
            self._drop()
            return
        if self._writer is None:
            if self._schema is None:
                return
            with self._failures():
                self._open(self._schema)  # no results are a result, too
        try:
            with self._failures():
                self._writer.close()
                self._partial.replace(self._target)
        except JobFailed:
            self._drop()
            raise
        for old in self._old if self._replaces else ():
            if old != self._target:
                old.unlink(missing_ok=True)

    def _drop(self) -> None:
        """Leave nothing behind. The disk may be full, or gone: what was wrong has been said."""
        if self._writer is not None:
            with contextlib.suppress(OSError, ValueError, pa.ArrowException):
                self._writer.close()
        with contextlib.suppress(OSError):
            self._partial.unlink(missing_ok=True)


def _plain(value: Any) -> Any:
    """What JSON has no word for, as Spark writes it."""
    if isinstance(value, dt.datetime):
        return moment_text(value)
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, dt.timedelta):
        return interval_text(value)
    if isinstance(value, Decimal):
        return str(value)
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)


def moment_text(moment: dt.datetime) -> str:
    """A time as Spark writes it in JSON and CSV, in UTC; with microseconds where there are any.

    >>> (
    ...     moment_text(dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)),
    ...     moment_text(dt.datetime(2024, 5, 1, 12, 0, 0, 5)),
    ... )
    ('2024-05-01T12:00:00.000Z', '2024-05-01T12:00:00.000005')
    """
    is_zoned = moment.tzinfo is not None
    plain = moment.astimezone(dt.UTC).replace(tzinfo=None) if is_zoned else moment
    digits = "microseconds" if plain.microsecond % 1_000 else "milliseconds"
    return plain.isoformat(timespec=digits) + ("Z" if is_zoned else "")


def interval_text(length: dt.timedelta) -> str:
    """A duration as Spark writes it.

    >>> interval_text(dt.timedelta(hours=26, seconds=7.5)), interval_text(dt.timedelta(seconds=-1))
    ("INTERVAL '1 02:00:07.5' DAY TO SECOND", "INTERVAL '-0 00:00:01' DAY TO SECOND")
    """
    size, sign = abs(length), "-" if length < dt.timedelta(0) else ""
    minutes, seconds = divmod(size.seconds, 60)
    fraction = f".{size.microseconds:06}".rstrip("0") if size.microseconds else ""
    clock = f"{minutes // 60:02}:{minutes % 60:02}:{seconds:02}{fraction}"
    return f"INTERVAL '{sign}{size.days} {clock}' DAY TO SECOND"


def _as_spark_csv(table: pa.Table) -> pa.Table:
    """The table with times and durations as the text that Spark writes for them."""
    for place, field in enumerate(table.schema):
        column = table.column(place)
        if pa.types.is_timestamp(field.type):
            plain = column.cast(pa.timestamp("us", field.type.tz), safe=False).cast(pa.int64())
            text = pc.strftime(plain.cast(pa.timestamp("us")), "%Y-%m-%dT%H:%M:%S")
            text = pc.replace_substring_regex(text, r"(\.[0-9]{3})000$", r"\1")
            column = pc.binary_join_element_wise(text, "Z" if field.type.tz else "", "")
        elif pa.types.is_duration(field.type):
            column = pa.array(
                [None if value is None else interval_text(value) for value in column.to_pylist()], pa.string()
            )
        else:
            continue
        table = table.set_column(place, field.name, column)
    return table
