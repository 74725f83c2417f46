"""The dashboard for Grafana: every query of it asks for metrics and labels that there are."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from windrow.metrics import METRICS

DASHBOARD = json.loads(
    (Path(__file__).parents[2] / "examples" / "grafana" / "windrow.json").read_text(encoding="utf-8")
)
EXPRESSIONS = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
EXPRESSIONS += [each["query"] for each in DASHBOARD["templating"]["list"] if each["type"] == "query"]


#: the names that a query to Prometheus may use: those of a histogram's parts as well
PARTS = {"histogram": ("_bucket", "_count", "_sum")}
SAMPLES = {metric.name + part for metric in METRICS for part in PARTS.get(metric.kind, ("",))}


def labels_used(expression: str) -> set[str]:
    selected = re.findall(r"(\w+)\s*=~?", expression)
    grouped = [name for group in re.findall(r"by \(([^)]*)\)", expression) for name in group.split(",")]
    return {name.strip() for name in (*selected, *grouped)}


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_every_query_names_what_there_is(expression: str) -> None:
    named = set(re.findall(r"windrow_\w+", expression))
    assert named
    assert named <= SAMPLES
    labels = {"query", "le", *(label for metric in METRICS for label in metric.labels)}
    assert labels_used(expression) <= labels


def test_every_metric_is_on_it_or_follows_from_one_that_is() -> None:
    shown = " ".join(EXPRESSIONS)
    left_out = {metric.name for metric in METRICS if metric.name not in shown}
    assert left_out == {"windrow_watermark_timestamp_seconds", "windrow_rows_filtered_total"}


def test_panels_do_not_cover_each_other() -> None:
    places: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        box: dict[str, Any] = panel["gridPos"]
        cells = {
            (x, y) for x in range(box["x"], box["x"] + box["w"]) for y in range(box["y"], box["y"] + box["h"])
        }
        assert not cells & places, panel["title"]
        assert box["x"] + box["w"] <= 24
        places |= cells
