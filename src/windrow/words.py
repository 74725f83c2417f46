"""What others call it: names of pandas, Polars, Spark, SQL and Flink, and what windrow calls the same thing.

``ELSEWHERE`` maps a name to the windrow word, ``WRITTEN`` to what to write where no single word is the same.
Lookups ignore case and underscores, so that ``countDistinct``, ``count_distinct`` and ``COUNT_DISTINCT`` are
one name. A test holds that every word on the right exists.

>>> said("avg"), said("countDistinct"), said("avrage") is None
('wr.mean', 'wr.count_distinct', True)
"""

from __future__ import annotations

__all__ = ["ELSEWHERE", "FRAME_KEYWORDS", "KEYWORDS", "WINDOW_KEYWORDS", "WRITTEN", "said", "word"]

_QUANTILE = "wr.quantile('x', 0.95)"
_ASOF = "the method .asof('7d') of a query, and run(events, at=labels)"
_ROLLING = "the method .rolling('24h') or .rolling(rows=100) of a query"

_READERS = "for your table library to read: windrow takes Arrow, pandas, Polars, DuckDB and Spark tables"

#: one name for another
ELSEWHERE = {
    "average": "mean",
    "avg": "mean",
    "geometric_mean": "geo_mean",
    "gmean": "geo_mean",
    "std": "stddev",
    "stdev": "stddev",
    "sd": "stddev",
    "stddev_samp": "stddev",
    "standard_deviation": "stddev",
    "variance": "var",
    "var_samp": "var",
    "skewness": "skew",
    "kurt": "kurtosis",
    "covariance": "cov",
    "covar_samp": "cov",
    "correlation": "corr",
    "pearson": "corr",
    "regr_slope": "slope",
    "len": "count",
    "length": "count",
    "n": "count",
    "size": "count",
    "total": "sum",
    "prod": "product",
    "multiply": "product",
    "maximum": "max",
    "greatest": "max",
    "minimum": "min",
    "least": "min",
    "argmax": "arg_max",
    "idxmax": "arg_max",
    "argmin": "arg_min",
    "idxmin": "arg_min",
    "first_value": "first",
    "earliest": "first",
    "any_value": "first",
    "last_value": "last",
    "latest": "last",
    "array_agg": "collect",
    "collect_list": "collect",
    "implode": "collect",
    "list": "collect",
    "list_agg": "collect",
    "collect_set": "collect_distinct",
    "countDistinct": "count_distinct",
    "distinct": "count_distinct",
    "nunique": "count_distinct",
    "n_unique": "count_distinct",
    "uniq_exact": "count_distinct",
    "approx_percentile": "approx_quantile",
    "percentile_approx": "approx_quantile",
    "unique": "collect_distinct",
    "group_concat": "concat",
    "join": "concat",
    "string_agg": "concat",
    "bool_and": "all",
    "every": "all",
    "bool_or": "any",
    "some": "any",
    "nlargest": "top_k",
    "largest": "top_k",
    "nsmallest": "bottom_k",
    "smallest": "bottom_k",
    "head": "first_k",
    "tail": "last_k",
    "hist": "histogram",
    "histogram_numeric": "histogram",
    "most_frequent": "mode",
    "proportion": "share",
    "vwap": "weighted_mean",
    "wmean": "weighted_mean",
    "twap": "time_weighted_mean",
    "time_weight": "time_weighted_mean",
    "candle": "ohlc",
    "candlestick": "ohlc",
    "candlestick_agg": "ohlc",
    "counter_agg": "increase",
    "fraction": "share",
    "approx_count_distinct": "approx_distinct",
    "approx_n_unique": "approx_distinct",
    "approx_unique": "approx_distinct",
    "hll": "approx_distinct",
    "hyperloglog": "approx_distinct",
    "percentile_50": "median",
    "p50": "median",
    "bloom_filter": "bloom",
    "count_min_sketch": "count_min",
    "ptp": "range",
    "ewm": "exp_decay",
    "ewma": "exp_decay",
    "ewm_mean": "exp_decay",
    "hop": "Sliding",
    "hopping": "Sliding",
    "hopping_window": "Sliding",
    "slide": "Sliding",
    "sliding_window": "Sliding",
    "tumble": "Tumbling",
    "tumbling_window": "Tumbling",
    "session_window": "Session",
    "sessions": "Session",
    "cumulate": "Cumulative",
    "expanding": "Cumulative",
    "count_window": "Rows",
    "row_window": "Rows",
    "threshold_frame": "Threshold",
    "threshold_window": "Threshold",
    "aggregator": "monoid",
    "udaf": "monoid",
}

#: a name for which something longer is to be written
WRITTEN = {
    "count_if": "wr.count(where='flag')",
    "countif": "wr.count(where='flag')",
    "sum_if": "wr.sum('x', where='flag')",
    "stddev_pop": "wr.stddev('x', ddof=0)",
    "std_pop": "wr.stddev('x', ddof=0)",
    "var_pop": "wr.var('x', ddof=0)",
    "covar_pop": "wr.cov('x', 'y', ddof=0)",
    "percentile": _QUANTILE,
    "percentile_cont": _QUANTILE,
    "quantiles": f"{_QUANTILE}, one aggregate for each of them",
    "window": "the method .window(wr.Tumbling('1h')) of a query",
    "resample": "the method .window(wr.Tumbling('1h')) of a query",
    "group_by_dynamic": "the method .window(wr.Tumbling('1h')) of a query",
    "rolling": _ROLLING,
    "roll": _ROLLING,
    "over": _ROLLING,
    "asof": _ASOF,
    "asof_join": _ASOF,
    "join_asof": _ASOF,
    "merge_asof": _ASOF,
    "point_in_time": _ASOF,
    "agg": "the method .agg(...) of a query, after .window(...) or .rolling(...)",
    "aggregate": "the method .agg(...) of a query, after .window(...) or .rolling(...)",
    "group_by": "wr.query(time=..., by='key')",
    "groupby": "wr.query(time=..., by='key')",
    "partition_by": "wr.query(time=..., by='key')",
    "with_watermark": "wr.query(time=..., watermark='10m')",
    "watermark": "wr.query(time=..., watermark='10m')",
    "col": "the name of the column alone: wr.max('len')",
    "read_csv": _READERS,
    "read_parquet": _READERS,
}


#: keywords of wr.query
KEYWORDS = {
    "delay": "watermark",
    "errors": "on_error",
    "delay_threshold": "watermark",
    "event_time": "time",
    "group_by": "by",
    "groupby": "by",
    "grace": "allowed_lateness",
    "index_column": "time",
    "key": "by",
    "keys": "by",
    "lateness": "allowed_lateness",
    "late_rows": "late",
    "min_periods": "min_count",
    "min_samples": "min_count",
    "mode": "output",
    "on": "time",
    "order_by": "order",
    "output_mode": "output",
    "partition_by": "by",
    "time_column": "time",
    "timestamp": "time",
    "ts": "time",
}


#: what others call the arguments of windows
WINDOW_KEYWORDS = {
    "tz": "timezone",
    "time_zone": "timezone",
    "zone": "timezone",
    "freq": "size",
    "hop": "slide",
    "length": "size",
    "origin": "offset",
    "period": "size",
    "slide_duration": "slide",
    "step": "slide",
    "start_offset": "offset",
    "start_time": "offset",
    "timeout": "gap",
    "gap_duration": "gap",
    "inactivity_gap": "gap",
    "window_duration": "size",
    "width": "size",
}

_BY, _TIME, _LEAST = "wr.query(by=...)", "wr.query(time=...)", "wr.query(min_count=...)"
_SIZE = "the size as the first argument, '1h', or rows=100"
#: what others give to a rolling or an as-of call that does not name a size, and what to write instead
FRAME_KEYWORDS = {
    "window": _SIZE,
    "period": _SIZE,
    "tolerance": _SIZE,
    "on": _TIME,
    "left_on": _TIME,
    "index_column": _TIME,
    "min_periods": _LEAST,
    "min_samples": _LEAST,
    "by": _BY,
    "group_by": _BY,
    "partition_by": _BY,
    "order_by": "wr.query(time=..., order=...)",
    "center": "shift=, half of the size: .rolling('1h', shift='30m')",
    "offset": "shift= or lag=",
    "tz": "timezone=",
    "allow_exact_matches": "closed='right' or closed='left'",
    "step": ".window(wr.Sliding('1h', slide='5m'))",
    "win_type": "an aggregate with weights, such as wr.weighted_mean",
}


def _plain(name: str) -> str:
    return name.lower().replace("_", "")


_WORDS = {_plain(name): found for name, found in ELSEWHERE.items()}
_WRITTEN = {_plain(name): found for name, found in WRITTEN.items()}


def word(name: str) -> str | None:
    """The windrow word for a name of another library; None: it is not known, or no single word is the same.

    >>> word("AVG"), word("collectList"), word("median"), word("percentile")
    ('mean', 'collect', None, None)
    """
    return _WORDS.get(_plain(name))


def said(name: str) -> str | None:
    """What to write in windrow for a name of another library, or for a windrow word spelled otherwise; None:
    the name is not known.

    >>> said("p95"), said("stddev_pop")
    ("wr.quantile('x', 0.95)", "wr.stddev('x', ddof=0)")
    """
    plain = _plain(name)
    if plain in _WORDS:
        return f"wr.{_WORDS[plain]}"
    if plain[:1] == "p" and plain[1:].isdecimal():
        return f"wr.quantile('x', {_share(plain[1:])})"
    return _WRITTEN.get(plain)


def _share(digits: str) -> float:
    """The share of rows that p95 or p999 means."""
    return 1.0 if digits == "100" else float(f"0.{digits.zfill(2)}")
