"""The server of the page, in a thread beside the run."""

from __future__ import annotations

import importlib.util
import os
import secrets
import socket
import threading
import time
from typing import Any

from windrow.cli.addresses import Address
from windrow.cli.errors import JobError
from windrow.cli.live.state import LiveState
from windrow.packages import how_to_install

__all__ = ["PageServer", "token_for"]

#: where a token may be given, for pages that are to keep their address
TOKEN_VARIABLE = "WINDROW_TOKEN"


def token_for(address: Address) -> str | None:
    """None for an address that only this machine reaches; otherwise that of the environment, or a new one."""
    given = os.environ.get(TOKEN_VARIABLE)
    if given is not None and len(given) < 16:
        raise JobError(f"${TOKEN_VARIABLE}: a token has 16 characters or more")
    return given or (None if address.is_local else secrets.token_urlsafe(24))


class PageServer:
    """Serves until it is closed."""

    def __init__(self, state: LiveState, address: Address, option: str = "--serve") -> None:
        if any(importlib.util.find_spec(name) is None for name in ("starlette", "uvicorn")):
            raise JobError(f"{option} needs starlette and uvicorn: {how_to_install('serve')}")
        import uvicorn

        from windrow.cli.live.app import make_app

        self.token = token_for(address)
        self._socket = _bound(address, option)
        self.address = Address(address.host, self._socket.getsockname()[1])
        app = make_app(state, self.token, lambda: self._server.should_exit or self._is_closing)
        config = uvicorn.Config(
            app, log_level="critical", lifespan="off", access_log=False, timeout_graceful_shutdown=2
        )
        self._server: Any = uvicorn.Server(config)
        self._is_closing = False
        self._thread = threading.Thread(target=self._run, daemon=True, name="windrow page")
        self._thread.start()

    def _run(self) -> None:
        self._server.run(sockets=[self._socket])

    @property
    def url(self) -> str:
        """What to open, with the token if there is one."""
        return f"{self.address.url}/" + ("" if self.token is None else f"?token={self.token}")

    def close(self) -> None:
        """Pages hear of the end before the connection is gone."""
        self._is_closing = True
        time.sleep(0.3)
        self._server.should_exit = True
        self._thread.join(5)
        self._socket.close()


def _bound(address: Address, option: str) -> socket.socket:
    try:
        family, *_, place = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)[0]
        found = socket.socket(family, socket.SOCK_STREAM)
        try:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            found.bind(place)
            found.listen()
        except OSError:
            found.close()
            raise
    except OSError as error:
        raise JobError(f"{option} {address.host}:{address.port}: {error.strerror or error}") from error
    return found
