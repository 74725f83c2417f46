"""Tables beside ``[source]`` and ``[sink]``. ``[at]``: the labels of as-of windows, a table of moments to
look from; all its columns and rows come back, with the results. ``[history]``: the rows before a stream,
from which its state is made. Both are read as ``[source]`` is. ``[late]`` and ``[rejected]``: where rows go
that no result holds."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

from windrow.cli.errors import JobError
from windrow.cli.job.fields import Fields, nearest
from windrow.cli.job.formats import check_sink, known_columns
from windrow.cli.job.line_numbers import LineNumbers, placed
from windrow.cli.job.model import FILE_FORMATS, History, Labels, Sink, Source
from windrow.cli.job.source import check_time, read_source
from windrow.names import check_columns
from windrow.query import Query
from windrow.query_settings import checked_labels
from windrow.result_names import check_label_names
from windrow.rows.columns import needed_columns

__all__ = [
    "AT_KEYS",
    "DEAD_LETTERS",
    "DEAD_LETTER_KEYS",
    "HISTORY_KEYS",
    "check_settings",
    "check_takeover",
    "read_dead_letters",
    "read_history",
    "read_labels",
]

AT_KEYS = ("format", "path", "options", "schema", "columns", "where", "time", "by")


def read_labels(
    query: Query, data: dict[str, Any], places: LineNumbers, file: Path, is_stream: bool
) -> Labels | None:
    """The labels of a job, a stream if its source is one; None: it has no as-of windows."""
    if query.asof_over is None:
        if "at" in data:
            raise JobError(
                f"{places.at('at')}: labels are for as-of windows: write [asof] with size = '7d', or take "
                f"[at] out"
            )
        return None
    if "at" not in data:
        raise JobError(
            f"{places.at('asof')}: the table [at] is missing: say where the labels are, the moments to look "
            f"from, for instance format = 'parquet' and path = 'labels/'"
        )
    fields = Fields(data["at"], places, "at", AT_KEYS)
    keys = fields.reading()
    given = keys.of(fields.texts, "by") if "by" in fields.data else None
    named = keys.of(fields.text, "time", None)
    source = keys.of(read_source, fields, file, is_stream)
    keys.stop()
    time, by = fields.checked("by", checked_labels, query, fields.data, named, given)
    found = Labels(source, time, by)
    _check_columns(query, found, fields)
    return found


def _check_columns(query: Query, labels: Labels, fields: Fields) -> None:
    """Where columns are known, others are errors of the file."""
    names = known_columns(labels.source)
    if not names:
        return
    for key, columns in (("time", (labels.time,)), ("by", labels.by)):
        for column in columns:
            if column not in names:
                fields.refuse(key, f"the labels have no column {column!r}: {nearest(column, names)}")
    check_time(labels.source, labels.time, fields)
    fields.checked("", check_label_names, query, names)


HISTORY_KEYS = ("format", "path", "options", "schema", "columns", "where", "until", "takes_over")


def read_history(
    query: Query, source: Source, data: dict[str, Any], places: LineNumbers, file: Path
) -> History | None:
    """The history of a job; None: it has none."""
    if "history" not in data:
        return None
    if not source.is_stream:
        raise JobError(
            f"{places.at('history')}: history is for streams: write stream = true in [source], or take "
            f"[history] out and read its rows with those of [source]"
        )
    if query.asof_over is not None:
        raise JobError(f"{places.at('history')}: history is for windows and rolling: take [history] out")
    fields = Fields(data["history"], places, "history", HISTORY_KEYS)
    keys = fields.reading()
    takes_over = keys.of(lambda: placed(fields.text("takes_over", None), file))
    found = History(keys.of(read_source, fields, file), keys.of(_until, fields), takes_over)
    keys.stop()
    if takes_over is not None and "until" in fields.data:
        fields.refuse("takes_over", "it says where history ends, and so does until: take one of them out")
    names = known_columns(found.source)
    if names:
        fields.checked("", check_columns, needed_columns(query), names, "history")
        check_time(found.source, query.time, fields)
    return found


def check_takeover(history: History | None, sink: Sink, places: LineNumbers) -> None:
    """Refuse a stream that takes over from another on the same checkpoint, or on none."""
    if history is None or history.takes_over is None:
        return
    if sink.checkpoint is None or Path(sink.checkpoint) == Path(history.takes_over):
        raise JobError(
            f"{places.at('history', 'takes_over')}: name another checkpoint in [sink], and another path for "
            f"files: Spark takes the state that history leads to only into an empty checkpoint"
        )


def _until(fields: Fields) -> Any:
    """Where history ends: a time of TOML's, a text, or a number; None: where its rows do."""
    value = fields.data.get("until")
    if value is None or (isinstance(value, (str, int, dt.datetime)) and not isinstance(value, bool)):
        return value
    if isinstance(value, dt.date):
        return dt.datetime(value.year, value.month, value.day, tzinfo=dt.UTC)
    fields.refuse("until", f"{value!r} is not a time: give one such as 2024-05-01T00:00:00Z, or a number")
    return None


#: the tables, with the setting of [events] that hands such rows back, and what it must be
DEAD_LETTERS = {"late": ("late", "return"), "rejected": ("on_error", "reject")}
DEAD_LETTER_KEYS = ("format", "path", "options")


def check_settings(data: dict[str, Any], events: Fields, is_stream: Any) -> None:
    """Refuse a table for rows that are not handed back; ``is_stream`` is as the source has it."""
    for table, (setting, wanted) in DEAD_LETTERS.items():
        if table in data and events.data.get(setting, wanted) not in (wanted, "emit"):
            events.refuse(
                setting, f"[{table}] is for rows that are handed back: write {wanted!r}, or leave this out"
            )
    if "late" in data and is_stream is False:
        raise JobError(
            f"{events.places.at('late')}: only rows of a stream are late: set stream = true in [source], or "
            f"take [late] out"
        )


def read_dead_letters(
    table: str, data: dict[str, Any], places: LineNumbers, file: Path, source: Source, results: Sink
) -> Sink | None:
    """Where such rows go; None: the job does not say."""
    if table not in data:
        return None
    fields = Fields(data[table], places, table, DEAD_LETTER_KEYS)
    keys = fields.reading()
    form = keys.of(fields.text, "format", instead="")
    path = keys.of(lambda: placed(fields.text("path", None), file, form))
    options = keys.of(fields.settings, "options")
    keys.stop()
    found = Sink(form, path, results.mode, None, results.trigger, options, table)
    if found.format in FILE_FORMATS and found.path is None:
        fields.miss("path", f"say where the {found.format} files go")
    if found.path is not None and found.path == results.path:
        fields.refuse("path", "results go there already: name another folder")
    check_sink(found, source, [], fields)
    return found
