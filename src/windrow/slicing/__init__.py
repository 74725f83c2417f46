"""Cut once, share: the slices that all windows of a query need, and no more ([Scotty])."""

from windrow.slicing.slicer import Slicer, Slices

__all__ = ["Slicer", "Slices"]
