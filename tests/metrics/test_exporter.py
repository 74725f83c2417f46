"""What Prometheus is given: the values of operators, whatever their names are."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

import windrow as wr
from windrow.metrics import METRICS, Exporter, Measures

HOSTILE = [
    '<script>alert("x")</script>',
    "'; DROP TABLE rows; --",
    '\x1b[31mred\\ "} 1\nwindrow_rows_total 7',
    "ключ",
]


def scraped(exporter: Exporter) -> dict[tuple[str, ...], float]:
    """Samples by name and labels, as a server of Prometheus reads them."""
    text = generate_latest(exporter.registry).decode()
    return {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def rows_at(start: dt.datetime, *minutes: int | None) -> pa.Table:
    times = [None if m is None else start + dt.timedelta(minutes=m) for m in minutes]
    return pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC"))})


def test_the_metrics_of_an_operator_are_those_of_prometheus() -> None:
    start = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)
    operator = wr.query(time="ts", watermark="5m").window(wr.Tumbling("10m")).agg(n=wr.count()).open()
    exporter = Exporter(clock=lambda: start.timestamp() + 3600)
    exporter.watch("calls", lambda: Measures.of_operator(operator.metrics))
    operator.push(rows_at(start, 0, 1, 31))
    operator.push(rows_at(start, 2, None))
    exporter.observe_batch("calls", 0.03)
    found = scraped(exporter)
    metrics = operator.metrics
    assert found["windrow_rows_total", "aggregated", "calls"] == metrics.rows_aggregated
    assert found["windrow_rows_total", "calls", "late"] == metrics.rows_late == 1
    assert found["windrow_rows_total", "calls", "rejected"] == metrics.rows_rejected == 1
    assert found["windrow_windows_fired_total", "calls"] == metrics.windows_fired
    assert found["windrow_late_pairs_total", "calls", "window_fired"] == 1
    assert found["windrow_state_bytes", "calls"] == metrics.state_bytes > 0
    assert found["windrow_watermark_lag_seconds", "calls"] == 3600 - 26 * 60
    assert found["windrow_batch_seconds_count", "calls"] == 1
    assert (
        sum(value for (name, *_), value in found.items() if name == "windrow_rows_total") == metrics.rows_in
    )


def test_integer_time_has_no_lag() -> None:
    exporter = Exporter()
    exporter.watch("calls", lambda: Measures(watermark=17, largest=20))
    assert not any("timestamp" in name or "lag" in name for name, *_ in scraped(exporter))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_stays_a_label_whatever_is_in_it(name: str) -> None:
    exporter = Exporter()
    exporter.watch(name, lambda: Measures(rows_aggregated=5, late_pairs={"window_fired": 2}))
    exporter.observe_batch(name, 1.0)
    found = scraped(exporter)
    assert {key for key in found if name not in key} == set()
    assert found["windrow_rows_total", *sorted(["aggregated", name])] == 5


def test_every_metric_is_exported_under_its_name() -> None:
    exporter = Exporter()
    now = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)
    exporter.watch("calls", lambda: Measures(rows_filtered=0, watermark=now, largest=now))
    exporter.observe_batch("calls", 1.0)
    names = {name for name, *_ in scraped(exporter)}
    for metric in METRICS:
        assert metric.name in names or f"{metric.name}_count" in names
