"""Decimals that are added, subtracted and multiplied without being rounded to the digits of the context.

Python's decimals are rounded to 28 digits in each operation, and a column may have 38. An aggregate that
computes with its values lifts them to :class:`WideDecimal`; native code, which sees no decimals, lifts
numbers as they are.

A quotient has four more digits behind the point than what is divided, rounded half up, as a mean on Spark.
"""

from __future__ import annotations

from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal
from typing import Any

from windrow.monoids.stored_types import stored_as

__all__ = ["WideDecimal", "exactly", "rounded_half_up"]

#: digits of a product of many values; a sum of a column never has as many
_WIDE = Context(prec=200, rounding=ROUND_DOWN)
_MORE_DIGITS = 4


@stored_as("wide decimal", Decimal, lambda plain: WideDecimal(plain))
class WideDecimal(Decimal):
    """A decimal that computes with all of its digits.

    >>> WideDecimal(10**30) + Decimal("0.1")
    Decimal('1000000000000000000000000000000.1')
    >>> WideDecimal("2.00") / 3
    Decimal('0.666667')
    """

    __slots__ = ()

    def __add__(self, other: Any) -> WideDecimal:
        return WideDecimal(_WIDE.add(self, other))

    def __sub__(self, other: Any) -> WideDecimal:
        return WideDecimal(_WIDE.subtract(self, other))

    def __mul__(self, other: Any) -> WideDecimal:
        return WideDecimal(_WIDE.multiply(self, other))

    def __truediv__(self, count: Any) -> WideDecimal:
        scale = -int(self.as_tuple().exponent)
        return WideDecimal(rounded_half_up(_WIDE.divide(self, count), scale + _MORE_DIGITS))

    def __neg__(self) -> WideDecimal:
        return WideDecimal(_WIDE.minus(self))

    __radd__ = __add__
    __rmul__ = __mul__
    __hash__ = Decimal.__hash__

    def __repr__(self) -> str:
        return f"Decimal('{self}')"


def exactly(value: Any) -> Any:
    """The lift of an aggregate that computes with its values."""
    return WideDecimal(value) if isinstance(value, Decimal) else value


def rounded_half_up(value: Decimal, scale: int) -> Decimal:
    """A decimal with so many digits behind the point.

    >>> rounded_half_up(Decimal("2.345"), 2), rounded_half_up(Decimal("-2"), 2)
    (Decimal('2.35'), Decimal('-2.00'))
    """
    return value.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, _WIDE)
