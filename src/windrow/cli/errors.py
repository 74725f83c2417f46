"""What can go wrong, and the exit code of each."""

from __future__ import annotations

__all__ = ["FAILED", "INTERRUPTED", "OK", "USAGE", "JobError", "JobFailed", "JobInterrupted"]

#: the job did what it says
OK = 0
#: the job began and failed: trying again may help
FAILED = 1
#: the job file or the command is wrong: trying again does not help
USAGE = 2
#: stopped by Ctrl-C or SIGTERM; what was committed stays
INTERRUPTED = 130


class JobError(Exception):
    """A job that cannot be run as it is written; one line that names the place and the remedy."""


class JobFailed(Exception):
    """A job that began to run and could not go on."""


class JobInterrupted(Exception):
    """A job that was asked to stop and did."""
