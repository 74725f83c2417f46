"""What an operator counts, and what it tells of itself: one record for all engines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from windrow.state.checks import require, whole
from windrow.values import with_fields

__all__ = ["Counts", "Metrics"]


def _added(counts: Mapping[str, int], more: Mapping[str, int]) -> dict[str, int]:
    return dict(Counter(counts) + Counter(more))


@dataclass(frozen=True)
class Counts:
    """What was counted since the operator was opened. Always rows_in = rows_aggregated + rows_late +
    rows_rejected.

    A row is late if it came too late for all of its windows. A late *pair* is a row and one window that lacks
    it because the row came too late for that window: a row that its later windows still took is in no count
    but this one.
    """

    rows_in: int = 0
    rows_aggregated: int = 0
    #: late rows by reason
    late: dict[str, int] = field(default_factory=dict[str, int])
    #: pairs of a row and a window that lacks it, by reason; those of late rows included
    late_pairs: dict[str, int] = field(default_factory=dict[str, int])
    #: rejected rows by reason
    rejected: dict[str, int] = field(default_factory=dict[str, int])
    #: windows that fired, and results of rolling
    windows_fired: int = 0
    windows_corrected: int = 0
    windows_retracted: int = 0

    @property
    def rows_late(self) -> int:
        return sum(self.late.values())

    @property
    def rows_rejected(self) -> int:
        return sum(self.rejected.values())

    def check_invariants(self) -> None:
        for name, counted in vars(self).items():
            each = counted if name in ("late", "late_pairs", "rejected") else {name: counted}
            require(type(each) is dict and all(type(why) is str for why in each), f"count {name} is not one")
            for why, count in each.items():
                whole(f"count {why}", count, 0, 2**62)

    def plus(self, **more: Any) -> Counts:
        """Add to these counts, and by reason where they are counted so.

        >>> Counts(rows_in=2, late={"window_fired": 1}).plus(rows_in=3, late={"window_fired": 2}).late
        {'window_fired': 3}
        """
        found = dict[str, Any]()
        for name, each in more.items():
            if each:
                before = getattr(self, name)
                found[name] = _added(before, each) if isinstance(before, dict) else before + each
        return with_fields(self, **found) if found else self


@dataclass(frozen=True)
class Metrics(Counts):
    """Counts and sizes of an operator at one time. Counts continue over snapshots; slices, rows, keys and
    bytes are those held now.

    >>> Metrics(rows_in=3, rows_aggregated=2, late={"window_fired": 1}).rows_late
    1
    """

    #: slices and rows that are held
    slices: int = 0
    rows_held: int = 0
    keys: int = 0
    state_bytes: int = 0
    #: the watermark as a time of the query's time column; None: there is none yet
    watermark: Any = None
    #: times of rows of the last push that came too late for some window; of very many, a few; not stored
    late_times: tuple[Any, ...] = field(default=(), compare=False)

    def as_dict(self) -> dict[str, Any]:
        """All counts, for logs."""
        found = asdict(self) | {"rows_late": self.rows_late, "rows_rejected": self.rows_rejected}
        return {name: count for name, count in found.items() if name != "late_times"}
