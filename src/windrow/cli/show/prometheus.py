"""``--metrics``: a run as Prometheus sees it, from the steps that are shown."""

from __future__ import annotations

import contextlib
import importlib.util
from dataclasses import replace
from typing import Any

from windrow.cli.addresses import Address
from windrow.cli.errors import JobError
from windrow.cli.show.lines import Silent
from windrow.cli.show.progress import Progress, Totals
from windrow.metrics import Exporter, Measures
from windrow.packages import how_to_install

__all__ = ["PrometheusEndpoint"]


class PrometheusEndpoint(Silent):
    """Answers ``/metrics`` until it is closed. It shows counts and the name of the job, and no data."""

    def __init__(self, job: str, address: Address) -> None:
        if importlib.util.find_spec("prometheus_client") is None:
            raise JobError(f"--metrics needs prometheus_client: {how_to_install('metrics')}")
        from prometheus_client import start_http_server

        self._job = job
        self._shown: tuple[Progress, Totals] | None = None
        self._exporter = Exporter()
        self._exporter.watch(job, self._measures)
        try:
            self._server, self._thread = start_http_server(
                address.port, address.host, self._exporter.registry
            )
        except OSError as error:
            raise JobError(f"--metrics {address.host}:{address.port}: {error.strerror or error}") from error
        #: with the port that was taken, where 0 was asked for
        self.address = Address(address.host, self._server.server_port)

    def progress(self, progress: Progress, totals: Totals) -> None:
        self._shown = _with_times_before(progress, self._shown), totals
        self._exporter.observe_batch(self._job, progress.seconds)

    def _measures(self) -> Measures:
        return Measures() if self._shown is None else measures_of(*self._shown)

    def ended(self, summary: dict[str, Any], text: str) -> None:
        """The last counts can be read until ``close``."""

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._server.shutdown()
            self._server.server_close()
        self._thread.join(5)


def _with_times_before(progress: Progress, shown: tuple[Progress, Totals] | None) -> Progress:
    """A micro-batch without rows has no largest time: that of before stays."""
    if shown is None:
        return progress
    before = shown[0]
    return replace(
        progress,
        watermark=before.watermark if progress.watermark is None else progress.watermark,
        largest=before.largest if progress.largest is None else progress.largest,
    )


def measures_of(progress: Progress, totals: Totals) -> Measures:
    """Of the steps so far, the last one being ``progress``.

    >>> totals = Totals(rows=10, late=2, rejected=1)
    >>> measures_of(Progress(3, 1.0, state_bytes=80), totals).rows_aggregated
    7
    """
    return Measures(
        rows_aggregated=totals.rows - totals.late - totals.rejected,
        rows_late=totals.late,
        rows_rejected=totals.rejected,
        rows_filtered=totals.filtered,
        windows_fired=totals.windows,
        windows_corrected=totals.corrected,
        late_pairs=dict(totals.late_pairs),
        state_bytes=progress.state_bytes,
        watermark=progress.watermark,
        largest=progress.largest,
    )
