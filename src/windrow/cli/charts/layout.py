"""Which columns of results are keys, times and values: as a job says, or as the columns themselves show."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from windrow.cli.job import Job
from windrow.result_names import LATE, REJECTED

__all__ = ["OPTIONAL", "Layout", "layout_of_columns", "layout_of_job"]

#: columns that only some results have
OPTIONAL = ("revision", "retracted", "is_final", LATE, REJECTED)
#: columns of results that are neither keys nor values
_OWN = ("window", "window_start", "window_end", *OPTIONAL)


@dataclass(frozen=True)
class Layout:
    by: tuple[str, ...]
    #: the column by which results are ordered
    time: str
    #: results; those that are not numbers are not drawn
    values: tuple[str, ...]
    start: str | None = None
    #: the column with the names of windows
    window: str | None = None


def layout_of_job(job: Job) -> Layout:
    query = job.query
    by = query.by if job.labels is None else job.labels.by
    if job.labels is not None:
        return Layout(tuple(by), job.labels.time, tuple(query.result_names))
    if query.is_rolling:
        return Layout(tuple(by), query.time, tuple(query.result_names))
    window = "window" if query.names_windows else None
    return Layout(tuple(by), "window_end", tuple(query.result_names), "window_start", window)


def layout_of_columns(schema: pa.Schema) -> Layout | None:
    """Of results that windrow has written: keys come first, then the window, then values. None: it has not.

    >>> columns = ("region", "window_start", "window_end", "n")
    >>> layout_of_columns(pa.schema([(name, pa.int64()) for name in columns])).by
    ('region',)
    """
    names = schema.names
    if not {"window_start", "window_end"} <= set(names):
        return None
    first = min(names.index(name) for name in ("window", "window_start") if name in names)
    values = tuple(name for name in names[first:] if name not in _OWN)
    return Layout(
        tuple(names[:first]), "window_end", values, "window_start", "window" if "window" in names else None
    )
