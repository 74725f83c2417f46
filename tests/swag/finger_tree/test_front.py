"""The driver of rolling windows, interpreted on text: rows out of order, a left finger drained in place."""

from __future__ import annotations

import random
from typing import Any

import pytest

import windrow as wr
from windrow.compile.access import interpret
from windrow.swag.finger_tree.batches import rolling
from windrow.swag.finger_tree.forms import PlainForm, slots_in_order
from windrow.swag.finger_tree.invariants import check_tree
from windrow.swag.finger_tree.layout import GONE, capacity_for, room_in

TEXT = wr.monoid(name="text", lift=lambda v: v, combine=lambda a, b: a + b, identity="", empty="")


class Rolled:
    """A window that the driver rolls over rows, and the same by definition."""

    def __init__(self, mu: int, size: int) -> None:
        self.form, self.size, self.latest = PlainForm(TEXT, mu), size, 0
        self.process = rolling(interpret, TEXT.combine, mu, TEXT.lift, TEXT.lower)
        self.rows: list[tuple[int, str | None]] = []

    def roll(self, times: list[int], values: list[Any]) -> list[str]:
        form, out, flags = self.form, [""] * len(times), [0] * len(times)
        form.reserve(len(times))
        nulls = [value is None for value in values]
        done, self.latest = self.process(
            form.tree,
            "",
            0,
            self.latest,
            self.size,
            room_in(form.capacity, form.mu),
            times,
            (values,),
            nulls,
            out,
            None,
            flags,
        )
        assert done == len(times)
        check_tree(form.plain_tree(), form.mu, TEXT.combine, "")
        return out

    def by_definition(self, times: list[int], values: list[Any]) -> list[str]:
        found, latest = [], max((time for time, _ in self.rows), default=0)
        for time, value in zip(times, values, strict=True):
            latest = max(latest, time)
            self.rows = [row for row in [*self.rows, (time, value)] if latest - row[0] < self.size]
            self.rows.sort(key=lambda row: row[0])
            found.append("".join(value or "" for _, value in self.rows))
        return found


@pytest.mark.parametrize("mu", [2, 3, 8])
@pytest.mark.parametrize(("size", "disorder"), [(5, 0), (60, 1), (60, 20), (300, 80), (300, 299)])
def test_rolling_over_rows_in_any_order_equals_the_definition(mu: int, size: int, disorder: int) -> None:
    rng = random.Random(size + disorder)
    window = Rolled(mu, size)
    begun = 0
    for step in (1, 0, 1, 1, 3):
        times = [begun + step * i - rng.randrange(disorder + 1) for i in range(150)]
        values = [rng.choice([None, "a", "b", "c"]) for _ in times]
        assert window.roll(times, values) == window.by_definition(times, values)
        begun = max(begun, *times) + rng.choice([0, 1, size // 2])


def test_rows_in_order_fill_their_nodes() -> None:
    window = Rolled(4, 1000)
    window.roll(list(range(1000)), ["a"] * 1000)
    assert len({slot // 8 for slot in slots_in_order(window.form.tree, 4)}) < 1000 / 5.5


def test_a_front_that_is_drained_evicts_without_a_combine() -> None:
    combines = []

    def combine(a: str, b: str) -> str:
        combines.append((a, b))
        return a + b

    form = PlainForm(TEXT, 8)
    process = rolling(interpret, combine, 8, TEXT.lift, TEXT.lower)
    times = list(range(4000))
    arguments = (times, (["a"] * 4000,), None, [""] * 4000, None, [0] * 4000)
    form.reserve(4000)
    process(form.tree, "", 0, 0, 1000, room_in(form.capacity, 8), *arguments)
    # 2 to insert, 2 to query, 1 to fold each entry of a finger back; splits and merges
    assert len(combines) < 8 * 4000
    assert form.tree.marks[GONE] == 0


@pytest.mark.parametrize("mu", [2, 3, 4, 8])
def test_nodes_that_are_reserved_hold_the_window(mu: int) -> None:
    for size in [*range(200), 10**4, 10**6]:
        assert room_in(capacity_for(size, mu), mu) >= size
        assert room_in(max(capacity_for(size, mu), 16), mu) >= size
