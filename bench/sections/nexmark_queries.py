"""Queries 5, 6, 7, 11 and 12 of NEXMark: as windrow writes them, as Spark does where it can, and as Flink
does.

Each has the same result columns everywhere, ``start`` and ``end`` of its window in milliseconds first. Where
the text of NEXMark leaves results open, the same rule holds for all:

* 5, hot items: the auction with most bids of the last 10 s, every 2 s; of equals the one with the least id.
* 6: the mean price of the last 10 auctions that each seller has closed, after each of them. The join that
  finds closed auctions is done before (:func:`sections.nexmark_events.closed_auctions`): the query is the
  rolling mean.
* 7, the highest bid of each 10 s, with its bidder.
* 11: bids of each bidder in a session, which 10 s without a bid end.
* 12: bids of each bidder in each 10 s. NEXMark asks for time of processing, with which no two runs have the
  same results; here it is the time of the bid.

Flink gets a top-1 over windows in place of the joins of the text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import windrow as wr

__all__ = ["QUERIES", "WATERMARK", "NexmarkQuery"]

WATERMARK = "4 seconds"


@dataclass(frozen=True)
class NexmarkQuery:
    """One question in three forms; ``spark`` is None where Spark has no streaming form."""

    name: str
    title: str
    #: "bids" or "closed", and the columns that are read of it
    source: str
    columns: tuple[str, ...]
    windrow: Callable[[], Any]
    #: columns of windrow's results, in the order of Flink's
    results: tuple[str, ...]
    #: from a stream with a watermark, in the order of Flink's columns
    spark: Callable[[Any], Any] | None
    flink: str


def _bids(by: str | None = None) -> Any:
    return wr.query(time="ts", by=by, watermark=WATERMARK)


def _spark_hot_items(bids: Any) -> Any:
    from pyspark.sql import functions as f

    counts = bids.groupBy(f.window("ts", "10 seconds", "2 seconds"), "auction").count()
    best = counts.groupBy("window").agg(
        f.max(f.struct("count", (-f.col("auction")).alias("less"))).alias("m")
    )
    return best.select("window.start", "window.end", (-f.col("m.less")).alias("auction"))


def _spark_highest(bids: Any) -> Any:
    from pyspark.sql import functions as f

    best = bids.groupBy(f.window("ts", "10 seconds")).agg(f.max(f.struct("price", "bidder")).alias("m"))
    return best.select("window.start", "window.end", "m.price", "m.bidder")


def _spark_counts(window: Callable[[], Any]) -> Callable[[Any], Any]:
    def counts(bids: Any) -> Any:
        return (
            bids.groupBy(window(), "bidder").count().select("window.start", "window.end", "bidder", "count")
        )

    return counts


def _tumble() -> Any:
    from pyspark.sql import functions as f

    return f.window("ts", "10 seconds").alias("window")


def _session() -> Any:
    from pyspark.sql import functions as f

    return f.session_window("ts", "10 seconds").alias("window")


_WINDOW = ("window_start", "window_end")

QUERIES = (
    NexmarkQuery(
        "q5",
        "hot items: 10 s sliding by 2 s, the auction with most bids",
        "bids",
        ("auction",),
        lambda: _bids().window(wr.Sliding("10s", slide="2s")).agg(auction=wr.mode("auction")),
        (*_WINDOW, "auction"),
        _spark_hot_items,
        """SELECT window_start, window_end, auction FROM (
             SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end
                                          ORDER BY n DESC, auction ASC) AS place
             FROM (SELECT window_start, window_end, auction, COUNT(*) AS n
                   FROM TABLE(HOP(TABLE events, DESCRIPTOR(ts), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
                   GROUP BY window_start, window_end, auction))
           WHERE place <= 1""",
    ),
    NexmarkQuery(
        "q6",
        "mean price of a seller's last 10 closed auctions",
        "closed",
        ("seller", "price"),
        lambda: _bids("seller").rolling(rows=10).agg(mean=wr.mean("price")),
        ("ts", "seller", "mean"),
        None,
        """SELECT ts, seller, AVG(CAST(price AS DOUBLE)) OVER (
             PARTITION BY seller ORDER BY ts ROWS BETWEEN 9 PRECEDING AND CURRENT ROW) FROM events""",
    ),
    NexmarkQuery(
        "q7",
        "highest bid of each 10 s, and its bidder",
        "bids",
        ("bidder", "price"),
        lambda: (
            _bids().window(wr.Tumbling("10s")).agg(price=wr.max("price"), bidder=wr.max_by("bidder", "price"))
        ),
        (*_WINDOW, "price", "bidder"),
        _spark_highest,
        """SELECT window_start, window_end, price, bidder FROM (
             SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY price DESC) AS place
             FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '10' SECOND)))
           WHERE place <= 1""",
    ),
    NexmarkQuery(
        "q11",
        "bids of each bidder in sessions with a gap of 10 s",
        "bids",
        ("bidder",),
        lambda: _bids("bidder").window(wr.Session("10s")).agg(n=wr.count()),
        (*_WINDOW, "bidder", "n"),
        _spark_counts(_session),
        """SELECT window_start, window_end, bidder, COUNT(*)
           FROM TABLE(SESSION(TABLE events PARTITION BY bidder, DESCRIPTOR(ts), INTERVAL '10' SECOND))
           GROUP BY bidder, window_start, window_end""",
    ),
    NexmarkQuery(
        "q12",
        "bids of each bidder in each 10 s",
        "bids",
        ("bidder",),
        lambda: _bids("bidder").window(wr.Tumbling("10s")).agg(n=wr.count()),
        (*_WINDOW, "bidder", "n"),
        _spark_counts(_tumble),
        """SELECT window_start, window_end, bidder, COUNT(*)
           FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '10' SECOND))
           GROUP BY bidder, window_start, window_end""",
    ),
)
