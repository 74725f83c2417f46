"""Native loops in pieces: how they are cut, and what a signal between two of them finds."""

from __future__ import annotations

import ctypes
import signal
from itertools import pairwise
from typing import Any

import pytest

from windrow.compile import pieces as module
from windrow.compile.pieces import call_whole, pieces, run_in_pieces


class Clock:
    """Seconds as they are set."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(module, "perf_counter", made)
    return made


@pytest.mark.parametrize("seconds_a_unit", [0.0, 1e-9, 1e-6, 1e-3])
def test_pieces_grow_while_they_are_short_and_shrink_when_they_are_long(
    clock: Clock, seconds_a_unit: float
) -> None:
    asked: list[int] = []

    def run(units: int) -> bool:
        asked.append(units)
        clock.now += units * seconds_a_unit
        return len(asked) == 20

    assert run_in_pieces(run) == 20
    assert asked[-1] * seconds_a_unit < 0.5
    assert asked[-1] == module.LONGEST or asked[-1] * seconds_a_unit > 0.01


@pytest.mark.parametrize("cost", [1, 100, 1 << 20])
def test_pieces_cover_everything_once(clock: Clock, cost: int) -> None:
    found = []
    for first, stop in pieces(10_000, cost):
        clock.now += (stop - first) * cost * 1e-6
        found.append((first, stop))
    assert found[0][0] == 0
    assert found[-1][1] == 10_000
    assert all(before[1] == after[0] for before, after in pairwise(found))
    assert list(pieces(0)) == []


def test_no_signal_comes_between_a_call_and_its_result() -> None:
    """The C function returns with a signal pending, as a kernel does during which Ctrl-C was pressed."""
    results: list[Any] = []
    with pytest.raises(KeyboardInterrupt):
        call_whole(ctypes.CDLL(None)["raise"], (signal.SIGINT,), results)
    assert results == [0]
