"""Queries that would give far too many windows: they are counted, and refused, before any is made.

Without counting first, most of these tests would not end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow.slicing.finder.time_windows import TimeWindows
from windrow.state import MemoryStore

DAY = 86_400_000_000
YEAR_9999 = 253_370_764_800_000_000

#: a window, empty=, times, and how many windows that are
EXPLOSIONS: dict[str, tuple[Any, Any, list[int], str]] = {
    "sliding": (wr.Sliding("1d", slide="1us"), "skip", [7], "86,400,000,000"),
    "sliding, two rows": (wr.Sliding("1d", slide="1us"), "skip", [7, 9], "86,400,000,002"),
    "sliding, far away": (wr.Sliding("1d", slide="1us"), "skip", [0, YEAR_9999], "172,800,000,000"),
    "cumulative": (wr.Cumulative("1d", step="1us"), "skip", [7], "86,399,999,993"),
    "cumulative months": (wr.Cumulative("1mo", step="1us"), "skip", [0], "2,678,400,000,000"),
    "empty": (wr.Tumbling("1us"), "emit", [0, DAY], "86,400,000,001"),
    "empty sliding": (wr.Sliding("2us", slide="1us"), "emit", [0, DAY], "86,400,000,002"),
    "year 9999": (wr.Tumbling("1s"), "emit", [0, YEAR_9999], "253,370,764,801"),
    "year 9999, by steps": (wr.Cumulative("1h", step="1s"), "emit", [0, YEAR_9999], "253,370,768,400"),
}
REFUSALS = pytest.mark.parametrize("case", EXPLOSIONS)


def rows(times: list[int]) -> pa.Table:
    return pa.table({"t": pa.array(times, pa.timestamp("us")), "v": [1.0] * len(times)})


def asked(window: Any, **settings: Any) -> wr.Query:
    return wr.query(time="t", **settings).window(window).agg(n=wr.count())


@REFUSALS
def test_a_table_that_would_give_too_many_windows_is_refused(case: str) -> None:
    window, empty, times, count = EXPLOSIONS[case]
    with pytest.raises(wr.TooManyWindows, match=rf"one step would give {count} windows \(") as raised:
        asked(window, empty=empty).run(rows(times))
    assert repr(window) in str(raised.value)
    assert "raise max_windows=" in str(raised.value)


@REFUSALS
def test_one_of_several_windows_that_would_be_too_many_is_refused(case: str) -> None:
    window, empty, times, count = EXPLOSIONS[case]
    query = wr.query(time="t", empty=empty).window(a=wr.Tumbling("1y"), b=window).agg(n=wr.count())
    with pytest.raises(wr.TooManyWindows, match=rf"{count} (windows \(|of ){re.escape(repr(window))}"):
        query.run(rows(times))


@REFUSALS
@pytest.mark.parametrize("store", [None, MemoryStore], ids=["memory", "store"])
def test_an_operator_that_would_give_too_many_windows_refuses(case: str, store: Any) -> None:
    window, empty, times, count = EXPLOSIONS[case]
    operator = asked(window, empty=empty).open(store=None if store is None else store())
    operator.push(rows(times))
    with pytest.raises(wr.TooManyWindows, match=f"one step would give {count} windows"):
        operator.finish()


@pytest.mark.parametrize("empty", ["skip", "emit"])
def test_a_correction_of_too_many_windows_is_refused_and_changes_nothing(empty: Any) -> None:
    sliding = asked(wr.Sliding("1d", slide="1us"), allowed_lateness="9d", empty=empty)
    operator = sliding.open()
    operator.advance("1970-01-05")
    before = operator.snapshot()
    with pytest.raises(wr.TooManyWindows, match="86,400,000,000 windows"):
        operator.push(rows([DAY]))
    assert operator.snapshot() == before
    assert operator.metrics.rows_in == 0


def test_speculative_results_of_too_many_windows_are_refused() -> None:
    operator = asked(wr.Sliding("1d", slide="1us"), output="update").open()
    with pytest.raises(wr.TooManyWindows, match="86,400,000,000 windows"):
        operator.push(rows([DAY]))
    assert operator.metrics.rows_in == 0


def test_a_late_row_before_all_others_with_too_many_empty_windows_between_is_refused() -> None:
    operator = asked(wr.Tumbling("1us"), allowed_lateness="9d", empty="include").open()
    operator.push(rows([2 * DAY]))
    operator.advance("1970-01-03T00:00:01")
    with pytest.raises(wr.TooManyWindows, match="windows"):
        operator.push(rows([0]))
    assert operator.metrics.rows_in == 1


@pytest.mark.parametrize("engine", ["table", "operator"])
def test_a_delta_with_a_tiny_slide_is_refused(engine: str) -> None:
    query = asked(wr.Delta("v", size=2**32, slide=2**-20))
    operator = query.open()
    operator.push(rows([0]))
    with pytest.raises(wr.TooManyWindows, match=f"{2**52:,} windows"):
        query.run(rows([0])) if engine == "table" else operator.finish()


def test_delta_windows_beyond_64_bits_are_counted() -> None:
    query = asked(wr.Delta("v", size=2**62, slide=1))
    with pytest.raises(wr.TooManyWindows, match=f"{3 * 2**62:,} windows"):
        query.run(pa.table({"t": [0, 1, 2], "v": [-(2**61), 2**61, 2**62 + 2**61]}))


@pytest.mark.parametrize("empty", ["skip", "emit"])
@pytest.mark.parametrize("given_by", ["table", "operator"])
def test_more_windows_than_64_bits_hold_are_refused(given_by: str, empty: Any) -> None:
    """Counting stops at 2**62, and then goes on to the end of the rows."""
    window = wr.Tumbling(1) if empty == "emit" else wr.Sliding(2**60, slide=1)
    query = wr.query(time="t", by="k", empty=empty).window(window).agg(n=wr.count())
    table = pa.table({"t": [0, 2**60 + 2**59] * 9, "k": [k for k in range(9) for _ in range(2)]})
    operator = query.open()
    operator.push(table)
    with pytest.raises(wr.TooManyWindows, match=f"would give {2**62:,} windows"):
        query.run(table) if given_by == "table" else operator.finish()


def test_refusing_takes_no_memory() -> None:
    script = """
import resource, pyarrow as pa, windrow as wr
query = wr.query(time="t", empty="{empty}").window({window}).agg(n=wr.count())
table = pa.table({{"t": pa.array({times}, pa.timestamp("us"))}})
query.run(table.slice(0, 0)), query.open().push(table.slice(0, 0))
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 29), used + (1 << 29)))
for ask in (query.run, lambda table: (operator := query.open(), operator.push(table), operator.finish())):
    try:
        ask(table)
    except wr.TooManyWindows:
        print("refused")
"""
    for case in ("sliding", "cumulative", "year 9999"):
        window, empty, times, _ = EXPLOSIONS[case]
        text = script.format(window=f"wr.{window!r}", empty=empty, times=times)
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
        assert done.stdout.split() == ["refused", "refused"], done.stderr


def test_an_operator_that_refused_to_finish_goes_on_in_smaller_steps() -> None:
    times = [3, 60, 61, 200]
    table = pa.table({"t": times})
    for window in (wr.Sliding(30, slide=1), wr.Cumulative(30, step=1), wr.Tumbling(1)):
        whole = asked(window, empty="include").run(table)
        operator = asked(window, empty="include", max_windows=60).open()
        operator.push(table)
        with pytest.raises(wr.TooManyWindows):
            operator.finish()
        with pytest.raises(wr.TooManyWindows):
            operator.advance(150)
        steps = [operator.advance(watermark) for watermark in range(0, 250, 25)]
        assert pa.concat_tables([*steps, operator.finish()]).equals(whole)


def test_the_limit_is_no_part_of_what_is_stored() -> None:
    before = asked(wr.Sliding(10, slide=1), max_windows=5).open()
    before.push(pa.table({"t": [3]}))
    with pytest.raises(wr.TooManyWindows, match=r"10 windows .* at most 5 are allowed"):
        before.finish()
    after = asked(wr.Sliding(10, slide=1), max_windows=10).restore(before.snapshot())
    assert after.finish().num_rows == 10


def test_a_table_of_many_rows_may_give_many_windows() -> None:
    """The limit grows with the rows."""
    from windrow.slicing.limits import most_windows

    assert most_windows(None, 1) == 10_000_000
    assert most_windows(None, 50_000_000) == 200_000_000
    assert most_windows(7, 50_000_000) == 7


@pytest.mark.parametrize("wrong", [0, -1, True, 1.5, "many"])
def test_max_windows_is_a_whole_number_of_at_least_1(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"max_windows=.*: give a whole number of at least 1"):
        wr.query(time="t", max_windows=wrong)


# -- what is counted is what is made -------------------------------------------------------------------------

HOUR = DAY // 24
WINDOWS = st.sampled_from(
    [
        wr.Tumbling("3h"),
        wr.Sliding("10h", slide="4h"),
        wr.Sliding("10h", slide="1h", offset="30m"),
        wr.Cumulative("12h", step="3h"),
        wr.Cumulative("12h", step="4h", offset="-90m"),
        wr.Tumbling("1d", timezone="Europe/Berlin"),
        wr.Sliding("3d", slide="1d", timezone="America/Sao_Paulo"),
        wr.Sliding("2mo", slide="1mo"),
        wr.Cumulative("1mo", step="1d", timezone="Europe/Berlin"),
        wr.Cumulative("1mo", step="5h"),
        wr.Cumulative("1d", step="1h", timezone="Europe/Berlin"),
        wr.Fixed("1970-01-02", "2d"),
    ]
)
TIMES = st.lists(st.integers(-2_000, 4_000).map(lambda hours: hours * HOUR // 2 + 7), min_size=1, max_size=12)


@given(WINDOWS, st.integers(-2_000, 4_000), st.integers(0, 2_000))
def test_windows_counted_are_windows_listed(window: Any, low: int, span: int) -> None:
    low, high = low * HOUR // 2, (low + span) * HOUR // 2
    assert window.count_ending_in(low, high) == len(list(window.windows_ending_in(low, high)))
    assert window.latest_end(low) == max((end for _, end in window.assign(low)), default=None)


def at_once(query: wr.Query, table: pa.Table) -> int:
    return int(query.run(table).num_rows)


def finished(query: wr.Query, table: pa.Table) -> int:
    operator = query.open()
    assert operator.push(table).num_rows == 0
    return operator.finish().num_rows


def corrected(query: wr.Query, table: pa.Table) -> int:
    """All rows come as corrections of windows that have fired."""
    operator = query.open()
    operator.advance("1975-01-01")
    return operator.push(table).num_rows


@pytest.mark.parametrize("given_by", [at_once, finished, corrected])
@pytest.mark.parametrize("empty", ["skip", "emit"])
@given(WINDOWS, TIMES, st.randoms(use_true_random=False), st.booleans())
def test_the_limit_is_exact(
    given_by: Callable[[wr.Query, pa.Table], int], empty: Any, window: Any, times: Any, random: Any, two: bool
) -> None:
    table = rows(times).append_column("k", pa.array([random.choice("abc") for _ in times]))
    windows = {"a": window, "b": wr.Fixed("1970-01-02", "2d")} if two else {"a": window}
    lateness = "9000d" if given_by is corrected else 0

    def count(limit: int | None) -> int:
        query = wr.query(time="t", by="k", empty=empty, allowed_lateness=lateness, max_windows=limit)
        return given_by(query.window(**windows).agg(n=wr.count()), table)

    whole = count(None)
    assert count(max(1, whole)) == whole
    if whole > 1:
        with pytest.raises(wr.TooManyWindows):
            count(whole - 1)


# -- all kinds of windows count together ---------------------------------------------------------------------

KINDS: dict[str, dict[str, Any]] = {
    "sliding": {"a": wr.Sliding(4, slide=1), "b": wr.Sliding(6, slide=1)},
    "lists": {"a": wr.Cumulative(4, step=1), "b": wr.Cumulative(6, step=1), "c": wr.Fixed(0, 9)},
    "many": {f"w{size}": wr.Tumbling(size) for size in range(1, 9)},
    "delta": {"a": wr.Sliding(4, slide=1), "b": wr.Delta("v", size=6, slide=1)},
}
ROWS = pa.table({"t": [0, 1, 20], "v": [0, 1, 20]})


@pytest.mark.parametrize("empty", ["skip", "emit"])
@pytest.mark.parametrize("kinds", KINDS)
def test_the_limit_holds_for_all_kinds_of_windows_together(kinds: str, empty: Any) -> None:
    def query(limit: int | None = None) -> wr.Query:
        asked = wr.query(time="t", empty=empty, max_windows=limit).window(**KINDS[kinds])
        return asked.agg(n=wr.count())

    whole = query().run(ROWS).num_rows
    assert query(whole).run(ROWS).num_rows == whole
    with pytest.raises(wr.TooManyWindows, match=rf"at most {whole - 1} are allowed") as raised:
        query(whole - 1).run(ROWS)
    assert f"at least {whole} windows (" in str(raised.value)
    fits, refuses = query(whole).open(), query(whole - 1).open()
    fits.push(ROWS), refuses.push(ROWS)
    assert fits.finish().num_rows == whole
    with pytest.raises(wr.TooManyWindows, match=f"at least {whole} windows"):
        refuses.finish()


def test_too_many_windows_of_several_kinds_are_named_with_their_numbers() -> None:
    query = wr.query(time="t", max_windows=16).window(**KINDS["many"]).agg(n=wr.count())
    with pytest.raises(wr.TooManyWindows) as raised:
        query.run(ROWS)
    assert str(raised.value).startswith(
        "one step would give at least 17 windows (3 of Tumbling(1), 2 of Tumbling(2), 2 of Tumbling(3), "
        "10 of 5 other kinds), and at most 16 are allowed: "
    )


def test_corrections_and_windows_that_fire_in_one_push_count_together() -> None:
    def operator(limit: int) -> Any:
        query = wr.query(time="t", watermark=0, allowed_lateness=100, max_windows=limit)
        found = query.window(wr.Sliding(10, slide=1)).agg(n=wr.count()).open()
        found.push(pa.table({"t": [20]}))
        return found

    batch = pa.table({"t": [3, 40]})  # corrects ten windows, and lets ten fire
    assert operator(20).push(batch).num_rows == 20
    with pytest.raises(wr.TooManyWindows, match=r"one step would give 20 windows \(.* at most 19 are"):
        operator(19).push(batch)


# -- what is refused has changed nothing ---------------------------------------------------------------------

STEPS: dict[str, dict[str, Any]] = {
    "fire": {"watermark": 0},
    "correct": {"watermark": 0, "allowed_lateness": 100},
    "update": {"watermark": 0, "emit": "update"},
    "fill": {"watermark": 0, "empty": "emit"},
}


def content(store: Any) -> Any:
    keys = [] if store is None else sorted(store.scan(b""))
    return dict(zip(keys, store.get_many(keys), strict=True)) if keys else {}


@pytest.mark.parametrize("store", [None, MemoryStore], ids=["memory", "store"])
@pytest.mark.parametrize("step", STEPS)
def test_a_push_that_is_refused_leaves_the_operator_as_it_was(step: str, store: Any) -> None:
    windows = {"a": wr.Sliding(10, slide=1), "b": wr.Delta("v", size=10, slide=5), "c": wr.Session(gap=5)}
    settings = wr.query(time="t", by="k", max_windows=60, **STEPS[step])
    some = {"a": windows["a"]} if step == "update" else windows
    query = settings.window(**some).agg(n=wr.count())

    def table(*times: int) -> pa.Table:
        return pa.table({"t": times, "k": ["ann"] * len(times), "v": times})

    kept = None if store is None else store()
    operator, other = query.open(store=kept), query.open()
    for each in (operator, other):
        each.push(table(3, 20))
    before, counted = operator.snapshot(), operator.metrics
    stored = content(kept)
    with pytest.raises(wr.TooManyWindows):
        operator.push(table(*range(21, 2_000, 7)))
    assert operator.snapshot() == before
    assert operator.metrics == counted
    assert content(kept) == stored
    assert operator.push(table(25, 27)).equals(other.push(table(25, 27)))
    if kept is not None:
        assert query.open(store=kept).metrics.rows_in == 4
    assert operator.metrics.rows_in == 4


# -- late pairs of a row and a window ------------------------------------------------------------------------


@pytest.mark.parametrize("window", [wr.Cumulative("1d", step="1us"), wr.Cumulative("1mo", step="1us")])
def test_late_pairs_of_a_tiny_step_are_counted_and_not_listed(window: Any) -> None:
    """A list of them would be as long as a day has microseconds, and more than is allowed."""
    operator = asked(window, max_windows=5).open()
    operator.advance("1970-03-01")
    operator.push(rows([7, 7, DAY - 1]))
    period = 31 * DAY if window.size.is_calendar else DAY
    late = 2 * (period - 7) + period - (DAY - 1)
    assert operator.metrics.late_pairs == {"window_fired": late}


def test_late_pairs_of_a_period_that_ends_at_the_epoch_are_not_those_of_the_next() -> None:
    """Its end is 0, which is an end like any other."""
    window = wr.Cumulative("1mo", step="5h")
    assert TimeWindows([(0, window)]).count_ended(np.array([-HOUR // 2]), 5 * HOUR).tolist() == [1]


@given(WINDOWS, TIMES, st.integers(-2_000, 4_000))
def test_late_pairs_are_those_of_the_windows_of_each_row(window: Any, times: Any, watermark: int) -> None:
    by = watermark * HOUR // 2
    found = TimeWindows([(0, window), (1, wr.Tumbling("3h"))]).count_ended(np.array(times), by)
    for time, count in zip(times, found.tolist(), strict=True):
        each = [*window.assign(time), *wr.Tumbling("3h").assign(time)]
        assert count == sum(end <= by for _, end in each)


# -- interruption --------------------------------------------------------------------------------------------


def test_a_long_list_of_windows_can_be_interrupted() -> None:
    """Windows that Python lists, one by one: a signal ends it."""
    script = """
import pyarrow as pa, windrow as wr
query = wr.query(time="t", max_windows=1 << 60).window(wr.Cumulative("1mo", step="1us")).agg(n=wr.count())
print("ready", flush=True)
query.run(pa.table({"t": pa.array([0], pa.timestamp("us"))}))
"""
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "ready\n"
        os.kill(running.pid, signal.SIGINT)
        _, errors = running.communicate(timeout=600)
    assert "KeyboardInterrupt" in errors
