"""The server of the page, in a thread beside the run."""

from __future__ import annotations

import os
import secrets
import threading
import time

from windrow.cli.addresses import Address, listening
from windrow.cli.connections import Note, say_on_errors
from windrow.cli.errors import JobError
from windrow.cli.live.state import LiveState
from windrow.packages import what_is_missing

__all__ = ["PageServer", "check_installed", "token_for"]

#: where a token may be given, for pages that are to keep their address
TOKEN_VARIABLE = "WINDROW_TOKEN"


def check_installed(option: str) -> None:
    if missing := what_is_missing("serve", "starlette", "uvicorn"):
        raise JobError(f"{option} needs {missing}")


def token_for(address: Address) -> str | None:
    """None for an address that only this machine reaches; otherwise that of the environment, or a new one."""
    given = os.environ.get(TOKEN_VARIABLE)
    if given is not None and len(given) < 16:
        raise JobError(f"${TOKEN_VARIABLE}: a token has 16 characters or more")
    return given or (None if address.is_local else secrets.token_urlsafe(24))


class PageServer:
    """Serves until it is closed."""

    def __init__(
        self, state: LiveState, address: Address, option: str = "--serve", note: Note = say_on_errors
    ) -> None:
        check_installed(option)
        from windrow.cli.live.app import make_app
        from windrow.cli.live.http import LimitedServer

        self.token = token_for(address)
        self._socket = listening(address, option)
        self.address = Address(address.host, self._socket.getsockname()[1])
        app = make_app(state, self.token, lambda: self._server.should_exit or self._is_closing)
        self._server = LimitedServer(app, option, note)
        self._is_closing = False
        self._thread = threading.Thread(target=self._run, daemon=True, name="windrow page")
        self._thread.start()

    def _run(self) -> None:
        self._server.run(sockets=[self._socket])

    @property
    def url(self) -> str:
        """What to open, with the token if there is one."""
        return f"{self.address.url}/" + ("" if self.token is None else f"?token={self.token}")

    @property
    def printed_url(self) -> str:
        """The same without a token of the environment: what is printed stays in logs."""
        if self.token is None or self.token != os.environ.get(TOKEN_VARIABLE):
            return self.url
        return f"{self.address.url}/ with ?token= and the value of ${TOKEN_VARIABLE}"

    def close(self) -> None:
        """Pages hear of the end before the connection is gone."""
        self._is_closing = True
        time.sleep(0.3)
        self._server.should_exit = True
        self._thread.join(5)
        self._socket.close()
