"""windrow: windowed aggregation of event data, incremental, exact, with any associative aggregate.

>>> import windrow as wr
>>> window = wr.swag.DABA(wr.max)
>>> for value in (2, 6, 3):
...     window.insert(value)
>>> window.query()
6

Importing this loads neither numpy nor numba: what needs them loads them when it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from windrow import monoids, swag, windows
from windrow.engines.spark.register import register
from windrow.errors import RejectedRows
from windrow.events import events
from windrow.monoids import (
    all,
    any,
    approx_quantile,
    arg_max,
    arg_min,
    bottom_k,
    collect,
    collect_distinct,
    concat,
    corr,
    count,
    count_distinct,
    cov,
    exp_decay,
    first,
    first_k,
    geo_mean,
    histogram,
    increase,
    kurtosis,
    last,
    last_k,
    laws,
    longest_run,
    m4,
    max,
    max_by,
    max_count,
    mean,
    median,
    min,
    min_by,
    min_count,
    mode,
    monoid,
    ohlc,
    product,
    quantile,
    range,
    rate,
    share,
    skew,
    slope,
    stddev,
    sum,
    time_weighted_mean,
    together,
    top_k,
    var,
    weighted_mean,
)
from windrow.query import Query, query
from windrow.windows import (
    Cumulative,
    Delta,
    Fixed,
    Policy,
    Punctuation,
    Rows,
    Session,
    Sliding,
    Threshold,
    Tumbling,
)

__version__ = "0.1.0"

#: aggregates that need numpy, loaded on first use
_SKETCHES = ("approx_distinct", "bloom", "count_min")

#: parts that load more than numbers, loaded on first use
_MODULES = ("spark", "state", "testing")

#: what operators are, give and raise, by where it is; loaded on first use
_OF_OPERATORS = {
    "AggregateError": "windrow.errors",
    "ChangedQuery": "windrow.errors",
    "CorruptState": "windrow.errors",
    "DecimalOverflow": "windrow.errors",
    "IntegerOverflow": "windrow.errors",
    "Metrics": "windrow.engines.stream.metrics",
    "Operator": "windrow.engines.stream",
    "StateError": "windrow.errors",
    "TooManyWindows": "windrow.errors",
    "MixedZones": "windrow.errors",
    "WatermarkJump": "windrow.errors",
    "WatermarkNeeded": "windrow.errors",
}

__all__ = [
    "AggregateError",
    "ChangedQuery",
    "CorruptState",
    "Cumulative",
    "DecimalOverflow",
    "Delta",
    "Fixed",
    "IntegerOverflow",
    "Metrics",
    "MixedZones",
    "Operator",
    "Policy",
    "Punctuation",
    "Query",
    "RejectedRows",
    "Rows",
    "Session",
    "Sliding",
    "StateError",
    "Threshold",
    "TooManyWindows",
    "Tumbling",
    "WatermarkJump",
    "WatermarkNeeded",
    "all",
    "any",
    "approx_distinct",
    "approx_quantile",
    "arg_max",
    "arg_min",
    "bloom",
    "bottom_k",
    "collect",
    "collect_distinct",
    "concat",
    "corr",
    "count",
    "count_distinct",
    "count_min",
    "cov",
    "events",
    "exp_decay",
    "first",
    "first_k",
    "geo_mean",
    "histogram",
    "increase",
    "kurtosis",
    "last",
    "last_k",
    "laws",
    "longest_run",
    "m4",
    "max",
    "max_by",
    "max_count",
    "mean",
    "median",
    "min",
    "min_by",
    "min_count",
    "mode",
    "monoid",
    "monoids",
    "ohlc",
    "product",
    "quantile",
    "query",
    "range",
    "rate",
    "register",
    "share",
    "skew",
    "slope",
    "spark",
    "state",
    "stddev",
    "sum",
    "swag",
    "testing",
    "time_weighted_mean",
    "together",
    "top_k",
    "var",
    "weighted_mean",
    "windows",
]


if TYPE_CHECKING:  # the same, for type checkers
    from windrow import spark, state, testing
    from windrow.engines.stream import Operator
    from windrow.engines.stream.metrics import Metrics
    from windrow.errors import (
        AggregateError,
        ChangedQuery,
        CorruptState,
        DecimalOverflow,
        IntegerOverflow,
        MixedZones,
        StateError,
        TooManyWindows,
        WatermarkJump,
        WatermarkNeeded,
    )
    from windrow.monoids.sketches import approx_distinct, bloom, count_min
else:

    def __getattr__(name: str) -> Any:
        if name in _SKETCHES:
            return getattr(monoids, name)
        if name in _OF_OPERATORS:
            return getattr(import_module(_OF_OPERATORS[name]), name)
        if name in _MODULES:
            return import_module(f"windrow.{name}")
        raise AttributeError(_without(name))


def __dir__() -> list[str]:
    """What completion offers: every public name, loaded or not."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


def _without(name: str) -> str:
    """What to say of a name that is not here: the word of another library, or the nearest name."""
    if name.startswith("_"):
        return f"module {__name__!r} has no attribute {name!r}"
    from windrow.names import nearest
    from windrow.words import said

    found = said(name)
    if found is not None:
        return f"windrow has no {name!r}: it is {found}"
    meant = nearest(name, __all__)
    hint = "; dir(windrow) lists all names" if meant is None else f": did you mean wr.{meant}?"
    return f"windrow has no {name!r}{hint}"
