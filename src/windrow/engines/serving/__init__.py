"""As-of windows on endless input: events are pushed, and labels are answered at once from what has come.

rows in -> events held by key and time (in memory, or in a store) -> for the labels that ask, the events that
they may see -> the same computation as on tables (:mod:`windrow.engines.frames.asof`). So a label is answered
as ``run`` answers it over all events that were pushed; what differs is which events are looked at.
"""

from windrow.engines.serving.operator import AsOfOperator

__all__ = ["AsOfOperator"]
