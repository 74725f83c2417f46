"""Windows of so many rows: complete ones only, since what the end of the rows cuts off is not decided."""

from __future__ import annotations

import numpy as np

from windrow.arrays import Ints
from windrow.engines.data_windows.strategy import Decided, Decision, Strategy, reported, starts_behind
from windrow.engines.living.rings import each_of
from windrow.engines.living.rows import Fresh, LivingRows
from windrow.rows.frame import Frame
from windrow.slicing.window_lists import Ranges
from windrow.spec import Spec
from windrow.windows import Rows

__all__ = ["RowsStrategy"]


class RowsStrategy(Strategy[Rows]):
    """Rows are numbered from the first of the frame on: the context begins where a window does."""

    @property
    def fewest_rows(self) -> int:
        return self.window.size

    def find(self, query: Spec, frame: Frame, leading: Ints | None = None) -> Decided:
        window, runs = self.window, frame.run_starts
        counts = np.maximum((np.diff(runs) - window.size) // window.slide + 1, 0)
        keys = np.repeat(np.arange(len(counts)), counts)
        number = np.arange(len(keys)) - np.repeat(np.cumsum(counts) - counts, counts)
        fronts = runs[keys] + number * window.slide
        return Decided(reported(frame, keys, fronts, fronts + window.size, disjoint=not window.overlaps))

    def needed_from(self, frame: Frame, found: Ranges) -> Ints:
        return starts_behind(frame, found.keys, found.fronts + self.window.slide)

    def decide(self, query: Spec, living: LivingRows, fresh: Fresh) -> Decision:
        """Rows are held from where the first window begins that is not complete."""
        size, slide = self.window.size, self.window.slide
        begins = living.begins(fresh.keys)
        counts = np.maximum((fresh.ends - begins - size) // slide + 1, 0)
        numbers, which = each_of(np.zeros(len(counts), np.int64), counts)
        fronts = begins[which] + numbers * slide
        return Decision(fresh.keys[which], fronts, fronts + size, begins + counts * slide)
