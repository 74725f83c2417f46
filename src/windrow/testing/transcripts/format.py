"""The format of transcripts: what is read from YAML, checked, and made into a query, steps and expectations.

A transcript says what is done to an operator and what must come out after each step::

    about: A window fires once the watermark has reached its end.
    query: {time: t, by: k, allowed_lateness: 5}   # arguments of wr.query
    judge: spark                                   # optional: query.open(lateness=)
    windows: Tumbling(10)                          # or {ten: Tumbling(10), visit: Session(5)}
    aggregates: {n: count(), held: concat(s)}      # instead of windows: "rolling: 10" or "rolling: {rows: 3}"
    columns: [t, k, s]                             # of rows that are written as lists
    types: {s: string}                             # only where values do not tell: what Arrow calls the type
    shows: [k, window_start, window_end, n]        # the columns of results that are compared
    result_columns: [k, window_start, window_end, n, held]   # optional: all columns that results have
    steps:
      - push: [[1, a, x], [2, b, y]]               # a step without "gives" must give nothing
      - advance: 10
        gives: [[a, 0, 10, 1], [b, 0, 10, 1]]
      - late: [[3, a, z, 7, window_fired]]         # the columns, late_by and late_reason
      - rejected: [[null, b, y, no_time, null, null]]   # the columns, and why: the reason, by what, its error
      - snapshot: true                             # snapshot and restore here
      - add_window: {twenty: Tumbling(20)}
      - remove_window: twenty
      - wait: 30s                                  # the clock goes on
      - poll: true
      - finish: true
    metrics: {rows_in: 2, late: {window_fired: 1}} # at the end; those not named are not compared
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import windrow as wr
from windrow.packages import how_to_install
from windrow.query import Query
from windrow.result_names import REJECTED_ROWS
from windrow.spec_text import SpecTextError, aggregate_of, window_of

__all__ = ["Step", "Transcript", "TranscriptError", "read_transcript"]

Row = dict[str, Any]
_FIELDS = {
    *("about", "query", "judge", "windows", "rolling", "aggregates", "columns", "types"),
    *("shows", "result_columns", "steps", "metrics"),
}
_ACTIONS = (
    *("push", "advance", "poll", "finish", "late", "rejected"),
    *("snapshot", "add_window", "remove_window", "wait"),
)
#: what is added to rows that come back
_ADDED = {"late": ("late_by", "late_reason"), "rejected": REJECTED_ROWS}
_GIVING = ("push", "advance", "poll", "finish")


class TranscriptError(ValueError):
    """A transcript that cannot be read."""


@dataclass(frozen=True)
class Step:
    """One thing done to an operator, and what must come out of it."""

    number: int
    action: str
    argument: Any
    gives: list[Row]

    def __str__(self) -> str:
        return f"step {self.number} ({self.action}{'' if self.argument is True else f': {self.argument}'})"


@dataclass(frozen=True)
class Transcript:
    """A behaviour as data: a query, what is done, and what must come out."""

    name: str
    about: str
    query: Query
    steps: list[Step]
    shows: list[str] | None = None
    result_columns: list[str] | None = None
    types: dict[str, str] = field(default_factory=dict)
    metrics: dict[str, Any] = field(default_factory=dict)
    judge: str | None = None

    @property
    def waits(self) -> bool:
        return any(step.action == "wait" for step in self.steps)


def read_transcript(source: Any) -> Transcript:
    """A transcript from a YAML file or from the same as a dict.

    >>> transcript = read_transcript(
    ...     {
    ...         "query": {"time": "t"},
    ...         "windows": "Tumbling(10)",
    ...         "aggregates": {"n": "count()"},
    ...         "columns": ["t"],
    ...         "steps": [{"push": [[1], [2]]}, {"finish": True, "gives": [{"n": 2}]}],
    ...     }
    ... )
    >>> print(*transcript.steps, sep=", ")
    step 1 (push: [{'t': 1}, {'t': 2}]), step 2 (finish)
    """
    name = "transcript" if isinstance(source, Mapping) else Path(source).stem
    try:
        return _read(name, source if isinstance(source, Mapping) else _load(Path(source)))
    except (TranscriptError, SpecTextError) as error:
        raise TranscriptError(f"{name}: {error}") from error.__cause__


def _load(path: Path) -> Any:
    try:
        import yaml  # type: ignore[import-untyped,unused-ignore]
    except ImportError as error:
        raise ImportError(
            f"transcripts in files are YAML, which PyYAML reads: {how_to_install('testing')}"
        ) from error
    try:
        return yaml.safe_load(path.read_text())
    except yaml.YAMLError as error:
        raise TranscriptError(f"this is not YAML: {error}") from error


def _read(name: str, data: Any) -> Transcript:
    if not isinstance(data, Mapping):
        raise TranscriptError("a transcript is a mapping with 'query', 'aggregates' and 'steps'")
    unknown = sorted(str(each) for each in data.keys() - _FIELDS)
    if unknown:
        raise TranscriptError(f"{unknown[0]!r} is not known: use {', '.join(sorted(_FIELDS))}")
    steps = data.get("steps")
    if not isinstance(steps, list) or not steps:
        raise TranscriptError("there are no steps: write 'steps:' and a list")
    columns, shows = data.get("columns"), data.get("shows")
    return Transcript(
        name=name,
        about=data.get("about", ""),
        query=_query(data),
        steps=[_step(number, step, columns, shows) for number, step in enumerate(steps, 1)],
        shows=shows,
        result_columns=data.get("result_columns"),
        types=dict(data.get("types", {})),
        metrics=dict(data.get("metrics", {})),
        judge=data.get("judge"),
    )


# -- the query -----------------------------------------------------------------------------------------------


def _query(data: Mapping[str, Any]) -> Query:
    settings, aggregates = data.get("query"), data.get("aggregates")
    if not isinstance(settings, Mapping) or not isinstance(aggregates, Mapping):
        raise TranscriptError("'query' and 'aggregates' are needed, each a mapping")
    if ("windows" in data) == ("rolling" in data):
        raise TranscriptError("say either 'windows' or 'rolling'")
    chosen = {str(name): aggregate_of(text) for name, text in aggregates.items()}
    try:
        start = wr.query(**settings)
        return (_windowed(start, data) if "windows" in data else _rolling(start, data)).agg(**chosen)
    except SpecTextError:
        raise
    except (TypeError, ValueError) as error:
        raise TranscriptError(f"the query is refused: {error}") from error


def _windowed(start: Query, data: Mapping[str, Any]) -> Query:
    windows = data["windows"]
    if isinstance(windows, Mapping):
        return start.window(**{str(name): window_of(text) for name, text in windows.items()})
    return start.window(window_of(windows))


def _rolling(start: Query, data: Mapping[str, Any]) -> Query:
    over = data["rolling"]
    if isinstance(over, Mapping):
        return start.rolling(**over)
    size: Any = window_of(over) if isinstance(over, str) and over.startswith("Policy") else over
    return start.rolling(size)


# -- steps ---------------------------------------------------------------------------------------------------


def _step(number: int, data: Any, columns: list[str] | None, shows: list[str] | None) -> Step:
    try:
        return _checked_step(number, data, columns, shows)
    except (TranscriptError, SpecTextError) as error:
        raise TranscriptError(f"step {number}: {error}") from error.__cause__


def _checked_step(number: int, data: Any, columns: list[str] | None, shows: list[str] | None) -> Step:
    actions = [each for each in data if each != "gives"] if isinstance(data, Mapping) else []
    if len(actions) != 1 or actions[0] not in _ACTIONS:
        raise TranscriptError(f"a step is one of {', '.join(_ACTIONS)}, with 'gives' or without")
    action, argument = actions[0], data[actions[0]]
    if "gives" in data and action not in _GIVING:
        raise TranscriptError(f"{action!r} gives no results: write 'gives' at {', '.join(_GIVING)}")
    if action == "push":
        argument = _rows(argument, columns, "columns")
    if action in _ADDED:
        argument = _rows(argument, None if columns is None else [*columns, *_ADDED[action]], "columns")
    if action == "add_window":
        argument = {str(name): window_of(text) for name, text in _mapping(argument).items()}
    return Step(number, action, argument, _rows(data.get("gives", []), shows, "shows"))


def _mapping(argument: Any) -> Mapping[str, Any]:
    if not isinstance(argument, Mapping):
        raise TranscriptError(f"{argument!r} is not a mapping from names to windows")
    return argument


def _rows(rows: Any, columns: list[str] | None, said_by: str) -> list[Row]:
    if not isinstance(rows, list):
        raise TranscriptError(f"rows are a list, not {rows!r}")
    return [_row(row, columns, said_by) for row in rows]


def _row(row: Any, columns: list[str] | None, said_by: str) -> Row:
    if isinstance(row, Mapping):
        return {str(name): _plain(value) for name, value in row.items()}
    if not isinstance(row, list):
        raise TranscriptError(f"row {row!r} is neither a list nor a mapping")
    if columns is None or len(columns) != len(row):
        count = "no" if columns is None else len(columns)
        raise TranscriptError(f"row {row} has {len(row)} values, and {said_by!r} names {count} columns")
    return {name: _plain(value) for name, value in zip(columns, row, strict=True)}


def _plain(value: Any) -> Any:
    """A day alone is its midnight."""
    is_date = hasattr(value, "year") and not isinstance(value, datetime)
    return datetime(value.year, value.month, value.day) if is_date else value
