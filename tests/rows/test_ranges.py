"""Times sorted as integers with their rows give what a stable sort by comparing gives."""

from __future__ import annotations

import numpy as np
import pytest

from windrow.rows.sorting import stable_order


@pytest.mark.parametrize("count", [0, 1, 2, 100, 20_000])
@pytest.mark.parametrize("span", [0, 1, 3, 10**4, 2**24 - 1, 2**24, 2**40, 2**61])
def test_a_stable_order(count: int, span: int) -> None:
    rng = np.random.default_rng(count)
    for first in (0, -span // 2, -(2**61)):
        times = rng.integers(first, first + span + 1, count)
        assert (stable_order(times) == np.argsort(times, kind="stable")).all()


@pytest.mark.parametrize("late", [1, 10, 1_000])
def test_a_stable_order_of_rows_of_which_few_are_late(late: int) -> None:
    rng = np.random.default_rng(late)
    times = np.arange(10_000) // 3
    times[rng.integers(0, 10_000, late)] -= 50
    assert (stable_order(times) == np.argsort(times, kind="stable")).all()
