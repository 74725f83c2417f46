"""What Prometheus reads of a run, at the last moment before its endpoint closes."""

from __future__ import annotations

import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families

from windrow.cli.show.prometheus import PrometheusEndpoint

Scraped = dict[tuple[str, ...], float]


def scrapes(monkeypatch: pytest.MonkeyPatch) -> Scraped:
    """Filled when a run ends: samples by name and values of labels, in order."""
    found: Scraped = {}
    close = PrometheusEndpoint.close

    def read_and_close(endpoint: PrometheusEndpoint) -> None:
        with urllib.request.urlopen(f"{endpoint.address.url}/metrics", timeout=10) as answer:
            text = answer.read().decode()
        found.clear()
        for family in text_string_to_metric_families(text):
            found.update({(s.name, *sorted(s.labels.values())): s.value for s in family.samples})
        close(endpoint)

    monkeypatch.setattr(PrometheusEndpoint, "close", read_and_close)
    return found
