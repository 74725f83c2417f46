"""What a user's function raises in the middle of a window, told with its aggregate or policy by whoever knows
the row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from windrow.errors import AggregateError, EmptyWindow
from windrow.monoids.base import Monoid

__all__ = ["Raised", "guarded", "guarded_policy"]


class Raised(Exception):
    """A function of a user's aggregate or policy raised."""

    def __init__(self, whose: str, error: Exception) -> None:
        super().__init__(whose, error)
        self.whose, self.error = whose, error

    def at(self, where: str) -> AggregateError:
        """The error that a user sees; ``where`` tells of the row."""
        error = self.error
        return AggregateError(f"{self.whose} raised {type(error).__name__} at {where}: {error}")


def guarded(monoid: Monoid, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of an aggregate.

    >>> import windrow as wr
    >>> guarded(wr.sum, lambda: 1 / 0)
    Traceback (most recent call last):
    windrow.partials.guarded.Raised: ("aggregate 'sum'", ZeroDivisionError('division by zero'))
    """
    try:
        return function(*arguments)
    except Exception as error:
        raise Raised(f"aggregate {monoid.name!r}", error) from error


def guarded_policy(policy: Any, function: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """The function of a policy, told of by the policy's name."""

    def evicts(total: Any, old: Any) -> bool:
        try:
            return function(total, old)
        except (EmptyWindow, Raised):
            raise
        except Exception as error:
            raise Raised(repr(policy), error) from error

    return evicts
