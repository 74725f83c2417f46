"""Every error and warning of the core, and how the rows are named over which a user's function raised.

A loop that calls a user's function knows the place where it raised (:func:`calling`), and its caller knows
whose rows are at that place (:func:`naming`): :class:`Raised` carries the one to the other.
Cost: nothing a row but setting ``place``.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, TypeGuard

__all__ = [
    "AggregateError",
    "ChangedQuery",
    "CorruptState",
    "DecimalOverflow",
    "EmptyWindow",
    "IntegerOverflow",
    "Loop",
    "MixedZones",
    "Raised",
    "RejectedRows",
    "Span",
    "StateError",
    "StoreFull",
    "StoreUnavailable",
    "TooManyWindows",
    "UnknownColumn",
    "UnstorableValue",
    "UnsupportedVersion",
    "WatermarkJump",
    "WatermarkNeeded",
    "WindowTaken",
    "call_user",
    "calling",
    "naming",
    "naming_row",
    "of_key",
    "rows_named",
    "warn_caller",
]


# -- input


class UnknownColumn(KeyError):
    """A column that a table does not have."""

    def __str__(self) -> str:
        # KeyError would show its message in quotes
        return str(self.args[0]) if self.args else ""


class TooManyWindows(ValueError):
    """A step would give more windows than ``max_windows``. It has changed nothing.

    >>> import pyarrow as pa, windrow as wr
    >>> tiny = wr.query(time="t").window(wr.Sliding("1d", slide="1us")).agg(n=wr.count())
    >>> tiny.run(pa.table({"t": pa.array([0], pa.timestamp("us"))}))
    Traceback (most recent call last):
    windrow.errors.TooManyWindows: one step would give 86,400,000,000 windows (Sliding('1d', slide='1us')),
    and at most 10,000,000 are allowed: use a longer slide, filter rows far away in time, or raise
    max_windows=
    """


class RejectedRows(UserWarning):
    """Rows without a time were left out."""


class MixedZones(UserWarning):
    """Times without a time zone stand beside others that have one, and are taken for UTC."""


class WatermarkNeeded(UserWarning):
    """Rows wait in an operator whose watermark has never moved: it emits nothing."""


class WatermarkJump(UserWarning):
    """A row far ahead of all others moved the watermark: what comes now may all be late."""


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the line outside windrow that led here: the user's, whichever way was taken."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "windrow":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


# -- aggregates


class EmptyWindow(IndexError):
    """Something was to be evicted from a window that does not hold it."""


class AggregateError(ValueError):
    """A function of a user's aggregate raised; the message names the aggregate and the row."""


class IntegerOverflow(AggregateError, OverflowError):
    """The result of an aggregate over integers does not fit int64, the type that such results have.

    >>> import pyarrow as pa, windrow as wr
    >>> table = pa.table({"t": [1, 2], "bytes": [2**62, 2**62]})
    >>> wr.events(table, time="t").window(wr.Tumbling(10)).agg(total=wr.sum("bytes"))
    Traceback (most recent call last):
    windrow.errors.IntegerOverflow: sum = 9223372036854775808 over the rows from 1 to 2 does not fit int64:
    cast the column to float64 or to a decimal, or leave such rows out
    """

    @classmethod
    def of(cls, aggregate: str, result: int, rows: str) -> IntegerOverflow:
        """``rows`` says which: "the rows from 1 to 2 of key 'a'"."""
        return cls(
            f"{aggregate} = {result} over {rows} does not fit int64: "
            f"cast the column to float64 or to a decimal, or leave such rows out"
        )


class DecimalOverflow(AggregateError, OverflowError):
    """The result of an aggregate over decimals has more digits than the type that such results have.

    >>> import pyarrow as pa, windrow as wr
    >>> table = pa.table({"t": [1, 2], "owed": pa.array([9 * 10**37, 9 * 10**37], pa.decimal128(38, 0))})
    >>> wr.events(table, time="t").window(wr.Tumbling(10)).agg(total=wr.sum("owed"))
    Traceback (most recent call last):
    windrow.errors.DecimalOverflow: sum = 180000000000000000000000000000000000000 over the rows from 1 to 2
    does not fit decimal128(38, 0): cast the column to float64 or to fewer digits behind the point, or leave
    such rows out
    """

    @classmethod
    def of(cls, aggregate: str, result: Any, kind: Any, rows: str) -> DecimalOverflow:
        """``rows`` names the rows: "the rows from 1 to 2 of key 'a'"."""
        return cls(
            f"{aggregate} = {result} over {rows} does not fit {kind}: cast the column to float64 or to fewer "
            f"digits behind the point, or leave such rows out"
        )


# -- naming the rows over which a user's function raised


class Span(NamedTuple):
    """Rows of one key: its number, and the times of the first and the last row."""

    key: int
    first: int
    last: int


class _Overflow(OverflowError):
    """A number that does not fit the type of the results: an integer int64, or a decimal its digits."""

    def __init__(self, number: Any, kind: Any) -> None:
        super().__init__(number)
        self.number, self.kind = number, kind

    def named(self, aggregate: str, rows: str) -> AggregateError:
        if isinstance(self.number, int):
            return IntegerOverflow.of(aggregate, self.number, rows)
        return DecimalOverflow.of(aggregate, self.number, self.kind, rows)


class Raised(AggregateError):
    """A function of a user's aggregate or policy raised over the rows or slices [front, stop), where that is
    known already; a caller who knows whose rows they are makes it the error that users see."""

    def __init__(
        self,
        whose: Any,
        error: Exception,
        front: int | None = None,
        stop: int | None = None,
        values: tuple[Any, ...] | None = None,
    ) -> None:
        """``whose``: a monoid or a policy. ``values``: the inputs, where it is one row that raised."""
        self.whose, self.error, self.values = whose, error, values
        self.front, self.stop = front, stop
        #: what slices know of their rows
        self.span: Span | None = None
        super().__init__(f"{self._cause} where partials are combined: {error}")

    @classmethod
    def overflown(cls, monoid: Any, number: Any, kind: Any, front: int, stop: int | None = None) -> Raised:
        """A result over these slices, or over the rows of the window at this place, does not fit."""
        return cls(monoid, _Overflow(number, kind), front, stop)

    @property
    def _cause(self) -> str:
        name = f"aggregate {self.whose.name!r}" if hasattr(self.whose, "combine") else repr(self.whose)
        return f"{name} raised {type(self.error).__name__}"

    def times(self, firsts: Any, lasts: Any) -> tuple[int, int]:
        """The times of the first and the last row, by those of all slices."""
        some = slice(self.front, self.stop)
        return int(firsts[some].min()), int(lasts[some].max())

    def named(self, rows: str = "") -> AggregateError:
        """The error that users see; ``rows`` says which: "row 3 of key 'a'"."""
        if isinstance(self.error, _Overflow):
            return self.error.named(self.whose.name, rows)
        where = f" at {rows}" if rows else ""
        if self.values is not None:
            where += f" (value {self.values[0] if len(self.values) == 1 else self.values!r})"
        return AggregateError(f"{self._cause}{where}: {self.error}")


class Loop:
    """See :func:`calling`."""

    def __init__(self, whose: Any, rows: Sequence[tuple[Any, ...]] | None) -> None:
        self._whose, self._rows = whose, rows
        #: the row that the loop is at, or the first of several slices
        self.place = 0
        #: the end of the slices
        self.stop: int | None = None

    def __enter__(self) -> Loop:
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, Raised):
            if error.front is None:
                error.front, error.stop = self.place, self.stop
        elif self._whose is not None and _is_unnamed(error):
            values = None if self._rows is None else self._rows[self.place]
            raise Raised(self._whose, error, self.place, self.stop, values) from error


def calling(whose: Any = None, rows: Sequence[tuple[Any, ...]] | None = None) -> Loop:
    """Around a loop that calls functions of a monoid and sets ``place`` to where it is: what they raise is
    :class:`Raised` at that place, with the values of its row where ``rows`` are given.

    Without a monoid, functions are called by :func:`call_user`, which knows whose they are.

    >>> import windrow as wr
    >>> rows = [("a",), ("b",)]
    >>> with naming_row(lambda place: f"row {place}"), calling(wr.sum, rows) as loop:
    ...     for loop.place in range(2):
    ...         _ = {"a": 1}[rows[loop.place][0]]
    Traceback (most recent call last):
    windrow.errors.AggregateError: aggregate 'sum' raised KeyError at row 1 (value 'b'): 'b'
    """
    return Loop(whose, rows)


def call_user(whose: Any, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of a monoid or a policy; the place is filled in by the loop around it.

    >>> import windrow as wr
    >>> with naming_row(lambda place: f"row {place}"), calling() as loop:
    ...     loop.place = 7
    ...     call_user(wr.sum, lambda: 1 / 0)
    Traceback (most recent call last):
    windrow.errors.AggregateError: aggregate 'sum' raised ZeroDivisionError at row 7: division by zero
    """
    try:
        return function(*arguments)
    except Exception as error:
        if _is_unnamed(error):
            raise Raised(whose, error) from error
        raise


def _is_unnamed(error: BaseException | None) -> TypeGuard[Exception]:
    return isinstance(error, Exception) and not isinstance(error, (EmptyWindow, AggregateError))


class naming:  # noqa: N801 (it is used like a function)
    """What a user's function raises in here becomes the error that users see. ``rows`` names the rows at the
    place where it raised; None: that is left to the caller."""

    def __init__(self, rows: Callable[[Raised], str | None]) -> None:
        self._rows = rows

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, raised: BaseException | None, trace: Any) -> None:
        if isinstance(raised, Raised):
            found = self._rows(raised)
            if found is not None:
                raise raised.named(found) from raised.error


def naming_row(describe: Callable[[int], str]) -> AbstractContextManager[None]:
    """The same for a loop over rows: ``describe`` names the row at a place."""
    return naming(lambda raised: None if raised.front is None else describe(raised.front))


def rows_named(first: Any, last: Any, key: Sequence[Any]) -> str:
    """Rows for messages, by the times of the first and the last, and their key.

    >>> rows_named(1, 2, ["ann"])
    "the rows from 1 to 2 of key 'ann'"
    """
    return (f"the rows at {first}" if first == last else f"the rows from {first} to {last}") + of_key(key)


def of_key(key: Sequence[Any]) -> str:
    """A key for messages; nothing where there are no key columns.

    >>> of_key(["ann"]), of_key(["ann", 3]), of_key([])
    (" of key 'ann'", " of key ('ann', 3)", '')
    """
    return f" of key {key[0] if len(key) == 1 else tuple(key)!r}" if key else ""


# -- state


class ChangedQuery(ValueError):
    """A snapshot is of another query."""


class StateError(Exception):
    """State cannot be stored, or what is stored cannot be used; the message says which and what to do."""


class CorruptState(StateError, ValueError):
    """Bytes that are not what was written: cut short, changed, missing, or of another kind."""


class UnsupportedVersion(StateError, ValueError):
    """State that another version of windrow has written."""


class UnstorableValue(StateError, TypeError):
    """A value of a type that has no stored form."""


class StoreUnavailable(StateError, ConnectionError):
    """A store did not answer within the time allowed; what was confirmed before is safe."""


class StoreFull(StateError, OSError):
    """A store has no room for a write; nothing has changed, and it can be repeated once there is room."""


class WindowTaken(StateError):
    """A window was opened again or deleted since, so that this one may not write any more."""
