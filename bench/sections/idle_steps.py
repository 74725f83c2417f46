"""A windrow stream whose steps do nothing: the same plan, crossings, timers and commits."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pyarrow as pa

from windrow.engines.spark.streaming import processor
from windrow.engines.spark.worker.streaming.step import COUNTED, Stepped

__all__ = ["idle"]


class _Idle(processor.BucketProcessor):
    def _stepped_with(self, *about: Any) -> Stepped:
        return Stepped(pa.table({}), None, (0,) * len(COUNTED), True)


def idle(stream: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The stream with steps that read no state, write none and give no results."""

    def changed(source: Any) -> Any:
        from pyspark import cloudpickle

        # workers do not find this module
        cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
        with patch.object(processor, "BucketProcessor", _Idle):
            return stream(source)

    return changed
