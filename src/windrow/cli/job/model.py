"""What a job says, checked: plain values, no running state."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from windrow.cli.job.secrets import Setting
from windrow.query import Query

__all__ = ["FILE_FORMATS", "Job", "Sink", "Source", "SparkSettings"]

#: formats that the local engine reads and writes, and that a report can read back
FILE_FORMATS = ("parquet", "csv", "json")


@dataclass(frozen=True)
class Source:
    """Where rows come from: any format that Spark knows."""

    format: str
    path: str | None
    is_stream: bool
    options: tuple[Setting, ...]
    #: name and type of each column, as Spark writes types; empty: as the data says
    schema: tuple[tuple[str, str], ...]

    @property
    def ddl(self) -> str:
        return ", ".join(f"`{name.replace('`', '``')}` {kind}" for name, kind in self.schema)


@dataclass(frozen=True)
class Sink:
    """Where results go."""

    format: str
    path: str | None
    mode: Literal["error", "overwrite", "append"]
    checkpoint: str | None
    #: "available_now", "continuously" or a duration between micro-batches
    trigger: str
    options: tuple[Setting, ...]


@dataclass(frozen=True)
class SparkSettings:
    master: str | None
    app_name: str
    conf: tuple[Setting, ...]


@dataclass(frozen=True)
class Job:
    """A job file that was read."""

    file: Path
    source: Source
    query: Query
    sink: Sink
    spark: SparkSettings

    @property
    def name(self) -> str:
        stem = self.file.stem
        return (self.file.resolve().parent.name or stem) if stem == "job" else stem

    @property
    def settings(self) -> tuple[Setting, ...]:
        """All settings, of which some may be secret."""
        return (*self.source.options, *self.sink.options, *self.spark.conf)
