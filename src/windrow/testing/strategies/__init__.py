"""Hypothesis strategies: streams of rows, windows, aggregates and queries that go together.

Purpose: random tests of engines and operators, for windrow and for code built on it. All strategies speak of
rows with the same columns, so that any query drawn here fits any stream drawn here:

========= ========== ==========================================================================
``ts``    time       integers, or datetimes in UTC; often equal, also before 1970; null on request
``seq``   integer    never null, with duplicates: for ``order=``
``key``   text       a key, null included
``zone``  integer    a second key, null included
``n``     integer    small, with nulls
``x``     float      with nulls, NaN and infinities; finite ones are multiples of 1/4, so that sums are exact
``s``     text       short, with nulls
``flag``  boolean    with nulls: for ``Punctuation`` and ``Threshold``
``km``    float      never falls as ``ts`` grows, with nulls: for ``Delta``
========= ========== ==========================================================================

Rows arrive out of order: by at most ``disorder`` units of time. A unit is 1 for integers and half an hour for
timestamps, whose windows are in hours and days.
"""

from windrow.packages import how_to_install

try:
    import hypothesis as _hypothesis  # noqa: F401  the first of many imports, and the one with a remedy
except ImportError as error:
    raise ImportError(f"windrow.testing.strategies needs Hypothesis: {how_to_install('testing')}") from error

from windrow.testing.strategies.frames import asof_queries, labels, rolling_frame_queries
from windrow.testing.strategies.operations import Operation, operations, stream_queries
from windrow.testing.strategies.queries import CONCATENATION, aggregates, queries, rolling_queries
from windrow.testing.strategies.streams import pushes, streams, table_of
from windrow.testing.strategies.windows import windows

__all__ = [
    "CONCATENATION",
    "Operation",
    "aggregates",
    "asof_queries",
    "labels",
    "operations",
    "pushes",
    "queries",
    "rolling_frame_queries",
    "rolling_queries",
    "stream_queries",
    "streams",
    "table_of",
    "windows",
]
