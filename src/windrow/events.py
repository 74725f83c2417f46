"""A query bound to data: ``wr.events(table, ...)`` takes the settings of :func:`windrow.query`, and ``agg``
runs it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar, Unpack

from windrow.monoids.base import Aggregate
from windrow.names import check_keywords
from windrow.old_names import with_new_names
from windrow.query import Query, query
from windrow.query.building import no_attribute
from windrow.query.value import OLD_KEYWORDS, OLD_VALUES
from windrow.query_settings import Settings
from windrow.windows import Window
from windrow.windows.timeline.durations import DurationLike
from windrow.words import KEYWORDS

__all__ = ["Events", "events"]

TableT = TypeVar("TableT")
LabelsT = TypeVar("LabelsT")


@dataclass(frozen=True, slots=True)
class Events(Generic[TableT]):
    """A query bound to data: ``agg`` runs it and returns the kind of table that it got."""

    data: Any
    query: Query
    #: where results are asked for, and by which columns: see :meth:`asof`
    labels: Mapping[str, Any] = field(default_factory=dict[str, Any])

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise no_attribute(self, name)

    def window(self, *windows: Window, **named: Window) -> Events[TableT]:
        """As :meth:`Query.window`."""
        return replace(self, query=self.query.window(*windows, **named))

    def rolling(self, *sizes: DurationLike, **options: Any) -> Events[TableT]:
        """As :meth:`Query.rolling`."""
        return replace(self, query=self.query.rolling(*sizes, **options))

    def asof(
        self,
        *sizes: DurationLike,
        at: LabelsT,
        at_time: str | None = None,
        at_by: str | Sequence[str] | None = None,
        **options: Any,
    ) -> Events[LabelsT]:
        """As :meth:`Query.asof`, with the labels."""
        labels = {"at": at, "at_time": at_time, "at_by": at_by}
        return Events(self.data, self.query.asof(*sizes, **options), labels)

    def agg(self, *aggregates: Aggregate, **named: Aggregate) -> TableT:
        """As :meth:`Query.agg`, and run the query."""
        found: TableT = self.query.agg(*aggregates, **named).run(self.data, **self.labels)
        return found

    def __repr__(self) -> str:
        text = repr(self.query).removeprefix("wr.query(")
        return f"wr.events(<{type(self.data).__module__.split('.')[0]} {type(self.data).__name__}>, {text}"


def events(data: TableT, **settings: Unpack[Settings]) -> Events[TableT]:
    """Like :func:`query`, bound to data: ``.agg(...)`` runs the query and returns a table.

    >>> import pyarrow as pa, windrow as wr
    >>> calls = pa.table({"ts": [1, 2, 11], "len": [5, 9, 4]})
    >>> wr.events(calls, time="ts").window(wr.Tumbling(10)).agg(longest=wr.max("len")).to_pylist()[0]
    {'window_start': 0, 'window_end': 10, 'longest': 9}
    """
    current: Any = with_new_names("events", settings, keywords=OLD_KEYWORDS, values=OLD_VALUES)
    check_keywords("events", current, tuple(inspect.signature(query).parameters), KEYWORDS)
    return Events(data, query(**current))


#: what completion and help() show: the settings of a query after the data
events.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [
        inspect.Parameter("data", inspect.Parameter.POSITIONAL_OR_KEYWORD),
        *inspect.signature(query).parameters.values(),
    ]
)
