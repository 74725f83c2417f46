"""A stream on Spark under load, for seconds: nothing grows, and what it counts is what an operator counts
over the same rows. ``test_long_soak.py`` does it for three minutes, and ``make soak`` for an hour."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.soak_stream import soak_stream


def test_memory_state_and_open_files_of_a_stream_stay_flat(spark: Any, tmp_path: Path) -> None:
    found = soak_stream(spark, str(tmp_path / "checkpoint"), seconds=4.0, rows=500, every=0.0, keys=20)
    assert found.growth() == []
    assert found.counts["rows_late"] > 0
    assert found.counts["rows_rejected"] > 0
    assert found.counts["windows_fired"] > 100
