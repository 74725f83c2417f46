"""The columns that results have of their own, and the names that are therefore taken.

Results of windows carry the key columns, rolling results all columns of the table; windrow adds the window,
its edges, the aggregates, and where results are corrected or rows handed back what that needs. A column that
is carried along must not have such a name: one of the two would be lost.

What a query knows is checked when it is built, the rest when it meets its table: the same on every engine.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from windrow.spec import Spec

__all__ = [
    "LATE",
    "REJECTED",
    "REJECTED_ROWS",
    "check_label_names",
    "check_names",
    "check_table_names",
    "extra_columns",
]

#: the column of late rows among results
LATE = "late"
#: the column of rejected rows among results
REJECTED = "rejected"
#: what is added to rejected rows
REJECTED_ROWS = ("rejected_reason", "rejected_by", "rejected_error")

_LATE_ROWS = ("late_by", "late_reason")


def extra_columns(query: Spec) -> list[str]:
    """The columns that results of endless input have besides those of a table."""
    updates = query.output == "update"
    if not updates and not query.corrects:
        return []
    retracted = ["retracted"] if query.sessions else []
    return ["revision", *retracted, *(["is_final"] if updates else [])]


def check_names(query: Spec) -> None:
    """Refuse a query whose columns have names that its results need.

    >>> import windrow as wr
    >>> check_names(wr.query(time="t", by="k"))
    >>> wr.query(time="t", by="window_end").window(wr.Tumbling(10))
    Traceback (most recent call last):
    ValueError: column 'window_end' has a name that results need for a column of their own: rename it
    """
    added, carried = list(_added(query)), list(_carried(query))
    for name in carried:
        if name in added:
            raise ValueError(
                f"column {name!r} has a name that results need for a column of their own: rename it"
            )
    if query.is_rolling:
        _check_aggregates(query, set(carried))
    for k, name in enumerate(query.result_names):
        if name in (*added, *([] if query.asof_over else query.by), *query.result_names[:k]):
            raise ValueError(f"duplicate result column {name!r}: choose another name")


def check_table_names(query: Spec, columns: Iterable[str], *, endless: bool) -> None:
    """Refuse a table with columns that come back and have names which are added to them. ``endless``: it is
    one of many, so that there are late rows and corrections."""
    found = set(columns)
    if query.is_rolling:
        _check_aggregates(query, found)
    for name in _added_to_rows(query) if endless else ():
        if name in found:
            raise ValueError(f"the table has a column {name!r}, which is added to rows: rename it")


def check_label_names(query: Spec, columns: Container[str]) -> None:
    """Refuse labels with a column that has the name of a result."""
    for name in query.result_names:
        if name in columns:
            raise ValueError(
                f"the labels have a column {name!r} already: choose another name for the result, or rename it"
            )


def _check_aggregates(query: Spec, columns: Container[str]) -> None:
    for name in query.result_names:
        if name in columns:
            raise ValueError(f"the table has a column {name!r} already: choose another name for the result")


def _added(query: Spec) -> Iterator[str]:
    """The columns of results that are neither of the table nor aggregates."""
    if query.windows:
        yield from ["window"] if query.names_windows else []
        yield from ("window_start", "window_end")
    yield from extra_columns(query)
    if query.late == "return":
        yield LATE
    if query.on_error == "reject":
        yield REJECTED


def _carried(query: Spec) -> Iterator[str]:
    """The columns of the table that results carry along, as far as the query names them."""
    yield from query.by
    if query.is_rolling:
        yield from (query.time, *query.order)
        yield from (column for _, aggregate in query.aggregates for column in aggregate.reads)


def _added_to_rows(query: Spec) -> Iterator[str]:
    """What is added to rows of the table: to those that come back late, and to all of rolling."""
    if query.late == "return":
        yield from _LATE_ROWS
    if query.on_error == "reject":
        yield from REJECTED_ROWS
    if query.is_rolling:
        yield from _added(query)
