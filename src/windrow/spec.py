"""What a query is: the settings that the user gave, checked, and nothing else. Engines read it; it knows no
engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from windrow.monoids.base import Aggregate
from windrow.windows import Policy, Window
from windrow.windows.durations import Duration

if TYPE_CHECKING:
    from windrow.state.store import Store

__all__ = ["RejectedRows", "Rolling", "Spec"]


class RejectedRows(UserWarning):
    """Rows without a time were left out."""


@dataclass(frozen=True, slots=True)
class Rolling:
    """One result a row: over (t - size, t], over the last ``rows`` rows, or over what a policy leaves."""

    size: Duration | None = None
    rows: int | None = None
    policy: Policy | None = None
    #: where windows are kept; None: in memory
    store: Store | None = field(default=None, repr=False)

    @property
    def uses_integer_time(self) -> bool | None:
        return None if self.size is None else self.size.kind == "integer"


@dataclass(frozen=True)
class Spec:
    """The settings of a query; :func:`windrow.query` says what they mean."""

    time: str
    by: tuple[str, ...] = ()
    watermark: Duration | None = None
    allowed_lateness: Duration | None = None
    late: Literal["count", "emit"] = "count"
    order: tuple[str, ...] = ()
    empty: Literal["skip", "emit"] = "skip"
    min_count: int = 0
    emit: Literal["final", "update"] = "final"
    idle_timeout: Duration | None = None
    max_ahead: Duration | None = None
    windows: tuple[tuple[str, Window], ...] = ()
    rolling_over: Rolling | None = None
    aggregates: tuple[tuple[str, Aggregate], ...] = ()

    @property
    def corrects(self) -> bool:
        """Whether late rows may correct what has come out."""
        return self.allowed_lateness is not None and self.allowed_lateness.amount > 0

    @property
    def names_windows(self) -> bool:
        """Whether results have a ``window`` column."""
        return any(name for name, _ in self.windows)
