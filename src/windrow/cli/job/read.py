"""Job files: TOML, every key typed and checked before anything runs."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from windrow.cli.errors import JobError, Mistakes
from windrow.cli.job.fields import Fields, nearest
from windrow.cli.job.formats import APPEND_ONLY, KAFKA_VALUE, check_sink, known_columns
from windrow.cli.job.frames import check_stream
from windrow.cli.job.line_numbers import LineNumbers, placed, toml_error
from windrow.cli.job.model import FILE_FORMATS, Job, Labels, Sink, Source
from windrow.cli.job.more_tables import (
    AT_KEYS,
    DEAD_LETTER_KEYS,
    DEAD_LETTERS,
    HISTORY_KEYS,
    check_settings,
    check_takeover,
    read_dead_letters,
    read_history,
    read_labels,
)
from windrow.cli.job.secrets import Setting
from windrow.cli.job.source import SOURCE_KEYS, check_time, read_source
from windrow.cli.job.spark_conf import read_spark
from windrow.cli.job.windows import with_windows
from windrow.monoids.base import Aggregate, Monoid
from windrow.names import nearest as nearest_name
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
    "output",
    "emit",
    "max_windows",
    "plan",
)
SINK_KEYS = ("format", "path", "mode", "checkpoint", "trigger", "options")
SPARK_KEYS = ("master", "remote", "app_name", "conf")
#: what may stand in the tables that few jobs have
_MORE_TABLES = {"at": AT_KEYS, "history": HISTORY_KEYS} | dict.fromkeys(DEAD_LETTERS, DEAD_LETTER_KEYS)
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
    "late": ("count", "return", "drop", "emit"),
    "on_error": ("raise", "reject"),
    "empty": ("skip", "include", "emit"),
    "output": ("final", "update"),
    "emit": ("final", "update"),
    "plan": ("auto", "windrow", "spark"),
}
TRIGGERS = ("continuously", "available_now")
_NO_WATERMARK = "a stream needs a watermark: say how late rows may be, as in '10 minutes'"
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
    """Each table by itself, then what tables demand of each other: the mistakes of both are told together."""

    def fields(name: str, known: tuple[str, ...]) -> Fields:
        if name in NEEDED and name not in data:
            raise JobError  # that was said
        return Fields(data.get(name, {}), places, name, known)

    parts = Mistakes(*_wrong_tables(data, places))
    source = parts.of(lambda: read_source(fields("source", SOURCE_KEYS), file))
    said = _table(data, "source")
    is_stream = said.get("stream", False if said else None)
    based = parts.of(lambda: _events(fields("events", EVENTS_KEYS), data), instead=query(time="time"))
    parts.of(lambda: check_settings(data, fields("events", EVENTS_KEYS), is_stream))
    windowed = parts.of(with_windows, based, data, places)
    chosen = parts.of(lambda: _aggregates(fields("agg", tuple(_table(data, "agg"))), own))
    sink = parts.of(lambda: _sink(fields("sink", SINK_KEYS), is_stream, file))
    spark = parts.of(lambda: read_spark(fields("spark", SPARK_KEYS), file, conf))
    for name, known in _MORE_TABLES.items():
        if name in data:
            parts.of(lambda name=name, known=known: fields(name, known).reading().stop())
    parts.stop()
    asked = parts.of(lambda: _aggregated(windowed, chosen, fields("agg", tuple(chosen))))
    parts.of(check_stream, windowed, source, data, places)
    parts.stop()
    labels = parts.of(read_labels, asked, data, places, file, is_stream)
    history = parts.of(read_history, asked, source, data, places, file)
    events = fields("events", EVENTS_KEYS)
    if is_stream and asked.watermark is None:
        parts.of(events.refuse, "watermark", _NO_WATERMARK)
    parts.of(_check_columns, asked, source, events)
    parts.of(check_time, source, asked.time, events)
    parts.of(_check_flags, asked, source, events)
    parts.of(_check_policies, asked, data, places)
    parts.of(check_takeover, history, sink, places)
    letters = [parts.of(read_dead_letters, each, data, places, file, source, sink) for each in DEAD_LETTERS]
    parts.stop()
    _check_output(asked, source, labels, sink, fields("sink", SINK_KEYS), events, data)
    return Job(file, source, asked, sink, spark, labels, history, *letters)


def _table(data: dict[str, Any], name: str) -> dict[str, Any]:
    """A table as it was written; an empty one for anything else."""
    found = data.get(name)
    return found if isinstance(found, dict) else {}


def _wrong_tables(data: dict[str, Any], places: LineNumbers) -> Iterator[str]:
    unknown = [name for name in data if name not in TABLES]
    for name in unknown:
        if isinstance(data[name], (dict, list)):
            yield f"{places.at(name)}: this table is not known: {nearest(name, TABLES)}"
        else:
            yield f"{places.at('', name)}: this key is in no table: write it below one, such as [source]"
    meant = {nearest_name(name, TABLES) for name in unknown}
    for name in NEEDED:
        if name not in data and name not in meant:
            yield f"{places.file}: the table [{name}] is missing: {NEEDED[name]}"


# -- where results go ----------------------------------------------------------------------------------------


def _sink(fields: Fields, is_stream: Any, file: Path) -> Sink:
    """``is_stream``: what the source says, which may be neither true nor false."""
    keys = fields.reading()
    form = keys.of(fields.text, "format", instead="")
    found = Sink(
        format=form,
        path=keys.of(lambda: placed(fields.text("path", None), file, form)),
        mode=keys.of(fields.choice, "mode", CHOICES["mode"], "append" if is_stream else "error"),  # type: ignore[arg-type]
        checkpoint=keys.of(lambda: placed(fields.text("checkpoint", None), file)),
        trigger=keys.of(fields.text, "trigger", "continuously"),
        options=keys.of(fields.settings, "options"),
    )
    keys.stop()
    if found.format in FILE_FORMATS and found.path is None:
        keys.of(fields.miss, "path", f"say where the {found.format} files go")
    if is_stream is True:
        _check_stream_sink(found, fields, keys)
    for key in ("checkpoint", "trigger"):
        if key in fields.data and is_stream is False:
            keys.of(fields.refuse, key, "this is for streams: set stream = true in [source], or take it out")
    keys.stop()
    return found


def _check_stream_sink(found: Sink, fields: Fields, keys: Mistakes) -> None:
    if found.mode != "append":
        keys.of(fields.refuse, "mode", f"{found.mode!r} is for jobs that end: a stream appends")
    if found.checkpoint is None and found.format not in _TRANSIENT:
        keys.of(fields.miss, "checkpoint", "a stream keeps its progress and state there")
    if found.trigger not in TRIGGERS:
        try:
            parse_duration(found.trigger, "trigger")
        except (TypeError, ValueError, OverflowError):
            keys.of(fields.refuse, "trigger", f"{found.trigger!r} is not a trigger: {_PAUSES}")


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
    if asked.output == "update" and source.is_stream and sink.format in APPEND_ONLY:
        why = (
            "and files cannot be corrected"
            if sink.format in FILE_FORMATS
            else f"which {sink.format!r} cannot"
        )
        name = "output" if "output" in events.data else "emit"
        events.refuse(name, f"'update' corrects what came out, {why}: use 'final'")


def _result_columns(asked: Query, source: Source, labels: Labels | None) -> list[str]:
    """The columns of the results; none: they are not known."""
    kept = [*asked.by, *(["window"] if asked.names_windows else []), "window_start", "window_end"]
    if asked.is_rolling or labels is not None:
        kept = list(known_columns(source if labels is None else labels.source))
    return [*kept, *asked.result_names] if kept else []


# -- the query -----------------------------------------------------------------------------------------------


def _events(fields: Fields, data: dict[str, Any]) -> Query:
    keys = fields.reading()
    defaults = {
        "late": "return" if "late" in data else "count",
        "on_error": "reject" if "rejected" in data else "raise",
        "empty": "skip",
    }
    # `emit` is the old name of `output`, and a value of `late` and `empty`: the query warns of it
    defaults |= {name: "final" for name in ("output", "emit") if name in fields.data}
    settings: dict[str, Any] = {"time": keys.of(fields.text, "time", instead="time")}
    settings |= {"by": keys.of(fields.texts, "by"), "order": keys.of(fields.texts, "order") or None}
    settings |= {key: keys.of(fields.choice, key, CHOICES[key], word) for key, word in defaults.items()}
    settings["min_count"] = keys.of(fields.whole, "min_count", 0)
    settings["max_windows"] = keys.of(fields.whole, "max_windows", None, 1)
    for key in ("watermark", "max_ahead", "allowed_lateness"):
        settings[key] = keys.of(fields.value, key, 0 if key == "allowed_lateness" else None, str, int)
        beside = {"watermark": settings["watermark"]} if key == "max_ahead" else {}
        given = {"time": settings["time"], **beside, key: settings[key]}
        if settings[key] is not None:
            keys.of(lambda key=key, given=given: fields.checked(key, query, **given))
    settings["plan"] = keys.of(fields.choice, "plan", CHOICES["plan"], "auto")
    keys.stop()
    return fields.checked("time", query, **settings)


def _aggregates(fields: Fields, own: Mapping[str, Monoid]) -> dict[str, Aggregate]:
    if not fields.data:
        fields.refuse("", 'there is no aggregate: write for instance longest = "max(len)"')
    keys = fields.reading()
    found = {
        name: keys.of(lambda name=name: fields.checked(name, aggregate_of, fields.text(name), own))
        for name in fields.data
    }
    keys.stop()
    return found


def _aggregated(asked: Query, chosen: dict[str, Aggregate], fields: Fields) -> Query:
    keys = fields.reading()
    for name, aggregate in chosen.items():
        keys.of(lambda name=name, each=aggregate: fields.checked(name, asked.agg, **{name: each}))
    keys.stop()
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
    Mistakes(
        *(
            f"{events.places.at(table, key, number)}: {_no_column(source, column, names)}"
            for table, key, number, columns in read
            for column in columns
            if column not in names
        )
    ).stop()


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
