"""One step of a run, in numbers: a micro-batch on Spark, a push on the local engine."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["Progress", "Totals", "human_bytes", "human_seconds", "human_time", "quantile"]


@dataclass(frozen=True)
class Progress:
    """Counts are of this step alone."""

    batch: int
    #: seconds since the run began, at the end of this step
    at: float
    rows: int = 0
    late: int = 0
    rejected: int = 0
    windows: int = 0
    corrected: int = 0
    seconds: float = 0.0
    state_bytes: int = 0
    #: moments of the time column: datetimes, or integers where time is counted so
    watermark: Any = None
    largest: Any = None
    #: pairs of a row and a window that lacks it because the row was late for it, by reason
    late_pairs: Mapping[str, int] = field(default_factory=dict[str, int])
    #: times of rows that came too late for some window; of very many, a few of them
    late_at: Sequence[Any] = ()
    #: rows that the job's ``where`` left out; None: Spark, which does not count them
    filtered: int | None = None

    @property
    def rows_per_second(self) -> float:
        return self.rows / self.seconds if self.seconds > 0 else 0.0

    def lag(self, now: dt.datetime | None = None) -> float | None:
        """Seconds by which the watermark is behind the clock; None where time is not a time of day."""
        if not isinstance(self.watermark, dt.datetime):
            return None
        zoned = self.watermark if self.watermark.tzinfo else self.watermark.replace(tzinfo=dt.UTC)
        return ((now or dt.datetime.now(dt.UTC)) - zoned).total_seconds()

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        found = asdict(self)
        for key in ("watermark", "largest"):
            found[key] = _plain(found[key])
        found["late_at"] = [_plain(moment) for moment in self.late_at]
        lag = self.lag()
        rate = round(self.rows_per_second, 1)
        return found | {"rows_per_second": rate, "lag_seconds": None if lag is None else round(lag, 3)}


def _plain(moment: Any) -> Any:
    return moment.isoformat() if isinstance(moment, (dt.datetime, dt.date)) else moment


@dataclass
class Totals:
    """What steps add up to.

    >>> totals = Totals()
    >>> totals.add(Progress(0, 1.0, rows=10, late=1)), totals.rows, totals.late
    (None, 10, 1)
    """

    batches: int = 0
    rows: int = 0
    late: int = 0
    rejected: int = 0
    windows: int = 0
    corrected: int = 0
    late_pairs: Counter[str] = field(default_factory=Counter)
    filtered: int | None = None

    def add(self, progress: Progress) -> None:
        self.batches += 1
        if progress.filtered is not None:
            self.filtered = (self.filtered or 0) + progress.filtered
        for name in ("rows", "late", "rejected", "windows", "corrected"):
            setattr(self, name, getattr(self, name) + getattr(progress, name))
        self.late_pairs.update(progress.late_pairs)

    @property
    def late_text(self) -> str:
        """Late rows, and late pairs where rows are late for some of their windows only.

        >>> Totals(late=3).late_text, Totals(late=3, late_pairs=Counter(window_fired=541)).late_text
        ('3', '3 (541 pairs)')
        """
        pairs = self.late_pairs.total()
        return f"{self.late:,} ({pairs:,} pairs)" if pairs > self.late else f"{self.late:,}"


def quantile(values: Sequence[float], q: float) -> float:
    """The smallest value that is at least as large as this share of them.

    >>> quantile([5.0, 1.0, 3.0, 2.0], 0.5), quantile([5.0, 1.0], 0.99)
    (2.0, 5.0)
    """
    ordered = sorted(values)
    return ordered[max(math.ceil(q * len(ordered)) - 1, 0)]


def human_bytes(count: float) -> str:
    """
    >>> human_bytes(999), human_bytes(1_500_000)
    ('999 B', '1.5 MB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1_000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1_000
    return f"{count:.1f} TB"


def human_seconds(seconds: float) -> str:
    """
    >>> [human_seconds(s) for s in (0.0123, 4.21, 75, 7_300, 200_000, 9e7, -5)]
    ['12 ms', '4.2 s', '1m15s', '2h01m', '2.3 d', '2.9 y', '-5.0 s']
    """
    if seconds < 0:
        return "-" + human_seconds(-seconds)
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3_600:
        return f"{int(seconds) // 60}m{int(seconds) % 60:02}s"
    if seconds < 86_400:
        return f"{int(seconds) // 3_600}h{int(seconds) % 3_600 // 60:02}m"
    days = seconds / 86_400
    return f"{days:.1f} d" if days < 730 else f"{days / 365.25:.1f} y"


def human_time(moment: Any) -> str:
    """
    >>> human_time(dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)), human_time(17), human_time(None)
    ('2024-05-01 12:00:00', '17', '-')
    """
    if isinstance(moment, dt.datetime):
        return moment.replace(tzinfo=None).isoformat(" ", "seconds")
    return "-" if moment is None else str(moment)
