"""A window of a query, or its rolling, whose rows live in rings and trees between pushes, where it can.

In memory rows live, if all aggregates combine partials: those that answer from values (medians, lists), and
aggregates that were added to a running operator, read the rows again. So does the end of the input. Where
state is stored, rows are in chunks, with partials of chunks ([MTA]) in place of trees.

A push that brings far more rows than live goes over rows in logs, which is faster for many at once; what is
left of them lives from then on.

Invariant: both give the same results. What raises over living rows is tried again over the rows themselves,
which can name the row, and has changed nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from windrow.engines.kept_rows.grouped_rows import GroupedRows
from windrow.engines.kept_rows.log import RowLog
from windrow.engines.living.rows import Fresh, LivingRows, Unfit
from windrow.monoids.base import Aggregate

__all__ = ["LARGE", "LivingPart"]

#: a push of fewer rows is never large
LARGE = 4096


class LivingPart(GroupedRows):
    """Rows in rings and trees, or in logs."""

    _living: LivingRows | None = None
    #: how living rows were when this last looked
    _mark: object = None

    def due(self, up_to: int, closing: bool = False) -> pa.Table | None:
        may_live = self._may_live(closing)
        if may_live and not self._is_large():
            try:
                return self._due_alive(up_to)
            except Unfit:
                self.lives = False
            except Exception as error:
                self._raised(error)
        self._leave()
        found = self._due_from_logs(up_to, closing)
        if may_live:
            self._revive()
        return found

    def _is_large(self) -> bool:
        """Tell whether far more rows wait than live."""
        count = len(self._pending)
        if count < LARGE:
            return False
        living = self._alive()
        return count >= 2 * (len(self._log) if living is None else living.rings.live)

    def _revive(self) -> None:
        """Let the rows in the log live, if they can."""
        if not self._may_live(False):
            return
        try:
            self._stay(self._begun())
        except Unfit:
            self.lives = False
        except Exception:  # whatever it is belongs to the push that needs these rows
            self._living, self._mark = None, None

    def _raised(self, error: Exception) -> None:
        """Note what raised over living rows: the same over the rows themselves can say where, or works."""

    def _due_alive(self, up_to: int) -> pa.Table | None:
        """Return what is due, of living rows; if this raises, nothing has changed."""
        raise NotImplementedError

    def _due_from_logs(self, up_to: int, closing: bool) -> pa.Table | None:
        """Return what is due, of rows in logs."""
        raise NotImplementedError

    def _may_live(self, closing: bool) -> bool:
        return self.lives and not (closing or self._groups.logs or self._log.added_after)

    @property
    def _tree_aggregates(self) -> Sequence[Aggregate]:
        return [aggregate for _, aggregate in self._query.aggregates]

    def _begun(self) -> LivingRows:
        """Begin a step: living rows as this last saw them, made of the log if there are none yet."""
        living = self._living
        if living is None:
            living = LivingRows(self._query, self._tree_aggregates)
            rows = self._log.all()
            if rows is not None and len(rows):
                self._remember(living, living.take(rows))
            self._mark = living.mark
        living.begin(self._mark)
        return living

    def _remember(self, living: LivingRows, fresh: Fresh) -> None:
        """Keep what is to be known of rows that were taken before."""

    def _stay(self, living: LivingRows) -> None:
        """End a step: keep living rows as they are now."""
        self._living, self._mark = living, living.mark
        self._log = RowLog(first=self._log.end)

    def _alive(self) -> LivingRows | None:
        """Return living rows as this last saw them."""
        if self._living is not None:
            self._living.go_back(self._mark)
        return self._living

    def _leave(self) -> None:
        """Put living rows into the log."""
        living = self._alive()
        if living is not None:
            rows = living.live_rows()
            self._living, self._mark = None, None
            self._log = self._log.with_tail(rows, math.isqrt(0 if rows is None else len(rows)))

    def accept(self) -> None:
        if self._living is not None and self._living.mark is self._mark:
            self._living.accept()

    # -- what is held ----------------------------------------------------------------------------------------

    def _in_logs(self) -> Any:
        """Return another with the same rows, all of them in logs."""
        clone = self.copied()
        clone._leave()
        return clone

    @property
    def log(self) -> RowLog:
        return super().log if self._living is None else self._in_logs().log

    @property
    def recent(self) -> RowLog:
        return super().recent if self._living is None else self._in_logs().recent

    @property
    def rows(self) -> int:
        living = self._alive()
        return super().rows + (0 if living is None else living.rings.live)

    @property
    def nbytes(self) -> int:
        living = self._alive()
        return super().nbytes + (0 if living is None else living.nbytes)

    def chunked(self) -> Any:
        self._leave()
        self.lives = False
        return super().chunked()

    def state(self, with_chunks: bool = True) -> dict[str, Any]:
        return super().state(with_chunks) if self._living is None else self._in_logs().state(with_chunks)

    def restore(self, state: dict[str, Any], *chunks: Any) -> None:
        super().restore(state, *chunks)
        self._revive()
        self.accept()
