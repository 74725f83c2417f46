"""Operators that keep their rows in a store, in chunks that leave memory, against those that keep none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from support.small_chunks import small_chunks
from windrow.state import MemoryStore
from windrow.testing import assert_same_results

QUERIES = {
    "rolling by time": wr.query(time="t", by="k", watermark=20).rolling(150),
    "rolling by rows": wr.query(time="t", by="k", watermark=20).rolling(rows=40),
    "rows": wr.query(time="t", by="k", watermark=20).window(wr.Rows(60, slide=20)),
    "delta": wr.query(time="t", by="k", watermark=20).window(wr.Delta("km", size=90, slide=30)),
    "punctuation": wr.query(time="t", by="k", watermark=20).window(wr.Punctuation("done")),
    "threshold": wr.query(time="t", by="k", watermark=20).window(wr.Threshold("late")),
    "policy": wr.query(time="t", by="k", watermark=20).window(wr.Policy(lambda new, old: new.n - old.n >= 9)),
    "rolling by policy": wr.query(time="t", by="k", watermark=20).rolling(
        wr.Policy(lambda new, old: new.n - old.n >= 9)
    ),
    "in advance": wr.query(time="t", by="k", watermark=20, output="update").rolling(150),
}


def batch(number: int) -> pa.Table:
    rng = np.random.default_rng(number)
    times = np.arange(number * 50, number * 50 + 50) - rng.integers(0, 20, 50)
    return pa.table(
        {
            "t": times,
            "k": [["a", "b", None][k] for k in rng.integers(0, 3, 50)],
            "s": [chr(97 + c) for c in rng.integers(0, 26, 50)],
            "km": times.astype(float),
            "done": rng.random(50) < 0.03,
            "late": rng.random(50) < 0.97,
        }
    )


class Failing(MemoryStore):
    """Fails when it is told to."""

    fails = False

    def write(self, *arguments: Any, **options: Any) -> None:
        if self.fails:
            raise OSError("the disk is full")
        super().write(*arguments, **options)


@pytest.mark.parametrize("name", QUERIES)
def test_steps_that_fail_and_operators_that_are_opened_again(name: str) -> None:
    query = QUERIES[name].agg(n=wr.count(), text=wr.concat("s"))
    store, plain = Failing(), query.open()
    with small_chunks(8, 16):
        stored = query.open(store=store, name="rows", cache_bytes=2000)
        for number in range(30):
            if number % 4 == 3:
                store.fails = True
                with pytest.raises(OSError, match="the disk is full"):
                    stored.push(batch(number))
                store.fails = False
            if number % 7 == 6:
                stored = query.open(store=store, name="rows", cache_bytes=2000)
            assert_same_results(stored.push(batch(number)), plain.push(batch(number)))
        found, expected = stored.finish(), plain.finish()
        assert_same_results(found, expected)
    assert not list(store.scan(b""))


@pytest.mark.parametrize("name", [name for name, query in QUERIES.items() if not query.rolling_over])
def test_results_come_in_the_same_order_as_in_memory(name: str) -> None:
    query = QUERIES[name].agg(n=wr.count(), text=wr.concat("s"))
    chance = np.random.default_rng(5)
    with small_chunks(8, 16):
        stored, plain = query.open(store=MemoryStore(), name="rows"), query.open()
        for number in range(20):
            rows = batch(number).set_column(1, "k", pa.array(chance.integers(0, 40, 50)))
            assert stored.push(rows).to_pylist() == plain.push(rows).to_pylist()
        assert stored.finish().to_pylist() == plain.finish().to_pylist()
