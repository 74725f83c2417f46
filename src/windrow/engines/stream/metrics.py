"""What an operator counts."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["Metrics"]


@dataclass(frozen=True)
class Metrics:
    """Numbers of an operator at one moment. Always rows_in = rows_aggregated + rows_late + rows_rejected.

    A row is late if it came too late for all of its windows. A late *pair* is a row and one window that lacks
    it because the row came too late for that window: a row that its later windows still took is in no count
    but this one.

    Counts go on over snapshots; slices, rows, keys and bytes are what is held at the moment.

    >>> Metrics(rows_in=3, rows_aggregated=2, late={"window_fired": 1}).rows_late
    1
    """

    rows_in: int = 0
    rows_aggregated: int = 0
    #: late rows by reason
    late: dict[str, int] = field(default_factory=dict[str, int])
    #: pairs of a row and a window that lacks it, by reason; those of late rows included
    late_pairs: dict[str, int] = field(default_factory=dict[str, int])
    #: rejected rows by reason
    rejected: dict[str, int] = field(default_factory=dict[str, int])
    #: windows that came out, and results of rolling
    windows_fired: int = 0
    windows_corrected: int = 0
    windows_retracted: int = 0
    #: slices and rows that are held
    slices: int = 0
    rows_held: int = 0
    keys: int = 0
    state_bytes: int = 0
    #: the watermark as a time of the query's time column; None: there is none yet
    watermark: Any = None
    #: times of rows of the last push that came too late for some window; of very many, a few; not stored
    late_times: tuple[Any, ...] = field(default=(), compare=False)

    @property
    def rows_late(self) -> int:
        return sum(self.late.values())

    @property
    def rows_rejected(self) -> int:
        return sum(self.rejected.values())

    def as_dict(self) -> dict[str, Any]:
        """All counts, for logs."""
        found = asdict(self) | {"rows_late": self.rows_late, "rows_rejected": self.rows_rejected}
        return {name: count for name, count in found.items() if name != "late_times"}
