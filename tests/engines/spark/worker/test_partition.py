"""Partitions that are larger than memory: what is on disk, in which parts it comes, what is left there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from engines.spark.partitions import batches, shuffled_table
from windrow.arrays import END_OF_TIME
from windrow.engines.spark.shipping import packed
from windrow.engines.spark.types import result_type
from windrow.engines.spark.worker import partition
from windrow.engines.spark.worker.local_task import roll_batches
from windrow.engines.spark.worker.partition import LargeKey, parts
from windrow.testing import assert_same_results


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where Spark keeps its own files."""
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path},/elsewhere")
    return tmp_path


def table(rows: int, keys: int, seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {"t": rng.integers(0, rows, rows), "k": rng.integers(0, keys, rows), "v": np.arange(rows)}
    )


def open_files(folder: Path) -> int:
    """How many files this process has open there, with or without a name."""
    links = (os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if is_open(fd))
    return sum(link.startswith(str(folder)) for link in links)


def is_open(descriptor: str) -> bool:
    return os.path.lexists(f"/proc/self/fd/{descriptor}")


def test_parts_hold_all_rows_once_and_those_of_a_key_together(folder: Path) -> None:
    rows = table(20_000, 300)
    found = list(parts(batches(rows, [997]), ["k"], rows.nbytes // 10))
    tables = [part for part in found if isinstance(part, pa.Table)]
    assert len(tables) == len(found) >= 10
    assert max(part.nbytes for part in tables) <= rows.nbytes // 10 + 100_000
    assert sorted(v for part in tables for v in part["v"].to_pylist()) == list(range(20_000))
    keys = [set(part["k"].to_pylist()) for part in tables]
    assert sum(map(len, keys)) == 300
    assert open_files(folder) == 0


def test_a_key_larger_than_the_budget_comes_in_order_of_time(folder: Path) -> None:
    rows = table(20_000, 1).append_column("s", pa.array(["x" * 20] * 20_000))
    every = parts(batches(rows, [997]), ["k"], rows.nbytes // 10)
    part = next(every)
    assert isinstance(part, LargeKey)
    seen, until, most = [], -1, 0
    for some, up_to in part.in_order(lambda each: each["t"].to_numpy()):
        times = some["t"].to_numpy()
        assert not len(times) or (times.min() >= until and times.max() < up_to)
        seen, until, most = seen + some["v"].to_pylist(), up_to, max(most, some.nbytes)
    assert sorted(seen) == list(range(20_000))
    assert until == END_OF_TIME
    assert most < rows.nbytes // 4
    assert list(every) == []
    assert open_files(folder) == 0


@pytest.mark.parametrize("keys", [1, 40], ids=["one key", "many keys"])
def test_ten_times_the_budget_gives_what_memory_gives(folder: Path, keys: int) -> None:
    query = wr.query(time="t", by="k").rolling(50).agg(total=wr.sum("v"), last=wr.last("v"))
    rows = table(30_000, keys)
    kinds = [result_type(aggregate, rows.schema) for _, aggregate in query.aggregates]
    shuffled = shuffled_table(query, rows)
    found = pa.Table.from_batches(
        roll_batches(packed(query), kinds, batches(shuffled, [1_000]), rows.nbytes // 10)
    )
    assert_same_results(found, query.run(rows))
    assert open_files(folder) == 0
    assert list(folder.iterdir()) == []


def test_files_have_no_names_and_go_with_whoever_stops(folder: Path) -> None:
    """So that a worker that is killed leaves nothing behind."""
    rows = table(20_000, 300)
    some = parts(batches(rows, [997]), ["k"], rows.nbytes // 10)
    next(some)
    assert open_files(folder) > 0
    assert list(folder.iterdir()) == []
    some.close()  # type: ignore[attr-defined]
    assert open_files(folder) == 0


def test_rows_that_raise_on_their_way_leave_nothing_behind(folder: Path) -> None:
    rows = table(20_000, 300)

    def broken() -> Iterator[Any]:
        yield from batches(rows, [997])
        raise RuntimeError("the shuffle was lost")

    with pytest.raises(RuntimeError, match="was lost"):
        list(parts(broken(), ["k"], rows.nbytes // 10))
    assert open_files(folder) == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux alone has a disk that is always full")
def test_a_full_disk_is_an_error_that_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**_: Any) -> Any:
        return open("/dev/full", "wb", buffering=0)

    monkeypatch.setattr(partition.tempfile, "TemporaryFile", full)
    rows = table(20_000, 300)
    message = r"larger than spark\.windrow\.taskMemory \(No space left on device\): free the disk"
    with pytest.raises(OSError, match=message):
        list(parts(batches(rows, [997]), ["k"], rows.nbytes // 10))
