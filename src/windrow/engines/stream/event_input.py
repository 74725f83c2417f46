"""Other ways into an operator than a table at a time: single events, and sources that are gone through; and
labels, which ask what has come."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Sequence
from functools import wraps
from typing import Any, TypeVar, cast

from windrow.engines.stream.events import NO_KEY, Events
from windrow.engines.stream.state import State

__all__ = ["EventInput", "one_at_a_time"]

T = TypeVar("T")
_Method = TypeVar("_Method", bound=Callable[..., Any])


def one_at_a_time(method: _Method) -> _Method:
    """A method that runs while no other one does, in whichever thread."""

    @wraps(method)
    def locked(self: Any, *args: Any, **options: Any) -> Any:
        with self._lock:
            return method(self, *args, **options)

    return cast("_Method", locked)


class EventInput(ABC):
    """What is fed to an operator event by event, or from a source."""

    _lock: Any
    _events: Events
    _state: State

    @abstractmethod
    def _check_open(self) -> None: ...

    @abstractmethod
    def push_parts(self, batches: Iterable[T]) -> T: ...

    @abstractmethod
    def push(self, batch: T) -> T: ...

    @abstractmethod
    def finish(self) -> Any: ...

    def insert(self, time: Any, key: Any = NO_KEY, /, **values: Any) -> None:
        """Ingest one event: its time, its key (a tuple for several key columns; left out without any), and
        its values by column. It waits until the next call that returns results: ``flush()``, or any of
        ``push``, ``advance``, ``poll`` and ``finish``, which ingest waiting events as part of the same push.

        An event that does not fit is refused at once; those before it stay.

        >>> import windrow as wr
        >>> query = wr.query(time="t", by="who", watermark=0).window(wr.Tumbling(10)).agg(total=wr.sum("v"))
        >>> tens = query.open()
        >>> for t, who, v in ((1, "ann", 2.0), (4, "ann", 3.0), (12, "bob", 5.0)):
        ...     tens.insert(t, who, v=v)
        >>> tens.flush().to_pylist()
        [{'who': 'ann', 'window_start': 0, 'window_end': 10, 'total': 5.0}]
        >>> tens.insert(13, "bob", v="much")
        Traceback (most recent call last):
        TypeError: the event at 13 of key 'bob': v='much' does not fit its column (...)
        """
        with self._lock:
            self._check_open()
            self._events.add(time, key, values, self._state.columns)

    def at(self, labels: Any, *, at_time: str | None = None, at_by: str | Sequence[str] | None = None) -> Any:
        """What labels see of the events so far, for an as-of query: the labels with a column for each
        aggregate and size, as ``query.run(events, at=labels)`` gives them for all events that were pushed. It
        answers at once and changes nothing. ``at_time`` and ``at_by`` are as for ``run``, and the result is
        the kind of table that the labels are.

        >>> import pandas as pd, windrow as wr
        >>> calls = wr.query(time="t", by="who").asof(10).agg(n=wr.count()).open()
        >>> len(calls.push(pd.DataFrame({"t": [3, 8], "who": ["ann", "ann"]})))
        0
        >>> calls.at(pd.DataFrame({"who": ["ann", "bob"], "now": [9, 9]}), at_time="now")["n"].tolist()
        [2, 0]

        Labels that may look at events which are not kept any more are refused: those before the watermark,
        where there is one.
        """
        raise TypeError(
            "at(labels) is for as-of windows: use .asof('7d') in place of .window(...) or .rolling(...)"
        )

    def flush(self) -> Any:
        """Push the events that wait, as one push, and return the results that are ready."""
        return self.push_parts(())

    @one_at_a_time
    def drop_events(self) -> int:
        """Drop the events that wait, for instance since a push of them raises; how many there were.

        >>> import windrow as wr
        >>> hours = wr.query(time="t").window(wr.Tumbling(10)).agg(n=wr.count()).open()
        >>> hours.insert(3)
        >>> hours.drop_events(), hours.finish().num_rows
        (1, 0)
        """
        count = len(self._events)
        self._events.clear()
        return count

    def over(self, batches: Iterable[T], *, finish: bool = True) -> Iterator[T]:
        """Push each of these tables and yield the results of every push that has some, and at the end those
        of ``finish()``. With ``finish=False`` the operator stays open for more.

        >>> import pyarrow as pa, windrow as wr
        >>> hours = wr.query(time="t", watermark=0).window(wr.Tumbling(10)).agg(n=wr.count()).open()
        >>> for result in hours.over(pa.table({"t": times}) for times in ([2, 4], [7], [15])):
        ...     print(result.to_pylist())
        [{'window_start': 0, 'window_end': 10, 'n': 3}]
        [{'window_start': 10, 'window_end': 20, 'n': 1}]
        """
        for batch in batches:
            result = self.push(batch)
            if _has_rows(result):
                yield result
        if finish:
            yield from (result for result in (self.finish(),) if _has_rows(result))

    async def results(self, source: AsyncIterable[T], *, finish: bool = True) -> AsyncIterator[T]:
        """Like :meth:`over`, for an async iterable: ``async for result in operator.results(source)``. A push
        runs in the event loop's thread and holds it up for as long as it takes.

        >>> import asyncio, pyarrow as pa, windrow as wr
        >>> hours = wr.query(time="t", watermark=0).window(wr.Tumbling(10)).agg(n=wr.count()).open()
        >>> async def source():
        ...     for times in ([2, 4], [15]):
        ...         yield pa.table({"t": times})
        >>> async def counts():
        ...     return [result["n"].to_pylist() async for result in hours.results(source())]
        >>> asyncio.run(counts())
        [[2], [1]]
        """
        async for batch in source:
            result = self.push(batch)
            if _has_rows(result):
                yield result
        if finish:
            result = self.finish()
            if _has_rows(result):
                yield result


def _has_rows(table: Any) -> bool:
    """Whether a table of any kind has rows."""
    return len(table) > 0
