"""How far a long piece of work is: one line that is redrawn on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Any, TextIO

from windrow.cli.show.out import one_line, say_line

__all__ = ["Steps"]

#: seconds between two lines where nothing is redrawn
_PAUSE = 5.0


class Steps:
    """Tells of steps on the error output, so that results may be piped.

    >>> steps = Steps(2, out=sys.stdout)
    >>> with steps:
    ...     steps.begin("one")
    ...     steps.tell("half of it")
    [1/2] one
    """

    def __init__(self, count: int, *, quiet: bool = False, out: TextIO | None = None) -> None:
        self._count = count
        self._out = out or sys.stderr
        self._quiet = quiet
        self._number = 0
        self._name = ""
        self._shown_at = 0.0
        self._status: Any = None

    def __enter__(self) -> Steps:
        if not self._quiet and self._out.isatty():
            try:
                from rich.console import Console
            except ImportError:  # rich is in the extra "cli"
                return self
            self._status = Console(file=self._out).status("")
            self._status.start()
        return self

    def __exit__(self, *failure: object) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None

    def begin(self, name: str) -> None:
        """Another step begins."""
        self._number += 1
        self._name = name
        self._shown_at = time.monotonic()
        self._show(name)

    def tell(self, what: str) -> None:
        """What is done in this step now."""
        now = time.monotonic()
        if self._status is None and now - self._shown_at < _PAUSE:
            return
        self._shown_at = now
        self._show(f"{self._name}: {what}")

    def note(self, text: str) -> None:
        """A line that stays."""
        if self._status is not None:
            self._status.console.print(one_line(text), markup=False, highlight=False)
        elif not self._quiet:
            say_line(text, self._out)

    def _show(self, text: str) -> None:
        line = f"[{self._number}/{self._count}] {text}"
        if self._status is not None:
            from rich.text import Text

            self._status.update(Text(one_line(line)))
        else:
            self.note(line)
