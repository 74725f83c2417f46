"""A steady load for seconds, in memory and in a store: nothing grows. ``make soak`` does it for an hour."""

from __future__ import annotations

from pathlib import Path

import pytest

import soak
from windrow.state import RocksDBStore


@pytest.mark.parametrize("kept", ["in memory", "in a store"])
def test_memory_state_and_open_files_stay_flat(tmp_path: Path, kept: str) -> None:
    store = RocksDBStore(tmp_path / "state") if kept == "in a store" else None
    found = soak.soak(4.0, rows=500, keys=50, store=store)
    assert found.growth() == []
    assert found.metrics.rows_late > 0
    assert found.metrics.rows_rejected > 0


def test_growth_is_told() -> None:
    samples = [soak.Sample(float(k), (100 + 10 * k) << 20, 1 << 20, 10 + k) for k in range(30)]
    metrics = soak.wr.query(time="t").window(soak.wr.Tumbling(1)).agg(n=soak.wr.count()).open().metrics
    found = soak.Soaked(1, samples, metrics)
    assert [line.split()[0] for line in found.growth()] == ["memory", "files"]
