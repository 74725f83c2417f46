"""Rolls that a signal interrupts: the window has taken the rows of whole pieces, and goes on from there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import windrow as wr
from windrow.swag.native import roll as native_roll
from windrow.swag.native import roll_sketch_rows

ALGORITHMS = ["TwoStacks", "TwoStacksLite", "DABA", "DABALite", "FlatFAT", "BInt", "SubtractOnEvict"]
VALUES = np.array([5.0, 1, 4, 4, 2, 9, 3, 3, 7, 0, 6, 2, 8, 1, 5, 5, 2, 4, 9, 3])


def interrupted_after(count: int, rows: int) -> Any:
    """Pieces of so many rows, with Ctrl-C after some of them."""

    def pieces(total: int, cost: int = 1) -> Iterator[tuple[int, int]]:
        for first in range(0, min(total, count * rows), rows):
            yield first, min(total, first + rows)
        raise KeyboardInterrupt

    return pieces


def with_nulls(values: Any) -> list[float | None]:
    return [None if value in (4.0, 3.0) else float(value) for value in values]


@pytest.mark.parametrize("nulls", [False, True], ids=["values", "nulls"])
@pytest.mark.parametrize("by_time", [False, True], ids=["count", "time"])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_an_interrupted_roll_leaves_a_window_with_the_rows_of_whole_pieces(
    name: str, by_time: bool, nulls: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    algorithm, values = getattr(wr.swag, name), with_nulls(VALUES) if nulls else VALUES
    times = np.arange(len(VALUES)) * 2

    def roll(window: Any, first: int, stop: int) -> list[Any]:
        some = values[first:stop]
        found = window.roll_time(times[first:stop], some, 9) if by_time else window.roll(some, 5)
        return list(found)

    window, other = algorithm(wr.sum), algorithm(wr.sum)
    for each in (window, other):
        roll(each, 0, 4)
    with monkeypatch.context() as patch:
        patch.setattr(native_roll, "pieces", interrupted_after(2, rows=3))
        with pytest.raises(KeyboardInterrupt):
            roll(window, 4, 16)
    roll(other, 4, 10)
    window.check_invariants()
    assert len(window) == len(other)
    assert window.query() == other.query()
    assert roll(window, 10, 20) == roll(other, 10, 20)


@pytest.mark.parametrize("name", ["TwoStacksLite", "DABALite"])
def test_an_interrupted_roll_of_sketches_leaves_the_rows_of_whole_pieces(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    window, other = (getattr(wr.swag, name)(wr.approx_distinct) for _ in range(2))
    with monkeypatch.context() as patch:
        patch.setattr(roll_sketch_rows, "pieces", interrupted_after(2, rows=3))
        with pytest.raises(KeyboardInterrupt):
            window.roll(VALUES, 5)
    other.roll(VALUES[:6], 5)
    assert len(window) == len(other)
    assert list(window.roll(VALUES[6:], 5)) == list(other.roll(VALUES[6:], 5))
