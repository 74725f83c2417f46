"""How many windows one step may give: a tiny slide, or a row far away in time, can ask for billions.

Windows are counted before they are made: those that hold a row are a range of numbers, neither end of which
falls as time goes on, so that counting costs O(1) a slice and kind, however many windows there are.
"""

from __future__ import annotations

from windrow.windows import Cumulative, Delta, Sliding, Window

__all__ = ["TooManyWindows", "check_windows", "most_windows"]

#: by default a step gives up to so many windows of a kind, or so many for each row it reads if that is more
_MOST = 10_000_000
_MOST_A_ROW = 4


class TooManyWindows(ValueError):
    """A step would give more windows than ``max_windows``. It has changed nothing.

    >>> import pyarrow as pa, windrow as wr
    >>> tiny = wr.query(time="t").window(wr.Sliding("1d", slide="1us")).agg(n=wr.count())
    >>> tiny.run(pa.table({"t": pa.array([0], pa.timestamp("us"))}))
    Traceback (most recent call last):
    windrow.slicing.limits.TooManyWindows: one step would give 86,400,000,000 windows (Sliding('24h',
    slide='1us')), and at most 10,000,000 are allowed: use a longer slide, filter rows far away in time, or
    raise max_windows=
    """


def most_windows(max_windows: int | None, rows: int) -> int:
    """How many windows of a kind a step over so many rows may give."""
    return max(_MOST, _MOST_A_ROW * rows) if max_windows is None else max_windows


def check_windows(count: int, most: int, window: Window) -> None:
    if count > most:
        raise TooManyWindows(
            f"one step would give {count:,} windows ({window!r}), and at most {most:,} are allowed: "
            f"{_remedy(window)}, filter rows far away in time, or raise max_windows="
        )


def _remedy(window: Window) -> str:
    if isinstance(window, (Sliding, Delta)) and window.slide != window.size:
        return "use a longer slide"
    if isinstance(window, Cumulative):
        return "use a longer step"
    return "use longer windows, leave empty='emit' out"
