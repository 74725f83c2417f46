"""The settings that ``wr.query(...)`` and ``.rolling(...)`` were given, checked: each error names the setting
and the remedy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Required, TypedDict

from windrow.monoids.base import check_min_count
from windrow.spec import Spec
from windrow.windows import parse_duration
from windrow.windows.timeline.durations import Duration, DurationLike, fixed_duration

__all__ = [
    "Settings",
    "check_complete",
    "check_settings",
    "checked_labels",
    "checked_store",
    "checked_waits",
    "column_names",
    "waiting",
]

_WORDS = {
    "late": ("count", "return", "drop"),
    "on_error": ("raise", "reject"),
    "empty": ("skip", "include"),
    "output": ("final", "update"),
    "plan": ("auto", "windrow", "spark"),
}


class Settings(TypedDict, total=False):
    """The keywords of :func:`windrow.query`, for functions that hand them on."""

    time: Required[str]
    by: str | Sequence[str] | None
    watermark: DurationLike | None
    allowed_lateness: DurationLike
    late: Literal["count", "return"]
    on_error: Literal["raise", "reject"]
    order: str | Sequence[str] | None
    empty: Literal["skip", "include"]
    min_count: int
    output: Literal["final", "update"]
    idle_timeout: DurationLike | None
    max_ahead: DurationLike | None
    max_windows: int | None


def check_settings(time: Any, min_count: Any, max_windows: Any, **words: Any) -> None:
    """Refuse a time column without a name, words that are not known, and numbers that are none."""
    if not isinstance(time, str):
        raise TypeError(f"time={time!r}: give the name of the time column")
    for what, value in words.items():
        if value not in _WORDS[what]:
            raise ValueError(f"{what}={value!r}: use one of {', '.join(map(repr, _WORDS[what]))}")
    check_min_count(min_count)
    if max_windows is not None and (not _is_whole(max_windows) or max_windows < 1):
        raise ValueError(f"max_windows={max_windows!r}: give a whole number of at least 1")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def checked_waits(
    watermark: Any, idle_timeout: Any, max_ahead: Any
) -> tuple[Duration | None, Duration | None, Duration | None]:
    """The same three as durations that go together."""
    delay = None if watermark is None else waiting(watermark, "watermark")
    idle = None if idle_timeout is None else fixed_duration(idle_timeout, "idle_timeout")
    if idle is not None and (
        delay is None or idle.kind == "integer" or (delay.kind == "integer" and delay.amount)
    ):
        raise ValueError(
            f"idle_timeout={idle_timeout!r} lets event time go on with the clock: it needs timestamps, a "
            f"duration such as '30s', and watermark='...'"
        )
    ahead = None if max_ahead is None else waiting(max_ahead, "max_ahead")
    if ahead is not None and delay is not None and delay.amount and ahead.kind != delay.kind:
        raise ValueError(
            f"max_ahead={max_ahead!r} and watermark={watermark!r} count time differently: use integers in "
            f"both or in neither"
        )
    return delay, idle, ahead


def waiting(value: Any, name: str) -> Duration:
    """How long to wait for rows: a duration of fixed length, 0 or more."""
    found = parse_duration(value, name)
    if found.is_calendar:
        raise ValueError(f"{name}={value!r} has no fixed length: give it in weeks, days or below")
    if found.units < 0:
        raise ValueError(f"{name}={value!r} is negative: give 0 or more")
    return found.on_clock


def column_names(names: str | Sequence[str] | None, what: str) -> tuple[str, ...]:
    """One name or several as a tuple, each once."""
    if names is None:
        return ()
    found = (names,) if isinstance(names, str) else tuple(names)
    if not all(isinstance(name, str) for name in found):
        raise TypeError(f"{what}={names!r}: give a column name or a list of them")
    if len(set(found)) != len(found):
        raise ValueError(f"{what}={names!r}: a column is named twice")
    return found


def check_complete(query: Spec) -> None:
    """Refuse a query that computes nothing."""
    if not query.aggregates:
        raise TypeError("this query computes nothing yet: add .agg(name=wr.sum('column'))")


def checked_labels(query: Spec, at: Any, at_time: Any, at_by: Any) -> tuple[str, tuple[str, ...]]:
    """The columns of labels that have their times and keys; what they lack is that of the query."""
    if query.asof_over is None:
        raise TypeError(
            "at=, at_time= and at_by= are for as-of windows: use .asof('7d') in place of .window(...) or "
            ".rolling(...), or leave them out"
        )
    if at is None:
        raise TypeError("an as-of query needs labels, the moments to look from: give run(events, at=labels)")
    if at_time is not None and not isinstance(at_time, str):
        raise TypeError(f"at_time={at_time!r}: give the name of the labels' time column")
    by = query.by if at_by is None else column_names(at_by, "at_by")
    if len(by) != len(query.by):
        raise ValueError(
            f"at_by={at_by!r} names {len(by)} columns and by= {len(query.by)}: give the labels' columns for "
            f"{', '.join(map(repr, query.by)) or 'no keys'}, in this order"
        )
    return query.time if at_time is None else at_time, by


def checked_store(store: Any) -> Any:
    """A store of :mod:`windrow.state`, or None."""
    if store is not None:
        from windrow.state.store import Store

        if not isinstance(store, Store):
            raise TypeError(
                f"store={store!r} is not a store: use MemoryStore, RocksDBStore or RedisStore of "
                f"windrow.state"
            )
    return store
