"""Names that were others before: they keep working, with a warning that names the new one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar

from windrow.errors import warn_caller

__all__ = ["renamed", "warn_of_old_name", "with_new_names"]

_P = ParamSpec("_P")
_R = TypeVar("_R")

_NONE: Mapping[Any, Any] = MappingProxyType({})


def warn_of_old_name(old: str, new: str) -> None:
    """Warn at the user's line that a name has changed."""
    warn_caller(f"{old} is now {new}; the old name goes with 1.0", DeprecationWarning)


def with_new_names(
    function: str,
    options: Mapping[str, Any],
    *,
    keywords: Mapping[str, str] = _NONE,
    values: Mapping[tuple[str, Any], Any] = _NONE,
) -> dict[str, Any]:
    """Return the keywords of a call with old names and old values replaced, each with a warning.

    >>> with_new_names("query", {"time": "t", "output": "final"}, keywords={"emit": "output"})
    {'time': 't', 'output': 'final'}
    """
    found: dict[str, Any] = {}
    for name, value in options.items():
        new = keywords.get(name, name)
        if new != name:
            if new in options:
                raise TypeError(f"{function}() got {name}= and {new}=, which are the same: give {new}=")
            warn_of_old_name(f"{function}({name}=...)", f"{new}=")
        is_old = isinstance(value, str) and (new, value) in values
        if is_old:
            warn_of_old_name(f"{new}={value!r}", f"{new}={values[new, value]!r}")
        found[new] = values[new, value] if is_old else value
    return found


def renamed(**keywords: str) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Let a function also take these keywords, each for the new one."""

    def decorated(function: Callable[_P, _R]) -> Callable[_P, _R]:
        @functools.wraps(function)
        def called(*arguments: _P.args, **options: _P.kwargs) -> _R:
            found: Any = with_new_names(function.__name__, options, keywords=keywords)
            return function(*arguments, **found)

        return called

    return decorated
