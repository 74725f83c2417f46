"""The page's server with a limit on connections; uvicorn itself limits requests, and keeps all others."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from windrow.cli.connections import Connections, Note

__all__ = ["LimitedServer"]

#: seconds without a new connection where the system refuses one
_PAUSE = 0.5


class LimitedServer(uvicorn.Server):
    """Accepts one connection after the other, so that never more are open than are known."""

    def __init__(self, app: Any, option: str, note: Note) -> None:
        config = uvicorn.Config(
            app,
            ws="none",
            log_level="critical",
            lifespan="off",
            access_log=False,
            timeout_graceful_shutdown=2,
        )
        super().__init__(config)
        self._clients = Connections[_Client](option, lambda client: client.transport.abort(), note)
        self._accepting: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=[])
        assert sockets is not None  # the page binds its own
        self._accepting = asyncio.create_task(self._accept(sockets[0]))

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        listening.setblocking(False)
        while True:
            try:
                connection, _ = await loop.sock_accept(listening)
                await loop.connect_accepted_socket(self._client, connection)
            except OSError:  # there is no descriptor, or the client has gone
                await asyncio.sleep(_PAUSE)

    def _client(self) -> _Client:
        return _Client(self._clients, config=self.config, server_state=self.server_state, app_state={})

    async def on_tick(self, counter: int) -> bool:
        self._clients.drop_overdue()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._accepting is not None:
            self._accepting.cancel()
        await super().shutdown(sockets)


class _Client(H11Protocol):
    """One connection, which tells when it waits for its client."""

    def __init__(self, clients: Connections[_Client], **settings: Any) -> None:
        super().__init__(**settings)
        self._clients = clients

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._clients.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._clients.closed(self)
        super().connection_lost(exc)

    def handle_events(self) -> None:
        super().handle_events()
        self._answer()

    def on_response_complete(self) -> None:
        self._clients.waits(self)
        super().on_response_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._clients.waits(self)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._answer()

    def _answer(self) -> None:
        cycle: Any = self.cycle  # None before the first request
        if cycle is not None and not cycle.response_complete and not self.flow.write_paused:
            self._clients.answers(self)
