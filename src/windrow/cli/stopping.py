"""Ctrl-C and SIGTERM: the first asks a run to stop after its running step, the second stops it at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

__all__ = ["Stopping"]


class Stopping:
    """Use as a context: inside, ``asked`` says whether to stop. Outside of the main thread nothing is
    caught."""

    def __init__(self, on_ask: Callable[[], None] | None = None) -> None:
        self.asked = False
        self._on_ask = on_ask
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Stopping:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._handle)
        return self

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        if self._on_ask is not None:
            self._on_ask()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
