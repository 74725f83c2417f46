"""What can be wrong with an expression, by whose fault."""

from __future__ import annotations

__all__ = ["ExpressionError", "OnlySpark", "ValueRefused", "only_spark"]


class ExpressionError(ValueError):
    """The expression is wrong on every engine."""


class OnlySpark(ValueError):
    """The expression may be right, but the local engine cannot evaluate it as Spark does."""


class ValueRefused(ValueError):
    """A value of a row for which the expression has no result: division by zero, overflow, a bad cast."""


def only_spark(what: str, remedy: str = "") -> OnlySpark:
    """
    >>> only_spark("the function 'rlike'").args[0]
    "the function 'rlike' is known to Spark alone: run this job on Spark"
    """
    return OnlySpark(
        f"{what} is known to Spark alone: {remedy + ', or ' if remedy else ''}run this job on Spark"
    )
