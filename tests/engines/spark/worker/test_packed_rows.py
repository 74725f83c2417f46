"""Rows that streams on Spark hold, in chunks: read and written no more than a step needs, and results those
of the local engine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from support.packed_stream import DictEntries, PackedStream
from support.small_chunks import small_chunks
from windrow.engines.frames.answers import Points
from windrow.engines.spark.shipping import packed
from windrow.engines.spark.worker.streaming.step import COUNTED, step
from windrow.engines.spark.worker.streaming.wire import write_rows
from windrow.testing import assert_same_results
from windrow.testing.strategies import CONCATENATION

SCHEMA = pa.schema([("t", pa.int64()), ("k", pa.string()), ("v", pa.int64()), ("s", pa.string())])

#: a hash of the values in their order, which neither commutes nor forgets
HASH = wr.monoid(
    name="hash",
    lift=lambda v: (31, v % 1_000_003),
    combine=lambda a, b: (a[0] * b[0] % 1_000_003, (a[1] * b[0] + b[1]) % 1_000_003),
    identity=(1, 0),
    lower=lambda pair: pair[1],
)

AGGREGATES = {
    "n": wr.count(),
    "total": wr.sum("v"),
    "most": wr.max("v"),
    "text": wr.concat("s"),
    "oldest": wr.first("s"),
    "where": wr.arg_max("v", value="s"),
    "hash": HASH("v"),
}


# -- results -------------------------------------------------------------------------------------------------


def rows_of(count: int, keys: int, disorder: int, seed: int) -> pa.Table:
    """Rows of rising time, out of order by so much, many at the same time, some before 1970."""
    rng = np.random.default_rng(seed)
    times = np.sort(rng.integers(-count // 2, count // 2, count)) + rng.integers(-disorder, 1, count)
    return pa.table(
        {
            "t": times,
            "k": pa.array([f"key {k}" if k else None for k in rng.zipf(1.5, count) % keys]),
            "v": pa.array(rng.integers(-9, 10, count), mask=rng.random(count) < 0.1),
            "s": pa.array([chr(97 + c) for c in rng.integers(0, 26, count)]),
        },
        schema=SCHEMA,
    )


def final_results(query: Any, rows: pa.Table, batch: int, disorder: int) -> tuple[list[Any], PackedStream]:
    """What comes out of micro-batches whose watermark stays behind by as much as rows are out of order."""
    stream = PackedStream(query, SCHEMA)
    found: list[Any] = []
    times = rows["t"].to_numpy()
    shift = 10 * len(rows)  # Spark's watermark is never below zero
    rows = rows.set_column(0, "t", pa.array(times + shift))
    for start in range(0, len(rows), batch):
        before = int(times[:start].max()) + shift - disorder if start else 0
        found += stream.batch(rows.slice(start, batch), before)
    found += stream.batch(rows.slice(0, 0), 100 * len(rows))
    return [row | {"t": row["t"] - shift} for row in found], stream


@pytest.mark.parametrize("batch", [50, 200, 1000])
@pytest.mark.parametrize("keys", [1, 40])
@pytest.mark.parametrize("over", [{"size": 700}, {"rows": 90}], ids=str)
def test_rolling_over_many_chunks_is_that_of_the_local_engine(over: Any, keys: int, batch: int) -> None:
    query = wr.query(time="t", by="k" if keys > 1 else None, watermark=30)
    query = query.rolling(over.get("size"), rows=over.get("rows")).agg(**AGGREGATES)
    rows = rows_of(2000, keys, 30, seed=batch + keys)
    with small_chunks(16, 64):
        found, stream = final_results(query, rows, batch, 30)
    assert_same_results(found, query.run(rows))
    held = sum(len(entries.blocks) for entries in stream.entries.values())
    assert held == 0 or over.get("rows")  # by time nothing is left once the watermark has passed


@pytest.mark.parametrize("over", [{"size": 700}, {"rows": 90}], ids=str)
def test_results_in_advance_are_those_of_rows_that_have_come(over: Any) -> None:
    query = wr.query(time="t", by="k", watermark=30, output="update")
    query = query.rolling(over.get("size"), rows=over.get("rows")).agg(n=wr.count(), text=wr.concat("s"))
    rows = rows_of(1500, 8, 30, seed=1)
    with small_chunks(16, 64):
        found, _ = final_results(query, rows, 120, 30)
    settled = [row for row in found if row["is_final"]]
    plain = [{k: v for k, v in row.items() if k not in ("is_final", "revision")} for row in settled]
    assert_same_results(plain, replace(query, output="final").run(rows))
    assert len(found) > len(settled)


FRAMES: list[dict[str, Any]] = [
    {"sizes": [40, 700], "closed": "left"},
    {"sizes": [300], "closed": "both", "shift": 150},
    {"sizes": [300], "shift": -400},
    {"sizes": ["all"]},
    {"rows": [7, 90]},
    {"rows": 90, "closed": "left"},
    {"rows": [7, 90], "shift": 30},
    {"rows": 90, "shift": -30},
]


def framed(over: dict[str, Any], **settings: Any) -> Any:
    sizes, options = over.get("sizes", []), {k: v for k, v in over.items() if k != "sizes"}
    return wr.query(time="t", watermark=30, **settings).rolling(*sizes, **options)


@pytest.mark.parametrize("over", FRAMES, ids=str)
def test_rolling_frames_over_many_chunks_are_those_of_the_local_engine(over: Any) -> None:
    query = framed(over, by="k").agg(**AGGREGATES)
    rows = rows_of(800, 40, 30, seed=6)
    with small_chunks(16, 64):
        found, stream = final_results(query, rows, 100, 30)
    expected = query.run(rows)
    if "rows" in over and over.get("shift", 0) > 0:  # the last rows of a key wait for rows behind them
        assert 0 < len(found) < len(expected)
        given = {(row["t"], row["v"], row["s"], row["k"], row["hash_90"]) for row in found}
        expected = [
            r for r in expected.to_pylist() if (r["t"], r["v"], r["s"], r["k"], r["hash_90"]) in given
        ]
    assert_same_results(found, expected)
    held = sum(len(entries.blocks) for entries in stream.entries.values())
    assert held == 0 or "rows" in over or over["sizes"] == ["all"]


def weighing(least: int) -> wr.Policy:
    """As many rows as it takes to hold a weight; null weighs nothing."""
    return wr.Policy(lambda new, old: new.weight - old.weight >= least)


@pytest.mark.parametrize("batch", [60, 400])
@pytest.mark.parametrize("keys", [1, 3, 12])
def test_windows_by_policy_over_many_chunks_are_those_of_the_local_engine(keys: int, batch: int) -> None:
    rows, rng = rows_of(1_500, keys, 30, seed=batch + keys), np.random.default_rng(batch)
    heavy = pa.array(
        np.where(rng.random(1_500) < 0.01, 150, rng.integers(0, 4, 1_500)), mask=rng.random(1_500) < 0.2
    )
    rows = rows.set_column(2, "v", heavy)
    start = wr.query(time="t", by="k" if keys > 1 else None, watermark=30, min_count=1)
    kinds = {"weight": wr.sum("v"), "middle": wr.median("v")} | AGGREGATES
    query = start.rolling(weighing(300)).agg(**kinds)
    with small_chunks(16, 64):
        found, _ = final_results(query, rows, batch, 30)
        assert_same_results(found, query.run(rows))
        operator, given = replace(query, watermark=None).open(), []  # in memory, too
        in_order = rows.sort_by("t")
        for begin in range(0, 1_500, batch):
            operator.push(in_order.slice(begin, batch))
            given += operator.advance(int(in_order["t"][min(begin + batch, 1_500) - 1].as_py())).to_pylist()
        given += operator.finish().to_pylist()
    assert_same_results(given, query.run(in_order))


def test_the_middle_is_read_as_partials_and_not_as_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    original = Points.results

    def spied(points: Points, query: Any, frame: Any, reach: Any) -> Any:
        seen.append((len(reach.middle), reach.count))
        return original(points, query, frame, reach)

    monkeypatch.setattr(Points, "results", spied)
    query = wr.query(time="t", watermark=0).rolling(2000).agg(text=wr.concat("s"))
    rows = rows_of(4000, 1, 0, seed=5)
    with small_chunks(16, 64):
        found, _ = final_results(query, rows, 50, 0)
    assert_same_results(found, query.run(rows))
    late = seen[len(seen) // 2 : -1]
    assert all(0 < wholes < 20 and count < 300 for wholes, count in late)


def test_rare_keys_do_not_hold_rows_back() -> None:
    query = wr.query(time="t", by="k", watermark=0).rolling(rows=5).agg(n=wr.count())
    stream = PackedStream(query, SCHEMA)
    most = 0
    with small_chunks(16, 64):
        for start in range(1, 4000, 100):
            keys = [f"rare {start}" if t == start else "usual" for t in range(start, start + 100)]
            columns = {"t": range(start, start + 100), "k": keys, "v": [1] * 100, "s": ["a"] * 100}
            stream.batch(pa.table(columns, schema=SCHEMA), start)
            held = sum(len(entries.blocks) for entries in stream.entries.values())
            most = max(most, held)
    assert most < 30


# -- what a step costs ---------------------------------------------------------------------------------------


@dataclass
class CountingEntries(DictEntries):
    """Counts the calls."""

    calls: int = 0

    def header(self) -> bytes | None:
        self.calls += 1
        return super().header()

    def set_header(self, data: bytes) -> None:
        self.calls += 1
        super().set_header(data)

    def fence(self) -> bytes | None:
        self.calls += 1
        return super().fence()

    def set_fence(self, data: bytes) -> None:
        self.calls += 1
        super().set_fence(data)

    def block(self, name: str) -> bytes:
        self.calls += 1
        return super().block(name)

    def set_block(self, name: str, data: bytes) -> None:
        self.calls += 1
        super().set_block(name, data)

    def delete_block(self, name: str) -> None:
        self.calls += 1
        super().delete_block(name)


class Bucket:
    """One bucket that gets a row a unit of time."""

    def __init__(self, query: Any, keys: int) -> None:
        self.payload, self.keys = packed(query), keys
        self.entries = CountingEntries()
        self.now, self.fired = 1, 0

    def step(self, rows: int, watermark: int | None = None) -> tuple[int, int, int]:
        """Bytes read, bytes written, calls; all rows before the step are due unless a watermark is given."""
        times = np.arange(self.now, self.now + rows)
        columns = {"t": times, "k": [f"k{t % self.keys}" for t in times.tolist()], "v": times % 7}
        blob = write_rows(pa.table(columns | {"s": ["a"] * rows}, schema=SCHEMA))
        self.entries.calls = 0
        before = self.now if watermark is None else watermark
        stepped = step(self.payload, SCHEMA, self.entries, [blob], before, {}, 1)
        self.now += rows
        counts = dict(zip(COUNTED, stepped.counts, strict=True))
        self.fired += counts["windows_fired"]
        return counts["state_bytes_read"], counts["state_bytes_written"], self.entries.calls


def cost(query: Any, held: int, keys: int = 5) -> Any:
    """Bytes and calls of steps of 100 rows once so many are held: on average, and at most."""
    bucket = Bucket(query, keys)
    while bucket.now < 1.3 * held:
        bucket.step(1000)
    some = np.array([bucket.step(100) for _ in range(40)])
    return some.mean(axis=0), some.max(axis=0)


def rolling(over: str, held: int) -> Any:
    start = wr.query(time="t", by="k", watermark=0)
    query = {
        "size": lambda: start.rolling(held),
        "rows": lambda: start.rolling(rows=held // 5),
        "frames": lambda: start.rolling(held // 10, held, closed="left"),
        "ahead": lambda: start.rolling(held // 2, shift=held // 2),
        "rows before": lambda: start.rolling(rows=held // 5, closed="left"),
    }[over]()
    return query.agg(total=wr.sum("v"), most=wr.max("v"))


@pytest.mark.parametrize("over", ["size", "rows"])
def test_a_step_costs_the_same_however_long_the_window_is(over: str) -> None:
    short, _ = cost(rolling(over, 3_000), 3_000)
    long, most = cost(rolling(over, 100_000), 100_000)
    assert long[0] < 3 * short[0]
    assert long[1] < 2 * short[1]
    assert long[2] < 25
    assert most[2] < 40
    assert most[:2].sum() < 500_000  # all rows are 4 MB


@pytest.mark.parametrize("over", ["frames", "ahead", "rows before"])
def test_a_step_of_frames_reads_and_writes_few_of_the_rows_that_are_held(over: str) -> None:
    mean, most = cost(rolling(over, 20_000), 20_000)
    assert mean[2] < 40
    assert mean[:2].sum() < 250_000
    assert most[:2].sum() < 400_000  # all rows are 800 kB, those that wait 400 kB more


def test_windows_that_rows_decide_write_what_is_new() -> None:
    def windows(size: int) -> Any:
        return wr.query(time="t", by="k", watermark=0).window(wr.Rows(size)).agg(total=wr.sum("v"))

    short, _ = cost(windows(600), 3_000)
    long, most = cost(windows(20_000), 100_000)
    assert long[1] < 2 * short[1]
    assert most[1] < 200_000


def test_windows_of_rows_that_are_not_full_read_no_rows() -> None:
    query = wr.query(time="t", by="k", watermark=0).window(wr.Rows(4_000)).agg(total=wr.sum("v"))
    bucket = Bucket(query, 5)
    while bucket.now < 19_000:
        bucket.step(1000)
    for _ in range(2):  # the rows of the steps before are due, and join the groups of their keys
        bucket.step(100)
    some = [bucket.step(100)[0] for _ in range(7)]
    held = sum(map(len, bucket.entries.blocks.values()))
    assert max(some) < 60_000 < 0.2 * held
    full = [bucket.step(1_000)[0] for _ in range(2)]  # the last rows of windows are due in the second
    assert full[1] > 0.9 * held
    assert sum(map(len, bucket.entries.blocks.values())) < 0.1 * held


def test_a_delta_that_is_not_passed_reads_no_rows() -> None:
    query = wr.query(time="t", by="k", watermark=0).window(wr.Delta("t", size=20_000, slide=10_000))
    bucket = Bucket(query.agg(total=wr.sum("v")), 5)
    while bucket.now < 18_000:
        bucket.step(1000)
    for _ in range(2):  # the rows of the steps before are due, and join the groups of their keys
        bucket.step(100)
    some = np.array([bucket.step(100) for _ in range(8)])
    held = sum(map(len, bucket.entries.blocks.values()))
    assert some[:, 0].max() < 60_000 < 0.2 * held
    assert some[:, 1].max() < 60_000
    passed = [bucket.step(1_000)[0] for _ in range(4)]  # windows end at 20,000
    assert max(passed) > 0.9 * held
    assert bucket.fired == 10  # those that end at 10,000, too
    bucket.step(1000)
    for _ in range(2):
        bucket.step(100)
    assert bucket.step(100)[0] < 60_000  # the half that the next windows hold is there, and is not read


@pytest.mark.parametrize("is_rolling", [True, False])
def test_windows_by_policy_read_the_rows_at_their_fronts(is_rolling: bool) -> None:
    def windows(size: int) -> Any:
        start, policy = (
            wr.query(time="t", by="k", watermark=0),
            wr.Policy(lambda new, old: new.n - old.n >= size),
        )
        return (start.rolling(policy) if is_rolling else start.window(policy)).agg(
            n=wr.count(), most=wr.max("v")
        )

    short, _ = cost(windows(1_500), 3_000, keys=2)
    long, most = cost(windows(9_000), 18_000, keys=2)
    assert long[0] < 2 * short[0]
    assert long[1] < 2 * short[1]
    assert most[2] < 60
    assert most[0] < 250_000  # all rows are 700 kB


def test_rows_that_wait_are_read_when_they_are_due() -> None:
    query = wr.query(time="t", by="k", watermark=100_000).rolling(10).agg(total=wr.sum("v"))
    bucket = Bucket(query, 5)
    for _ in range(30):
        read, written, _ = bucket.step(1000, watermark=1)
        assert read < 60_000
        assert written < 120_000
    assert sum(map(len, bucket.entries.blocks.values())) > 800_000


@pytest.mark.parametrize("shift", [0, 5])
def test_results_in_advance_write_the_rows_whose_results_they_are(shift: int) -> None:
    start = wr.query(time="t", by="k", watermark=100_000, output="update").rolling(10, shift=shift)
    bucket = Bucket(start.agg(total=wr.sum("v")), 5)
    written = [bucket.step(1000, watermark=1)[1] for _ in range(20)]
    assert max(written) < 120_000


def test_a_punctuation_that_does_not_come_reads_no_rows() -> None:
    schema = pa.schema([("t", pa.int64()), ("done", pa.bool_())])
    query = wr.query(time="t", watermark=0).window(wr.Punctuation("done")).agg(n=wr.count())
    payload, entries = packed(query), CountingEntries()
    for start in range(1, 40_001, 1000):
        last = start == 39_001
        columns = {"t": range(start, start + 1000), "done": [False] * 999 + [last]}
        blob = write_rows(pa.table(columns, schema=schema))
        stepped = step(payload, schema, entries, [blob], start, {}, 1)
        assert dict(zip(COUNTED, stepped.counts, strict=True))["state_bytes_read"] < 80_000
    stepped = step(payload, schema, entries, [], 50_000, {}, 1)
    assert stepped.results["n"].to_pylist() == [40_000]
    assert not entries.blocks


# -- what a restart may change -------------------------------------------------------------------------------


@pytest.mark.parametrize("over", [{"size": 300}, {"rows": 60}], ids=str)
def test_an_aggregate_that_is_added_sees_what_is_held(over: Any) -> None:
    """As after a snapshot: rows that are held have the columns that were read before."""
    start = wr.query(time="t", by="k", watermark=0).rolling(over.get("size"), rows=over.get("rows"))
    before, after = (
        start.agg(most=wr.max("v")),
        start.agg(text=wr.concat("s"), most=wr.max("v"), sum=wr.sum("v")),
    )
    rows = rows_of(2000, 4, 0, seed=3)
    rows = rows.set_column(0, "t", pa.array(rows["t"].to_numpy() + 2000))
    times = rows["t"].to_numpy()
    with small_chunks(16, 64):
        stream, operator = PackedStream(before, SCHEMA), replace(before, watermark=None).open()
        for begin in range(0, 2000, 100):
            if begin == 1000:
                stream.query = after
                operator = replace(after, watermark=None).restore(operator.snapshot())
            batch, watermark = rows.slice(begin, 100), int(times[begin])
            found = stream.batch(batch, watermark)
            expected = operator.push(batch).to_pylist() + operator.advance(watermark).to_pylist()
            assert_same_results(found, expected)


def test_a_query_that_differs_is_refused() -> None:
    start = wr.query(time="t", by="k", watermark=0)
    stream = PackedStream(start.rolling(300).agg(n=wr.count()), SCHEMA)
    with small_chunks(16, 64):
        stream.batch(rows_of(500, 4, 0, seed=3), 0)
        stream.query = start.rolling(301).agg(n=wr.count())
        with pytest.raises(ValueError, match="rolling was"):
            stream.batch(rows_of(500, 4, 0, seed=3), 0)


def test_text_that_does_not_commute_is_in_order_across_chunks() -> None:
    query = wr.query(time="t", order="v", watermark=0).rolling(1000).agg(text=CONCATENATION("s"))
    rows = rows_of(1200, 1, 20, seed=9)
    with small_chunks(8, 16):
        found, _ = final_results(query, rows, 70, 20)
    assert_same_results(found, query.run(rows))
