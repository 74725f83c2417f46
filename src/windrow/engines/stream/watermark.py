"""By which watermark rows are judged, and where the watermark goes with a push.

Lateness is decided against the watermark before a push. ``lateness="push"``: it then moves to where all rows
lead, including those of this push. ``lateness="spark"``: to where the rows *before* this push lead, as Spark
makes it of the micro-batches before; so a row is compared with what the rows up to two pushes back led to.

Spark's watermark counts milliseconds, and begins at 0, which says nothing yet. Streams on Spark and operators
that judge like them both call the functions here; Spark itself is not needed.
"""

from __future__ import annotations

from typing import Literal

from windrow.arrays import START_OF_TIME
from windrow.engines.stream.state import State
from windrow.spec import Spec
from windrow.windows import Duration

__all__ = ["Judge", "as_clock", "check_judge", "delay_ms", "idle_watermark", "reached", "watermark_of"]

Judge = Literal["push", "spark"]


def check_judge(query: Spec, judge: str) -> None:
    """Raise unless the query can be judged so."""
    if judge not in ("push", "spark"):
        raise ValueError(f"lateness={judge!r}: use one of 'push', 'spark'")
    if judge == "push":
        return
    if query.watermark is None:
        raise ValueError(
            "lateness='spark' follows the watermark that Spark makes of rows: say how late they may be, as "
            "in watermark='10 minutes'"
        )
    if query.idle_timeout is not None:
        raise ValueError(
            "idle_timeout with lateness='spark': Spark's watermark moves with data alone: leave out "
            "one of them"
        )


def reached(query: Spec, state: State, judge: Judge) -> int:
    """The watermark that the rows so far lead to; with ``"push"`` it is that of the push which brought them,
    with ``"spark"`` of the push after it."""
    delay, largest = query.watermark, state.largest
    if delay is None or largest == START_OF_TIME:
        return state.watermark
    if judge == "push":
        return max(state.watermark, largest - delay.units)
    assert state.axis is not None
    is_integer = state.axis.is_integer
    milliseconds = as_clock(largest, is_integer) // 1000 - delay_ms(delay)
    return max(state.watermark, watermark_of(milliseconds, is_integer))


def idle_watermark(query: Spec, state: State, waited: float) -> int:
    """The watermark after so many seconds without rows, which ``idle_timeout`` lets go on with the clock."""
    idle, delay, largest = query.idle_timeout, query.watermark, state.largest
    if idle is None or delay is None or largest == START_OF_TIME:
        return state.watermark
    passed = round(waited * 1e6)
    return largest - delay.units + passed if passed >= idle.units else state.watermark


# -- how Spark counts ----------------------------------------------------------------------------------------


def as_clock(largest: int, is_integer: bool) -> int:
    """A time of the query as what Spark's watermark is made of: microseconds of a timestamp. Spark leaves out
    what is below a millisecond."""
    return largest * 1000 if is_integer else largest


def delay_ms(delay: Duration) -> int:
    """How far Spark's watermark stays behind, in milliseconds: rounded up, so that no row is late too early.

    >>> from windrow.windows import parse_duration
    >>> delay_ms(parse_duration("1500us")), delay_ms(parse_duration(7))
    (2, 7)
    """
    return delay.units if delay.kind == "integer" else -(-delay.units // 1000)


def watermark_of(milliseconds: int, is_integer: bool) -> int:
    """Spark's watermark as the query counts time; Spark starts at 0, which says nothing yet.

    >>> watermark_of(5, is_integer=False), watermark_of(5, is_integer=True)
    (5000, 5)
    >>> watermark_of(0, is_integer=True) == START_OF_TIME
    True
    """
    if milliseconds <= 0:
        return START_OF_TIME
    return milliseconds if is_integer else milliseconds * 1000
