"""What packed rows are, as Spark has it."""

from __future__ import annotations

from windrow.engines.spark.worker.streaming.pack_task import LEFT_OUT, REJECTED

__all__ = ["PACKED", "WITHOUT_CLOCK"]

PACKED = ", ".join(
    [
        f"bucket int, clock timestamp, blob binary, {LEFT_OUT} binary",
        *(f"{reason} long" for reason in REJECTED),
    ]
)
#: the columns that reach the step
WITHOUT_CLOCK = ("bucket", "blob", LEFT_OUT, *REJECTED)
