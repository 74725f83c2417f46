"""Many small pushes: what is read once, looked up or left out because nothing is due changes no result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr


def in_order(*tables: pa.Table) -> list[dict[str, Any]]:
    return sorted((row for table in tables for row in table.to_pylist()), key=repr)


@pytest.mark.parametrize("lateness", [0, 7])
@pytest.mark.parametrize("size", [1, 3, 50])
def test_small_pushes_give_what_the_whole_table_gives(size: int, lateness: int) -> None:
    rng = np.random.default_rng(size)
    times = np.sort(rng.integers(0, 300, 150)) + rng.integers(0, 4, 150)
    rows = pa.table({"t": times, "k": rng.choice(["a", "b", "long key"], 150), "v": rng.integers(0, 9, 150)})
    windows = {
        "ten": wr.Tumbling(10),
        "slide": wr.Sliding(30, slide=7, offset=2),
        "band": wr.Fixed(20, 55),
        "grows": wr.Cumulative(40, step=8),
    }
    query = wr.query(time="t", by="k", watermark=5, allowed_lateness=lateness).window(**windows)
    query = query.agg(total=wr.sum("v"), n=wr.count(), top=wr.max("v"))
    operator = query.open()
    results = [operator.push(rows.slice(begin, size)) for begin in range(0, len(rows), size)]
    results.append(operator.finish())
    found = {
        (row["k"], row["window"], row["window_start"], row["window_end"]): row for row in in_order(*results)
    }
    assert [{name: row[name] for name in row if name != "revision"} for row in found.values()] == in_order(
        query.run(rows)
    )
    assert operator.metrics.slices == 0


@pytest.mark.parametrize(
    "kind", [pa.date32(), pa.date64(), pa.timestamp("s"), pa.timestamp("ns", "UTC"), pa.timestamp("ms")]
)
def test_times_of_every_type_are_read(kind: Any) -> None:
    days = pa.array([0, 1, 2, 1, 9], pa.int32()).cast(pa.date32()).cast(kind)
    query = wr.query(time="ts", watermark="0s").window(wr.Tumbling("48h")).agg(n=wr.count())
    operator = query.open()
    results = [operator.push(pa.table({"ts": days.slice(k, 1)})) for k in range(3)]
    results += [operator.push(pa.table({"ts": pa.chunked_array([days.slice(4), days.slice(4)])}))]
    assert in_order(*results, operator.finish()) == in_order(
        query.run(pa.table({"ts": pa.concat_arrays([days.slice(0, 3), days.slice(4), days.slice(4)])}))
    )


def test_a_push_that_fails_leaves_no_keys_behind() -> None:
    query = wr.query(time="t", by="k", watermark=0).window(wr.Tumbling(10)).agg(total=wr.sum("v"))
    tried, plain = query.open(), query.open()
    for operator in (tried, plain):
        operator.push(pa.table({"t": [1, 2], "k": ["a", "b"], "v": [1, 2]}))
    with pytest.raises(wr.IntegerOverflow):
        tried.push(pa.table({"t": [3, 3], "k": ["c", "c"], "v": [2**62, 2**62]}))
    for operator in (tried, plain):
        operator.push(pa.table({"t": [4, 5, 6], "k": ["d", "c", "a"], "v": [3, 4, 5]}))
    assert tried.metrics == plain.metrics
    assert tried.finish().to_pylist() == plain.finish().to_pylist()


def test_tables_may_change_their_columns_from_push_to_push() -> None:
    query = wr.query(time="t", by="k", watermark=0, late="return").window(wr.Tumbling(10)).agg(n=wr.sum("v"))
    rows = [
        pa.table({"t": [1], "k": ["a"], "v": [1.0]}),
        pa.table({"v": [2.0], "other": ["x"], "t": [3], "k": ["a"]}),
    ]
    rows += [
        rows[1],
        rows[0].replace_schema_metadata({"from": "elsewhere"}),
        pa.table({"t": [4], "k": ["a"], "v": [3]}),
    ]
    rows += [rows[1].set_column(0, "v", pa.array([None], pa.null()))]
    operator = query.open()
    for table in (*rows, *rows):
        operator.push(table)
    assert operator.finish()["n"].to_pylist() == [18.0]
    with pytest.raises(KeyError, match="there is no column 'v'"):
        query.open().push(rows[0].select(["t", "k"]))


def test_keys_come_in_pushes_of_any_size() -> None:
    query = wr.query(time="t", by=["k", "x"], watermark=0).window(wr.Tumbling(1_000)).agg(n=wr.count())
    operator, rng = query.open(), np.random.default_rng(3)
    pushed = []
    for count in (3, 20_000, 5, 1, 9_000, 40):
        numbers = rng.integers(0, 12_000, count)
        pushed.append(
            pa.table({"t": np.sort(rng.integers(0, 900, count)), "k": numbers.astype(str), "x": numbers % 3})
        )
        operator.push(pushed[-1])
    assert in_order(operator.finish()) == in_order(query.run(pa.concat_tables(pushed)))


def test_blocks_of_keys_with_many_slices_stay_small() -> None:
    query = wr.query(time="t", by="k").window(wr.Sliding(10_000_000, slide=1)).agg(total=wr.sum("v"))
    operator, count = query.open(), 50_000
    for begin in range(0, 200_000, count):
        times = np.arange(begin, begin + count) // 2
        operator.push(pa.table({"t": times, "k": np.arange(count) % 2, "v": np.ones(count, np.int64)}))
    state = operator._state
    assert state.time is not None
    sizes = [len(part) for part in state.time.store.all()]
    assert sum(sizes) == operator.metrics.slices == 200_000
    assert max(sizes) <= 2**16
    state.time.check_invariants(2, (0, 100_000))
    restored = query.restore(operator.snapshot())
    assert restored.metrics == operator.metrics
