"""Which query a state is of: described as text, and compared with the query that is to go on from it.

A query that differs is refused, with all differences named. Windows and aggregates may have been added or
removed, as long as one of each stays and none was only renamed; watermark, allowed_lateness and max_ahead may
have changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from windrow.errors import ChangedQuery, StateError
from windrow.monoids.base import Aggregate
from windrow.spec import Spec
from windrow.state.checks import making_sense, require
from windrow.windows import Duration, Window, parse_duration

__all__ = [
    "added_names",
    "allowed_before",
    "check_kept_columns",
    "check_query",
    "check_shape",
    "described",
    "known_windows",
    "removes_from",
]

#: how an earlier version described rolling whose rows it did not keep
_IN_WINDOWS = " in a store"
#: values of settings that are stored under the names that they had first
_STORED = {"return": "emit", "include": "emit", "drop": "count"}
#: settings that state does not depend on, except for events that as-of queries keep by them
_FREE = ("watermark", "allowed_lateness")


def described(query: Spec) -> dict[str, Any]:
    """What a query is, as text: enough to tell two apart."""
    return {
        "settings": {
            "time": query.time,
            "by": repr(query.by),
            "order": repr(query.order),
            "watermark": _shown(query.watermark),
            "allowed_lateness": _shown(query.allowed_lateness),
            "late": _STORED.get(query.late, query.late),
            "empty": _STORED.get(query.empty, query.empty),
            "min_count": str(query.min_count),
            "emit": query.output,
            "idle_timeout": _shown(query.idle_timeout),
            "rolling": _rolling(query),
            **({} if query.asof_over is None else {"asof": query.asof_over.arguments}),
        },
        "windows": {name: repr(window) for name, window in query.windows},
        "aggregates": {name: _told(query, aggregate) for name, aggregate in query.aggregates},
    }


def _shown(duration: Any) -> str:
    return "none" if duration is None or not duration.amount else str(duration)


def _rolling(query: Spec) -> str:
    over = query.rolling_over
    return over.sees if over is not None and over.frames is not None else repr(over)


def _told(query: Spec, aggregate: Aggregate) -> str:
    monoid = aggregate.monoid
    rules = f", nulls={monoid.nulls}" if monoid.nulls != "skip" else ""
    rules += f", min_count={aggregate.least}" if aggregate.least != query.min_count else ""
    return aggregate.identity_text + rules + (f", nan={monoid.nan}" if monoid.nan != "propagate" else "")


def check_query(query: Spec, stored: dict[str, Any]) -> None:
    """Raise if state is of another query than this one, by what is stored of it."""
    _check_same(stored, described(query))
    known = known_windows(query, stored)
    added = {name for name, _ in query.aggregates} - set(stored["aggregates"])
    _check_policies(replace(query, windows=tuple(known.items())), added)


def check_kept_columns(query: Spec, held: Sequence[str]) -> None:
    """Raise if an as-of query reads a column that its events were kept without."""
    for name, aggregate in query.aggregates if query.asof_over is not None else ():
        missing = [column for column in aggregate.reads if column not in held]
        if missing:
            raise ChangedQuery(
                f"aggregate {name!r} was added and reads {missing[0]!r}, which the events that are kept do "
                f"not have: start anew from the events, or leave it out"
            )


def known_windows(query: Spec, stored: dict[str, Any]) -> dict[str, Window]:
    """The windows of a query that were there when its state was stored, in the order of then."""
    windows = dict(query.windows)
    return {name: windows[name] for name in stored["windows"] if name in windows}


def added_names(query: Spec, stored: dict[str, Any]) -> list[str]:
    """The windows and aggregates of a query that were not there when its state was stored."""
    windows = [name for name, _ in query.windows if name not in stored["windows"]]
    return windows + [name for name, _ in query.aggregates if name not in stored["aggregates"]]


def removes_from(query: Spec, stored: dict[str, Any]) -> bool:
    """Whether a query lacks windows or aggregates that were there when its state was stored."""
    windows, aggregates = ({name for name, _ in each} for each in (query.windows, query.aggregates))
    return not (windows >= set(stored["windows"]) and aggregates >= set(stored["aggregates"]))


def allowed_before(stored: dict[str, Any]) -> int:
    """The lateness that was allowed when a state was stored."""
    with making_sense("allowed_lateness of the state"):
        text = stored["settings"]["allowed_lateness"]
        duration: Duration = parse_duration(int(text) if text.isdigit() else text if text != "none" else 0)
        return duration.units


def check_shape(stored: Any) -> None:
    """What says which query a state is of can be compared with another."""
    with making_sense("the query of the state"):
        query = stored["query"]
        for part in ("settings", "windows", "aggregates"):
            require(type(query[part]) is dict, f"{part} of the query: not by name")
            require(all(type(name) is str for name in query[part]), f"{part} of the query: not by name")
        require(type(stored["state"]["moments"]) is bool, "moments: neither true nor false")


def _check_same(was: dict[str, Any], given: dict[str, Any]) -> None:
    settings = given["settings"]
    if str(was["settings"].get("rolling")).endswith(_IN_WINDOWS):
        raise StateError(
            "it was stored by an earlier version, which kept the windows of rolling(store=...) as trees of "
            "partials: rows cannot be had from those. Open it under another name=, and push the rows again"
        )
    is_asof = "asof" in was["settings"]
    free = () if is_asof else _FREE
    changes = [
        f"{name} was {value}, is {settings.get(name)}"
        for name, value in was["settings"].items()
        if settings.get(name) != value and name not in free
    ]
    for what in ("windows", "aggregates"):
        changes += _changes(what[:-1], was[what], given[what], may_remove=not is_asof)
    if changes:
        raise ChangedQuery(
            f"the snapshot is of another query: {'; '.join(changes)}. Restore it with the query it was made "
            f"of; windows and aggregates may be added to that and removed from it, and watermark, "
            f"allowed_lateness and max_ahead changed"
        )


def _changes(what: str, was: dict[str, str], given: dict[str, str], may_remove: bool) -> Iterator[str]:
    """What has changed in a way that state cannot follow; of those that were removed, one must stay, and none
    may be there under another name."""
    may_remove &= not was.keys().isdisjoint(given)
    added = {text: name for name, text in given.items() if name not in was}
    for name, text in was.items():
        shown = f"{what} {name!r}" if name else "the window"
        found = given.get(name)
        if found is None and may_remove and text in added:
            yield f"{shown} ({text}) is called {added[text]!r}, and its state would be lost"
        elif found is None and not may_remove:
            yield f"{shown} ({text}) is missing"
        elif found not in (None, text):
            yield f"{shown} was {text}, is {found}"


def _check_policies(query: Spec, added: set[str]) -> None:
    """A policy that reads an aggregate which the state does not have is another one than before."""
    over = query.rolling_over
    rolling = [] if over is None or over.policy is None else [("", over.policy)]
    for name, window in [*query.windows, *rolling]:
        read = sorted(added & window.aggregates_read)
        if read:
            where = f"the policy of window {name!r}" if name else "the policy"
            raise ChangedQuery(
                f"the snapshot is of another query: {where} reads {', '.join(map(repr, read))}, which was "
                f"not there when it decided on the rows before. Add a window with that policy under another "
                f"name, or leave it as it was"
            )
