"""``[at]``: the labels of as-of windows, a table of moments to look from. It is read as ``[source]`` is; all
its columns and rows come back, with the results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from windrow.cli.errors import JobError
from windrow.cli.job.fields import Fields, nearest
from windrow.cli.job.formats import known_columns
from windrow.cli.job.line_numbers import LineNumbers
from windrow.cli.job.model import Labels
from windrow.cli.job.source import check_time, read_source
from windrow.query import Query
from windrow.query_settings import checked_labels
from windrow.result_names import check_label_names

__all__ = ["AT_KEYS", "read_labels"]

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
