"""By which watermark rows are judged: ``judge="spark"`` against the definition, against the tasks of Spark
streaming on the same micro-batches, and over restarts; and a push in parts against the same push whole."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import windrow as wr
from support.budget import examples
from support.packed_stream import PackedStream
from windrow.state import MemoryStore
from windrow.testing import StreamOracle, assert_same_results
from windrow.testing.strategies import pushes, stream_queries, streams, table_of
from windrow.windows import parse_duration

COUNTED = (
    "rows_in",
    "rows_aggregated",
    "rows_late",
    "rows_rejected",
    "windows_fired",
    "windows_corrected",
    "windows_retracted",
)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)


@st.composite
def judged_queries(draw: st.DrawFn, clock: Any, *, policies: bool = True) -> Any:
    """Queries with a delay, now and then of a fraction of a millisecond."""
    query = draw(stream_queries(clock, policies=policies))
    delay = query.watermark
    if delay is None:
        delay = parse_duration(draw(st.integers(0, 9)) if clock == "integer" else "45m")
    elif clock == "timestamp" and draw(st.booleans()):
        delay = parse_duration(timedelta(microseconds=delay.units + draw(st.integers(0, 1500))))
    return replace(query, watermark=delay)


@st.composite
def micro_batches(draw: st.DrawFn, clock: Any) -> list[Any]:
    """Rows cut into pushes, mostly after 1970; timestamps with fractions of a millisecond."""
    rows = draw(streams(clock, null_times=True, min_size=4, span=25))
    shift = draw(st.sampled_from([0, 40, 40]))
    for row in rows:
        if row["ts"] is not None and clock == "integer":
            row["ts"] += shift
        elif row["ts"] is not None:
            row["ts"] += timedelta(microseconds=draw(st.sampled_from([0, 0, 1, 400, 999, 1001])))
    return draw(pushes(rows))


def spark_watermark_ms(query: Any, batches: list[Any], clock: Any) -> int:
    """What Spark's watermark is once these micro-batches have been: 0 at first, and never lower."""
    times = [row["ts"] for batch in batches for row in batch if row["ts"] is not None]
    if not times:
        return 0
    if clock == "integer":
        return max(0, max(times) - query.watermark.units)
    return max(0, (max(times) - EPOCH) // MILLISECOND - math.ceil(query.watermark.units / 1000))


@pytest.mark.parametrize("clock", ["integer", "timestamp"])
@settings(max_examples=examples(100))
@given(st.data())
def test_a_push_judged_as_spark_does_is_a_micro_batch(clock: Any, data: st.DataObject) -> None:
    query = data.draw(judged_queries(clock, policies=False))
    batches = [*data.draw(micro_batches(clock)), []]
    operator = query.open(lateness="spark")
    stream = PackedStream(query, table_of([], clock).schema)
    late: list[Any] = []
    for number, rows in enumerate(batches):
        watermark = spark_watermark_ms(query, batches[:number], clock)
        found = operator.push(table_of(rows, clock))
        assert_same_results(found, stream.batch(table_of(rows, clock), watermark))
        late += operator.late_rows().to_pylist()
        assert_same_results(late, stream.late)
        counts = {name: getattr(operator.metrics, name) for name in COUNTED}
        assert counts == {name: stream.counts[name] for name in COUNTED}


@pytest.mark.parametrize("clock", ["integer", "timestamp"])
@settings(max_examples=examples(100))
@given(st.data())
def test_judged_as_spark_does_is_what_the_definition_says(clock: Any, data: st.DataObject) -> None:
    query = data.draw(judged_queries(clock))
    batches = [*data.draw(micro_batches(clock)), []]
    restored_after = data.draw(st.integers(0, 8))
    oracle, operator = StreamOracle(query, judge="spark"), query.open(lateness="spark")
    late: list[Any] = []
    for number, rows in enumerate(batches):
        assert_same_results(operator.push(table_of(rows, clock)), oracle.push(rows))
        assert operator.metrics.watermark == oracle.watermark
        late += operator.late_rows().to_pylist()
        if number == restored_after:
            operator = query.restore(operator.snapshot(), lateness="spark")
    assert_same_results(operator.finish(), oracle.finish())
    assert_same_results(late, oracle.late)
    assert {name: getattr(operator.metrics, name) for name in COUNTED} == {
        name: getattr(oracle.counts, name) for name in COUNTED
    }


@pytest.mark.parametrize("judge", ["push", "spark"])
@settings(max_examples=examples(150))
@given(st.data())
def test_a_push_in_parts_gives_what_the_whole_push_gives(judge: Any, data: st.DataObject) -> None:
    query = data.draw(judged_queries("integer"))
    in_parts, whole = query.open(lateness=judge), query.open(lateness=judge)
    for rows in data.draw(micro_batches("integer")):
        parts = data.draw(pushes(rows, max_pushes=4))
        assert_same_results(in_parts.push_parts(map(table_of, parts)), whole.push(table_of(rows)))
        assert repr(in_parts.late_rows().to_pylist()) == repr(whole.late_rows().to_pylist())
        assert _counts(in_parts) == _counts(whole)
    assert_same_results(in_parts.finish(), whole.finish())
    assert _counts(in_parts) == _counts(whole)


def _counts(operator: Any) -> dict[str, Any]:
    found = operator.metrics
    counts = {name: getattr(found, name) for name in COUNTED}
    return counts | {"late": found.late, "rejected": found.rejected, "watermark": found.watermark}


def test_corrections_of_a_push_in_parts_come_once() -> None:
    query = wr.query(time="t", watermark=0, allowed_lateness=50).window(wr.Tumbling(10)).agg(n=wr.count())
    operator = query.open()
    operator.push(pa.table({"t": [3, 25]}))
    found = operator.push_parts(pa.table({"t": [t]}) for t in (4, 14, 5))
    assert [(row["window_start"], row["n"], row["revision"]) for row in found.to_pylist()] == [
        (0, 3, 1),
        (10, 1, 0),
    ]


def test_late_rows_of_sessions_are_judged_by_what_the_last_part_brings() -> None:
    query = wr.query(time="t", watermark=6, late="return").window(wr.Session(5)).agg(n=wr.count())
    operator = query.open()
    operator.push(pa.table({"t": [26]}))  # W = 20
    # 15 alone would be late: [15, 20) has ended. 20, which comes after it, makes that [15, 25)
    operator.push_parts(pa.table({"t": [t]}) for t in (15, 20, 3))
    assert [row["t"] for row in operator.late_rows().to_pylist()] == [3]
    assert [list(row.values()) for row in operator.finish().to_pylist()] == [[15, 25, 2], [26, 31, 1]]


def test_a_part_that_cannot_be_read_leaves_the_operator_as_it_was() -> None:
    operator = wr.query(time="t", watermark=0).window(wr.Tumbling(10)).agg(n=wr.count()).open()
    operator.push(pa.table({"t": [3]}))

    def parts() -> Any:
        yield pa.table({"t": [25]})
        yield pa.table({"t": [31]})
        raise OSError("no more")

    with pytest.raises(OSError, match="no more"):
        operator.push_parts(parts())
    assert operator.metrics.rows_in == 1
    assert operator.finish().to_pylist() == [{"window_start": 0, "window_end": 10, "n": 1}]


def test_rows_of_all_parts_are_held_against_one_moment() -> None:
    noon = datetime(2024, 5, 1, 12, tzinfo=UTC)
    asked = iter([noon.timestamp(), noon.timestamp() + 1e6])
    query = wr.query(time="t", watermark="1m", max_ahead="1h").window(wr.Tumbling("1h")).agg(n=wr.count())
    operator = query.open(now=lambda: next(asked))
    operator.push_parts(pa.table({"t": [noon + timedelta(hours=h)]}) for h in (0, 2))
    assert operator.metrics.rejected == {"too_far_ahead": 1}


def test_spark_counts_milliseconds() -> None:
    """A time of 12.9996 s counts as 12.999 s, a delay of 0.5 ms as 1 ms: so the watermark is 12.998 s."""
    query = wr.query(time="t", watermark="500us").window(wr.Tumbling("1s")).agg(n=wr.count())
    moment = EPOCH + timedelta(seconds=12, microseconds=999_600)
    table = pa.table({"t": pa.array([moment], pa.timestamp("us", "UTC"))})
    operator = query.open(lateness="spark")
    operator.push(table)
    operator.push(table.slice(0, 0))
    assert operator.metrics.watermark == EPOCH + timedelta(seconds=12, milliseconds=998)
    exact = query.open()
    exact.push(table)
    assert exact.metrics.watermark == moment - timedelta(microseconds=500)


def test_the_watermark_that_is_due_is_kept_in_a_store() -> None:
    query = wr.query(time="t", watermark=2, late="return").window(wr.Tumbling(10)).agg(n=wr.count())
    store, running = MemoryStore(), query.open(lateness="spark")
    for times in ([1, 25], [3], [4, 31], [], [5], [41]):
        stored = query.open(lateness="spark", store=store, name="calls")
        table = pa.table({"t": pa.array(times, pa.int64())})
        assert_same_results(stored.push(table), running.push(table))
        assert stored.metrics.watermark == running.metrics.watermark
        assert_same_results(stored.late_rows(), running.late_rows())
    assert running.metrics.late == {"window_fired": 2}


@settings(max_examples=examples(50))
@given(st.data())
def test_restarts_after_every_push_change_nothing(data: st.DataObject) -> None:
    query = data.draw(judged_queries("integer", policies=False))
    assume(query.rolling_over is None)
    store, running = MemoryStore(), query.open(lateness="spark")
    for rows in data.draw(micro_batches("integer")):
        stored = query.open(lateness="spark", store=store)
        assert_same_results(stored.push(table_of(rows)), running.push(table_of(rows)))
        assert stored.metrics.watermark == running.metrics.watermark


@pytest.mark.parametrize(
    ("options", "judge", "said"),
    [
        ({"watermark": 2}, "flink", "lateness='flink': use one of 'push', 'spark'"),
        ({}, "spark", "say how late they may be"),
        ({"watermark": "1m", "idle_timeout": "1m"}, "spark", "Spark's watermark moves with data alone"),
    ],
)
def test_what_cannot_be_judged_so(options: Any, judge: Any, said: str) -> None:
    size = "1m" if "idle_timeout" in options else 10
    query = wr.query(time="t", **options).window(wr.Tumbling(size)).agg(n=wr.count())
    with pytest.raises(ValueError, match=said):
        query.open(lateness=judge)


def test_rows_are_judged_by_what_two_pushes_back_led_to() -> None:
    """A row of push k is late if its windows ended by the watermark of push k - 1, which
    is made of the rows before push k - 1."""
    query = wr.query(time="t", watermark=5).window(wr.Tumbling(10)).agg(n=wr.count())
    operator = query.open(lateness="spark")
    came = [[100, 101], [130], [102, 170], [103, 131], [104, 200], [132, 171]]
    late = 0
    for number, times in enumerate(came):
        before = [t for batch in came[: max(number - 1, 0)] for t in batch]
        watermark = max(before) - 5 if before else -math.inf
        late += sum((t // 10 + 1) * 10 <= watermark for t in times)
        operator.push_parts(pa.table({"t": [t]}) for t in times)
        assert operator.metrics.rows_late == late
    assert late == 3


def test_a_session_that_ends_at_the_watermark_has_fired_and_takes_no_row() -> None:
    """A late row joins no session whose end the watermark has reached, to the tick."""
    operator = (
        wr.query(time="t", allowed_lateness=1, late="return").window(wr.Session(6)).agg(n=wr.count()).open()
    )
    operator.push(pa.table({"t": [8, 8, 2]}))
    fired = [row for time in (2, 5, 8, 14) for row in operator.advance(time).to_pylist()]
    assert [(row["window_start"], row["window_end"], row["n"]) for row in fired] == [(2, 14, 3)]
    operator.push(pa.table({"t": [15, 12]}))
    assert operator.late_rows().to_pylist() == [{"t": 12, "late_by": 2, "late_reason": "session_closed"}]
    rest = operator.finish().to_pylist()
    assert [(row["window_start"], row["window_end"], row["n"]) for row in rest] == [(15, 21, 1)]
