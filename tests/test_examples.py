"""Every example runs, on little data, and finds what was put into it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[1] / "examples"


def example(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look for it
    spec.loader.exec_module(module)
    return module


def test_sensors() -> None:
    result = example("sensors").main(2_000)
    counts = result.column("window").value_counts().to_pylist()
    assert {entry["values"]: entry["counts"] for entry in counts} == {
        "second": 200,
        "ten_seconds": 20,
        "minute": 4,
        "ten_minutes": 1,
        "hour": 1,
        "day": 1,
    }


def test_web_sessions() -> None:
    counted = example("web_sessions").main(3_000)
    assert counted["given"] - counted["taken back"] >= counted["visits"]
    assert counted["taken back"] > 0


def test_trading() -> None:
    by_clock, by_volume = example("trading").main(1_000)
    assert by_volume.num_rows == 1_000
    assert min(by_clock.column("vwap").to_pylist()) > 90
    assert all(row["traded"] < 12_000 for row in by_volume.to_pylist())


def test_fraud() -> None:
    result = example("fraud").main(3_000)
    assert result.num_rows == 3_000
    assert max(result.column("countries").to_pylist()) >= 3
    assert {row["card"] % 17 for row in result.to_pylist() if row["countries"] >= 3} == {0}
