"""Open, high, low and close: the candle of a chart of prices.

The first, largest, smallest and last value of a window, in one partial of the kind that ``m4`` has. It
depends on the order of the rows, so it is not commutative; combining a partial with itself changes nothing.

Cost: a few comparisons a combine, compiled for numbers; the result is a struct on every engine.

>>> import windrow as wr
>>> window = wr.swag.DABA(wr.ohlc)
>>> for price in (5, 9, 4, 7):
...     window.insert(price)
>>> window.query()
OHLC(open=5, high=9, low=4, close=7)
"""

from __future__ import annotations

from typing import Any, NamedTuple

from windrow.monoids.base import Monoid
from windrow.monoids.extremes import m4
from windrow.monoids.stored_types import stored_as

__all__ = ["OHLC", "ohlc"]


@stored_as("ohlc", tuple, lambda plain: OHLC(*plain))
class OHLC(NamedTuple):
    """A candle."""

    open: Any
    high: Any
    low: Any
    close: Any


def _lower(a: tuple[bool, Any, Any, Any, Any]) -> OHLC:
    return OHLC(a[1], a[4], a[3], a[2])  # of first, last, smallest, largest


ohlc = Monoid(
    name="ohlc",
    lift=m4.lift,
    combine=m4.combine,
    lower=_lower,
    identity=m4.identity,
    typed_identity=m4.typed_identity,
    idempotent=True,
    doc="""The first, largest, smallest and last value of a column, by time, as a struct of open, high, low
    and close.

    Nulls are skipped, and without a value the result is null. NaN comes through as the largest and the
    smallest value; ``nan="ignore"`` skips it.

    >>> import pyarrow as pa, windrow as wr
    >>> trades = pa.table({"t": [1, 2, 3, 4], "price": [5, 9, 4, 7]})
    >>> wr.events(trades, time="t").window(wr.Tumbling(10)).agg(candle=wr.ohlc("price"))["candle"].to_pylist()
    [{'open': 5, 'high': 9, 'low': 4, 'close': 7}]
    """,
)
