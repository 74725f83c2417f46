"""Windows that end with a row whose flag is true: closed ones only, since what is open is not decided."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints, Mask
from windrow.engines.data_windows.flags import check_flags, flags_of, table_flags
from windrow.engines.data_windows.strategy import Decided, Decision, Strategy, behind_marks, reported
from windrow.engines.living.rows import Fresh, LivingRows
from windrow.rows.frame import Frame
from windrow.spec import Spec
from windrow.windows import Punctuation

__all__ = ["PunctuationStrategy"]


class PunctuationStrategy(Strategy[Punctuation]):
    """Rows wait until one comes that closes a window."""

    def check(self, table: pa.Table) -> None:
        check_flags(table, self.window.column, "Punctuation")

    def completing(self, table: pa.Table) -> Mask | None:
        return table_flags(table, self.window.column)

    def find(self, query: Spec, frame: Frame, leading: Ints | None = None) -> Decided:
        stops = np.flatnonzero(flags_of(frame.column(self.window.column))) + 1
        keys = frame.keys[stops - 1]
        before = np.concatenate([[0], stops[:-1]]) if len(stops) else stops
        fronts = np.maximum(before, frame.run_starts[keys])
        return Decided(reported(frame, keys, fronts, stops, disjoint=True))

    def decide(self, query: Spec, living: LivingRows, fresh: Fresh) -> Decision:
        marks = np.flatnonzero(flags_of(fresh.frame.column(self.window.column)))
        fronts, needed = behind_marks(living, fresh, marks)
        return Decision(fresh.row_keys[marks], fronts, fresh.positions[marks] + 1, needed)
