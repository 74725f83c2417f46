"""Numbers for integers: the same, whatever the number of threads, also where values come late."""

from __future__ import annotations

import numpy as np

from windrow.rows.integer_codes import numbered_in_range
from windrow.rows.sorting import are_sorted
from windrow.threads import PIECE, using_threads


def by_definition(values: list[int]) -> tuple[list[int], list[int]]:
    known: dict[int, int] = {}
    rows: list[int] = []
    for row, value in enumerate(values):
        if value not in known:
            known[value] = len(known)
            rows.append(row)
    return [known[value] for value in values], rows


def test_numbers_are_those_of_first_appearance() -> None:
    values = np.random.default_rng(3).integers(-5, 90, 3 * PIECE)
    values[: 2 * PIECE] = np.minimum(values[: 2 * PIECE], 40)  # the others come when many have passed
    expected = by_definition(values.tolist())
    for threads in (1, 2):
        with using_threads(threads):
            codes, rows = numbered_in_range(values, -5, 95)
        assert (codes.tolist(), rows.tolist()) == expected


def test_rows_out_of_order_are_seen_wherever_they_are() -> None:
    times = np.arange(3 * PIECE)
    with using_threads(2):
        assert are_sorted(times[:0], times)
        for place in (1, PIECE, 2 * PIECE, len(times) - 1):
            changed = times.copy()
            changed[place] = changed[place - 1] - 1
            assert not are_sorted(times[:0], changed)
            keys = (np.arange(len(times)) >= place).astype(np.int32)
            assert are_sorted(keys, changed), "of another key"
