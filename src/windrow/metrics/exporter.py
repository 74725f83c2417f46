"""Measures for Prometheus, read when Prometheus asks: between two micro-batches, too, the lag grows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from windrow.engines.stream.late import REASONS
from windrow.metrics import names
from windrow.metrics.measures import Measures, seconds_since_1970
from windrow.metrics.names import Metric

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.metrics_core import Metric as Family

__all__ = ["Exporter"]

#: bounds of micro-batch times in seconds
_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 60.0, 150.0, 300.0)

Sample = tuple[Metric, tuple[str, ...], float]


class Exporter:
    """A collector of ``prometheus_client``, in a registry of its own unless one is given.

    >>> exporter = Exporter()
    >>> exporter.watch("calls", lambda: Measures(rows_aggregated=5, rows_late=1))
    >>> exporter.observe_batch("calls", 0.2)
    >>> exporter.registry.get_sample_value("windrow_rows_total", {"query": "calls", "outcome": "late"})
    1
    """

    def __init__(self, registry: CollectorRegistry | None = None, clock: Callable[[], float] = time.time):
        from prometheus_client import CollectorRegistry, Histogram

        self.registry = CollectorRegistry() if registry is None else registry
        self._clock = clock
        self._sources: dict[str, Callable[[], Measures | None]] = {}
        self.registry.register(self)
        self._batches = Histogram(
            names.BATCH.name, names.BATCH.about, ("query",), buckets=_SECONDS, registry=self.registry
        )

    def watch(self, query: str, source: Callable[[], Measures | None]) -> None:
        """Ask ``source`` for measures whenever metrics are collected, in the thread that collects them."""
        self._sources[query] = source

    def observe_batch(self, query: str, seconds: float) -> None:
        """A push or a micro-batch took so long."""
        self._batches.labels(query).observe(seconds)

    def describe(self) -> Iterator[Family]:
        """What ``collect`` gives, without a value."""
        yield from (_family(metric) for metric in names.METRICS if metric.kind != "histogram")

    def collect(self) -> Iterator[Family]:
        """The values of now, as ``prometheus_client`` wants them."""
        families = {metric: _family(metric) for metric in names.METRICS if metric.kind != "histogram"}
        for query, source in list(self._sources.items()):
            measures = source()
            for metric, labels, value in _samples(measures, self._clock()) if measures is not None else ():
                families[metric].add_metric([query, *labels], value)
        yield from families.values()


def _family(metric: Metric) -> Any:
    from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily

    kind = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
    return kind(metric.name, metric.about, labels=["query", *metric.labels])


def _samples(measures: Measures, now: float) -> Iterator[Sample]:
    yield names.ROWS, ("aggregated",), measures.rows_aggregated
    yield names.ROWS, ("late",), measures.rows_late
    yield names.ROWS, ("rejected",), measures.rows_rejected
    if measures.rows_filtered is not None:
        yield names.FILTERED, (), measures.rows_filtered
    yield names.FIRED, (), measures.windows_fired
    yield names.CORRECTED, (), measures.windows_corrected
    for reason in REASONS:  # 0, too: a rate needs a value before the first late row
        yield names.LATE_PAIRS, (reason,), measures.late_pairs.get(reason, 0)
    yield names.STATE, (), measures.state_bytes
    yield from _times(measures, now)


def _times(measures: Measures, now: float) -> Iterator[Sample]:
    watermark, largest = seconds_since_1970(measures.watermark), seconds_since_1970(measures.largest)
    if watermark is not None:
        yield names.WATERMARK, (), watermark
        yield names.LAG, (), now - watermark
    if largest is not None:
        yield names.LARGEST, (), largest
