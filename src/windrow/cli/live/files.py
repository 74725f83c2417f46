"""Results that are in files already, and those that come: of the local engine, and of Spark, whose log beside
the files says which of them count.

A file is read once. What cannot be read as results is said, once, and left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from windrow.cli.spark_log import logged_files

__all__ = ["ResultFiles"]

_LOG = "_spark_metadata"


class ResultFiles:
    """A file, or a folder in which more files may come."""

    def __init__(self, path: Path, format: str | None = None) -> None:
        self._path, self._format = path, format
        self._read: set[Path] = set()

    def fresh(self) -> Iterator[pa.Table]:
        """The tables of files that are new since the last time."""
        for file in self._listed():
            if file not in self._read:
                self._read.add(file)
                try:
                    table = _read(file, self._format or _format_of(file))
                except (pa.ArrowException, OSError, ValueError) as error:
                    raise ValueError(f"{file}: {error}") from error
                if table.num_rows:
                    yield table

    def _listed(self) -> list[Path]:
        if self._path.is_file():
            return [self._path]
        log = self._path / _LOG
        if log.is_dir():
            try:
                return list(dict.fromkeys(file for file, _ in logged_files(log)))
            except ValueError as error:
                raise ValueError(
                    f"{error}, which lists the files that count: name the files to show, or remove {_LOG} if "
                    f"no stream writes here"
                ) from error
        found = [file for file in self._path.rglob("*") if file.is_file() and _format_of(file)]
        hidden = ("_", ".")
        return sorted(
            file
            for file in found
            if not any(part.startswith(hidden) for part in file.relative_to(self._path).parts)
        )


def _format_of(file: Path) -> str | None:
    """By its name, which Spark ends with what the file is packed with."""
    kinds = {".parquet": "parquet", ".csv": "csv", ".json": "json", ".jsonl": "json"}
    return next((kinds[suffix] for suffix in reversed(file.suffixes) if suffix in kinds), None)


def _read(file: Path, format: str | None) -> pa.Table:
    if format == "parquet":
        return pyarrow.parquet.read_table(file)
    if not file.stat().st_size:
        return pa.table({})
    if format == "json":
        return pyarrow.json.read_json(file)
    return pyarrow.csv.read_csv(file)
