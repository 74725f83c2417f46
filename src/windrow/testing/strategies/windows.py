"""Windows of every kind, over integer time or timestamps.

Lengths are counted in units of the stream: 1 for integers, half an hour for timestamps. Timestamps also get
local days, weeks and months in zones whose clocks change.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

import windrow as wr
from windrow.testing.strategies.streams import HALF_HOUR, ORIGINS, Clock
from windrow.windows import Window

__all__ = ["ZONES", "length", "windows"]

ZONES = ["Europe/Berlin", "America/Sao_Paulo"]


def windows(clock: Clock = "integer", *, kinds: tuple[str, ...] | None = None) -> st.SearchStrategy[Window]:
    """Windows of every kind but Policy, which needs an aggregate to look at (see :func:`queries`).

    Args:
        clock: what the times are that the windows are for.
        kinds: names of the kinds to draw from, such as ``("Tumbling", "Session")``; all by default.

    >>> from hypothesis import find
    >>> from windrow.testing.strategies import windows
    >>> find(windows(kinds=("Rows",)), lambda window: window.size > 2)
    Rows(3, slide=1)
    """
    strategies = _WINDOWS if kinds is None else {kind: _WINDOWS[kind] for kind in kinds}
    return st.sampled_from(list(strategies)).flatmap(lambda kind: strategies[kind](clock))


def length(units: int, clock: Clock) -> Any:
    """So many units as a duration of the clock's kind."""
    return units if clock == "integer" else units * HALF_HOUR


def _tumbling(clock: Clock) -> st.SearchStrategy[Window]:
    plain = st.builds(
        lambda size, offset: wr.Tumbling(length(size, clock), offset=length(offset, clock)),
        st.integers(1, 25),
        st.integers(-3, 3),
    )
    days = st.builds(
        lambda zone, size: wr.Tumbling(size, timezone=zone),
        st.sampled_from(ZONES),
        st.sampled_from(["1d", "1w", "1mo"]),
    )
    return plain if clock == "integer" else st.one_of(plain, days)


def _sliding(clock: Clock) -> st.SearchStrategy[Window]:
    sizes = st.integers(1, 25).flatmap(lambda size: st.tuples(st.just(size), st.integers(1, size)))
    plain = sizes.map(lambda both: wr.Sliding(length(both[0], clock), slide=length(both[1], clock)))
    days = st.builds(lambda zone: wr.Sliding("2d", slide="1d", timezone=zone), st.sampled_from(ZONES))
    return plain if clock == "integer" else st.one_of(plain, days)


def _cumulative(clock: Clock) -> st.SearchStrategy[Window]:
    plain = st.builds(
        lambda step, count: wr.Cumulative(length(step * count, clock), step=length(step, clock)),
        st.integers(1, 8),
        st.integers(1, 5),
    )
    days = st.builds(lambda zone: wr.Cumulative("1d", step="6h", timezone=zone), st.sampled_from(ZONES))
    return plain if clock == "integer" else st.one_of(plain, days)


def _fixed(clock: Clock) -> st.SearchStrategy[Window]:
    starts = st.integers(-60, 50)
    if clock == "integer":
        return st.builds(wr.Fixed, starts, st.integers(1, 60))
    moments = st.builds(lambda origin, unit: origin + unit * HALF_HOUR, st.sampled_from(ORIGINS), starts)
    return st.builds(wr.Fixed, moments, st.integers(1, 60).map(lambda units: units * HALF_HOUR))


def _session(clock: Clock) -> st.SearchStrategy[Window]:
    limits = st.one_of(st.none(), st.integers(1, 30).map(lambda units: length(units, clock)))
    return st.builds(wr.Session, st.integers(1, 12).map(lambda units: length(units, clock)), limits)


def _rows(_: Clock) -> st.SearchStrategy[Window]:
    sizes = st.integers(1, 6).flatmap(lambda size: st.tuples(st.just(size), st.integers(1, size)))
    return sizes.map(lambda both: wr.Rows(both[0], slide=both[1]))


def _delta(_: Clock) -> st.SearchStrategy[Window]:
    sizes = st.sampled_from([(10, 10), (10, 5), (7, 3), (2.5, 2.5), (2.5, 0.5)])
    return sizes.map(lambda both: wr.Delta("km", size=both[0], slide=both[1]))


_WINDOWS: dict[str, Callable[[Clock], st.SearchStrategy[Window]]] = {
    "Tumbling": _tumbling,
    "Sliding": _sliding,
    "Cumulative": _cumulative,
    "Fixed": _fixed,
    "Session": _session,
    "Rows": _rows,
    "Delta": _delta,
    "Punctuation": lambda _: st.just(wr.Punctuation("flag")),
    "Threshold": lambda _: st.just(wr.Threshold("flag")),
}
