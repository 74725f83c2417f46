"""What ``.agg(...)`` and ``.window(...)`` were given: named and checked. What is something else is refused by
an error that shows how windrow spells it.

Aggregates without a keyword are named after their columns and themselves: ``wr.mean("len")`` is ``len_mean``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from windrow.monoids.base import Aggregate, Monoid
from windrow.monoids.described import example_call
from windrow.names import nearest
from windrow.spec_text import AGGREGATES
from windrow.windows import KINDS, Window
from windrow.windows.timeline.durations import is_duration
from windrow.words import said

__all__ = ["check_window", "named_aggregates"]


def named_aggregates(positional: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Aggregate]:
    """Aggregates by the names of their result columns, those without a keyword first.

    >>> import windrow as wr
    >>> named_aggregates((wr.mean("len"), wr.count()), {"top": wr.max("len")})
    {'len_mean': mean('len'), 'count': count(), 'top': max('len')}
    """
    found: dict[str, Aggregate] = {}
    for given in positional:
        aggregate = _checked("", given)
        name = aggregate.default_name
        if name in found or name in named:
            other = found.get(name, named.get(name))
            raise ValueError(
                f"{aggregate!r} and {other!r} would both be named {name!r}: name them by keyword, as in "
                f".agg(a={other!r}, b={aggregate!r})"
            )
        found[name] = aggregate
    return found | {name: _checked(name, given) for name, given in named.items()}


def check_window(name: str, window: Any) -> None:
    """Refuse what is not a window."""
    if isinstance(window, Window):
        return
    label = f"{name}=" if name else ""
    if isinstance(window, type) and issubclass(window, Window):
        is_known = KINDS.get(window.__name__) is window
        example = f"wr.{window.example}" if is_known else f"{window.__name__}(...)"
        raise TypeError(
            f"{label}{window.__name__} is a class of windows: say how large they are, as in {label}{example}"
        )
    if is_duration(window):
        raise TypeError(
            f"{label}{window!r} is a duration: say which windows have it, as in "
            f"{label}wr.Tumbling({window!r}), or use .rolling({window!r}) for one result per row"
        )
    if isinstance(window, (Aggregate, Monoid)):
        raise TypeError(f"{label}{window!r} is an aggregate: it goes into .agg(...), after .window(...)")
    raise TypeError(
        f"window {name or window!r} is of type {type(window).__name__}: give a wr.Tumbling or the like"
    )


# -- aggregates ----------------------------------------------------------------------------------------------


def _checked(name: str, given: Any) -> Aggregate:
    if isinstance(given, Aggregate):
        return given
    label = f"{name}=" if name else ""
    if isinstance(given, Monoid):
        raise TypeError(f"{label}{given.name} has no column: write {label}{example_call(given)}")
    raise TypeError(f"{label}{_shown(given)} is not an aggregate: write {_instead(name, given)}")


def _shown(given: Any) -> str:
    """What was given, short enough for a message."""
    library = type(given).__module__.split(".")[0]
    if library in ("polars", "pyspark", "duckdb", "pandas", "ibis"):
        return f"<{library} {type(given).__name__}>"
    if callable(given):
        return str(getattr(given, "__name__", type(given).__name__))
    text = repr(given)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _instead(name: str, given: Any) -> str:
    """How windrow spells what was meant."""
    if isinstance(given, Mapping) and given:
        pairs = [(str(c), f) for c, fs in given.items() for f in (fs if isinstance(fs, list) else [fs])]
        calls = ", ".join(_keyword(column, function) for column, function in pairs[:3])
        return f"{_hedge(*(function for _, function in pairs[:3]))}.agg({calls})"
    # pandas' named aggregation
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], str):
        return f"{_hedge(given[1])}{name or given[0]}={_call(given[1], given[0])}"
    if isinstance(given, str):
        known = _word(given)
        # the name of an aggregate, or else of a column
        call = f"{known}('column')" if known else f"wr.mean({given!r})"
        return f"for instance {name or 'result'}={call}"
    if callable(given):
        return f"for instance {name or 'result'}={_call(given, 'column')}, or make one with wr.monoid(...)"
    return f"for instance {name or 'result'}=wr.mean('column')"


def _keyword(column: str, function: Any) -> str:
    call = _call(function, column)
    suffix = call.removeprefix("wr.").partition("(")[0]
    return f"{column}_{suffix}={call}"


def _hedge(*functions: Any) -> str:
    """What stands before a call that is only an example, since an aggregate is not known."""
    return "" if all(_word(_name(function)) for function in functions) else "for instance "


def _name(function: Any) -> str:
    return function if isinstance(function, str) else str(getattr(function, "__name__", ""))


def _call(function: Any, column: str) -> str:
    """A call of the aggregate that is called so elsewhere; of another one where none is known."""
    name = _name(function)
    with_parameters = re.fullmatch(r"(wr\.\w+)\('x'(.*)\)", said(name) or "")
    if with_parameters:
        return f"{with_parameters[1]}({column!r}{with_parameters[2]})"
    return f"{_word(name) or 'wr.mean'}({column!r})"


def _word(name: str) -> str | None:
    """The aggregate that a name stands for; None: it is not known."""
    found = re.match(r"wr\.(\w+)", said(name) or "")
    meant = found[1] if found else nearest(name, AGGREGATES, 0.8)
    return f"wr.{meant}" if meant in AGGREGATES else None
