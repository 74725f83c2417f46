"""Every error and warning of the core, and how the rows are named over which a user's function raised.

A loop that calls a user's function knows the place where it raised, and its caller knows whose rows are at
that place: :class:`CombineRaised` carries the one to the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = [
    "AggregateError",
    "ChangedQuery",
    "CombineRaised",
    "CorruptState",
    "EmptyWindow",
    "IntegerOverflow",
    "RejectedRows",
    "StateError",
    "StoreFull",
    "StoreUnavailable",
    "UnknownColumn",
    "UnstorableValue",
    "UnsupportedVersion",
    "WatermarkJump",
    "WindowTaken",
    "rows_named",
]


# -- input


class UnknownColumn(KeyError):
    """A column that a table does not have."""

    def __str__(self) -> str:
        # KeyError would show its message in quotes
        return str(self.args[0]) if self.args else ""


class RejectedRows(UserWarning):
    """Rows without a time were left out."""


class WatermarkJump(UserWarning):
    """A row far ahead of all others moved the watermark: what comes now may all be late."""


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


def rows_named(first: Any, last: Any, key: Sequence[Any]) -> str:
    """Rows for messages, by the times of the first and the last, and their key.

    >>> rows_named(1, 2, ["ann"])
    "the rows from 1 to 2 of key 'ann'"
    """
    rows = f"the rows at {first}" if first == last else f"the rows from {first} to {last}"
    return rows + (f" of key {key[0] if len(key) == 1 else tuple(key)!r}" if key else "")


class _Overflow(OverflowError):
    """An integer that does not fit int64."""


class CombineRaised(AggregateError):
    """A function of a user's aggregate raised over the partials [front, stop); those who know the slices fill
    in whose rows they are."""

    def __init__(self, aggregate: str, error: Exception, front: int, stop: int) -> None:
        super().__init__(
            f"aggregate {aggregate!r} raised {type(error).__name__} where partials are combined: {error}"
        )
        self.aggregate = aggregate
        self.error = error
        self.front, self.stop = front, stop
        self.key: int | None = None
        self.first = self.last = 0

    @classmethod
    def overflown(cls, aggregate: str, result: int, front: int, stop: int) -> CombineRaised:
        """An integer result over these partials does not fit."""
        return cls(aggregate, _Overflow(result), front, stop)

    def located(self, first: Any, last: Any, key: Sequence[Any]) -> AggregateError:
        """The same, told with the times of the first and last row, and their key."""
        rows, error = rows_named(first, last, key), self.error
        if isinstance(error, _Overflow):
            return IntegerOverflow.of(self.aggregate, error.args[0], rows)
        return AggregateError(
            f"aggregate {self.aggregate!r} raised {type(error).__name__} at {rows}: {error}"
        )


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
