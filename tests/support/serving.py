"""What a page shows, at the last moment before it closes."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest

from windrow.cli.live.server import PageServer


def fetch(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return json.loads(answer.read())


def last_looks(monkeypatch: pytest.MonkeyPatch, timeline: str = "window=hour&column=n") -> dict[str, Any]:
    """Filled when a server closes: the state, the time line and the charts of the run."""
    found: dict[str, Any] = {}
    close = PageServer.close

    def look_and_close(server: PageServer) -> None:
        base = server.address.url
        found["state"] = fetch(f"{base}/api/state")
        found["timeline"] = fetch(f"{base}/api/timeline?{timeline}")
        found["run"] = fetch(f"{base}/api/run")
        close(server)

    monkeypatch.setattr(PageServer, "close", look_and_close)
    return found


class Scripted:
    """In place of ``Stopping``: does one thing whenever it is asked, then says that it is time to stop."""

    def __init__(self, *things: Callable[[], object]) -> None:
        self._things = list(things)

    def __enter__(self) -> Scripted:
        return self

    def __exit__(self, *failure: object) -> None:
        pass

    @property
    def asked(self) -> bool:
        if not self._things:
            return True
        self._things.pop(0)()
        return False
