"""What an operator runs: its query, the numbers of its windows, and how slices are cut for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.arrays import END_OF_TIME, Ints
from windrow.engines.data_windows.operator import DataWindowRows
from windrow.engines.frames.event_rows import EventRows
from windrow.engines.frames.rolling_part import RollingRows
from windrow.engines.kept_rows.ordered_rows import OrderedRows
from windrow.engines.stream.intake import Columns
from windrow.engines.stream.state import State
from windrow.monoids.base import Aggregate
from windrow.partials.partials import needs_order
from windrow.result_names import check_names, extra_columns
from windrow.rows.times import Moments, TimeAxis, check_time_kind, read_times
from windrow.slicing.finder.time_windows import TimeWindows
from windrow.slicing.session_manager import SessionPart
from windrow.slicing.slicer import Slicer
from windrow.slicing.time_kinds import Kind
from windrow.slicing.time_manager import TimePart
from windrow.spec import Spec
from windrow.windows import Session, Window, decided_by_gaps, decided_by_time

__all__ = ["EVENTS", "ROLLING", "Plan"]


#: the number of rolling, which is not a window; and that of the events of an as-of query
ROLLING, EVENTS = -1, -2


@dataclass(frozen=True)
class Plan:
    """A query and the numbers of its windows. Numbers only grow, so that a name can come back."""

    query: Spec
    numbers: tuple[int, ...]
    #: every moment is a slice, since an aggregate depends on the order of rows
    moments: bool = False
    #: whose days, weeks and months windows have that named no zone; None: there are no such windows, or no
    #: rows yet; "": UTC's, of whatever zone tables say they are
    zone: str | None = None
    #: whether rows live in rings and trees between steps: in memory, where steps are accepted
    lives: bool = False
    #: makes what holds the events of an as-of query, and perhaps labels that wait for them
    make_events: Callable[[Spec, pa.Schema], EventRows] = EventRows

    @classmethod
    def of(cls, query: Spec) -> Plan:
        check_names(query)
        return cls(query, tuple(range(len(query.windows))))

    @cached_property
    def names(self) -> list[str]:
        """Names of windows by number; those of windows that were removed are empty."""
        found = [""] * (max(self.numbers, default=-1) + 1)
        for number, (name, _) in zip(self.numbers, self.query.windows, strict=True):
            found[number] = name
        return found

    @cached_property
    def name_column(self) -> pa.Array:
        """The same as a column."""
        return pa.array(self.names, pa.string())

    @cached_property
    def result_names(self) -> list[str]:
        """The columns of results; rolling gives those of the table, too."""
        query = self.query
        names = [*query.by, "window"] if query.names_windows else [*query.by]
        if not query.is_rolling:
            names += ["window_start", "window_end"]
        return [*names, *query.result_names, *extra_columns(query)]

    @cached_property
    def numbered(self) -> list[tuple[int, str, Window]]:
        pairs = zip(self.numbers, self.query.windows, strict=True)
        return [(number, name, window) for number, (name, window) in pairs]

    @cached_property
    def aggregates(self) -> tuple[Aggregate, ...]:
        return tuple(aggregate for _, aggregate in self.query.aggregates)

    @cached_property
    def slicer(self) -> Slicer:
        gaps = [window.gap_us for window in self.query.sessions]
        apart = self.moments and bool(self.query.order)
        return Slicer(self.query.time_windows, min(gaps, default=None), self.moments, apart)

    @cached_property
    def cuts_moments(self) -> bool:
        """Whether a late row may split sessions anew, so that they need every moment apart."""
        return any(not session.is_sliced for session in self.query.sessions)

    @cached_property
    def has_sessions(self) -> bool:
        return bool(self.query.sessions)

    @cached_property
    def cuts_slices(self) -> bool:
        return any(window.decided_by != "data" for _, _, window in self.numbered)

    @cached_property
    def allowed(self) -> int:
        lateness = self.query.allowed_lateness
        return 0 if lateness is None else lateness.units

    @cached_property
    def counts_revisions(self) -> bool:
        return self.query.corrects or self.query.output == "update"

    @cached_property
    def counts_integers(self) -> bool | None:
        """Whether times are integers, as far as the query says."""
        timed: list[Any] = [window for _, _, window in self.numbered]
        if self.query.rolling_over is not None:
            timed.append(self.query.rolling_over)
        if self.query.asof_over is not None:
            timed.append(self.query.asof_over)
        waits = (self.query.watermark, self.query.allowed_lateness)
        kinds = [each.uses_integer_time for each in timed]
        kinds += [wait.kind == "integer" for wait in waits if wait is not None and wait.amount]
        return next((kind for kind in kinds if kind is not None), None)

    @cached_property
    def reach(self) -> int:
        """How far windows, and what is waited for, may reach beyond a row."""
        timed = [(0, window) for window in self.query.time_windows]
        reaches = [window.gap_us for window in self.query.sessions]
        over = self.query.rolling_over
        if over is not None and over.size is not None:
            reaches.append(over.size.units)
        return max([TimeWindows(timed).longest if timed else 1, *reaches]) + self.allowed

    def out_of_reach(self, times: Ints) -> npt.NDArray[np.bool_]:
        """Which rows have windows that would reach beyond what time may be."""
        most = END_OF_TIME - self.reach
        return (times >= most) | (times <= -most)

    def check_reach(self, moments: Moments) -> None:
        """Refuse such rows."""
        for worst in (moments.high, moments.low) if len(moments) else ():
            if abs(worst) + self.reach >= END_OF_TIME:
                raise OverflowError(
                    f"time column {self.query.time!r} holds {worst}, whose windows reach beyond 2**62: "
                    f"scale or filter such rows"
                )

    def in_zone_of(self, axis: TimeAxis) -> Plan:
        """With the days, weeks and months of such times, where that is not settled yet."""
        return self.in_zone(axis.zone) if self.zone is None and self.query.follows_zone else self

    def in_zone(self, zone: str) -> Plan:
        """With the days, weeks and months of this zone, if there are any that named none."""
        if not (zone and self.query.follows_zone):
            return self
        return replace(self, query=self.query.in_zone(zone), zone=zone)

    def _check_zone(self, axis: TimeAxis) -> None:
        """Refuse times of another zone than that whose days are counted."""
        if self.zone and axis.zone != self.zone:
            raise TypeError(
                f"column {self.query.time!r} was in the time zone {self.zone!r} before, whose days and "
                f"months are counted, and is in {axis.zone!r} in this table: convert it before it is pushed, "
                f"or name the zone of windows with timezone="
            )

    def with_types_of(self, state: State, table: pa.Table) -> tuple[Plan, State]:
        """With what a table is the first to show: the types of columns, and what depends on them."""
        if self.zone and self.query.time in table.column_names:
            self._check_zone(TimeAxis(table.schema.field(self.query.time).type))
        if state.columns is None:
            return self.begin(state, table)
        columns = state.columns.with_types_of(table)
        if columns is state.columns:
            return self, state
        state = replace(state, columns=columns)
        return self.with_moments(state) if self._needs_moments(columns.schema) else (self, state)

    def with_moments(self, state: State) -> tuple[Plan, State]:
        """From now on every moment is a slice."""
        if self.moments:
            return self, state
        assert state.columns is not None
        order = [state.columns.schema.field(name).type for name in self.query.order]
        time = None if state.time is None else state.time.with_moments(order)
        sessions = tuple(part.with_moments(order) for part in state.sessions)
        return replace(self, moments=True), replace(state, time=time, sessions=sessions)

    def needs_moments(self, state: State, added: Iterable[Aggregate]) -> bool:
        """Whether aggregates that were added depend on the order of rows, as far as types are known."""
        if state.columns is None:
            return False
        schema = state.columns.schema
        kinds = [schema.field(column).type for aggregate in added for column in aggregate.columns]
        return not any(map(pa.types.is_null, kinds)) and self._needs_moments(schema)

    def begin(self, state: State, table: pa.Table) -> tuple[Plan, State]:
        """For the first table: what depends on the types of columns is settled."""
        columns = Columns.of(self.query, table)
        axis, _, _ = read_times(columns.schema.empty_table().column(self.query.time), self.query.time)
        check_time_kind(self.query, axis)
        if state.advanced_by_integer not in (None, axis.is_integer):
            held = "integers" if axis.is_integer else "timestamps"
            raise TypeError(f"column {self.query.time!r} holds {held}, unlike the watermark given before")
        plan = replace(self.in_zone_of(axis), moments=self._needs_moments(columns.schema))
        return plan, plan.with_parts(replace(state, columns=columns, axis=axis))

    def _needs_moments(self, schema: pa.Schema) -> bool:
        if self.query.order:
            return any(not a.monoid.commutative and a.columns for a in self.aggregates)
        return any(needs_order(aggregate, schema) for aggregate in self.aggregates)

    def with_parts(self, state: State) -> State:
        """With empty parts for all windows."""
        kinds = [Kind(number, w) for number, _, w in self.numbered if decided_by_time(w)]
        ordered = {
            number: self.ordered_part(name, window)
            for number, name, window in self.numbered
            if window.decided_by == "data"
        }
        if self.query.rolling_over is not None:
            ordered[ROLLING] = self.ordered_part("", self.query.rolling_over)
        if self.query.asof_over is not None:
            assert state.columns is not None
            ordered[EVENTS] = self.make_events(self.query, state.columns.schema)
        return replace(
            state,
            time=TimePart.empty(self.query, kinds, self.moments) if kinds else None,
            sessions=tuple(
                self.session_part(number, w) for number, _, w in self.numbered if decided_by_gaps(w)
            ),
            ordered=ordered,
        )

    def session_part(self, number: int, window: Session) -> SessionPart:
        return SessionPart.empty(self.query, number, window, self.moments)

    def ordered_part(self, name: str, window: Any) -> OrderedRows:
        is_rolling = not isinstance(window, Window)
        counts = is_rolling and self.counts_revisions
        part: OrderedRows
        if is_rolling and window.policy is None:
            part = RollingRows(self.query, window, counts_revisions=counts)
        else:
            part = DataWindowRows(self.query, name, window, counts_revisions=counts)
        part.lives = self.lives and self.query.output == "final"
        return part
