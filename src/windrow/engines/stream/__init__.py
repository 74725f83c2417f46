"""The operator for endless input: rows in batch by batch, results out as the watermark passes them.

intake (time, lateness) -> slices of the batch, folded once -> time windows, sessions; rows in order for
windows that data decide -> results. See docs/streams.md for what it promises.
"""

from windrow.engines.stream.operator import Operator

__all__ = ["Operator"]
