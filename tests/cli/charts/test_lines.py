"""Results as lines: keys, windows, corrections, and how much is kept."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.live_pages import HOSTILE, results
from windrow.cli.charts.layout import Layout, layout_of_columns
from windrow.cli.charts.lines import Lines

LAYOUT = Layout(("region",), "window_end", ("longest", "n"), "window_start", "window")


def test_keys_stay_apart_whatever_they_are() -> None:
    lines = Lines(LAYOUT)
    lines.add(results(HOSTILE, 3))
    assert lines.keys("hour") == sorted(HOSTILE)
    assert lines.columns == ("longest", "n")
    assert lines.count == 3 * len(HOSTILE)


def test_keys_of_several_columns_and_of_none() -> None:
    two = Lines(Layout(("a", "b"), "window_end", ("n",)))
    table = pa.table({"a": ["x", None, "x"], "b": [1, 2, 1], "window_end": [5, 5, 9], "n": [1, 2, 3]})
    two.add(table)
    assert two.keys("") == ["null / 2", "x / 1"]
    none = Lines(Layout((), "window_end", ("n",)))
    none.add(table.slice(0, 1))
    assert none.keys("") == ["all"]


def test_of_corrected_results_the_last_counts_and_those_taken_back_are_gone() -> None:
    lines = Lines(Layout((), "window_end", ("n",)))
    lines.add(pa.table({"window_end": [5, 9], "n": [1, 2], "retracted": [False, False]}))
    lines.add(pa.table({"window_end": [5], "n": [7], "retracted": [False]}))
    lines.add(pa.table({"window_end": [9], "n": [2], "retracted": [True]}))
    line = lines.of("", "all")
    assert line is not None
    assert line.points("n", 0, 10, 10) == [(5.0, 7.0)]
    assert lines.count == 1


def test_of_one_step_what_was_not_taken_back_stays() -> None:
    """A session that grows at its front is taken back, and comes again with the same end."""
    lines = Lines(Layout((), "window_end", ("n",)))
    lines.add(pa.table({"window_end": [9, 9], "n": [5, None], "retracted": [False, True]}))
    line = lines.of("", "all")
    assert line is not None
    assert line.points("n", 0, 10, 10) == [(9.0, 5.0)]
    lines.add(pa.table({"window_end": [9], "n": pa.array([None], pa.int64()), "retracted": [True]}))
    assert lines.count == 0


def test_what_is_taken_back_is_gone_from_every_level() -> None:
    lines = Lines(Layout((), "window_end", ("n",)))
    times = np.arange(1000)
    lines.add(pa.table({"window_end": times, "n": np.where(times == 500, 99.0, 1.0)}))

    def largest() -> float:
        line = lines.of("", "all")
        assert line is not None
        return max(y for _, y in line.points("n", 0, 999, 10))

    assert largest() == 99.0
    lines.add(pa.table({"window_end": [1200], "n": [1.0], "retracted": [False]}))
    assert largest() == 99.0
    lines.add(pa.table({"window_end": [500], "n": [99.0], "retracted": [True]}))
    assert largest() == 1.0


def test_results_that_are_no_numbers_are_counted() -> None:
    lines = Lines(Layout(("k",), "window_end", ("who",)))
    for time in range(3):
        lines.add(pa.table({"k": ["a", "b"], "window_end": [time, time], "who": ["x", "y"]}))
        assert lines.count == 2 * (time + 1)
    assert lines.columns == ()
    assert lines.keys("") == ["a", "b"]


def test_tables_are_not_grouped_by_key_while_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    from windrow.cli.charts import lines as module

    grouped = []
    encoded = module._encoded
    monkeypatch.setattr(module, "_encoded", lambda column: grouped.append(len(column)) or encoded(column))
    lines = Lines(LAYOUT)
    for step in range(20):
        lines.add(results([f"key {step}", "north"], 3))
    assert not grouped
    assert (lines.count, len(lines.keys("hour"))) == (20 * 3 + 3, 21)
    assert grouped == [20 * 6] * 2  # the window, and the key, of all tables at once
    assert lines.forgotten == 0


def test_tables_that_nobody_asks_for_are_forgotten_also() -> None:
    lines = Lines(LAYOUT, most=100)
    for step in range(50):
        lines.add(results([f"key {step}"], 30))
        assert lines._waiting_rows <= 100
    assert lines.count + lines.forgotten == 50 * 30
    assert lines.keys("hour") == ["key 47", "key 48", "key 49"]


def test_keys_without_results_that_are_kept_are_gone() -> None:
    lines = Lines(LAYOUT, most=100)
    lines.add(results(["old"], 30))
    assert lines.count == 30
    for _ in range(3):
        lines.add(results(["new"], 90))
        assert lines.count <= 100
    lines.add(results([f"key {k}" for k in range(300)], 1))  # all at one time
    assert 50 <= lines.count <= 100
    assert all(lines.of("hour", key) is not None for key in lines.keys("hour"))


STEP = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 6), st.integers(0, 9), st.booleans()),
    min_size=1,
    max_size=9,
)


@given(st.lists(st.tuples(STEP, st.booleans()), min_size=1, max_size=6))
def test_lines_are_the_same_whenever_somebody_looks(
    steps: list[tuple[list[tuple[str, int, int, bool]], bool]],
) -> None:
    lines = Lines(Layout(("k",), "window_end", ("n",)))
    expected: dict[str, dict[int, int]] = {}
    for rows, somebody_looks in steps:
        rows = sorted(rows, key=lambda row: not row[3])  # of one step, those taken back give way
        keys, times, values, taken_back = map(list, zip(*rows, strict=True))
        lines.add(pa.table({"k": keys, "window_end": times, "n": values, "retracted": taken_back}))
        for key, time, value, is_gone in rows:
            line = expected.setdefault(key, {})
            line[time] = value
            if is_gone:
                del line[time]
        if somebody_looks:
            compare(lines, expected)
    compare(lines, expected)


def compare(lines: Lines, expected: dict[str, dict[int, int]]) -> None:
    assert lines.keys("") == sorted(expected)
    assert lines.count == sum(map(len, expected.values()))
    for key, values in expected.items():
        line = lines.of("", key)
        assert line is not None
        assert line.points("n", 0, 9, 9) == [(float(t), float(values[t])) for t in sorted(values)]
    times = [time for values in expected.values() for time in values]
    assert lines.span() == ((min(times), max(times)) if times else None)
    changes = {change.key: change[1:] for change in lines.changes("", "n")}
    assert changes == {
        key: (
            len(values),
            values[min(values)],
            values[max(values)],
            min(values.values()),
            max(values.values()),
        )
        for key, values in expected.items()
        if values
    }
    busiest = sorted(expected, key=lambda key: (-len(expected[key]), key))[:2]
    assert lines.busiest("", 2) == sorted(busiest)


def test_rows_without_a_time_are_left_out() -> None:
    lines = Lines(Layout((), "window_end", ("n",)))
    lines.add(
        pa.table({"window_end": pa.array([None, 5]), "n": pa.array([None, 1]), "late": [{"t": 1}, None]})
    )
    assert lines.count == 1


def test_the_older_half_is_forgotten_and_counted() -> None:
    lines = Lines(LAYOUT, most=100)
    lines.add(results(["north", "south"], 60))
    assert (lines.count, lines.forgotten) == (60, 60)
    before = lines.span()
    lines.add(results(["north"], 60))
    assert lines.span() != before or lines.count <= 100


def test_what_changed_most_comes_first() -> None:
    lines = Lines(Layout(("k",), "window_end", ("n",)))
    lines.add(pa.table({"k": ["a", "b", "a", "b"], "window_end": [1, 1, 2, 2], "n": [1, 50, 9, 20]}))
    assert [(change.key, change.by) for change in lines.changes("", "n")] == [("b", -30.0), ("a", 8.0)]


@pytest.mark.parametrize("kind", [pa.timestamp("ns"), pa.timestamp("ms", "Europe/Berlin"), pa.date32()])
def test_times_of_any_kind_are_microseconds(kind: pa.DataType) -> None:
    lines = Lines(Layout((), "window_end", ("n",)))
    lines.add(pa.table({"window_end": pa.array([dt.datetime(1970, 1, 2)]).cast(kind), "n": [1]}))
    span = lines.span()
    assert span is not None
    assert span[0] == 86_400_000_000
    assert lines.is_time


def test_columns_that_windrow_did_not_write_have_no_layout() -> None:
    assert layout_of_columns(pa.schema([("a", pa.int64())])) is None
    written = layout_of_columns(results(["north"], 1).schema)
    assert written == LAYOUT
