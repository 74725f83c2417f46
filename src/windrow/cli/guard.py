"""Around every command: however it ends, one line says so, and the exit code is one of the four.

SIGTERM ends a command as Ctrl-C does, so that what it must clean up (a file of secrets, an unfinished file of
results) is cleaned up. An error that nobody foresaw is a bug in windrow: its traceback goes to a file,
which the line names. Tracebacks hold no secrets.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sys
import tempfile
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from types import FrameType

from windrow.cli.errors import FAILED, INTERRUPTED, USAGE, JobError, JobFailed, JobInterrupted
from windrow.cli.show.out import hide, one_line, say, say_line, shown

__all__ = ["guarded"]

#: what the machine refuses, and what helps
_REMEDIES = {
    errno.ENOSPC: "make room there, or name another path",
    errno.EDQUOT: "make room there, or name another path",
    errno.EACCES: "ask for the right to read and write it, or name another path",
    errno.EROFS: "name a path that can be written",
    errno.EMFILE: "allow more open files with ulimit -n",
    errno.EISDIR: "name a file and not a folder",
    errno.ENOTDIR: "name a folder and not a file",
}


def guarded(work: Callable[[], int], verbose: bool = False) -> int:
    """The exit code of a command."""
    hide(())
    with _terminated_as_interrupted(), _warnings_in_one_line():
        try:
            return work()
        except JobError as error:
            for mistake in error.args:
                say_line(f"error: {mistake}", sys.stderr)
            return USAGE
        except (JobInterrupted, KeyboardInterrupt):
            return INTERRUPTED
        except BrokenPipeError:  # the reader of a pipe has gone: nothing to say to anyone
            sys.stderr.close()
            return FAILED
        except JobFailed as error:
            return _report("failed", str(error), error, verbose)
        except OSError as error:
            return _report("failed", _of_the_machine(error), error, verbose)
        except MemoryError as error:
            more = "the memory does not suffice: take fewer rows at a time, or a machine with more"
            return _report("failed", more, error, verbose)
        except Exception as error:
            return _bug(error, verbose)


def _report(kind: str, text: str, error: BaseException, verbose: bool) -> int:
    if verbose:
        say("".join(traceback.format_exception(error)), sys.stderr)
    say_line(f"{kind}: {text}", sys.stderr)
    return FAILED


def _of_the_machine(error: OSError) -> str:
    parts = (error.filename, error.strerror or str(error), _REMEDIES.get(error.errno or 0))
    return ": ".join(str(part) for part in parts if part)


def _bug(error: Exception, verbose: bool) -> int:
    whole = "".join(traceback.format_exception(error))
    text = f"this is a bug in windrow: {type(error).__name__}: {error}"
    if verbose:
        say(whole, sys.stderr)
    else:
        text += f" (the whole error: {_written(whole)}; please report it)"
    say_line(f"failed: {text}", sys.stderr)
    return FAILED


def _written(whole: str) -> str:
    """The file that has the traceback; readable by its owner alone."""
    try:
        handle, path = tempfile.mkstemp(prefix="windrow-error-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(shown(whole))
    except OSError:
        return "run again with --verbose"
    return path


@contextlib.contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """Signals reach the main thread alone."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    """windrow's warnings are notes of the job, and not about a line of code."""

    def note(
        message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
    ) -> str:
        return f"note: {one_line(str(message))}\n"

    before = warnings.formatwarning
    warnings.formatwarning = note
    try:
        yield
    finally:
        warnings.formatwarning = before
