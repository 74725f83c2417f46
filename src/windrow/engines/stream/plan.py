"""What an operator runs: its query, the numbers of its windows, and how slices are cut for them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from windrow.engines.ordered import OrderedRows
from windrow.engines.partials import needs_order
from windrow.engines.stream.intake import Columns
from windrow.engines.stream.session_part import SessionPart
from windrow.engines.stream.state import State
from windrow.engines.stream.time_part import Kind, TimePart
from windrow.engines.times import check_time_kind, read_times
from windrow.monoids.base import Aggregate
from windrow.slicing.slicer import Slicer
from windrow.spec import Spec
from windrow.windows import Session, TimeWindow, Window

__all__ = ["ROLLING", "Plan"]

#: the number of what is no window but rolling
ROLLING = -1


@dataclass(frozen=True)
class Plan:
    """A query and the numbers of its windows. Numbers only grow, so that a name can come back."""

    query: Spec
    numbers: tuple[int, ...]
    #: every moment is a slice, since an aggregate depends on the order of rows
    moments: bool = False

    @classmethod
    def of(cls, query: Spec) -> Plan:
        return cls(query, tuple(range(len(query.windows))))

    @cached_property
    def names(self) -> list[str]:
        """Names of windows by number; those of windows that were removed are empty."""
        found = [""] * (max(self.numbers, default=-1) + 1)
        for number, (name, _) in zip(self.numbers, self.query.windows, strict=True):
            found[number] = name
        return found

    @cached_property
    def numbered(self) -> list[tuple[int, str, Window]]:
        pairs = zip(self.numbers, self.query.windows, strict=True)
        return [(number, name, window) for number, (name, window) in pairs]

    @cached_property
    def aggregates(self) -> tuple[Aggregate, ...]:
        return tuple(aggregate for _, aggregate in self.query.aggregates)

    @cached_property
    def slicer(self) -> Slicer:
        gaps = [window.gap_us for _, _, window in self.numbered if isinstance(window, Session)]
        timed = [window for _, _, window in self.numbered if isinstance(window, TimeWindow)]
        apart = self.moments and bool(self.query.order)
        return Slicer(timed, min(gaps, default=None), self.moments, apart)

    @cached_property
    def cuts_moments(self) -> bool:
        """Whether a late row may split sessions anew, so that they need every moment apart."""
        return any(isinstance(w, Session) and w.max_size is not None for _, _, w in self.numbered)

    @cached_property
    def has_sessions(self) -> bool:
        return any(isinstance(window, Session) for _, _, window in self.numbered)

    @cached_property
    def cuts_slices(self) -> bool:
        return any(isinstance(window, (TimeWindow, Session)) for _, _, window in self.numbered)

    @cached_property
    def allowed(self) -> int:
        lateness = self.query.allowed_lateness
        return 0 if lateness is None else lateness.units

    @property
    def counts_revisions(self) -> bool:
        return self.query.corrects or self.query.emit == "update"

    def begun(self, state: State, table: pa.Table) -> tuple[Plan, State]:
        """For the first table: what depends on the types of columns is settled."""
        columns = Columns.of(self.query, table)
        axis, _, _ = read_times(columns.schema.empty_table().column(self.query.time), self.query.time)
        check_time_kind(self.query, axis)
        plan = replace(self, moments=self._needs_moments(columns.schema))
        return plan, plan.with_parts(replace(state, columns=columns, axis=axis))

    def _needs_moments(self, schema: pa.Schema) -> bool:
        if self.query.order:
            return any(not a.monoid.commutative and a.columns for a in self.aggregates)
        return any(needs_order(aggregate, schema) for aggregate in self.aggregates)

    def with_parts(self, state: State) -> State:
        """With empty parts for all windows."""
        kinds = [Kind(number, w) for number, _, w in self.numbered if isinstance(w, TimeWindow)]
        ordered = {
            number: self.ordered_part(name, window)
            for number, name, window in self.numbered
            if not isinstance(window, (TimeWindow, Session))
        }
        if self.query.rolling_over is not None:
            ordered[ROLLING] = self.ordered_part("", self.query.rolling_over)
        return replace(
            state,
            time=TimePart.empty(self.query, kinds, self.moments) if kinds else None,
            sessions=tuple(
                self.session_part(number, w) for number, _, w in self.numbered if isinstance(w, Session)
            ),
            ordered=ordered,
        )

    def session_part(self, number: int, window: Session) -> SessionPart:
        return SessionPart.empty(self.query, number, window, self.moments)

    def ordered_part(self, name: str, window: Any) -> OrderedRows:
        is_rolling = not isinstance(window, Window)
        return OrderedRows(self.query, name, window, counts_revisions=is_rolling and self.counts_revisions)
