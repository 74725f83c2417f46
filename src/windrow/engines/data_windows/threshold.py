"""Runs of rows whose flag is true: ended ones only, since a run at the end of the rows may go on."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints, Mask
from windrow.engines.data_windows.flags import check_flags, flags_of, table_flags
from windrow.engines.data_windows.strategy import (
    Decided,
    Decision,
    Strategy,
    behind_marks,
    reported,
    starts_behind,
)
from windrow.engines.living.rows import Fresh, LivingRows
from windrow.rows.frame import Frame
from windrow.slicing.window_lists import Ranges
from windrow.spec import Spec
from windrow.windows import Threshold

__all__ = ["ThresholdStrategy"]


class ThresholdStrategy(Strategy[Threshold]):
    """The context is the run of each key that has not ended; rows wait until one comes that ends a run."""

    def check(self, table: pa.Table) -> None:
        check_flags(table, self.window.column, "Threshold")

    def completing(self, table: pa.Table) -> Mask | None:
        return ~table_flags(table, self.window.column)

    def find(self, query: Spec, frame: Frame, leading: Ints | None = None) -> Decided:
        flags, keys = flags_of(frame.column(self.window.column)), frame.keys
        # whether a row and the next are in different runs; cut, since there may be no row
        apart = ~flags[1:] | ~flags[:-1] | (keys[1:] != keys[:-1])
        fronts = np.flatnonzero(flags & np.append(True, apart)[: len(flags)])
        stops = np.flatnonzero(flags & np.append(apart, True)[: len(flags)]) + 1
        ended = stops < frame.run_starts[keys[fronts] + 1]
        fronts, stops = fronts[ended], stops[ended]
        return Decided(reported(frame, keys[fronts], fronts, stops, disjoint=True))

    def needed_from(self, frame: Frame, found: Ranges) -> Ints:
        ends = np.flatnonzero(~flags_of(frame.column(self.window.column)))
        return starts_behind(frame, frame.keys[ends], ends + 1)

    def decide(self, query: Spec, living: LivingRows, fresh: Fresh) -> Decision:
        """A run ends before each row that is not true, unless there is none there."""
        marks = np.flatnonzero(~flags_of(fresh.frame.column(self.window.column)))
        fronts, needed = behind_marks(living, fresh, marks)
        stops = fresh.positions[marks]
        some = fronts < stops
        return Decision(fresh.row_keys[marks][some], fronts[some], stops[some], needed)
