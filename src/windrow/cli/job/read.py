"""Job files: TOML, every key typed and checked before anything runs."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from windrow.cli.errors import JobError
from windrow.cli.job.dead_letters import DEAD_LETTERS, check_settings, read_dead_letters
from windrow.cli.job.fields import REQUIRED, Fields, nearest
from windrow.cli.job.formats import APPEND_ONLY, KAFKA_VALUE, check_sink, known_columns
from windrow.cli.job.frames import check_stream
from windrow.cli.job.history import check_takeover, read_history
from windrow.cli.job.labels import read_labels
from windrow.cli.job.line_numbers import LineNumbers, placed
from windrow.cli.job.model import FILE_FORMATS, Job, Labels, Sink, Source
from windrow.cli.job.secrets import Setting
from windrow.cli.job.source import SOURCE_KEYS, check_time, read_source
from windrow.cli.job.spark_conf import read_spark
from windrow.cli.job.toml_errors import toml_error
from windrow.cli.job.windows import with_windows
from windrow.monoids.base import Monoid
from windrow.query import Query, query
from windrow.spec_text import aggregate_of
from windrow.windows import parse_duration

__all__ = ["CHOICES", "EVENTS_KEYS", "NEEDED", "SINK_KEYS", "SPARK_KEYS", "TABLES", "TRIGGERS", "read_job"]

TABLES = (
    *("source", "events", "window", "rolling", "asof", "at", "history", "agg", "sink"),
    *(*DEAD_LETTERS, "spark"),
)
EVENTS_KEYS = (
    "time",
    "by",
    "watermark",
    "max_ahead",
    "allowed_lateness",
    "late",
    "on_error",
    "order",
    "empty",
    "min_count",
    "emit",
    "max_windows",
    "plan",
)
SINK_KEYS = ("format", "path", "mode", "checkpoint", "trigger", "options")
SPARK_KEYS = ("master", "remote", "app_name", "conf")
#: the tables that every job has
NEEDED = {
    "source": "say where rows come from, for instance format = 'parquet' and path = 'data/'",
    "events": "name the column of times, for instance time = 'ts'",
    "agg": "say what is computed, for instance longest = 'max(len)'",
    "sink": "say where results go, for instance format = 'parquet' and path = 'results/'",
}
#: keys that take one of a few words
CHOICES = {
    "mode": ("error", "overwrite", "append"),
    "late": ("count", "emit", "drop"),
    "on_error": ("raise", "reject"),
    "empty": ("skip", "emit"),
    "emit": ("final", "update"),
    "plan": ("auto", "windrow", "spark"),
}
TRIGGERS = ("continuously", "available_now")
_PAUSES = "give 'continuously', 'available_now' (take what is there and end), or a pause such as '10s'"
#: sinks that keep no promise over restarts, so that they need no checkpoint
_TRANSIENT = ("console", "memory", "noop")


def read_job(path: str | Path, own: Mapping[str, Monoid] | None = None, conf: Sequence[Setting] = ()) -> Job:
    """The job in a file. ``own``: the user's monoids, which the file may name; ``conf``: Spark settings
    from the command line, which may be any."""
    file = Path(path)
    text = _text(file)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise JobError(toml_error(str(path), text, str(error))) from None
    except RecursionError:
        raise JobError(
            f"{path}: lists or tables are nested too deeply: a job needs no more than three levels"
        ) from None
    except ValueError:  # Python reads whole numbers of some thousand digits, and no longer ones
        raise JobError(
            f"{_long_number(str(path), text)}: this number is too long: none needs more than 19 digits"
        ) from None
    return _job(file, data, LineNumbers.of(str(path), text), own or {}, conf)


def _long_number(path: str, text: str) -> str:
    """Where a number stands that cannot be read."""
    lines = (number for number, line in enumerate(text.splitlines(), 1) if re.search(r"[\d_]{1000}", line))
    return f"{path}:{next(lines, 1)}"


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise JobError(f"{file}: the job file cannot be read: it is not UTF-8 text") from None
    except IsADirectoryError:
        raise JobError(
            f"{file}: this is a folder: name the job file in it, as in {file / 'job.toml'}"
        ) from None
    except FileNotFoundError:
        raise JobError(
            f"{file}: there is no such job file; windrow new FOLDER makes one to start from"
        ) from None
    except OSError as error:
        raise JobError(f"{file}: the job file cannot be read: {error.strerror}") from None


def _job(
    file: Path, data: dict[str, Any], places: LineNumbers, own: Mapping[str, Monoid], conf: Sequence[Setting]
) -> Job:
    for name in data:
        if name not in TABLES and not isinstance(data[name], (dict, list)):
            raise JobError(
                f"{places.at('', name)}: this key is in no table: write it below one, such as [source]"
            )
        if name not in TABLES:
            raise JobError(f"{places.at(name)}: this table is not known: {nearest(name, TABLES)}")
    for name in NEEDED:
        if name not in data:
            raise JobError(f"{places.file}: the table [{name}] is missing: {NEEDED[name]}")
    source = read_source(Fields(data["source"], places, "source", SOURCE_KEYS), file)
    events = Fields(data["events"], places, "events", EVENTS_KEYS)
    check_settings(data, events, source.is_stream)
    asked = _aggregated(with_windows(_events(events, data), data, places), data, places, own)
    check_stream(asked, source, data, places)
    labels = read_labels(asked, data, places, file, source.is_stream)
    history = read_history(asked, source, data, places, file)
    if source.is_stream and asked.watermark is None:
        events.refuse("watermark", "a stream needs a watermark: say how late rows may be, as in '10 minutes'")
    _check_columns(asked, source, events)
    check_time(source, asked.time, events)
    _check_flags(asked, source, events)
    _check_policies(asked, data, places)
    sink_fields = Fields(data["sink"], places, "sink", SINK_KEYS)
    spark = read_spark(Fields(data.get("spark", {}), places, "spark", SPARK_KEYS), file, conf)
    sink = _sink(sink_fields, source, file)
    check_takeover(history, sink, places)
    _check_output(asked, source, labels, sink, sink_fields, events, data)
    late, rejected = (read_dead_letters(name, data, places, file, source, sink) for name in DEAD_LETTERS)
    return Job(file, source, asked, sink, spark, labels, history, late, rejected)


# -- where results go ----------------------------------------------------------------------------------------


def _sink(fields: Fields, source: Source, file: Path) -> Sink:
    found = Sink(
        format=fields.text("format"),
        path=placed(fields.text("path", None), file, fields.text("format")),
        mode=fields.choice("mode", CHOICES["mode"], "append" if source.is_stream else "error"),  # type: ignore[arg-type]
        checkpoint=placed(fields.text("checkpoint", None), file),
        trigger=fields.text("trigger", "continuously"),
        options=fields.settings("options"),
    )
    if found.format in FILE_FORMATS and found.path is None:
        fields.refuse("path", f"this key is missing: say where the {found.format} files go")
    if not source.is_stream:
        for key in ("checkpoint", "trigger"):
            if key in fields.data:
                fields.refuse(key, "this is for streams: set stream = true in [source], or take it out")
        return found
    if found.mode != "append":
        fields.refuse("mode", f"{found.mode!r} is for jobs that end: a stream appends")
    if found.checkpoint is None and found.format not in _TRANSIENT:
        fields.refuse("checkpoint", "this key is missing: a stream keeps its progress and state there")
    if found.trigger not in TRIGGERS:
        try:
            parse_duration(found.trigger, "trigger")
        except (TypeError, ValueError, OverflowError):
            fields.refuse("trigger", f"{found.trigger!r} is not a trigger: {_PAUSES}")
    return found


def _check_output(
    asked: Query,
    source: Source,
    labels: Labels | None,
    sink: Sink,
    fields: Fields,
    events: Fields,
    data: dict[str, Any],
) -> None:
    """Whether the sink can hold what the query gives."""
    check_sink(sink, source, _result_columns(asked, source, labels), fields)
    for table, (setting, wanted) in DEAD_LETTERS.items():
        is_inside = getattr(asked, setting) == wanted and table not in data and source.is_stream
        if is_inside and sink.format == "csv":
            fields.refuse(
                "format",
                f"csv cannot hold {table} rows, which are a struct: write parquet or json, or name another "
                f"place for them in [{table}]",
            )
    if asked.emit == "update" and source.is_stream and sink.format in APPEND_ONLY:
        why = (
            "and files cannot be corrected"
            if sink.format in FILE_FORMATS
            else f"which {sink.format!r} cannot"
        )
        events.refuse("emit", f"'update' corrects what came out, {why}: use 'final'")


def _result_columns(asked: Query, source: Source, labels: Labels | None) -> list[str]:
    """The columns of the results; none: they are not known."""
    kept = [*asked.by, *(["window"] if asked.names_windows else []), "window_start", "window_end"]
    if asked.is_rolling or labels is not None:
        kept = list(known_columns(source if labels is None else labels.source))
    return [*kept, *asked.result_names] if kept else []


# -- the query -----------------------------------------------------------------------------------------------


def _events(fields: Fields, data: dict[str, Any]) -> Query:
    time, by, order = fields.text("time"), fields.texts("by"), fields.texts("order")
    late = fields.choice("late", CHOICES["late"], "emit" if "late" in data else "count")
    on_error = fields.choice("on_error", CHOICES["on_error"], "reject" if "rejected" in data else "raise")
    empty = fields.choice("empty", CHOICES["empty"], "skip")
    emit = fields.choice("emit", CHOICES["emit"], "final")
    least = fields.whole("min_count", 0)
    watermark = fields.value("watermark", None, str, int)
    lateness = fields.value("allowed_lateness", 0, str, int)
    ahead = fields.value("max_ahead", None, str, int)
    fields.checked("watermark", query, time=time, watermark=watermark)
    fields.checked("max_ahead", query, time=time, watermark=watermark, max_ahead=ahead)
    fields.checked("allowed_lateness", query, time=time, allowed_lateness=lateness)
    return fields.checked(
        "time",
        query,
        time=time,
        by=by,
        watermark=watermark,
        allowed_lateness=lateness,
        late=late,
        on_error=on_error,
        order=order or None,
        empty=empty,
        min_count=least,
        emit=emit,
        max_ahead=ahead,
        max_windows=fields.whole("max_windows", None, 1),
        plan=fields.choice("plan", CHOICES["plan"], "auto"),
    )


def _aggregated(asked: Query, data: dict[str, Any], places: LineNumbers, own: Mapping[str, Monoid]) -> Query:
    found = data["agg"]
    fields = Fields(found, places, "agg", tuple(found) if isinstance(found, dict) else ())
    if not fields.data:
        fields.refuse("", 'there is no aggregate: write for instance longest = "max(len)"')
    chosen = {}
    for name in fields.data:
        text = fields.text(name, REQUIRED)
        chosen[name] = fields.checked(name, aggregate_of, text, own)
        fields.checked(name, asked.agg, **{name: chosen[name]})
    return fields.checked("", asked.agg, **chosen)


def _check_columns(asked: Query, source: Source, events: Fields) -> None:
    """Where columns are known, others are errors of the file."""
    names = known_columns(source)
    if not names:
        return
    read = [("events", "time", 0, [asked.time]), ("events", "by", 0, asked.by)]
    read += [("events", "order", 0, asked.order)]
    for number, (_, window) in enumerate(asked.windows):
        read.append(("window", "column", number, window.columns))
    read += [("agg", name, 0, aggregate.reads) for name, aggregate in asked.aggregates]
    for table, key, number, columns in read:
        for column in columns:
            if column not in names:
                place = events.places.at(table, key, number)
                raise JobError(f"{place}: {_no_column(source, column, names)}")


def _check_flags(asked: Query, source: Source, events: Fields) -> None:
    """Where types are known, a column of where= that is not boolean is an error of the file."""
    kinds = {name: kind.strip().lower() for name, kind in source.schema}
    derived = {name.lower() for name, _ in source.columns}
    for name, aggregate in asked.aggregates:
        where = aggregate.where
        if where is None or where.lower() in derived or kinds.get(where, "boolean") == "boolean":
            continue
        raise JobError(
            f"{events.places.at('agg', name)}: where={where}: the column is of type {kinds[where]}: give a "
            f"boolean column, or derive one in [source.columns], as in is_long = 'len > 60'"
        )


def _no_column(source: Source, column: str, names: Sequence[str]) -> str:
    if source.format.lower() == "kafka" and source.value is None:
        return f"a row of Kafka has no column {column!r}: it has {', '.join(names)}; {KAFKA_VALUE}"
    return f"the source has no column {column!r}: {nearest(column, names)}"


def _check_policies(asked: Query, data: dict[str, Any], places: LineNumbers) -> None:
    """Policies name partial aggregates, which are those of [agg]."""
    tables = [("window", number, table) for number, table in enumerate(data.get("window", []))]
    names = tuple(name for name, _ in asked.aggregates)
    for table, number, found in [*tables, ("rolling", 0, data.get("rolling", {}))]:
        for name in re.findall(r"\b(?:total|old)\.(\w+)", found.get("evict_while", "")):
            if name not in names:
                place = places.at(table, "evict_while", number)
                raise JobError(f"{place}: there is no aggregate {name!r} in [agg]: {nearest(name, names)}")
