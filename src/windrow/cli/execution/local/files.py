"""Files in, without Spark: parquet, CSV and JSON lines, in batches, typed as the job says."""

from __future__ import annotations

import glob
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from windrow.cli.errors import JobError, JobFailed
from windrow.cli.execution.local.micro_batches import LIMITS, by_age, micro_batches
from windrow.cli.job import FILE_FORMATS, Source
from windrow.cli.job.column_types import arrow_type

__all__ = ["check_readable", "ignored_options", "list_files", "read_batches", "read_micro_batches"]

#: Spark options that mean something here
_KNOWN = ("header", "sep", "delimiter", "multiline", "inferschema", *LIMITS)
#: options that only say how Spark goes about it
_HARMLESS = ("cleansource", "mergeschema", "maxfileage", "maxcachedfiles", "discardcachedinputratio")


def check_readable(source: Source, file: Path) -> None:
    """Raise if the source of the job in this file cannot be read without Spark."""
    place = f"{file}: [{source.table}]"
    if source.format not in FILE_FORMATS:
        raise JobError(
            f"{place} format: the local engine reads {', '.join(FILE_FORMATS)}, not "
            f"{source.format!r}: run this job on Spark"
        )
    if "://" in str(source.path):
        raise JobError(f"{place} path: the local engine reads local files, not {source.path!r}")
    if not list_files(source):
        raise JobError(
            f"{place} path: there are no {source.format} files at {source.path!r}: name a file, a "
            f"folder or a pattern; relative paths begin where the job file is"
        )


def ignored_options(source: Source) -> list[str]:
    """Options that Spark would heed and that are not known here."""
    return [o.name for o in source.options if o.name.lower() not in (*_KNOWN, *_HARMLESS)]


def list_files(source: Source) -> list[Path]:
    """The files in the order in which they are read: those of a stream by age, others by name."""
    files = _named_files(source)
    return by_age(source, files) if source.is_stream else files


def _named_files(source: Source) -> list[Path]:
    path = Path(str(source.path).removeprefix("file:"))
    if path.is_file():
        return [path]
    found = path.rglob("*") if path.is_dir() else map(Path, glob.glob(str(path)))
    hidden = ("_", ".")
    return sorted(
        file
        for file in found
        if file.is_file() and not any(part.startswith(hidden) for part in file.relative_to(_root(path)).parts)
    )


def _root(path: Path) -> Path:
    return path if path.is_dir() else path.parent


def read_batches(source: Source, rows: int) -> Iterator[pa.Table]:
    """The rows, about so many at a time."""
    return read_files(source, list_files(source), rows)


def read_micro_batches(source: Source, rows: int) -> list[Iterator[pa.Table]]:
    """The rows of a stream by micro-batch, and of each about so many at a time; none is read yet."""
    return [read_files(source, files, rows) for files in micro_batches(source, list_files(source))]


def read_files(source: Source, files: Iterable[Path], rows: int) -> Iterator[pa.Table]:
    """The rows of files, about so many at a time."""
    schema = pa.schema([(name, arrow_type(kind)) for name, kind in source.schema]) if source.schema else None
    for file in files:
        try:
            for table in _read(source, file, schema, rows):
                _check_names(table, file)
                if schema is None:
                    yield _in_known_zones(source, table, file)
                else:
                    yield _as_declared(table, schema, file)
        except UnicodeEncodeError as error:
            raise JobFailed(f"{file}: the name of this file is not UTF-8: give it another") from error
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowKeyError, OSError) as error:
            is_typed = "conversion error" in str(error)
            hint = f"; is its type in [{source.table}.schema] right?" if is_typed else ""
            raise JobFailed(f"{file}: {error}{hint}") from error


def _check_names(table: pa.Table, file: Path) -> None:
    for name, count in Counter(table.column_names).items():
        if count > 1:
            raise JobFailed(f"{file}: {count} columns have the name {name!r}: give each its own")


def _in_known_zones(source: Source, table: pa.Table, file: Path) -> pa.Table:
    """The same table: a time zone that is not known would fail wherever its times are first shown."""
    for field in table.schema:
        if pa.types.is_timestamp(field.type) and field.type.tz is not None:
            try:
                pa.scalar(0, field.type).cast(pa.string())
            except pa.ArrowInvalid as error:
                raise JobFailed(
                    f"{file}: column {field.name!r} is in the time zone {field.type.tz!r}, which is not "
                    f"known: give its type in [{source.table}.schema], which makes it UTC"
                ) from error
    return table


def _read(source: Source, file: Path, schema: pa.Schema | None, rows: int) -> Iterator[pa.Table]:
    if source.format == "parquet":
        with pyarrow.parquet.ParquetFile(file) as reader:
            for batch in reader.iter_batches(rows):
                yield pa.Table.from_batches([batch])
        return
    if not file.stat().st_size:  # a part of Spark's without rows, which has no header either
        return
    if source.format == "csv":
        whole = _read_csv(source, file, schema)
    else:
        explicit = None if schema is None else pyarrow.json.ParseOptions(explicit_schema=_texts(schema))
        whole = pyarrow.json.read_json(file, parse_options=explicit)
    for start in range(0, whole.num_rows, rows):
        yield whole.slice(start, rows)


def _read_csv(source: Source, file: Path, schema: pa.Schema | None) -> pa.Table:
    options = {option.name.lower(): option.value for option in source.options}
    has_header = options.get("header", "false") == "true"
    names = None if has_header else list(schema.names) if schema is not None else None
    reading = pyarrow.csv.ReadOptions(
        column_names=names, autogenerate_column_names=not has_header and names is None
    )
    separator = options.get("sep") or options.get("delimiter") or ","
    if len(separator) != 1:
        raise JobError(
            f"[{source.table}.options] sep: {separator!r}: the local engine takes one character, or use Spark"
        )
    parsing = pyarrow.csv.ParseOptions(delimiter=separator)
    typed = None if schema is None else {field.name: field.type for field in _texts(schema)}
    converting = pyarrow.csv.ConvertOptions(column_types=typed, strings_can_be_null=True)
    return pyarrow.csv.read_csv(file, reading, parsing, converting)


def _texts(schema: pa.Schema) -> pa.Schema:
    """The schema with times as text: whether they have a zone is seen only then."""
    return pa.schema([(f.name, pa.string() if pa.types.is_timestamp(f.type) else f.type) for f in schema])


def _as_declared(table: pa.Table, schema: pa.Schema, file: Path) -> pa.Table:
    """Columns of the schema, cast; those that a file lacks are null, as in Spark."""
    columns = []
    for field in schema:
        if field.name not in table.column_names:
            columns.append(pa.nulls(table.num_rows, field.type))
            continue
        column = table.column(field.name)
        try:
            columns.append(_cast(column, field.type))
        except UnicodeEncodeError as error:
            raise JobFailed(f"{file}: the name of this file is not UTF-8: give it another") from error
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise JobFailed(f"{file}: column {field.name!r} is not of type {field.type}: {error}") from error
    return pa.table(columns, schema=schema)


def _cast(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    if not (pa.types.is_timestamp(kind) and pa.types.is_string(column.type)):
        if pa.types.is_timestamp(kind) and pa.types.is_timestamp(column.type):
            return column.cast(kind, safe=False)  # nanoseconds become microseconds, as in Spark
        return column.cast(kind)
    zoned = pc.any(pc.match_substring_regex(column, r"(Z|[+-]\d\d:?\d\d)\s*$")).as_py()
    if zoned:
        return column.cast(pa.timestamp("us", "UTC")).cast(kind)
    plain = column.cast(pa.timestamp("us"))
    return plain if kind.tz is None else pc.assume_timezone(plain, "UTC")
