"""What a job says, checked: plain values, no running state."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from windrow.cli.job.secrets import Setting
from windrow.query import Query

__all__ = [
    "FILE_FORMATS",
    "KAFKA_COLUMNS",
    "History",
    "Job",
    "Labels",
    "Sink",
    "Source",
    "SparkSettings",
    "ValueFormat",
]

#: formats that the local engine reads and writes, and that a report can read back
FILE_FORMATS = ("parquet", "csv", "json")
#: what stands beside the columns that are read from Kafka's values; no column of a schema has such a name
KAFKA_COLUMNS = (
    ("kafka_key", "string"),
    ("kafka_topic", "string"),
    ("kafka_partition", "int"),
    ("kafka_offset", "long"),
    ("kafka_timestamp", "timestamp"),
)


@dataclass(frozen=True)
class ValueFormat:
    """How the values of Kafka's records are read into columns."""

    format: str
    options: tuple[Setting, ...]
    #: the schema that Avro's values were written with, as JSON; None: they are not Avro's
    schema: str | None = None


@dataclass(frozen=True)
class Source:
    """Where rows come from: any format that Spark knows."""

    format: str
    path: str | None
    is_stream: bool
    options: tuple[Setting, ...]
    #: name and type of each column, as Spark writes types; empty: as the data says
    schema: tuple[tuple[str, str], ...]
    #: derived columns in their order: name and expression
    columns: tuple[tuple[str, str], ...] = ()
    #: rows for which this is not true are left out
    where: str | None = None
    value: ValueFormat | None = None
    #: where it stands in the job file
    table: str = "source"

    @property
    def read_columns(self) -> tuple[tuple[str, str], ...]:
        """Name and type of each column before any is derived; empty: as the data says."""
        return self.schema if self.value is None else (*self.schema, *KAFKA_COLUMNS)

    @property
    def ddl(self) -> str:
        return ", ".join(f"`{name.replace('`', '``')}` {kind}" for name, kind in self.schema)


@dataclass(frozen=True)
class Labels:
    """The moments to look from, of as-of windows: a table, and its columns of times and keys."""

    source: Source
    time: str
    by: tuple[str, ...]

    def arguments(self, table: Any) -> dict[str, Any]:
        """What ``Query.run`` is given besides the events."""
        return {"at": table, "at_time": self.time, "at_by": self.by}


@dataclass(frozen=True)
class History:
    """The rows before a stream, and the time before which they are; None: they end where they end."""

    source: Source
    until: Any
    #: the checkpoint of a stream that this one takes over from: its watermark is where history ends
    takes_over: str | None = None

    def arguments(self, table: Any) -> dict[str, Any]:
        """What ``Query.run`` and ``Query.open`` are given besides."""
        return {"history": table, "history_until": self.until}


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
    #: where it stands in the job file
    table: str = "sink"


@dataclass(frozen=True)
class SparkSettings:
    master: str | None
    app_name: str
    conf: tuple[Setting, ...]
    #: where Spark Connect is, "sc://host:15002", or "local[2]" for a server of one's own
    remote: str | None = None

    @property
    def has_own_spark(self) -> bool:
        """Whether a job starts Spark, and does not connect to one that runs."""
        return self.remote is None or self.remote.startswith("local")


@dataclass(frozen=True)
class Job:
    """A job file that was read."""

    file: Path
    source: Source
    query: Query
    sink: Sink
    spark: SparkSettings
    #: of as-of windows; None: there are none
    labels: Labels | None = None
    #: of a stream; None: it begins with nothing
    history: History | None = None
    #: where late and rejected rows go; None: with the results, if they are handed back at all
    late: Sink | None = None
    rejected: Sink | None = None

    @property
    def name(self) -> str:
        stem = self.file.stem
        return (self.file.resolve().parent.name or stem) if stem == "job" else stem

    @property
    def sources(self) -> list[Source]:
        """All tables that are read: that of events, and those of labels and of history if there are any."""
        beside = [each.source for each in (self.labels, self.history) if each is not None]
        return [self.source, *beside]

    @property
    def dead_letters(self) -> dict[str, Sink]:
        """The sinks of rows that no result holds, by the name of their table."""
        found = {"late": self.late, "rejected": self.rejected}
        return {name: sink for name, sink in found.items() if sink is not None}

    @property
    def sinks(self) -> list[Sink]:
        return [self.sink, *self.dead_letters.values()]

    @property
    def settings(self) -> tuple[Setting, ...]:
        """All settings, of which some may be secret."""
        value = self.source.value.options if self.source.value is not None else ()
        read = [option for source in self.sources for option in source.options]
        written = [option for sink in self.sinks for option in sink.options]
        return (*read, *value, *written, *self.spark.conf)
