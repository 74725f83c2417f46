"""A steady load for seconds, in memory and in a store: nothing grows. ``make soak`` does it for an hour."""

from __future__ import annotations

from pathlib import Path

import pytest

import soak
from support.soaking import Sample, Soaked
from windrow.state import RocksDBStore


@pytest.mark.parametrize("kept", ["in memory", "in a store"])
def test_memory_state_and_open_files_stay_flat(tmp_path: Path, kept: str) -> None:
    store = RocksDBStore(tmp_path / "state") if kept == "in a store" else None
    found = soak.soak(4.0, rows=500, keys=50, store=store)
    assert found.growth() == []
    assert found.counts["rows_late"] > 0
    assert found.counts["rows_rejected"] > 0


def test_growth_is_told() -> None:
    used = [{"memory": (100 + 10 * k) << 20, "state": 1 << 20, "files": 10 + 2 * k} for k in range(30)]
    found = Soaked(1, [Sample(float(k + 1), each) for k, each in enumerate(used)], ["a row is missing"])
    assert [line.split()[0] for line in found.growth()] == ["a", "memory", "files"]
    assert "memory 190.0 MiB -> 290.0 MiB -> 390.0 MiB; state 1.0 MiB" in found.text()
