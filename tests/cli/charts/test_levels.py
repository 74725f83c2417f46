"""Lines at every level of detail: M4 of windrow's own, whatever the order in which values come."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow.cli.charts.levels import Line


def buckets_of(line: Line, column: str, width: int) -> dict[int, tuple[float, ...]]:
    """What windrow's m4 gives for all values at once."""
    table = pa.table({"t": line.times, "v": line.columns[column]})
    found = wr.query(time="t").window(wr.Tumbling(width)).agg(line=wr.m4("v")).run(table).to_pylist()
    names = ("first", "min", "max", "last")
    return {row["window_start"]: tuple(row["line"][name] for name in names) for row in found}


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 400), st.integers(-50, 50)), min_size=1, max_size=60),
        min_size=1,
        max_size=6,
    ),
    st.integers(0, 300),
    st.integers(40, 200),
)
def test_levels_that_grow_are_those_of_all_values_at_once(
    parts: list[list[tuple[int, int]]], low: int, length: int
) -> None:
    line, values = Line(), dict[int, float]()
    for part in parts:
        times, numbers = zip(*part, strict=True)
        line.add(np.array(times), {"n": np.array(numbers, float)})
        values.update({t: float(n) for t, n in part})
        high = low + length
        points = line.points("n", low, high, 4)
        assert dict(zip(line.times.tolist(), line.columns["n"].tolist(), strict=True)) == values
        raw = [(float(t), values[t]) for t in sorted(values)]
        if points != [p for p in raw if p in points]:  # buckets
            width = 1 << max((length // 4).bit_length() - 1, 0)
            expected = buckets_of(line, "n", width)
            for k in range(0, len(points), 4):
                start = int(points[k][0]) - width // 2
                assert tuple(y for _, y in points[k : k + 4]) == expected[start]
            inside = {t // width * width for t in values if low <= t <= high}
            assert inside <= {int(x) - width // 2 for x, _ in points}
        else:
            assert [p for p in raw if low <= p[0] <= high] == [p for p in points if low <= p[0] <= high]


def test_a_year_of_minutes_is_drawn_from_few_points() -> None:
    line = Line()
    minutes = np.arange(525_600, dtype=np.int64) * 60_000_000
    line.add(minutes, {"n": np.sin(minutes / 1e12)})
    points = line.points("n", 0, int(minutes[-1]), 900)
    assert 900 <= len(points) <= 4 * 2 * 900
    assert max(y for _, y in points) == float(line.columns["n"].max())
    assert len(line.points("n", 0, 3_600_000_000, 900)) == 62  # an hour, and one to the right


def test_values_that_are_not_numbers_are_left_out() -> None:
    line = Line()
    line.add(np.arange(5), {"n": np.array([1.0, np.nan, 3.0, np.inf, 5.0])})
    assert line.points("n", 0, 9, 10) == [(0.0, 1.0), (2.0, 3.0), (4.0, 5.0)]


@pytest.mark.parametrize("count", [1, 2, 7])
def test_a_stretch_without_values_has_its_neighbours(count: int) -> None:
    line = Line()
    line.add(np.arange(count) * 100, {"n": np.arange(count, dtype=float)})
    assert line.points("n", 1, 99, 10) == [(0.0, 0.0), (100.0, 1.0)][:count]
