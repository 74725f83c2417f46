"""Whether hot keys are looked for, and why not: all cores should work on a key that holds most of the rows.

``spark.windrow.skew`` says what is done: ``split`` looks for hot keys, ``off`` never splits, and ``auto``,
the default, looks for them where that is worth it. It always is without a key: then all rows are those of
one. With one it costs a second reading of keys and times; it is done for rolling by time where the input is
large and read from files or memory, with nothing but filters and expressions on the way. All this is known
from Spark's plan: nothing runs to find it out. Rolling by rows counts rows, too, which costs more.

:mod:`windrow.engines.spark.rolling.segments` does the splitting.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from windrow.arrays import END_OF_TIME
from windrow.engines.spark.compat import optimized_plan
from windrow.spec import Spec
from windrow.windows.relative import fixed_reach

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["LARGE", "SETTING", "is_large", "is_read_cheaply", "splits", "why_not_split"]

SETTING = "spark.windrow.skew"
#: from how many bytes on, as Spark estimates them, ``auto`` looks for hot keys
LARGE = "spark.windrow.skew.minBytes"

_CHOICES = ("auto", "split", "off")
_REMEDY = f"keys are taken to be even; set {SETTING} to split if some hold many of the rows"
_ROWS = f"rows before each cut would have to be counted, and {_REMEDY}"
_LARGE_BYTES = 256 << 20
#: nodes of Spark's plan that are read a second time for little
_STORED = ("LogicalRelation", "DataSourceV2ScanRelation", "InMemoryRelation", "LocalRelation", "Range")
_CHEAP = ("Project", "Filter", "Union", *_STORED)


def splits(query: Spec, frame: DataFrame) -> bool:
    return not why_not_split(query, frame)


def why_not_split(query: Spec, frame: DataFrame) -> str:
    """Why the rows of a key stay together; empty: hot keys are split."""
    over = query.rolling_over
    if query.frames is not None:
        reach = fixed_reach(frame for _, frame in query.frames.named)
        if reach is None or sum(reach) > END_OF_TIME // 4:
            return "how far a frame reaches is not a fixed time"
    elif over is None or over.policy is not None:
        return "how far back a window reaches is known neither from times nor from numbers of rows"
    chosen = _setting(frame)
    if chosen == "off":
        return f"{SETTING} is off"
    if chosen == "auto" and query.by:
        return _ROWS if over is not None and over.rows is not None else _why_not_looked_at(frame)
    return ""


def is_read_cheaply(frame: DataFrame) -> bool:
    """Whether a frame can be read a second time for little, and gives the same rows then."""
    plan = optimized_plan(frame)
    return plan is not None and bool(plan.deterministic()) and _costly(plan) is None


def _costly(plan: Any) -> str | None:
    return next((name for name in _nodes(plan) if name not in _CHEAP), None)


def _setting(frame: DataFrame) -> str:
    chosen = str(frame.sparkSession.conf.get(SETTING, "auto"))
    if chosen not in _CHOICES:
        raise ValueError(f"{SETTING}={chosen!r}: use one of {', '.join(_CHOICES)}")
    return chosen


def _why_not_looked_at(frame: DataFrame) -> str:
    """Why it is not worth it to read keys and times twice; empty: it is."""
    plan = optimized_plan(frame)
    if plan is None:
        return f"Spark Connect does not show its plan, and {_REMEDY}"
    costly = _costly(plan)
    if costly is not None:
        return f"to read the input twice would do {costly} twice, and {_REMEDY}"
    size, large = _size(plan), _bytes_of(frame, LARGE, _LARGE_BYTES)
    if size < large:
        return f"the input is of {size:,} bytes ({LARGE} is {large:,}), and {_REMEDY}"
    return ""


def is_large(frame: DataFrame, setting: str, default: int) -> bool:
    """Whether a frame is, as Spark estimates it, of at least as many bytes as a setting says."""
    least, plan = _bytes_of(frame, setting, default), optimized_plan(frame)
    return plan is not None and _size(plan) >= least


def _size(plan: Any) -> int:
    return int(str(plan.stats().sizeInBytes()))


def _bytes_of(frame: DataFrame, setting: str, default: int) -> int:
    given = str(frame.sparkSession.conf.get(setting, str(default)))
    try:
        return int(given)
    except ValueError:
        raise ValueError(f"{setting}={given!r}: give a whole number of bytes") from None


def _nodes(plan: Any) -> list[str]:
    children = plan.children()
    below = [name for k in range(children.size()) for name in _nodes(children.apply(k))]
    return [str(plan.nodeName()), *below]
