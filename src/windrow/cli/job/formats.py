"""What Spark's formats can do, as far as a job file shows it: found before Spark is started, which would say
the same half a minute later. A format that is not listed here may do anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from windrow.cli.job.fields import Fields
from windrow.cli.job.model import Sink, Source

__all__ = ["APPEND_ONLY", "KAFKA_VALUE", "KNOWN", "check_sink", "check_source", "known_columns"]


@dataclass(frozen=True)
class _Format:
    """How a format may be used, and the columns that it has whatever is in it."""

    reads_tables: bool = True
    reads_streams: bool = True
    writes_tables: bool = True
    writes_streams: bool = True
    columns: tuple[str, ...] = ()


_ANY = _Format()
_SINK = _Format(reads_tables=False, reads_streams=False)
_MADE_UP = _Format(False, True, False, False, ("timestamp", "value"))
_KAFKA = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers")
_READ_ONLY = _Format(writes_tables=False, writes_streams=False)
#: formats that Spark has, or that a package adds, by their names in lower case
KNOWN = {
    **dict.fromkeys(("parquet", "csv", "json", "orc", "xml", "avro", "delta", "iceberg", "hudi"), _ANY),
    **dict.fromkeys(("text", "binaryfile", "image", "libsvm"), _READ_ONLY),
    **dict.fromkeys(("statestore", "state-metadata"), _Format(True, False, False, False)),
    **dict.fromkeys(("rate", "rate-micro-batch"), _MADE_UP),
    **dict.fromkeys(("console", "noop"), _SINK),
    "memory": _Format(False, False, False, True),
    "socket": _Format(False, True, False, False),
    "jdbc": _Format(reads_streams=False, writes_streams=False),
    "kafka": _Format(columns=_KAFKA),
}
#: sinks that cannot correct what was written
APPEND_ONLY = ("parquet", "csv", "json", "orc", "xml", "avro", "delta", "iceberg")
#: what to do about rows in Kafka's values
KAFKA_VALUE = (
    "what is in value are bytes: read JSON in it with [source.value] format = 'json' and its columns in "
    "[source.schema], or take value apart in [source.columns]"
)
_WRITABLE = "parquet, csv, json, orc, avro, delta, iceberg, jdbc, console"


def check_source(source: Source, fields: Fields) -> None:
    """Refuse what Spark cannot read in this way."""
    name, kind = source.format, KNOWN.get(source.format.lower(), _ANY)
    if not (kind.reads_tables or kind.reads_streams):
        fields.refuse(
            "format", f"{name!r} is a sink, and has no rows: read for instance parquet, csv or json"
        )
    if source.is_stream and not kind.reads_streams:
        fields.refuse(
            "stream",
            f"Spark cannot read {name!r} as a stream: take stream = true out, so that the job reads all rows "
            f"once, or have rows written to files, Kafka or Delta, and read those",
        )
    if not source.is_stream and not kind.reads_tables:
        remedy = "set stream = true, or read" if "stream" in fields.known else "read"
        fields.refuse("format", f"{name!r} is endless: {remedy} parquet, csv or json")
    if kind.columns and source.schema and source.value is None:
        what = KAFKA_VALUE if name.lower() == "kafka" else f"take [{source.table}.schema] out"
        fields.refuse("schema", f"the columns of {name!r} are always {', '.join(kind.columns)}: {what}")


def check_sink(sink: Sink, source: Source, columns: Sequence[str], fields: Fields) -> None:
    """Refuse what Spark cannot write in this way; ``columns`` are those of the results, if they are known."""
    name, kind = sink.format, KNOWN.get(sink.format.lower(), _ANY)
    if not (kind.writes_tables or kind.writes_streams):
        why = "holds one column of text" if name.lower() == "text" else "cannot be written to"
        fields.refuse("format", f"{name!r} {why}: write one of {_WRITABLE}")
    if source.is_stream and not kind.writes_streams:
        fields.refuse(
            "format",
            f"Spark cannot write a stream to {name!r} (programs use foreachBatch, which job files do not "
            f"have): write parquet or Delta, and load the results from there; or take stream = true out of "
            f"[source], and run the job at intervals over all rows",
        )
    if not source.is_stream and not kind.writes_tables:
        fields.refuse("format", f"{name!r} is for streams: write one of {_WRITABLE}")


def known_columns(source: Source) -> tuple[str, ...]:
    """The columns that a query sees, as far as that is known before any row is read; none: it is not. A
    derived column takes the place of one of the same name."""
    always = KNOWN.get(source.format.lower(), _ANY).columns if source.value is None else ()
    names = list(always) or [name for name, _ in source.read_columns]
    for name, _ in source.columns if names else ():
        same = [k for k, known in enumerate(names) if known.lower() == name.lower()]
        if same:
            names[same[0]] = name
        else:
            names.append(name)
    return tuple(names)
