"""What can go wrong, and the exit code of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["FAILED", "INTERRUPTED", "OK", "USAGE", "JobError", "JobFailed", "JobInterrupted", "Mistakes"]

_T = TypeVar("_T")

#: the job did what it says
OK = 0
#: the job began and failed: trying again may help
FAILED = 1
#: the job file or the command is wrong: trying again does not help
USAGE = 2
#: stopped by Ctrl-C or SIGTERM; what was committed stays
INTERRUPTED = 130


class JobError(Exception):
    """A job that cannot be run as it is written; each argument is a line with place and remedy."""

    def __str__(self) -> str:
        return "\n".join(map(str, self.args))


class Mistakes:
    """Collects what is wrong in parts of a job that can be read independently, to report all of it at once.

    >>> mistakes = Mistakes()
    >>> mistakes.of(int, "7")
    7
    """

    def __init__(self, *found: str) -> None:
        self._found = [*found]

    def of(self, read: Callable[..., _T], *arguments: Any, instead: Any = None) -> _T:
        """Return what ``read`` returns; if it refuses the job, keep why and return a stand-in."""
        try:
            return read(*arguments)
        except JobError as error:
            self._found += error.args
            return instead

    def stop(self) -> None:
        """Raise one error of all mistakes, if there are any."""
        if self._found:
            raise JobError(*dict.fromkeys(self._found))


class JobFailed(Exception):
    """A job that began to run and could not go on."""


class JobInterrupted(Exception):
    """A job that was asked to stop and did."""
