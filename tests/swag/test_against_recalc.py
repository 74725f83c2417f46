"""Single operations between batches, removal and insertion in the middle, beside Recalc: aggregates in which
order counts, nulls, values of equal time and negative times."""

from __future__ import annotations

import operator
from typing import Any, ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import windrow as wr
from support.aggregates import CONCATENATION, MATRIX
from support.budget import examples
from windrow.monoids.base import Monoid
from windrow.swag.base import Swag

#: (ordinal, time or None, value or None)
Value = tuple[int, Any, Any]
#: small numbers, and for text a letter each
NUMBERS = st.one_of(st.none(), st.integers(0, 25), st.integers(0, 25))
BATCHES = st.lists(NUMBERS, min_size=1, max_size=12)


class Beside(RuleBasedStateMachine):
    """A window beside the values that it must hold; what it gives is what Recalc gives for these."""

    algorithm: ClassVar[type[Swag]]
    monoid: ClassVar[Monoid]

    def __init__(self) -> None:
        super().__init__()
        self.window: Any = self.algorithm(self.monoid)
        self.values: list[Value] = []
        self.count = 0

    def written(self, number: int | None) -> Any:
        return chr(97 + number) if number is not None and self.monoid is CONCATENATION else number

    def new(self, number: int | None, time: Any = None) -> Value:
        self.count += 1
        return self.count - 1, time, self.written(number)

    def recalculated(self, values: list[Value]) -> Any:
        oracle = wr.swag.Recalc(self.monoid)
        for _, _, value in values:
            oracle.insert(value)
        return oracle

    @invariant()
    def is_sound(self) -> None:
        assert len(self.window) == len(self.values)
        self.window.check_invariants()

    @rule()
    def query(self) -> None:
        assert self.window.query() == self.recalculated(self.values).query()

    def teardown(self) -> None:
        self.query()

    @precondition(lambda self: self.values)
    @rule()
    def evict(self) -> None:
        self.window.evict()
        del self.values[0]

    @rule(share=st.floats(0, 1))
    def evict_many(self, share: float) -> None:
        count = round(share * len(self.values))
        self.window.evict_many(count)
        del self.values[:count]


class InOrder(Beside):
    """Values come at the back; FlatFAT lets them leave from anywhere."""

    @rule(number=NUMBERS)
    def insert(self, number: int | None) -> None:
        self.values.append(self.new(number))
        self.window.insert(self.values[-1][2])

    @rule(numbers=st.lists(st.integers(0, 25), min_size=1, max_size=5))
    def insert_partial(self, numbers: list[int]) -> None:
        partial = self.recalculated([(0, None, self.written(number)) for number in numbers]).query_partial()
        self.window.insert_partial(partial)
        if self.monoid is CONCATENATION:
            self.values.append((self.new(None)[0], None, partial))
        else:  # no single value lifts to it
            self.window.evict_many(len(self.window))
            self.count += 1
            self.values.clear()

    @precondition(lambda self: self.values and hasattr(self.window, "remove"))
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        gone = data.draw(st.sampled_from(self.values))
        self.window.remove(gone[0])
        self.values.remove(gone)

    @precondition(lambda self: hasattr(self.window, "remove"))
    @rule(data=st.data())
    def remove_what_has_left(self, data: st.DataObject) -> None:
        ordinal = data.draw(st.integers(-1, self.count))
        if ordinal not in [value[0] for value in self.values]:
            with pytest.raises(KeyError, match="is not in the window"):
                self.window.remove(ordinal)

    @precondition(lambda self: hasattr(self.window, "range_query"))
    @rule(data=st.data())
    def range_query(self, data: st.DataObject) -> None:
        low, high = sorted(data.draw(st.tuples(*[st.integers(0, len(self.values))] * 2)))
        assert self.window.range_query(low, high) == self.recalculated(self.values[low:high]).query()

    @rule(numbers=BATCHES, size=st.integers(1, 9))
    def roll(self, numbers: list[int | None], size: int) -> None:
        oracle = self.recalculated(self.values)
        self.values += [self.new(number) for number in numbers]
        batch = [value for _, _, value in self.values[-len(numbers) :]]
        assert list(self.window.roll(batch, size)) == oracle.roll(batch, size)
        self.values = self.values[-size:]

    @rule(numbers=BATCHES, gaps=st.lists(st.sampled_from([0, 0, 1, 3]), min_size=12), size=st.integers(1, 9))
    def roll_time(self, numbers: list[int | None], gaps: list[int], size: int) -> None:
        times = [time for _, time, _ in self.values]
        if None in times:
            with pytest.raises(ValueError, match="without times"):
                self.window.roll_time([0], [None], size)
            return
        oracle = wr.swag.Recalc(self.monoid)
        oracle.roll_time(times, [value for _, _, value in self.values], 10**6)
        time = times[-1] if times else -50
        new = [self.new(number, time := time + gap) for number, gap in zip(numbers, gaps, strict=False)]
        rows = [time for _, time, _ in new], [value for _, _, value in new]
        assert list(self.window.roll_time(*rows, size)) == oracle.roll_time(*rows, size)
        self.values = [each for each in [*self.values, *new] if time - each[1] < size]


class ByTime(Beside):
    """Values come at any time; those of equal time are in the order in which they came."""

    def place(self, time: int, number: int | None) -> Any:
        value = self.new(number, time)
        self.values = sorted([*self.values, value], key=operator.itemgetter(1))
        return value[2]

    @rule(time=st.integers(-20, 20), number=NUMBERS)
    def insert_at(self, time: int, number: int | None) -> None:
        self.window.insert_at(time, self.place(time, number))

    @rule(number=NUMBERS)
    def insert(self, number: int | None) -> None:
        time = self.values[-1][1] + 1 if self.values else 0
        self.window.insert(self.place(time, number))

    @rule(numbers=BATCHES, copies=st.sampled_from([1, 6]), data=st.data())
    def bulk_insert(self, numbers: list[int | None], copies: int, data: st.DataObject) -> None:
        numbers = numbers * copies  # from 64 rows on natively
        times = data.draw(st.lists(st.integers(-20, 20), min_size=len(numbers), max_size=len(numbers)))
        self.window.bulk_insert(times, list(map(self.place, times, numbers)))

    @rule(low=st.integers(-25, 25), size=st.integers(0, 20))
    def range_query(self, low: int, size: int) -> None:
        part = [value for value in self.values if low <= value[1] < low + size]
        assert self.window.range_query(low, low + size) == self.recalculated(part).query()

    @rule(time=st.integers(-25, 25), inclusive=st.booleans())
    def evict_by_time(self, time: int, inclusive: bool) -> None:
        (self.window.evict_until if inclusive else self.window.evict_before)(time)
        self.values = [value for value in self.values if time < value[1] + (not inclusive)]

    @rule(numbers=BATCHES, size=st.integers(1, 9))
    def roll(self, numbers: list[int | None], size: int) -> None:
        results, batch = [], [self.written(number) for number in numbers]
        for number in numbers:
            self.values = self.values[max(0, len(self.values) - size + 1) :]
            self.place(self.values[-1][1] + 1 if self.values else 0, number)
            results.append(self.recalculated(self.values).query())
        assert list(self.window.roll(batch, size)) == results


MACHINES: list[tuple[type[Beside], Any]] = [
    *((InOrder, name) for name in ("FlatFAT", "TwoStacks", "TwoStacksLite", "DABA", "DABALite", "BInt")),
    *((InOrder, name) for name in ("FOA", "IOA", "AMTA", "LogMTA")),
    (ByTime, "FiBA"),
]


@pytest.mark.parametrize("monoid", [CONCATENATION, MATRIX], ids=["text", "matrix"])
@pytest.mark.parametrize(("machine", "name"), MACHINES, ids=[name for _, name in MACHINES])
def test_same_as_recalc_between_single_operations_and_batches(
    machine: type[Beside], name: str, monoid: Monoid
) -> None:
    of_one = type(name, (machine,), {"algorithm": getattr(wr.swag, name), "monoid": monoid})
    most = examples(120 if name in ("FlatFAT", "FiBA") else 30)
    run_state_machine_as_test(of_one, settings=settings(max_examples=most, stateful_step_count=30))
