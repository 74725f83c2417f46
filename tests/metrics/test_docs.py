"""The table in docs/operations.md lists every metric as it is defined."""

from __future__ import annotations

from pathlib import Path

from windrow.metrics import METRICS

TEXT = (Path(__file__).parents[2] / "docs" / "operations.md").read_text(encoding="utf-8")


def test_the_table_has_every_metric_and_no_other() -> None:
    rows = [line.strip("|").split("|") for line in TEXT.splitlines() if line.startswith("| `windrow_")]
    found = [(name.strip(" `"), kind.strip(), labels.strip(" `")) for name, kind, labels, _ in rows]
    assert found == [(metric.name, metric.kind, "".join(metric.labels)) for metric in METRICS]
