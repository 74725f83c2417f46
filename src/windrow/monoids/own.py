"""A user's own aggregate, from three functions and an identity."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from windrow.monoids.base import Monoid, itself

__all__ = ["monoid"]

#: of a decimal
_MOST_DIGITS = 38


def monoid(
    *,
    lift: Callable[..., Any],
    combine: Callable[[Any, Any], Any],
    lower: Callable[[Any], Any] | None = None,
    identity: Any,
    inverse: Callable[..., Any] | None = None,
    commutative: bool = False,
    idempotent: bool = False,
    selection: bool = False,
    result_type: Any = None,
    name: str | None = None,
    empty: Any = None,
    compile: bool = True,
) -> Monoid:
    """Your own aggregate, from three functions and an identity; any Python object may be the partial.

    ``lift`` takes one value per column. ``inverse``, if there is one, is either ``inverse(a)``, the element
    that cancels ``a``, or ``inverse(total, oldest)``, what is left of ``total`` without its oldest part.
    ``empty`` is the result of a window without a value: null unless you give one. ``lower`` is never called
    for such a window, so it may divide by a number of values. Functions over numbers and flat tuples of
    numbers are compiled to native code when a batch is processed; ``compile=False`` keeps them in Python.
    Check yours with :func:`windrow.laws.check`.

    >>> import windrow as wr
    >>> spread = wr.monoid(
    ...     name="spread",
    ...     lift=lambda v: (v, v),
    ...     lower=lambda a: a[1] - a[0],
    ...     combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
    ...     identity=(float("inf"), float("-inf")),
    ... )
    >>> window = wr.swag.DABA(spread)
    >>> for temperature in (20, 23, 19):
    ...     window.insert(temperature)
    >>> window.query()
    4
    >>> window.evict_many(3)
    >>> print(window.query())
    None
    >>> spread("temperature")
    spread('temperature')
    """
    for what, function in (("lift", lift), ("combine", combine), ("lower", lower), ("inverse", inverse)):
        if function is not None and not callable(function):
            raise TypeError(f"{what} must be a function; got {function!r}")
    low, high = _arity(lift)
    name = name or _name_of(combine, lift)
    _check_takes(name, "combine", combine, "two partials, the older first, as in lambda a, b: a + b", 2)
    _check_takes(name, "lower", lower or itself, "one partial, as in lambda a: a", 1)
    return Monoid(
        name=name,
        lift=lift,
        combine=_returning(combine, name),
        native_combine=combine,
        lower=lower if lower is not None else itself,
        identity=identity,
        inverse=_as_subtraction(inverse, combine),
        commutative=commutative,
        idempotent=idempotent,
        selection=selection,
        empty=empty,
        arity=(low, high),
        result_type=result_type,
        compiles_for="biuf" if compile else "",
        decimal_gain=(_MOST_DIGITS, 0),
        builtin=False,
    )


def _check_takes(name: str, what: str, function: Callable[..., Any], needed: str, count: int) -> None:
    """Refuse a function that cannot be called with so many arguments."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*range(count))
    except TypeError:
        raise TypeError(f"{what} of {name!r} takes {signature}: it must take {needed}") from None


def _returning(combine: Callable[[Any, Any], Any], name: str) -> Callable[[Any, Any], Any]:
    """The same function, but None for two partials is an error: a function gives it that does not return."""

    def combined(a: Any, b: Any) -> Any:
        found = combine(a, b)
        if found is None and a is not None and b is not None:
            raise TypeError(
                f"combine of {name!r} returned None for {a!r} and {b!r}: return the partial of both, and "
                f"change neither of them"
            )
        return found

    return combined


def _name_of(*functions: Callable[..., Any]) -> str:
    names = (getattr(f, "__name__", "<lambda>") for f in functions)
    return next((n for n in names if n != "<lambda>"), "aggregate")


def _arity(lift: Callable[..., Any]) -> tuple[int, int]:
    """How many positional inputs lift takes; builtins that tell nothing (``str``) take one."""
    try:
        parameters = list(inspect.signature(lift).parameters.values())
    except (TypeError, ValueError):
        return 1, 1
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return 1, 255
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = [p for p in positional if p.default is p.empty]
    if isinstance(lift, type):
        return 1, 1
    return max(len(required), 1), max(len(positional), 1)


def _as_subtraction(
    inverse: Callable[..., Any] | None, combine: Callable[[Any, Any], Any]
) -> Callable[[Any, Any], Any] | None:
    """``inverse(total, oldest)`` from either of the two forms that a user may give."""
    if inverse is None:
        return None
    try:
        count = len(inspect.signature(inverse).parameters)
    except (TypeError, ValueError):
        count = 2 if getattr(inverse, "__name__", "") in {"sub", "xor", "truediv"} else 1
    if count == 2:
        return inverse
    if count != 1:
        raise TypeError(f"inverse takes (a) or (total, oldest); {inverse!r} takes {count} arguments")
    # oldest and its inverse cancel only next to each other, so the inverse goes to the left ([DABA] 2.1)
    return lambda total, oldest: combine(inverse(oldest), total)
