"""Results as lines: keys, windows, corrections, and how much is kept."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

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
