"""What a query is: the settings that the user gave, checked, and nothing else. Engines read it; it knows no
engine."""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, Self

from windrow.html_text import html_table
from windrow.monoids.base import Aggregate
from windrow.windows import Policy, Session, TimeWindow, Window, decided_by_gaps, decided_by_time
from windrow.windows.relative import Bound, RelativeFrame, RowFrame, TimeFrame
from windrow.windows.timeline.durations import Duration

if TYPE_CHECKING:
    from windrow.state.store import Store

__all__ = ["Frames", "Rolling", "Spec", "keyword_arguments"]


@dataclass(frozen=True, slots=True)
class Frames:
    """What points in time see: frames, each with the ending that it gives the names of results ("": none)."""

    named: tuple[tuple[str, RelativeFrame], ...]
    #: what the user gave, as source text
    arguments: str
    #: whether they count plain integers; None: nothing says so
    uses_integer_time: bool | None = None

    @property
    def follows_zone(self) -> bool:
        """Whether some count days, weeks or months and name no time zone."""
        return any(frame.follows_zone for _, frame in self.named)

    def in_zone(self, zone: str) -> Frames:
        """The frames where times are in this zone, if they name none."""
        if not self.follows_zone:
            return self
        named = tuple((ending, frame.in_zone(zone)) for ending, frame in self.named)
        return Frames(named, f"{self.arguments}, timezone={zone!r}", self.uses_integer_time)


@dataclass(frozen=True, slots=True)
class Rolling:
    """One result per row: over (t - size, t], over the last ``rows`` rows, or over what a policy leaves."""

    size: Duration | None = None
    rows: int | None = None
    policy: Policy | None = None
    #: where an operator keeps its state; None: in memory, or where ``open(store=)`` says
    store: Store | None = field(default=None, repr=False)
    #: in place of all these: several sizes, other ends, or ends that are moved
    frames: Frames | None = field(default=None, repr=False)

    @property
    def uses_integer_time(self) -> bool | None:
        if self.frames is not None:
            return self.frames.uses_integer_time
        return None if self.size is None else self.size.kind == "integer"

    @property
    def each_frame(self) -> list[RelativeFrame]:
        """What a row sees, for each size; a policy has no frame."""
        if self.frames is not None:
            return [frame for _, frame in self.frames.named]
        if self.size is not None:
            return [_plain_frame(self.size)]
        return [] if self.rows is None else [RowFrame(1 - self.rows, 1)]

    @property
    def follows_zone(self) -> bool:
        """Whether it counts days, weeks or months and names no time zone."""
        over = self.frames or self.size
        return over is not None and over.follows_zone

    def in_zone(self, zone: str) -> Rolling:
        """The same where times are in this zone, if it names none."""
        if not self.follows_zone:
            return self
        if self.frames is not None:
            return replace(self, frames=self.frames.in_zone(zone))
        assert self.size is not None
        return Rolling(
            frames=Frames((("", _plain_frame(self.size)),), self.sees, False).in_zone(zone), store=self.store
        )

    @property
    def arguments(self) -> str:
        """What ``rolling(...)`` was given, as source text."""
        return self.sees if self.store is None else f"{self.sees}, store=<{type(self.store).__name__}>"

    @property
    def sees(self) -> str:
        """What a row sees, as source text."""
        if self.frames is not None:
            return self.frames.arguments
        over = self.policy if self.policy is not None else f"rows={self.rows}"
        return str(over) if self.size is None else self.size.argument


def _plain_frame(size: Duration) -> TimeFrame:
    """(t - size, t]."""
    return TimeFrame(Bound((replace(size, amount=-size.amount),), False), Bound((), True))


@dataclass(frozen=True, repr=False)
class Spec:
    """The settings of a query; :func:`windrow.query` says what they mean."""

    time: str
    by: tuple[str, ...] = ()
    watermark: Duration | None = None
    allowed_lateness: Duration | None = None
    late: Literal["count", "return", "drop"] = "count"
    on_error: Literal["raise", "reject"] = "raise"
    order: tuple[str, ...] = ()
    empty: Literal["skip", "include"] = "skip"
    min_count: int = 0
    output: Literal["final", "update"] = "final"
    idle_timeout: Duration | None = None
    max_ahead: Duration | None = None
    max_windows: int | None = None
    plan: Literal["auto", "windrow", "spark"] = "auto"
    windows: tuple[tuple[str, Window], ...] = ()
    rolling_over: Rolling | None = None
    asof_over: Frames | None = None
    aggregates: tuple[tuple[str, Aggregate], ...] = ()

    def __post_init__(self) -> None:
        """Each aggregate that says nothing of ``min_count`` has that of the query."""
        found = [
            (name, replace(each, min_count=self.min_count) if each.min_count is None else each)
            for name, each in self.aggregates
        ]
        object.__setattr__(self, "aggregates", tuple(found))

    @property
    def corrects(self) -> bool:
        """Whether late rows may correct what has come out."""
        return self.allowed_lateness is not None and self.allowed_lateness.amount > 0

    @property
    def hands_rows_back(self) -> bool:
        """Whether rows that are late, or rejected, are given back with all their columns."""
        return self.late == "return" or self.on_error == "reject"

    @property
    def is_rolling(self) -> bool:
        """Whether there is one result per row, beside the columns of the row."""
        return self.rolling_over is not None

    @property
    def rolling_store(self) -> Store | None:
        """Where ``rolling(store=)`` keeps an operator's state; None: it says nothing of it."""
        return None if self.rolling_over is None else self.rolling_over.store

    @property
    def frames(self) -> Frames | None:
        """What each label of an as-of query, or each row, sees; None: windows, or plain rolling."""
        if self.rolling_over is not None:
            return self.rolling_over.frames
        return self.asof_over

    @property
    def result_names(self) -> list[str]:
        """The names of the result columns: one for each aggregate, or for each aggregate and size."""
        endings = [""] if self.frames is None else [ending for ending, _ in self.frames.named]
        names = [name for name, _ in self.aggregates]
        return [f"{name}_{ending}" if ending else name for name in names for ending in endings]

    @property
    def result_columns(self) -> list[tuple[str, Aggregate]]:
        """The result columns by name, each with its aggregate."""
        sizes = 1 if self.frames is None else len(self.frames.named)
        each = [aggregate for _, aggregate in self.aggregates for _ in range(sizes)]
        return list(zip(self.result_names, each, strict=True))

    @property
    def time_windows(self) -> list[TimeWindow]:
        """The windows that time alone decides."""
        return [window for _, window in self.windows if decided_by_time(window)]

    @property
    def sessions(self) -> list[Session]:
        """The windows that gaps between rows decide."""
        return [window for _, window in self.windows if decided_by_gaps(window)]

    @property
    def follows_zone(self) -> bool:
        """Whether days, weeks or months are those of the column of times: some are counted, and name no
        zone."""
        over = (self.rolling_over, self.asof_over)
        windows = any(window.follows_zone for _, window in self.windows)
        return windows or any(each is not None and each.follows_zone for each in over)

    def in_zone(self, zone: str) -> Self:
        """The query for a column of times in this zone; "UTC": also for one without."""
        if zone == "UTC" or not self.follows_zone:
            return self
        try:
            return replace(
                self,
                windows=tuple((name, window.in_zone(zone)) for name, window in self.windows),
                rolling_over=self.rolling_over and self.rolling_over.in_zone(zone),
                asof_over=self.asof_over and self.asof_over.in_zone(zone),
            )
        except ValueError as error:
            raise ValueError(f"column {self.time!r} is in the time zone {zone!r}, and {error}") from None

    @property
    def needs_rows(self) -> bool:
        """Whether partials of rows are not enough: data decides a window, or each row has a result."""
        return self.is_rolling or any(window.decided_by == "data" for _, window in self.windows)

    @property
    def names_windows(self) -> bool:
        """Whether results have a ``window`` column."""
        return any(name for name, _ in self.windows)

    def __repr__(self) -> str:
        """The query as it would be written."""
        calls = [f"wr.query({', '.join(self._settings())})"]
        if self.windows:
            calls.append(f"window({_keywords(self.windows)})")
        if self.rolling_over is not None:
            calls.append(f"rolling({self.rolling_over.arguments})")
        if self.asof_over is not None:
            calls.append(f"asof({self.asof_over.arguments})")
        if self.aggregates:
            calls.append(f"agg({keyword_arguments(self._aggregate_texts())})")
        return ".".join(calls)

    def _repr_html_(self) -> str:
        """The same for notebooks, as a table."""
        return html_table("windrow query", self._parts())

    def _parts(self) -> Iterator[tuple[str, str]]:
        """Settings, windows and aggregates, each with its name."""
        yield from self._given()
        for name, window in self.windows:
            yield f"window {name}".rstrip(), repr(window)
        for method, over in (("rolling", self.rolling_over), ("asof", self.asof_over)):
            if over is not None:
                yield method, over.arguments
        for name, text in self._aggregate_texts():
            yield f"agg {name}", text

    def _aggregate_texts(self) -> list[tuple[str, str]]:
        """The aggregates as they would be written, by name."""
        found = [
            (name, a, None if a.min_count == self.min_count else a.min_count) for name, a in self.aggregates
        ]
        return [(name, a.text(own)) for name, a, own in found]

    def _settings(self) -> Iterator[str]:
        """The settings that are not the default, as keywords."""
        return (f"{name}={text}" for name, text in self._given())

    def _given(self) -> Iterator[tuple[str, str]]:
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name not in _METHODS and (each.default is MISSING or value != each.default):
                yield each.name, _shown(value)


#: what is not a keyword of query() but has a method
_METHODS = ("windows", "rolling_over", "asof_over", "aggregates")


def _shown(value: Any) -> str:
    if isinstance(value, Duration):
        return value.argument
    if isinstance(value, tuple):  # columns
        return repr(value[0]) if len(value) == 1 else repr(list(value))
    return repr(value)


def _keywords(pairs: Sequence[tuple[str, Any]]) -> str:
    """Windows or aggregates by their names; names that are not keywords stand in a mapping."""
    return keyword_arguments([(name, repr(value)) for name, value in pairs])


def keyword_arguments(pairs: Sequence[tuple[str, str]]) -> str:
    """Arguments as source text, by their names; those without a name come first.

    >>> keyword_arguments([("", "1"), ("day", "2"), ("last week", "3")])
    "1, day=2, **{'last week': 3}"
    """
    plain = [f"{name}={text}" if name else text for name, text in pairs if not name or _is_keyword(name)]
    others = [f"{name!r}: {text}" for name, text in pairs if name and not _is_keyword(name)]
    return ", ".join([*plain, *([f"**{{{', '.join(others)}}}"] if others else [])])


def _is_keyword(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name)
