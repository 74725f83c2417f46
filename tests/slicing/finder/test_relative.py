"""What points see, and times moved by a duration, against brute force."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.budget import examples
from windrow.arrays import END_OF_TIME, START_OF_TIME
from windrow.frame_arguments import asof_frames
from windrow.slicing.finder.moved_times import moved_times
from windrow.slicing.finder.relative import SeenRows
from windrow.windows import to_us
from windrow.windows.relative import Closed
from windrow.windows.timeline.durations import Duration
from windrow.windows.timeline.moves import moved

DAY = 86_400_000_000
#: when clocks change, or a day is skipped (Samoa), and the end of February
CHANGES = [
    ("Europe/Berlin", "2024-03-31T01:00Z"),
    ("Europe/Berlin", "2024-10-27T01:00Z"),
    ("America/Sao_Paulo", "2018-11-04T03:00Z"),
    ("Pacific/Apia", "2011-12-30T10:00Z"),
    ("Australia/Lord_Howe", "2024-04-06T15:00Z"),
    ("UTC", "2024-03-01T00:00Z"),
    (None, "1970-01-01T00:00Z"),
]
PERIODS = [Duration(n, kind) for n in (-13, -1, 1, 2) for kind in ("months", "weeks", "days")]  # type: ignore[arg-type]


@pytest.mark.parametrize("period", PERIODS, ids=str)
@pytest.mark.parametrize(("zone", "change"), CHANGES, ids=lambda each: str(each)[:12])
def test_all_times_move_as_one_does(period: Duration, zone: str | None, change: str) -> None:
    near = to_us(change) + np.arange(-400, 400) * (DAY // 48) * 7 // 5
    # such that the period ends near the change, too
    times = np.sort(
        np.concatenate([near, near - period.labels * (31 * DAY if period.kind == "months" else DAY)])
    )
    expected = [moved(int(time), period, zone) for time in times]
    assert moved_times(times, period, zone).tolist() == expected


@pytest.mark.parametrize("amount", [0, 1, -1, 2**61, -(2**61), 2**62, 2**63 - 1, -(2**63), 2**64])
def test_moves_end_where_time_does(amount: int) -> None:
    times = [START_OF_TIME + 1, -7, 0, 12, END_OF_TIME - 1]
    expected = [max(START_OF_TIME, min(END_OF_TIME, time + amount)) for time in times]
    assert moved_times(np.array(times), Duration(amount, "integer")).tolist() == expected


def test_months_move_no_further_than_time_reaches() -> None:
    far = Duration(2**40 // 31, "months")
    assert moved_times(np.array([0, END_OF_TIME - 1]), far).tolist()[1] == END_OF_TIME
    assert (
        moved_times(np.array([0, START_OF_TIME + 1]), Duration(-far.amount, "months")).tolist()[1]
        == START_OF_TIME
    )


MOMENTS = st.tuples(st.integers(-6, 6), st.sampled_from([0, 0, 1, 999]))


@settings(max_examples=examples(150))
@given(
    keys=st.lists(st.lists(MOMENTS, max_size=8), min_size=1, max_size=3),
    asked=st.lists(st.tuples(st.integers(0, 3), MOMENTS), max_size=8),
    closed=st.sampled_from(get_args(Closed)),
    direction=st.sampled_from(["backward", "forward"]),
    size=st.sampled_from([1, 2, 5, "all"]),
    lag=st.sampled_from([0, 1, 3]),
)
def test_ranges_of_times_finer_than_microseconds(
    keys: Any, asked: Any, closed: Any, direction: Any, size: Any, lag: int
) -> None:
    """A moment is (microseconds, nanoseconds); key 3 and those without rows are not known."""
    keys, asked = [sorted(key) for key in keys] + [[]] * (4 - len(keys)), sorted(asked)
    rows = [moment for key in keys for moment in key]
    runs = np.cumsum([0, *map(len, keys)])
    columns = np.array([moment for _, moment in asked], np.int64).reshape(-1, 2)
    held = np.array(rows, np.int64).reshape(-1, 2)
    seen = SeenRows(
        held[:, 0].copy(), runs, np.array([key for key, _ in asked], np.int64), columns[:, 0].copy(),
        held[:, 1].copy(), columns[:, 1].copy(),
    )  # fmt: skip
    options: Any = {"closed": closed, "lag": lag, "direction": direction, "rows": None, "timezone": None}
    frame: Any = asof_frames([size], {}, **options).named[0][1]
    fronts, stops = seen.ranges(frame)
    for (key, (at, part)), front, stop in zip(asked, fronts.tolist(), stops.tolist(), strict=True):
        lower = None if frame.lower is None else (frame.lower.at(at), part)
        upper = None if frame.upper is None else (frame.upper.at(at), part)
        expected = [
            place
            for place in range(runs[key], runs[key + 1])
            if (lower is None or rows[place] > lower or (frame.lower.is_closed and rows[place] == lower))
            and (upper is None or rows[place] < upper or (frame.upper.is_closed and rows[place] == upper))
        ]
        assert list(range(front, stop)) == expected
