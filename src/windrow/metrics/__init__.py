"""What a run measures, under the names that Prometheus knows it by.

``names`` defines every metric once. ``Measures`` are its values at one moment: of an operator
(``Measures.of_operator``) or of a job of the command line, on either engine. ``Exporter`` shows them to
Prometheus; it needs the extra ``metrics``.
"""

from __future__ import annotations

from windrow.metrics.exporter import Exporter
from windrow.metrics.measures import Measures
from windrow.metrics.names import METRICS, Metric

__all__ = ["METRICS", "Exporter", "Measures", "Metric"]
