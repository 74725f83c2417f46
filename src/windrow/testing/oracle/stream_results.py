"""What comes out of an operator, and the record of what did: shared by the models of all window kinds.

Invariant: a window comes out again only if its rows, or whether it is final, changed since it last did; the
revision of a window is the number of times that its name, key, start and end came out before, and taking it
back is one of these times.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

from windrow.spec import Spec
from windrow.testing.oracle.membership import Row

__all__ = ["Identity", "Kind", "Model", "Record", "Result", "Watermark", "allowance"]

#: the number of the key, start, end
Identity: TypeAlias = "tuple[int, int, int]"
#: before anything is known it is minus infinity, and after ``finish`` infinity
Watermark: TypeAlias = "int | float"
Kind = Literal["fired", "corrected", "speculative", "retracted"]


@dataclass(frozen=True, slots=True)
class Result:
    """One row that comes out: a window and its rows, or an input row and those that its frame holds."""

    kind: Kind
    key: int
    start: int | None
    end: int | None
    rows: list[Row]
    revision: int
    is_final: bool
    row: Row | None = None
    #: its results by name, where each row has several frames
    seen: dict[str, Any] | None = None


class Model(ABC):
    """One window of a query (or its ``rolling``) over all keys."""

    #: why rows are late for it
    reason: ClassVar[str]

    def __init__(self, query: Spec, name: str, window: Any) -> None:
        self.query = query
        self.name = name
        self.window = window
        self.allowed = allowance(query)
        #: pairs of a row and a window that does not count it because the row came too late
        self.late_pairs = 0
        self.updates: bool = query.output == "update"
        #: rows of windows that start before this may have come before the model was added
        self.since: Watermark = -math.inf

    @property
    def apart(self) -> int:
        """How far a window must be from earlier rows not to be the same as theirs."""
        return 0

    def is_complete(self, result: Result) -> bool:
        """Whether a result comes out: not that of a window which may have rows from before."""
        return result.start is None or result.start >= self.since

    def holds(self, row: Row) -> bool:
        """Whether the row is in a window at all, late or not."""
        return True

    @abstractmethod
    def take(self, key: int, rows: list[Row], watermark: Watermark) -> list[Row]:
        """Take the rows of a key that came with one push; gives back those that are not late."""

    @abstractmethod
    def results(self, watermark: Watermark) -> Iterator[Result]:
        """What is due at a watermark and did not come out yet."""


class Record:
    """What came out of the windows that time or silence decides, and what of it stands."""

    def __init__(self) -> None:
        #: the rows it was computed of, and whether it was final
        self.standing: dict[Identity, tuple[set[int], bool]] = {}
        self._times_out: Counter[Identity] = Counter()

    def give(self, identity: Identity, rows: list[Row], is_final: bool) -> Iterator[Result]:
        """The result of a window, if it is news."""
        arrivals = {row.arrival for row in rows}
        before = self.standing.get(identity)
        if before == (arrivals, is_final):
            return
        self.standing[identity] = arrivals, is_final
        was_final = before is not None and before[1]
        kind: Kind = "speculative" if not is_final else "corrected" if was_final else "fired"
        yield Result(kind, *identity, rows, self._count(identity), is_final)

    def take_back(self, identities: Iterable[Identity], watermark: Watermark) -> Iterator[Result]:
        """One row for each of these windows that says that it is no more."""
        for identity in sorted(identities):
            del self.standing[identity]
            is_final = identity[2] <= watermark
            yield Result("retracted", *identity, [], self._count(identity), is_final)

    def _count(self, identity: Identity) -> int:
        self._times_out[identity] += 1
        return self._times_out[identity] - 1


def allowance(query: Spec) -> int:
    """By how much a row may be behind the watermark and still correct what is out.

    >>> import windrow as wr
    >>> allowance(wr.query(time="ts", allowed_lateness="1s")), allowance(wr.query(time="ts"))
    (1000000, 0)
    """
    return 0 if query.allowed_lateness is None else query.allowed_lateness.units
