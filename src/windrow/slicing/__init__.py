"""Cut once, share: the slices that all windows of a query need, and no more ([Scotty])."""

from windrow.slicing.slicer import Slicer

__all__ = ["Slicer"]
