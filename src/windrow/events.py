"""A query with its data at hand: ``wr.events(table, ...)`` takes the settings of :func:`windrow.query`, and
``agg`` runs at once."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from windrow.monoids.base import Aggregate
from windrow.names import check_keywords
from windrow.query import Query, query
from windrow.query.building import no_attribute
from windrow.windows import Window
from windrow.words import KEYWORDS

__all__ = ["Events", "events"]


@dataclass(frozen=True, slots=True)
class Events:
    """A query with its data at hand: ``agg`` runs it."""

    data: Any
    query: Query
    #: where results are asked for, and by which columns: see :meth:`asof`
    labels: Mapping[str, Any] = field(default_factory=dict[str, Any])

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise no_attribute(self, name)

    def window(self, *windows: Window, **named: Window) -> Events:
        return replace(self, query=self.query.window(*windows, **named))

    def rolling(self, *sizes: Any, **options: Any) -> Events:
        return replace(self, query=self.query.rolling(*sizes, **options))

    def asof(
        self,
        *sizes: Any,
        at: Any,
        at_time: str | None = None,
        at_by: str | Sequence[str] | None = None,
        **options: Any,
    ) -> Events:
        """As :meth:`Query.asof`, with the labels."""
        labels = {"at": at, "at_time": at_time, "at_by": at_by}
        return replace(self, query=self.query.asof(*sizes, **options), labels=labels)

    def agg(self, *aggregates: Aggregate, **named: Aggregate) -> Any:
        return self.query.agg(*aggregates, **named).run(self.data, **self.labels)

    def __repr__(self) -> str:
        text = repr(self.query).removeprefix("wr.query(")
        return f"wr.events(<{type(self.data).__module__.split('.')[0]} {type(self.data).__name__}>, {text}"


def events(data: Any, **options: Any) -> Events:
    """The same as :func:`query` with the data at hand: ``.agg(...)`` runs.

    >>> import pyarrow as pa, windrow as wr
    >>> calls = pa.table({"ts": [1, 2, 11], "len": [5, 9, 4]})
    >>> wr.events(calls, time="ts").window(wr.Tumbling(10)).agg(longest=wr.max("len")).to_pylist()[0]
    {'window_start': 0, 'window_end': 10, 'longest': 9}
    """
    check_keywords("events", options, tuple(inspect.signature(query).parameters), KEYWORDS)
    return Events(data, query(**options))


#: what completion and help() show: the settings of a query after the data
events.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [
        inspect.Parameter("data", inspect.Parameter.POSITIONAL_OR_KEYWORD),
        *inspect.signature(query).parameters.values(),
    ]
)
