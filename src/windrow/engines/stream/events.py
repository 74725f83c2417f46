"""Events that were inserted one by one and wait to be pushed together.

An event is checked when it comes: the names of its values, and their types once for each type that Python
has for them, so that what is wrong is reported for that event, which is then not taken. A push costs about as
much as the rest of an event a hundred times over: it is paid once for all events that wait.

Cost: about a microsecond and some hundred bytes per event until then.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from windrow.engines.stream.intake import Columns
from windrow.names import listed
from windrow.rows.columns import needed_columns
from windrow.spec import Spec

__all__ = ["NO_KEY", "Events"]

#: no key was given
NO_KEY: Any = object()


class Event(NamedTuple):
    """A row with its key and its values by column."""

    time: Any
    key: Any
    values: dict[str, Any]

    def __str__(self) -> str:
        return f"the event at {self.time!r}" + ("" if self.key is NO_KEY else f" of key {self.key!r}")


class Events:
    """The events that wait, in columns; and tables of those that waited when a snapshot was taken."""

    def __init__(self, query: Spec) -> None:
        self._query = query
        self._needed = frozenset(needed_columns(query)) - {query.time, *query.by}
        self._names: frozenset[str] | None = None
        self._single = query.by[0] if len(query.by) == 1 else None
        #: the types of Python's values that were seen to fit, by column
        self._fitting: dict[str, set[type]] = {name: set() for name in (query.time, *query.by)}
        self._times: list[Any] = []
        self._keys: list[Any] = []
        self._values: dict[str, list[Any]] = {}
        self._restored: list[pa.Table] = []

    def __len__(self) -> int:
        return len(self._times) + (sum(t.num_rows for t in self._restored) if self._restored else 0)

    def add(self, time: Any, key: Any, values: dict[str, Any], columns: Columns | None) -> None:
        """Take an event; ``columns``: what is known of the operator's columns."""
        fitting = self._fitting
        if values.keys() != self._names:
            self._check_names(Event(time, key, values))
        for name, value in values.items():
            if type(value) not in fitting[name]:
                self._check_type(Event(time, key, values), name, value, columns)
        if type(time) not in fitting[self._query.time]:
            self._check_type(Event(time, key, values), self._query.time, time, columns)
        if self._single is None or type(key) not in fitting[self._single]:
            self._check_key(Event(time, key, values), columns)
        self._times.append(time)
        self._keys.append(key)
        for name, value in values.items():
            self._values[name].append(value)

    def put_back(self, tables: Sequence[pa.Table]) -> None:
        """Events of a snapshot."""
        self._restored += tables

    def clear(self) -> None:
        if self._times or self._restored:
            self._times, self._keys, self._restored = [], [], []
            self._values = {name: [] for name in self._values}

    def tables(self) -> list[pa.Table]:
        """All of them, as rows."""
        return [*self._restored, self._table()] if self._times else list(self._restored)

    # -- checks ----------------------------------------------------------------------------------------------

    def _check_names(self, event: Event) -> None:
        given = frozenset(event.values)
        missing, taken = self._needed - given, given & {self._query.time, *self._query.by}
        if missing:
            raise TypeError(f"{event} has no {listed(sorted(missing))}: give all values that the query reads")
        if taken:
            raise TypeError(f"{event} has a value {listed(sorted(taken))}, which is its time or its key")
        if self._names is not None and self._names != given and self._times:
            raise TypeError(
                f"{event} has the values {listed(sorted(given))}, and those that wait have "
                f"{listed(sorted(self._names))}: give each the same, or flush() in between"
            )
        self._names, self._values = given, {name: [] for name in event.values}
        for name in given:
            self._fitting.setdefault(name, set())

    def _check_key(self, event: Event, columns: Columns | None) -> None:
        by, key = self._query.by, event.key
        single = len(by) == 1 and key is not NO_KEY
        values = (key,) if single else key if isinstance(key, tuple) else () if key is NO_KEY else (key,)
        if len(values) != len(by):
            wanted = f"a key for {listed(list(by))}, as in insert(time, key, ...)" if by else "no key"
            raise TypeError(f"{event}: the query has {wanted}")
        for name, value in zip(by, values, strict=True):
            if type(value) not in self._fitting[name]:
                self._check_type(event, name, value, columns)

    def _check_type(self, event: Event, name: str, value: Any, columns: Columns | None) -> None:
        """Whether a value fits its column, as far as that is known, and those that wait."""
        before = next((known for known in self._column(name) if known is not None), None)
        try:
            found = pa.array([before, value], from_pandas=False)
            if columns is not None and name in columns.schema.names:
                columns.conform_column(pa.table({name: found}), name)
        except _REFUSALS as error:
            raise _unfit(event, name, value, error) from None
        self._fitting[name].add(type(value))

    # -- as a table ------------------------------------------------------------------------------------------

    def _column(self, name: str) -> list[Any]:
        by = self._query.by
        if name == self._query.time:
            return self._times
        if name not in by:
            return self._values[name]
        return self._keys if len(by) == 1 else [key[by.index(name)] for key in self._keys]

    def _table(self) -> pa.Table:
        names = [*self._query.by, self._query.time, *self._values]
        try:
            return pa.table({name: pa.array(self._column(name), from_pandas=False) for name in names})
        except _REFUSALS:
            self._name_first(names)
            raise

    def _name_first(self, names: Sequence[str]) -> None:
        """Raise for the first event that no column can hold together with those before it."""
        for name in names:
            column = self._column(name)
            before = next((value for value in column if value is not None), None)
            for k, value in enumerate(column):
                try:
                    pa.array([before, value], from_pandas=False)
                except _REFUSALS as error:
                    raise _unfit(Event(self._times[k], self._keys[k], {}), name, value, error) from None


#: what Arrow raises for values that make no column
_REFUSALS = (TypeError, ValueError, OverflowError, pa.ArrowException)


def _unfit(event: Event, name: str, value: Any, error: Exception) -> TypeError:
    return TypeError(f"{event}: {name}={value!r} does not fit its column ({error})")
