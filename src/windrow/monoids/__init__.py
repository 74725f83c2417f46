"""What is computed: every built-in aggregate, and the means to write one's own.

Each aggregate is a :class:`~windrow.monoids.base.Monoid` with its algebraic properties stated; ``laws``
checks them. Sketches need numpy and are loaded when first asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from windrow.monoids import laws
from windrow.monoids.base import Aggregate, Monoid
from windrow.monoids.comoments import corr, cov, slope
from windrow.monoids.counters import increase, rate
from windrow.monoids.decay import exp_decay
from windrow.monoids.distinct import count_distinct
from windrow.monoids.extremes import (
    arg_max,
    arg_min,
    m4,
    max,
    max_by,
    max_count,
    min,
    min_by,
    min_count,
    range,
)
from windrow.monoids.higher_moments import kurtosis, skew
from windrow.monoids.histogram import histogram
from windrow.monoids.k_values import bottom_k, first_k, last_k, top_k
from windrow.monoids.logic import all, any
from windrow.monoids.mode import mode
from windrow.monoids.moments import stddev, var
from windrow.monoids.numbers import count, geo_mean, mean, product, sum
from windrow.monoids.ohlc import ohlc
from windrow.monoids.own import monoid
from windrow.monoids.positional import collect, collect_distinct, concat, first, last
from windrow.monoids.quantiles import approx_quantile, median, quantile
from windrow.monoids.runs import longest_run
from windrow.monoids.share import share
from windrow.monoids.together import together
from windrow.monoids.weighted import time_weighted_mean, weighted_mean

if TYPE_CHECKING:
    from windrow.monoids.sketches import approx_distinct, bloom, count_min

__all__ = [
    "Aggregate",
    "Monoid",
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
    "ohlc",
    "product",
    "quantile",
    "range",
    "rate",
    "share",
    "skew",
    "slope",
    "stddev",
    "sum",
    "time_weighted_mean",
    "together",
    "top_k",
    "var",
    "weighted_mean",
]

_LAZY = {
    "approx_distinct": "sketches",
    "bloom": "sketches",
    "count_min": "sketches",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        value = getattr(importlib.import_module(f"windrow.monoids.{_LAZY[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
