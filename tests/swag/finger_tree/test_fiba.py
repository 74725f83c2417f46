"""FiBA against a sorted list, after every step; combine counts against the bounds of its papers."""

from __future__ import annotations

import bisect
import datetime as dt
import math
import random
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import windrow as wr
from support.budget import examples
from windrow.errors import AggregateError, EmptyWindow
from windrow.swag.fiba import FiBA

TEXT = wr.monoid(name="text", lift=lambda v: v, combine=lambda a, b: a + b, identity="", empty="")


class Model:
    """The brute-force window: a list of (time, value) sorted by time, equal times as they came."""

    def __init__(self) -> None:
        self.rows: list[tuple[Any, Any]] = []

    def insert(self, time: Any, value: Any) -> None:
        bisect.insort_right(self.rows, (time, value), key=lambda row: row[0])

    def insert_all(self, times: list[Any], values: list[Any]) -> None:
        for time, value in sorted(zip(times, values, strict=True), key=lambda row: row[0]):
            self.insert(time, value)

    def text(self, low: float = -math.inf, high: float = math.inf) -> str:
        return "".join(value for time, value in self.rows if low <= time < high)

    @property
    def last(self) -> Any:
        return self.rows[-1][0] if self.rows else 0


LETTERS = st.sampled_from("abcdefghij")


class FiBAMachine(RuleBasedStateMachine):
    mu = 2

    def __init__(self) -> None:
        super().__init__()
        self.window = FiBA(TEXT, self.mu)
        self.largest = FiBA(wr.max, self.mu)
        self.model = Model()

    def add(self, time: int, letter: str) -> None:
        self.window.insert_at(time, letter)
        self.largest.insert_at(time, ord(letter))
        self.model.insert(time, letter)

    @rule(back=st.integers(0, 4), letter=LETTERS)
    def insert_near_the_end(self, back: int, letter: str) -> None:
        self.add(self.model.last + 1 - back, letter)

    @rule(time=st.integers(-20, 60), letter=LETTERS)
    def insert_anywhere(self, time: int, letter: str) -> None:
        self.add(time, letter)

    @rule(times=st.lists(st.integers(-20, 60), max_size=40), data=st.data())
    def bulk_insert_anywhere(self, times: list[int], data: st.DataObject) -> None:
        letters = data.draw(st.lists(LETTERS, min_size=len(times), max_size=len(times)))
        self.bulk(times, letters)

    @rule(count=st.integers(1, 60))
    def bulk_insert_at_the_end(self, count: int) -> None:
        self.bulk([self.model.last + i for i in range(count)], [chr(97 + i % 26) for i in range(count)])

    def bulk(self, times: list[int], letters: list[str]) -> None:
        self.window.bulk_insert(times, letters)
        self.largest.bulk_insert(times, [ord(letter) for letter in letters])
        self.model.insert_all(times, letters)

    @precondition(lambda self: self.model.rows)
    @rule()
    def evict(self) -> None:
        self.window.evict()
        self.largest.evict()
        del self.model.rows[0]

    @rule(share=st.floats(0, 1))
    def evict_many(self, share: float) -> None:
        count = round(share * len(self.model.rows))
        self.window.evict_many(count)
        self.largest.evict_many(count)
        del self.model.rows[:count]

    @rule(time=st.integers(-25, 65), inclusive=st.booleans())
    def evict_by_time(self, time: int, inclusive: bool) -> None:
        for window in (self.window, self.largest):
            (window.evict_until if inclusive else window.evict_before)(time)
        self.model.rows = [
            row for row in self.model.rows if row[0] > time or (row[0] == time and not inclusive)
        ]

    @rule(low=st.integers(-25, 65), size=st.integers(-2, 40))
    def query_a_range(self, low: int, size: int) -> None:
        assert self.window.range_query(low, low + size) == self.model.text(low, low + size)

    @invariant()
    def agrees(self) -> None:
        self.window.check_invariants()
        self.largest.check_invariants()
        rows = self.model.rows
        assert list(self.window) == rows
        assert len(self.window) == len(rows)
        assert self.window.query() == self.window.query_partial() == self.model.text()
        assert self.largest.query() == max((ord(value) for _, value in rows), default=None)
        assert (self.window.oldest, self.window.youngest) == (
            (rows[0][0], rows[-1][0]) if rows else (None, None)
        )


class FiBAMachine3(FiBAMachine):
    mu = 3


class FiBAMachine4(FiBAMachine):
    mu = 4


for machine in (FiBAMachine, FiBAMachine3, FiBAMachine4):
    machine.TestCase.settings = settings(max_examples=examples(15), stateful_step_count=40)

TestMu2 = FiBAMachine.TestCase
TestMu3 = FiBAMachine3.TestCase
TestMu4 = FiBAMachine4.TestCase


def soak(rng: random.Random, window: FiBA, model: Model, steps: int) -> None:
    """Random steps, growing and shrinking in turn; a query each time, invariants now and then."""
    for step in range(steps):
        growing = (step // 300) % 2 == 0
        action, last = rng.random(), model.last
        if action < (0.6 if growing else 0.3):
            time = rng.choice([last + 1, last, last - rng.randrange(6), rng.randrange(abs(last) + 2)])
            letter = rng.choice("abcdef")
            window.insert_at(time, letter)
            model.insert(time, letter)
        elif action < 0.62:
            times = [rng.choice([last + i, rng.randrange(abs(last) + 2)]) for i in range(rng.randrange(60))]
            letters = rng.choices("abcdef", k=len(times))
            window.bulk_insert(times, letters)
            model.insert_all(times, letters)
        elif action < 0.95:
            if model.rows:
                window.evict()
                del model.rows[0]
        elif action < 0.97:
            count = rng.randrange(len(model.rows) + 1)
            window.evict_many(count)
            del model.rows[:count]
        elif model.rows:
            low = rng.choice(model.rows)[0]
            high = low + rng.randrange(30)
            assert window.range_query(low, high) == model.text(low, high)
            limit = model.rows[len(model.rows) // 3][0]
            window.evict_before(limit)
            model.rows = [row for row in model.rows if row[0] >= limit]
        assert window.query() == model.text()
        if step % 20 == 0:
            window.check_invariants()


@pytest.mark.parametrize("mu", [2, 3, 4])
def test_soak(mu: int) -> None:
    for seed in range(4):
        soak(random.Random(seed), FiBA(TEXT, mu), Model(), steps=examples(3000))


# -- combines ------------------------------------------------------------------------------------------------


class Counting:
    """A sum that counts its combines."""

    def __init__(self) -> None:
        self.calls = 0
        self.monoid = wr.monoid(
            name="counting", lift=lambda v: v, combine=self.combine, identity=0, compile=False
        )

    def combine(self, a: int, b: int) -> int:
        self.calls += 1
        return a + b

    def of(self, action: Any) -> int:
        before = self.calls
        action()
        return self.calls - before


N = 1 << 13


def filled(mu: int, count: int = N) -> tuple[Counting, FiBA]:
    counting = Counting()
    window = FiBA(counting.monoid, mu)
    for i in range(count):
        window.insert_at(i, 1)
    return counting, window


def packed(mu: int) -> tuple[Counting, FiBA]:
    """The same from one bulk insertion: nodes are full."""
    counting = Counting()
    window = FiBA(counting.monoid, mu)
    window.bulk_insert(range(N), [1] * N)
    return counting, window


@pytest.mark.parametrize("mu", [2, 3, 4, 8])
def test_in_order_inserts_and_evicts_take_constant_combines(mu: int) -> None:
    counting, window = filled(mu)
    assert counting.calls <= 6 * N
    assert counting.of(lambda: [(window.evict(), window.insert(1)) for _ in range(N)]) <= (7 + 2 * mu) * N
    assert counting.of(lambda: [window.evict() for _ in range(N)]) <= (3 + 2 * mu) * N


@pytest.mark.parametrize("mu", [2, 3, 4])
def test_query_takes_two_combines(mu: int) -> None:
    counting, window = filled(mu)
    assert counting.of(window.query) == 2


@pytest.mark.parametrize("mu", [2, 3, 4])
@pytest.mark.parametrize("distance", [1, 4, 16, 64, 256, 1024, 4096])
def test_insert_at_distance_d_takes_log_d_combines(mu: int, distance: int) -> None:
    counting, window = filled(mu)

    def insert_late() -> None:
        for i in range(512):
            window.insert_at(N + i - distance, 1)
            window.insert_at(N + i, 1)

    bound = 6 * mu * (math.log2(distance) / math.log2(mu) + 2)
    assert counting.of(insert_late) / 512 <= bound


@pytest.mark.parametrize("mu", [2, 3, 4])
@pytest.mark.parametrize("count", [1, 2, 3, 10, 63, 64, 65, 500, 1024, 4095, 6000])
def test_bulk_evict_takes_log_m_combines(mu: int, count: int) -> None:
    bound = 6 * mu * (math.log2(count) / math.log2(mu) + 2)
    counting, window = filled(mu)
    assert counting.of(lambda: window.evict_many(count)) <= bound
    window.check_invariants()
    counting, window = packed(mu)
    assert counting.of(lambda: window.evict_before(count)) <= bound
    assert len(window) == N - count


def test_bulk_insert_in_order_takes_one_combine_a_value() -> None:
    counting, window = filled(4, 100)
    assert counting.of(lambda: window.bulk_insert(range(100, 100 + N), [1] * N)) <= 1.1 * N
    window.check_invariants()


# -- the contract of all windows -----------------------------------------------------------------------------


def test_nulls_take_a_place_and_add_nothing() -> None:
    window = FiBA(wr.sum)
    window.insert_at(5, None)
    assert (window.query(), len(window)) == (None, 1)
    window.insert_at(3, 10)
    window.insert_at(4, None)
    assert window.query() == 10
    assert window.range_query(4, 9) is None
    window.evict()
    assert (window.query(), len(window)) == (None, 2)
    window.check_invariants()


def test_nulls_propagate_while_they_are_in_the_window() -> None:
    window = FiBA(wr.sum.with_rules(nulls="propagate"), 2)
    window.bulk_insert(range(40), [None if i == 7 else i for i in range(40)])
    assert window.query() is None
    assert window.range_query(8, 12) == 38
    window.evict_many(7)
    assert window.query() is None
    window.evict()
    assert window.query() == sum(range(8, 40))


def test_empty_window() -> None:
    window = FiBA(wr.max)
    assert window.query() is None
    assert window.query_partial() is wr.max.identity
    assert FiBA(wr.count).query() == 0
    window.evict_before(10)
    with pytest.raises(EmptyWindow):
        window.evict()
    with pytest.raises(EmptyWindow):
        window.evict_many(1)


def test_roll_and_roll_time_equal_the_oracle() -> None:
    values = [random.Random(5).randrange(100) for _ in range(300)]
    assert FiBA(wr.max).roll(values, size=7) == wr.swag.Recalc(wr.max).roll(values, size=7)
    times = sorted(random.Random(6).randrange(200) for _ in range(300))
    window = FiBA(wr.sum)
    expected = wr.swag.Recalc(wr.sum).roll_time(times, values, size=9)
    assert window.roll_time(times[:150], values[:150], size=9) == expected[:150] or times[149] == times[150]
    assert FiBA(wr.sum).roll_time(times, values, size=9) == expected
    with pytest.raises(ValueError, match="must not fall"):
        window.roll_time([times[149] - 1], [1], size=9)


def test_insert_goes_on_from_the_last_time() -> None:
    window = FiBA(TEXT)
    window.insert("a")
    window.insert_at(10, "b")
    window.insert("c")
    assert [time for time, _ in window] == [0, 10, 11]


def test_times_may_be_anything_that_has_an_order() -> None:
    window = FiBA(wr.count)
    day = dt.datetime(2024, 3, 31)
    window.bulk_insert([day + dt.timedelta(hours=h) for h in (5, 1, 3)], [1, 1, 1])
    window.evict_until(day + dt.timedelta(hours=1))
    assert window.query() == 2
    with pytest.raises(TypeError, match="insert_at"):
        window.insert(1)
    with pytest.raises(ValueError, match="not a time"):
        window.insert_at(float("nan"), 1)
    with pytest.raises(ValueError, match="2 times for 1 values"):
        window.bulk_insert([1, 2], [1])
    with pytest.raises(ValueError, match="mu=1"):
        FiBA(wr.count, mu=1)


def test_memory_is_given_back() -> None:
    window = FiBA(wr.sum)
    window.bulk_insert(range(20_000), [1] * 20_000)
    large = window._form.capacity
    window.evict_many(19_990)
    window.check_invariants()
    assert window._form.capacity < large / 100
    assert window.query() == 10


def test_combine_that_raises_leaves_the_window_as_it_was() -> None:
    window = FiBA(TEXT, 2)
    window.bulk_insert(range(50), ["x"] * 50)
    for time in (70, 49, 20, 0):
        with pytest.raises(TypeError):
            window.insert_at(time, 5)
        with pytest.raises(TypeError):
            window.bulk_insert([time, 3, time], ["y", 6, "z"])
        window.check_invariants()
        assert window.query() == "x" * 50
    window.insert_at(7, "y")
    assert window.query() == "x" * 8 + "y" + "x" * 42


def test_times_that_cannot_be_compared_leave_the_window_as_it_was() -> None:
    window = FiBA(TEXT, 2)
    window.bulk_insert(range(50), ["x"] * 50)
    with pytest.raises(TypeError):
        window.insert_at("noon", "y")
    with pytest.raises(TypeError):
        window.bulk_insert(["noon", "night"], ["y", "y"])
    with pytest.raises(TypeError):
        window.evict_before("noon")
    window.check_invariants()
    assert window.query() == "x" * 50


def test_combine_that_raises_in_a_query_is_heard() -> None:
    picky = wr.monoid(name="picky", lift=lambda v: v, combine=_up_to_100, identity=0, compile=False)
    window = FiBA(picky, 2)
    window.bulk_insert(range(9), [10] * 9)
    assert window.query() == 90
    with pytest.raises(ValueError, match="too much"):
        window.insert_at(4, 30) or window.query()
    with pytest.raises(ValueError, match="too much"):
        window.range_query(-1, 9)
    window.evict_many(4)
    assert window.query() == 30 + 5 * 10


def _up_to_100(a: int, b: int) -> int:
    if a + b > 100:
        raise ValueError("too much")
    return a + b


def test_lift_that_raises_names_the_row() -> None:
    picky = wr.monoid(
        name="picky", lift=lambda v: 1 // v, combine=lambda a, b: a + b, identity=0, compile=False
    )
    window = FiBA(picky)
    with pytest.raises(AggregateError, match=r"'picky' raised ZeroDivisionError at row 1 \(value 0\)"):
        window.bulk_insert([1, 2], [1, 0])
    assert len(window) == 0
