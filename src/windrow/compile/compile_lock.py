"""Processes that need the same kernel take turns, so that one of them compiles it and the others load it.

The workers of a Spark job start together and ask for the same kernels. A turn is a lock on a file beside the
kernel, which the system drops when its holder ends, however it ends. Turns only save work: where locks do not
work, or a holder takes longer than :data:`PATIENCE`, processes compile side by side.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

__all__ = ["PATIENCE", "turn"]

#: seconds to wait for another process. A kernel compiles in one or two; a process that was stopped stops no
#: other
PATIENCE = 60.0
_PAUSE = 0.02


@contextlib.contextmanager
def turn(folder: Path | None) -> Iterator[None]:
    """Wait until no other process is inside this block for the same folder."""
    held = None if folder is None else _opened(folder / "turn.lock")
    try:
        if held is not None:
            _wait_for(held)
        yield
    finally:
        if held is not None:
            os.close(held)  # and so unlocks


def _opened(path: Path) -> int | None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    except OSError:  # a folder that cannot be written
        return None


def _wait_for(held: int) -> None:
    try:
        import fcntl
    except ImportError:  # not a Unix
        return
    until = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.lockf(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except (BlockingIOError, PermissionError):  # another process has it
            if time.monotonic() >= until:
                return
            time.sleep(_PAUSE)
        except OSError:  # a file system without locks
            return
