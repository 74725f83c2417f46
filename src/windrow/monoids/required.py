"""Aggregates that need a parameter: the bare name says so when it is used without one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from windrow.monoids.base import Monoid

__all__ = ["without"]


@dataclass(frozen=True, eq=False, kw_only=True)
class _Incomplete(Monoid):
    """An aggregate before it has the parameter that it needs."""

    required: str = ""
    remedy: str = ""

    def __call__(self, *columns: Any, **options: Any) -> Any:
        """Bind to columns, with the parameter by name or behind them; it may be a list."""
        lists = [c for c in columns if isinstance(c, (list, tuple)) or hasattr(c, "tolist")]
        if len(lists) == 1 and self.required not in options:
            options[self.required] = lists[0]
            columns = tuple(c for c in columns if c is not lists[0])
        if self.required not in options and all(isinstance(c, str) for c in columns):
            raise TypeError(self.remedy)
        return super().__call__(*columns, **options)


def without(required: str, remedy: str, *, name: str, make: Callable[..., Monoid], **declared: Any) -> Monoid:
    """The aggregate of this name while it has no ``required`` parameter; ``make`` makes the one that has.

    >>> import windrow as wr
    >>> wr.top_k("len")
    Traceback (most recent call last):
    TypeError: top_k needs k, how many values: top_k('len', 3)
    """

    def refuse(*_: Any) -> Any:
        raise TypeError(remedy)

    return _Incomplete(
        name=name,
        lift=refuse,
        combine=refuse,
        lower=refuse,
        make=make,
        required=required,
        remedy=remedy,
        compiles_for="",
        **declared,
    )
