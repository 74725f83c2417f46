"""Windows whose combine raises at its first call, its second, ... in whatever they are asked to do."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, NamedTuple

from windrow.errors import AggregateError
from windrow.monoids.base import Monoid
from windrow.monoids.own import monoid
from windrow.swag.base import Swag
from windrow.swag.fiba import FiBA

#: operations of a trace
LENGTH = 60
SIZE = 6


class Brittle:
    """Text whose combine and inverse raise from a certain call on: only there, or until they are mended."""

    def __init__(self) -> None:
        self.calls_left = 0
        self.stays_broken = False
        self.monoid: Monoid = monoid(
            name="brittle",
            lift=str,
            combine=lambda a, b: self._called() or a + b,
            inverse=lambda total, oldest: self._called() or total[len(oldest) :],
            identity="",
            empty="",
            compile=False,
        )

    def _called(self) -> None:
        if self.calls_left:
            self.calls_left -= 1
            if not self.calls_left:
                self.calls_left = int(self.stays_broken)
                raise ZeroDivisionError("brittle")


class Value(NamedTuple):
    """What a window holds: which value of the stream it is, its time where it has one."""

    ordinal: int
    text: str | None
    time: int = 0


Values = list[Value]


class Operation(NamedTuple):
    """A call, what it gives, and what the window holds then."""

    call: Callable[[], Any]
    result: Any
    values: Values


def text_of(values: Values) -> str:
    return "".join(value.text or "" for value in values)


class Trace:
    """Random operations on a window, beside what it must hold."""

    def __init__(
        self, make: Callable[[Monoid], Swag], seed: int, kinds: list[str], stays_broken: bool
    ) -> None:
        self.random = random.Random(seed)
        self.brittle = Brittle()
        self.brittle.stays_broken = stays_broken
        self.window: Any = make(self.brittle.monoid)
        self.kinds = [kind for kind in kinds if hasattr(self.window, kind)]
        self.values: Values = []
        self.ordinal = 0
        self.clock = -40
        #: operations that raised, by kind
        self.raised: set[str] = set()

    def run(self, length: int = LENGTH) -> None:
        for _ in range(length):
            kind = self.random.choice(self.kinds)
            self.attempt(kind, getattr(self, kind)())

    def attempt(self, kind: str, operation: Operation) -> None:
        """Let combine raise at the first call, the second, ... until the operation gets through."""
        for call in count(1):
            self.brittle.calls_left = call
            try:
                result = operation.call()
            except (ZeroDivisionError, AggregateError):
                self.raised.add(kind)
                self.check(f"{kind}, call {call}")
            else:
                break
        self.values = operation.values
        assert result == operation.result, kind
        self.check(kind)

    def check(self, where: str) -> None:
        """The window holds what it must; it is not always asked, since that brings it up to date."""
        self.brittle.calls_left = 0
        assert len(self.window) == len(self.values), where
        if self.random.random() < 0.3:
            self.window.check_invariants()
        if self.random.random() < 0.5:
            assert self.window.query() == text_of(self.values), where

    # -- single operations ---------------------------------------------------------------------------------

    def new(self, text: str | None, time: int = 0) -> Value:
        self.ordinal += 1
        return Value(self.ordinal - 1, text, time)

    def behind(self) -> int:
        """The time that FiBA gives to a value without one."""
        return max((value.time for value in self.values), default=-1) + 1

    def insert(self) -> Operation:
        text = self.random.choice([*"abcdefgh", None])
        return Operation(
            lambda: self.window.insert(text), None, [*self.values, self.new(text, self.behind())]
        )

    def insert_partial(self) -> Operation:
        values = [*self.values, self.new("xyz", self.behind())]
        return Operation(lambda: self.window.insert_partial("xyz"), None, values)

    def evict(self) -> Operation:
        return Operation(self.window.evict, None, self.values[1:]) if self.values else self.query()

    def evict_many(self) -> Operation:
        number = self.random.randint(0, len(self.values))
        return Operation(lambda: self.window.evict_many(number), None, self.values[number:])

    def evict_while(self) -> Operation:
        length = self.random.randint(0, 2 * len(self.values))
        evicted = next(
            (n for n in range(len(self.values)) if len(text_of(self.values[: n + 1])) > length),
            len(self.values),
        )
        return Operation(
            lambda: self.window.evict_while(lambda total, old: len(old) <= length),
            evicted,
            self.values[evicted:],
        )

    def query(self) -> Operation:
        return Operation(self.window.query, text_of(self.values), self.values)

    def query_partial(self) -> Operation:
        return Operation(self.window.query_partial, text_of(self.values), self.values)

    def remove(self) -> Operation:
        if not self.values:
            return self.query()
        gone = self.random.choice(self.values)
        rest = [value for value in self.values if value is not gone]
        return Operation(lambda: self.window.remove(gone.ordinal), None, rest)

    def range_query(self) -> Operation:
        low, high = sorted(self.random.randint(0, len(self.values)) for _ in range(2))
        part = self.values[low:high]
        if isinstance(self.window, FiBA):
            low, high = sorted(self.random.randint(-50, 60) for _ in range(2))
            part = [value for value in self.values if low <= value.time < high]
        return Operation(lambda: self.window.range_query(low, high), text_of(part), self.values)

    # -- batches -------------------------------------------------------------------------------------------

    def texts(self) -> list[str | None]:
        return [self.random.choice([*"abcdefgh", None]) for _ in range(self.random.randint(1, 9))]

    def roll(self) -> Operation:
        texts, size, values, results = self.texts(), self.random.randint(1, 9), self.values, []
        for text in texts:
            time = max((value.time for value in values), default=-1) + 1
            values = values[max(0, len(values) - size + 1) :]
            if not values and isinstance(self.window, FiBA):
                time = 0
            values = [*values, self.new(text, time)]
            results.append(text_of(values))
        return Operation(lambda: self.window.roll(texts, size), results, values)

    def roll_time(self) -> Operation:
        texts, values, results, times = self.texts(), self.values, [], []
        for _ in texts:
            self.clock += self.random.choice([0, 0, 1, 1, 2, 5])
            times.append(self.clock)
        for time in times:
            if len(results) < len(times) and (not results or time != times[len(results) - 1]):
                peers = [self.new(text, time) for t, text in zip(times, texts, strict=True) if t == time]
                values = [value for value in values if time - value.time < SIZE] + peers
                results += [text_of(values)] * len(peers)
        return Operation(lambda: self.window.roll_time(times, texts, SIZE), results, values)

    # -- in any order --------------------------------------------------------------------------------------

    def placed(self, values: Values, value: Value) -> Values:
        return sorted([*values, value], key=lambda each: each.time)

    def insert_at(self) -> Operation:
        time, text = self.random.randint(-40, 40), self.random.choice([*"abcdefgh", None])
        values = self.placed(self.values, self.new(text, time))
        return Operation(lambda: self.window.insert_at(time, text), None, values)

    def bulk_insert(self) -> Operation:
        texts, values = self.texts(), self.values
        times = [self.random.randint(-40, 40) for _ in texts]
        for time, text in zip(times, texts, strict=True):
            values = self.placed(values, self.new(text, time))
        return Operation(lambda: self.window.bulk_insert(times, texts), None, values)

    def evict_before(self) -> Operation:
        time = self.random.randint(-45, 20)
        return Operation(
            lambda: self.window.evict_before(time),
            None,
            [value for value in self.values if value.time >= time],
        )

    def evict_until(self) -> Operation:
        time = self.random.randint(-45, 20)
        return Operation(
            lambda: self.window.evict_until(time), None, [value for value in self.values if value.time > time]
        )

    def roll_unordered(self) -> Operation:
        texts, values, results = self.texts(), self.values, []
        times = [self.random.randint(-40, 40) for _ in texts]
        for time, text in zip(times, texts, strict=True):
            latest = max([time, *(value.time for value in values)])
            if latest - time < 30:
                values = self.placed(values, self.new(text, time))
            values = [value for value in values if latest - value.time < 30]
            results.append(text_of(values))
        return Operation(lambda: self.window.roll_unordered(times, texts, 30), results, values)


SINGLE = [*["insert"] * 6, "insert_partial", "evict", "evict", "evict_many", "evict_while", "query"]
KINDS = {
    "by count": [*SINGLE, "query_partial", "remove", "remove", "range_query", "roll"],
    "by time": ["roll_time", "roll_time", "evict", "evict_many", "evict_while", "query", "remove"],
    "in any order": ["insert_at", "insert_at", "insert", "bulk_insert", "evict_before", "evict_until"],
}
KINDS["in any order"] += ["evict", "range_query", "roll_unordered", "query", "insert_partial"]


def check_that_a_raising_combine_changes_nothing(
    make: Callable[[Monoid], Swag], kinds: list[str], seeds: range
) -> set[str]:
    """Whatever a window is doing when combine raises, it is as it was, and trying again goes on from there;
    the kinds of operation that raised."""

    def traces() -> Iterator[Trace]:
        for seed in seeds:
            for stays_broken in (False, True):
                yield Trace(make, seed, kinds, stays_broken)

    raised: set[str] = set()
    for trace in traces():
        trace.run()
        raised |= trace.raised
    return raised


__all__ = ["KINDS", "Brittle", "Trace", "check_that_a_raising_combine_changes_nothing"]
