"""kill -9 of the process of operators on RocksDB and on Redis, and of the Redis server: no wrong number, and
no step lost that had returned. Few kills here; ``make chaos`` does many."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support import operator_kills
from support.chaos_counts import how_many

KILLS = how_many("WINDROW_CHAOS_OPERATOR_KILLS", 4)


@pytest.mark.parametrize("kind", operator_kills.NAMES)
def test_operators_go_on_after_kills(kind: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", operator_kills.__name__, kind, str(tmp_path), str(KILLS)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[3])
    assert done.returncode == 0, done.stderr[-5000:]
    assert done.stdout.startswith(f"{KILLS} tried, {KILLS} held")


def reported(*lines: str) -> operator_kills.Judge:
    judge = operator_kills.Judge()
    for line in lines:
        judge.take(f"{line}\n")
    return judge


def right(step: int) -> str:
    return f"step windows {step} {operator_kills.Uninterrupted().at(step)['windows']}"


def test_a_step_that_is_lost_is_noticed() -> None:
    with pytest.raises(AssertionError, match="windows is at step 1, and 2 steps had returned"):
        reported(right(0), right(1), "open windows=1 rolling=0 rows=0")


def test_a_step_that_was_taken_unseen_is_counted_and_two_are_noticed() -> None:
    assert reported(right(0), "open windows=2 rolling=0 rows=0").used_up == 1
    with pytest.raises(AssertionError, match="windows is at step 3, and only 1 had returned"):
        reported(right(0), "open windows=3 rolling=0 rows=0")


def test_a_wrong_number_is_noticed() -> None:
    with pytest.raises(AssertionError, match="windows: step 1 has other results"):
        reported(right(0), right(0).replace(" 0 ", " 1 "))


def test_a_step_that_is_taken_twice_is_noticed() -> None:
    with pytest.raises(AssertionError, match="windows takes step 0, and 1 is next"):
        reported(right(0), right(0))
