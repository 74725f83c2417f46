"""``--metrics``: a run as Prometheus sees it, from the steps that are shown."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from dataclasses import replace
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from windrow.cli.addresses import Address, listening
from windrow.cli.connections import Connections, Note, say_on_errors
from windrow.cli.errors import JobError
from windrow.cli.show.lines import Silent
from windrow.cli.show.progress import Progress, Totals
from windrow.metrics import Exporter, Measures
from windrow.packages import what_is_missing

__all__ = ["PrometheusEndpoint"]

#: seconds without a new connection where the system refuses one
_PAUSE = 0.5


class PrometheusEndpoint(Silent):
    """Answers ``/metrics`` until it is closed. It shows counts and the name of the job, and no data."""

    def __init__(self, job: str, address: Address, note: Note = say_on_errors) -> None:
        if missing := what_is_missing("metrics", "prometheus_client"):
            raise JobError(f"--metrics needs {missing}")
        from prometheus_client import make_wsgi_app

        self._job = job
        self._shown: tuple[Progress, Totals] | None = None
        self._exporter = Exporter()
        self._exporter.watch(job, self._measures)
        self._server = _LimitedServer(
            listening(address, "--metrics"), make_wsgi_app(self._exporter.registry), note
        )
        self._thread = threading.Thread(
            target=self._server.serve_forever, daemon=True, name="windrow metrics"
        )
        self._thread.start()
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


class _LimitedServer(ThreadingMixIn, WSGIServer):
    """A thread for each connection, with a limit on them; a client that fails is no news."""

    daemon_threads = True

    def __init__(self, bound: socket.socket, app: Any, note: Note) -> None:
        super().__init__(bound.getsockname()[:2], _SilentHandler, bind_and_activate=False)
        self.socket.close()
        self.socket = bound
        self.server_name, self.server_port = bound.getsockname()[:2]
        self.setup_environ()
        self.set_app(app)
        self._clients = Connections[socket.socket]("--metrics", _shut, note)

    def get_request(self) -> tuple[socket.socket, Any]:
        try:
            return super().get_request()
        except OSError:  # there is no descriptor, or the client has gone
            time.sleep(_PAUSE)
            raise

    def process_request(self, request: Any, client_address: Any) -> None:
        self._clients.opened(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._clients.closed(request)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        self._clients.drop_overdue()

    def handle_error(self, request: Any, client_address: Any) -> None: ...


class _SilentHandler(WSGIRequestHandler):
    def log_message(self, format: str, *arguments: Any) -> None: ...


def _shut(connection: socket.socket) -> None:
    """Wake the thread that reads or writes, which closes it."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


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
