"""What Spark and windrow refuse, in one line.

An error that was raised in a Python worker reaches the driver as text: pages by Spark, with the worker's
traceback inside. What the traceback ends in is what went wrong, whatever the class is called; an error of
windrow's own is a sentence that needs no name before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from windrow.cli.errors import JobError, JobFailed, JobInterrupted

__all__ = ["causes", "first_line", "guarded"]

_TRACEBACK = "Traceback (most recent call last):"
#: an exception as Python writes it: its class, with the module unless it is built in, and what it says
_RAISED = re.compile(r"((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)(?:: (.*))?$")
_OWN = re.compile(r"(?:.*: )?(windrow(?:\.\w+)+): (.*)$")
#: where a Python error ends and Spark goes on
_END = re.compile(
    r"\s*$|\s*SQLSTATE:|\s+at |\s*\.\.\. \d+ more|Driver stacktrace:|=== |The above exception|During handling"
)
_STACK = "JVM stacktrace:"
#: causes of causes that are looked at
_DEEPEST = 20
#: what is shown of errors that are not windrow's
_LONGEST = 500


def guarded(work: Any, *arguments: Any, **named: Any) -> Any:
    """What Spark and windrow refuse, in one line."""
    try:
        return work(*arguments, **named)
    except KeyboardInterrupt:
        raise JobInterrupted from None
    except JobError:
        raise
    except Exception as error:
        raise JobFailed(first_line(error)) from error


def first_line(error: BaseException) -> str:
    """The line of an error that says what is wrong; Spark's go on for pages."""
    text = str(error.args[0] if isinstance(error, KeyError) and error.args else error)
    lines = text.splitlines()
    raised = list(_raised(lines))
    own = [message for name, message in raised if name.startswith("windrow.")]
    if own:
        return own[-1]
    if raised:
        name, message = raised[-1]
        return ": ".join(part for part in (name.rpartition(".")[2], message) if part)[:_LONGEST]
    return _plain_line(_without_stack(lines), type(error).__name__)[:_LONGEST]


def causes(error: BaseException) -> Iterator[BaseException]:
    """An error, and what it came of: PySpark keeps Java's causes beside Python's.

    >>> try:
    ...     raise ValueError("outside") from OSError("inside")
    ... except ValueError as error:
    ...     [str(each) for each in causes(error)]
    ['outside', 'inside']
    """
    found: BaseException | None = error
    for _ in range(_DEEPEST):
        if found is None:
            return
        yield found
        beneath = getattr(found, "_cause", None)
        found = beneath if isinstance(beneath, BaseException) else found.__cause__


def _raised(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """What tracebacks in a text end in, and windrow errors without one: (class, message)."""
    in_trace = False
    for number, line in enumerate(lines):
        if line.rstrip().endswith(_TRACEBACK):
            in_trace = True
        elif in_trace and line[:1].isspace():
            continue
        elif found := (_RAISED if in_trace else _OWN).match(line):
            in_trace = False
            yield found[1], _message(found[2] or "", lines[number + 1 :])


def _message(first: str, following: Sequence[str]) -> str:
    """What an error says may take several lines."""
    found = [first]
    for line in following:
        if _END.match(line):
            break
        found.append(line)
    return " ".join(line.strip() for line in found).strip()


def _without_stack(lines: Sequence[str]) -> Sequence[str]:
    """Without the stack of the server, which Spark Connect adds to what an error says."""
    return lines[: lines.index(_STACK)] if _STACK in lines else lines


def _plain_line(lines: Sequence[str], otherwise: str) -> str:
    """The line that says most, of an error that did not come from Python."""
    texts = [line.strip().lstrip(": ") for line in lines if line.strip()]
    texts = [line for line in texts if not line.startswith("An error occurred while calling")]
    named = [line for line in texts if line.split(":")[0].endswith(("Error", "Exception", "Violation"))]
    return named[-1] if named else texts[0] if texts else otherwise
