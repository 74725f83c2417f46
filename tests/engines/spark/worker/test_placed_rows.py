"""Rows sorted by their places, in batches of any size, come out by key, time and arrival."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.spark.sorted_batches import batches
from support.budget import examples
from windrow.engines.spark.worker.rolling.placed_rows import ARRIVAL, PLACE, TIME_BITS, in_order

ROWS = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c", "d", None]), st.none() | st.integers(-9, 40)), max_size=40
)


def placed_table(rows: list[tuple[Any, Any]], hashes: int, step: int, seed: int) -> pa.Table:
    """The rows as Spark has them: by place, and those of a place in any order."""
    places = [
        (sum(map(ord, key or "")) % hashes << TIME_BITS) | (0 if time is None else (time >> step) + 64)
        for key, time in rows
    ]
    table = pa.table(
        {
            "key": pa.array([key for key, _ in rows], pa.string()),
            "time": pa.array([time for _, time in rows], pa.int64()),
            PLACE: pa.array(places, pa.int64()),
            ARRIVAL: pa.array(np.arange(len(rows))),
            "row": pa.array(np.arange(len(rows))),
        }
    )
    mixed = np.random.default_rng(seed).permutation(len(rows))
    return table.take(pa.array(mixed)).sort_by(PLACE)


@pytest.mark.parametrize("hashes", [1, 2, 1_000])
@settings(max_examples=examples(60))
@given(
    rows=ROWS,
    step=st.integers(0, 4),
    seed=st.integers(0, 9),
    sizes=st.lists(st.integers(1, 7), min_size=1, max_size=4),
)
def test_rows_come_by_key_time_and_arrival(
    hashes: int, rows: list[tuple[Any, Any]], step: int, seed: int, sizes: list[int]
) -> None:
    tables = [pa.Table.from_batches([b]) for b in batches(placed_table(rows, hashes, step, seed), sizes)]
    found = [
        row for table in in_order([t for t in tables if len(t)], ["key"], "time") for row in table.to_pylist()
    ]
    keys = list(dict.fromkeys(row["key"] for row in found))
    expected = sorted(
        range(len(rows)),
        key=lambda k: (keys.index(rows[k][0]), -100 if rows[k][1] is None else rows[k][1], k),
    )
    assert [row["row"] for row in found] == expected
    assert all(list(row) == ["key", "time", "row"] for row in found)


def test_rows_are_given_out_as_their_step_is_over() -> None:
    table = placed_table([("a", time) for time in range(100)], 1, 0, 0)
    parts = iter(in_order((table.slice(k, 10) for k in range(0, 100, 10)), ["key"], "time"))
    assert next(parts)["time"].to_pylist() == list(range(9))
    assert next(parts)["time"].to_pylist() == list(range(9, 19))
