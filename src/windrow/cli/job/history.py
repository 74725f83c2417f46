"""``[history]``: the rows before a stream, from which its state is made. They are read as ``[source]`` is."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

from windrow.cli.errors import JobError
from windrow.cli.job.fields import Fields
from windrow.cli.job.formats import known_columns
from windrow.cli.job.line_numbers import LineNumbers, placed
from windrow.cli.job.model import History, Sink, Source
from windrow.cli.job.source import check_time, read_source
from windrow.names import check_columns
from windrow.query import Query
from windrow.rows.columns import needed_columns

__all__ = ["HISTORY_KEYS", "check_takeover", "read_history"]

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
