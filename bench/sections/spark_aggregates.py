"""Quantiles and sketches over windows on Spark, against those that Spark has, each with its defaults, and the
count of distinct values with windrow's error, too.

Spark's ``approx_percentile`` bounds the error of ranks, by a ten-thousandth; ``approx_quantile`` that of
values, by 1 %. ``approx_count_distinct`` has a standard error of 5 %, ``approx_distinct`` of 1.6 %.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from common import Row, progress

import windrow as wr

__all__ = ["in_batch", "in_streams"]

#: windrow's aggregate, and Spark's in SQL
_CASES = {
    "quantile": (wr.quantile("v", 0.95), "percentile(v, 0.95)"),
    "approx_quantile": (wr.approx_quantile("v", 0.95), "approx_percentile(v, 0.95)"),
    "approx_distinct": (wr.approx_distinct("v"), "approx_count_distinct(v)"),
    "approx_distinct, error as ours": (wr.approx_distinct("v"), "approx_count_distinct(v, 0.016)"),
}
#: with more rows, Spark takes minutes where each is in 60 windows
_MOST_OVERLAPPING = 100_000


def in_batch(bench: Any, rows: int, line: Callable[..., Row]) -> Iterator[Row]:
    """Windows of an hour, by the hour and by the minute."""
    for keys in (10, 10_000):
        for overlap, minutes in ((1, 60), (60, 1)):
            count = rows if overlap == 1 else min(rows, _MOST_OVERLAPPING)
            events = bench.events(count, keys)
            for name in _CASES:
                progress(f"{name}, overlap {overlap}, {keys} keys")

                def mine(name: str = name, minutes: int = minutes, events: Any = events) -> Any:
                    return _of_windrow(events, name, 60, minutes)

                def peer(name: str = name, minutes: int = minutes, events: Any = events) -> Any:
                    return _of_spark(events, name, 60, minutes)

                if overlap == 1:
                    times = bench.seconds(bench.warm(mine), bench.warm(peer))
                else:
                    times = [*bench.seconds(bench.warm(mine)), *bench.seconds(peer, repeats=1)]
                yield line(f"{name}, overlap {overlap}", keys, count, *times)


def in_streams(
    steady: Callable[..., Any], given: Callable[..., Any], line: Callable[..., Row]
) -> Iterator[Row]:
    """Windows of 1 and of 60 minutes, each minute. ``given``: the rows for an overlap and so many keys."""
    for keys in (10, 10_000):
        for overlap in (1, 60):
            for name in _CASES:

                def mine(source: Any, name: str = name, overlap: int = overlap) -> Any:
                    return _of_windrow(source, name, overlap, 1, watermark="2 minutes")

                def peer(source: Any, name: str = name, overlap: int = overlap) -> Any:
                    return _of_spark(source.withWatermark("ts", "2 minutes"), name, overlap, 1)

                data = given(overlap, keys)
                ours, theirs = steady(data, mine, peer)
                progress(f"{name}, overlap {overlap}, {keys} keys: {ours:.2f} s, Spark {theirs:.2f} s")
                yield line(f"{name}, overlap {overlap}", keys, data.rows, ours, theirs)


def _of_windrow(source: Any, name: str, size: int, slide: int, **options: Any) -> Any:
    window = wr.Tumbling(f"{size}m") if size == slide else wr.Sliding(f"{size}m", slide=f"{slide}m")
    return wr.events(source, time="ts", by="key", **options).window(window).agg(r=_CASES[name][0])


def _of_spark(source: Any, name: str, size: int, slide: int) -> Any:
    from pyspark.sql import functions

    window = functions.window("ts", f"{size} minutes", f"{slide} minutes")
    return source.groupBy("key", window).agg(functions.expr(_CASES[name][1]))
