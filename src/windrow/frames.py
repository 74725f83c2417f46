"""``df.wr`` for pandas and Polars: ``import windrow.frames`` registers it with those that are installed.

>>> import pandas as pd
>>> import windrow as wr
>>> import windrow.frames
>>> calls = pd.DataFrame({"minute": [0, 1, 12], "len": [5, 9, 2]})
>>> calls.wr.query(time="minute").window(wr.Tumbling(10)).agg(longest=wr.max("len"))["longest"].tolist()
[9, 2]
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, Unpack

from windrow.events import Events, events
from windrow.query_settings import Settings

__all__ = ["FrameMethods"]


class FrameMethods:
    """What ``df.wr`` offers."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def query(self, **settings: Unpack[Settings]) -> Events[Any]:
        """Start a query over this table; it takes the settings of :func:`windrow.query`."""
        return events(self._frame, **settings)


def _register() -> None:
    if find_spec("pandas") is not None:
        import pandas  # type: ignore[import-untyped]

        pandas.api.extensions.register_dataframe_accessor("wr")(FrameMethods)
    if find_spec("polars") is not None:
        import polars

        polars.api.register_dataframe_namespace("wr")(FrameMethods)
        polars.api.register_lazyframe_namespace("wr")(FrameMethods)


_register()
