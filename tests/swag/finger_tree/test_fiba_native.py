"""FiBA's native form against the plain one, windows that move between them, and rolling out of order."""

from __future__ import annotations

import math
import operator
import random
from typing import Any

import numpy as np
import pytest

import windrow as wr
from windrow.errors import AggregateError
from windrow.swag.fiba import FiBA


def native_window(monoid: Any, times: Any, values: Any, mu: int | None = None) -> FiBA:
    window = FiBA(monoid, mu)
    window.bulk_insert(times, values)
    assert type(window._form).__name__ == "NativeForm"
    return window


@pytest.mark.parametrize("name", ["sum", "last"])
def test_native_form_equals_the_plain_one(name: str) -> None:
    """Text has no native form; ``last`` shows the order of equal times."""
    monoid = getattr(wr, name)
    rng = random.Random(name)
    times = [rng.randrange(200) for _ in range(400)]
    values = [rng.randrange(100) for _ in times]
    native, plain = native_window(monoid, times, values), FiBA(monoid)
    for time, value in zip(times, values, strict=True):
        plain.insert_at(time, value)
    for step in range(60):
        time, count = rng.randrange(300), rng.randrange(20)
        batch = [rng.randrange(step, 300) for _ in range(rng.randrange(30))]
        numbers = [rng.choice([None, 1, 2, 3]) for _ in batch]
        for window in (native, plain):
            window.insert_at(time, step)
            window.evict_many(min(count, len(window)))
            window.evict_until(step)
            window.bulk_insert(batch, numbers)
        native.check_invariants()
        assert type(native._form).__name__ == "NativeForm"
        assert native.query() == plain.query()
        assert native.range_query(time, time + 50) == plain.range_query(time, time + 50)
        assert [t for t, _ in native] == [t for t, _ in plain]
    native.bulk_insert([], [])
    native.evict_before(10**6)
    assert (len(native), native.query()) == (0, None)


def test_values_without_a_native_form_move_the_window_back() -> None:
    window = native_window(wr.sum, range(100), [1] * 100)
    window.insert_at(50, 0.5)
    assert window.query() == 100.5
    assert type(window._form).__name__ == "PlainForm"
    window = native_window(wr.sum, range(100), [2**40] * 100)
    window.insert_at(50, 2**62)
    assert window.query() == 100 * 2**40 + 2**62
    window.bulk_insert(range(100), [2**62] * 100)
    assert window.query() == 100 * 2**40 + 101 * 2**62
    window = FiBA(wr.sum)
    window.insert_at(0, 0.5)
    window.bulk_insert(range(100), [1] * 100)
    assert window.query() == 100.5
    window = native_window(wr.max, range(100), [1] * 100)
    window.evict_before(49.5)
    assert (len(window), window.oldest) == (50, 50)
    window.evict_many(50)
    window.bulk_insert(range(100), [1.5] * 100)
    assert (window.query(), type(window._form).__name__) == (1.5, "NativeForm")


def test_native_nulls() -> None:
    window = native_window(wr.max, range(100), [None] * 99 + [3])
    assert (window.query(), window.range_query(0, 99)) == (3, None)
    window.evict_many(99)
    window.insert_at(5, None)
    assert (window.query(), len(window)) == (3, 2)
    window = native_window(wr.sum.with_rules(nulls="propagate"), range(100), [None] + [1] * 99)
    assert window.query() is None
    window.evict()
    assert window.query() == 99


def test_native_moments() -> None:
    times = np.datetime64("2024-03-31", "us") + np.arange(100) * np.timedelta64(1, "h")
    window = native_window(wr.sum, times[::-1], np.arange(100.0))
    window.evict_before(np.datetime64("2024-04-01", "us"))
    assert window.oldest == np.datetime64("2024-04-01")
    assert (len(window), window.query()) == (76, float(sum(range(76))))
    with pytest.raises(ValueError, match="not a time"):
        window.bulk_insert(np.array(["NaT"], "M8[us]"), np.array([1.0]))


def test_native_function_that_raises_leaves_the_window_as_it_was() -> None:
    brittle = wr.monoid(name="brittle", lift=lambda v: 12 // v, combine=lambda a, b: a + b, identity=0)
    window = native_window(brittle, range(100), [3] * 100)
    with pytest.raises(AggregateError, match=r"'brittle' raised ZeroDivisionError at row 70"):
        window.bulk_insert(range(100), [1] * 70 + [0] + [1] * 29)
    window.check_invariants()
    assert (len(window), window.query()) == (100, 400)


@pytest.mark.parametrize("native", [True, False])
def test_roll_unordered_equals_the_definition(native: bool) -> None:
    rng = random.Random(8)
    times = [i - rng.randrange(12) for i in range(300)]
    values = [rng.choice([None, *range(50)]) for _ in times]
    expected = []
    for i, _ in enumerate(times):
        latest = max(times[: i + 1])
        seen = [
            values[k] for k in range(i + 1) if max(times[: k + 1]) - times[k] < 10 and latest - times[k] < 10
        ]
        present = [value for value in seen if value is not None]
        expected.append(max(present) if present else None)
    window = FiBA(wr.max if native else wr.monoid(**PLAIN_MAX))
    parts = [window.roll_unordered(times[s : s + 100], values[s : s + 100], size=10) for s in (0, 100, 200)]
    assert type(window._form).__name__ == ("NativeForm" if native else "PlainForm")
    assert [result for part in parts for result in part] == expected
    window.check_invariants()


PLAIN_MAX: dict[str, Any] = {
    "lift": lambda v: v,
    "combine": max,
    "identity": -math.inf,
    "empty": None,
    "compile": False,
}


def test_native_roll_unordered_of_many_nodes_equals_the_definition() -> None:
    """Windows of several levels, whose left fingers are drained in place."""
    rng = random.Random(9)
    times = [i // 2 - rng.choice([0, 0, rng.randrange(90)]) for i in range(2000)]
    values = [rng.choice([None, *range(50)]) for _ in times]
    window, kept, latest, expected = FiBA(wr.max), [], times[0], []
    for time, value in zip(times, values, strict=True):
        latest = max(latest, time)
        kept = [row for row in [*kept, (time, value)] if latest - row[0] < 100]
        expected.append(max((value for _, value in kept if value is not None), default=None))
    found = [window.roll_unordered(times[s : s + 500], values[s : s + 500], 100) for s in range(0, 2000, 500)]
    assert [result for part in found for result in part] == expected
    assert type(window._form).__name__ == "NativeForm"
    window.check_invariants()


def test_a_single_change_that_raises_in_native_code_leaves_a_window_that_goes_on() -> None:
    def combine(a: int, b: int) -> int:
        return a + b + 0 // (a + b < 1000)

    small = wr.monoid(name="small", lift=lambda v: v, combine=combine, identity=0)
    for seed in range(30):
        rng, raised = random.Random(seed), 0
        times = [rng.randrange(-50, 50) for _ in range(70)]
        window, rows = native_window(small, times, [1] * 70, mu=2), sorted((time, 1) for time in times)
        while raised < 2:
            time, value = rng.randrange(-50, 50), rng.choice([1, 1, 150, 800])
            try:
                window.insert_at(time, value)
                rows = sorted([*rows, (time, value)], key=operator.itemgetter(0))
            except ZeroDivisionError:
                raised += 1
            if rng.random() < 0.5:
                window.evict_many(3)
                rows = rows[3:]
            assert list(window) == rows
            if sum(value for _, value in rows) < 1000:
                assert window.query() == sum(value for _, value in rows)
                window.check_invariants()


def test_a_query_that_raises_in_native_code_changes_nothing() -> None:
    def combine(a: int, b: int) -> int:
        return a + b + 0 // (a + b != 7)

    picky = wr.monoid(name="picky", lift=lambda v: v, combine=combine, identity=0)
    window = native_window(picky, range(100), [2] * 99 + [3])
    with pytest.raises(ZeroDivisionError):
        window.range_query(97, 100)
    assert (window.query(), window.range_query(96, 99)) == (201, 6)
