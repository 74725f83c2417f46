"""What Spark and windrow refuse, in one line."""

from __future__ import annotations

from typing import Any

from windrow.cli.errors import JobFailed, JobInterrupted

__all__ = ["first_line", "guarded"]


def guarded(work: Any, *arguments: Any) -> Any:
    """What Spark and windrow refuse, in one line."""
    try:
        return work(*arguments)
    except KeyboardInterrupt:
        raise JobInterrupted from None
    except Exception as error:
        raise JobFailed(first_line(error)) from error


def first_line(error: BaseException) -> str:
    """The line of an error that says what is wrong; Spark's go on for pages."""
    text = str(error.args[0] if isinstance(error, KeyError) and error.args else error)
    lines = [line.strip().lstrip(": ") for line in text.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith("An error occurred while calling")]
    python = [line for line in lines if line.split(":")[0].endswith(("Error", "Exception", "Violation"))]
    return (python[-1] if python else lines[0] if lines else type(error).__name__)[:500]
