"""Trades: the price by volume (VWAP), an aggregate of one's own, over five minutes and over the last trades
that make 10,000 shares, a window that no clock and no count describes: a policy.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import windrow as wr

vwap = wr.monoid(
    name="vwap",
    lift=lambda price, shares: (price * shares, shares),
    combine=lambda a, b: (a[0] + b[0], a[1] + b[1]),
    lower=lambda s: s[0] / s[1],
    identity=(0.0, 0),
    commutative=True,
    empty=None,
    result_type="float64",
)


def trades(count: int = 20_000, seed: int = 11) -> pa.Table:
    rng = np.random.default_rng(seed)
    seconds = np.sort(rng.uniform(0, 8 * 3_600, count))
    return pa.table(
        {
            "ts": np.datetime64("2024-05-01T09:00", "us") + (seconds * 1e6).astype("m8[us]"),
            "symbol": np.array(["ABC", "XYZ"])[rng.integers(0, 2, count)],
            "price": np.round(100 + np.cumsum(rng.normal(0, 0.02, count)), 2),
            "shares": rng.integers(1, 20, count) * 100,
        }
    )


def main(count: int = 20_000) -> tuple[pa.Table, pa.Table]:
    table = trades(count)
    print(wr.laws.check(vwap, list(zip([1.5, 2.0, 4.25], [100, 300, 200], strict=True)), extend=False))
    by_clock = (
        wr.events(table, time="ts", by="symbol")
        .window(wr.Tumbling("5m"))
        .agg(vwap=vwap("price", "shares"), m=wr.m4("price"), traded=wr.sum("shares"))
    )
    # the oldest trades go for as long as 10,000 shares are left without them
    recent = wr.Policy(lambda total, old: total.traded - old.traded >= 10_000)
    by_volume = (
        wr.events(table, time="ts", by="symbol")
        .rolling(policy=recent)
        .agg(vwap=vwap("price", "shares"), traded=wr.sum("shares"), n=wr.count())
    )
    print(f"{table.num_rows:,} trades, {by_clock.num_rows:,} results of five minutes")
    first, last = by_clock.to_pylist()[0], by_volume.to_pylist()[-1]
    print(f"  {first['symbol']} from {first['window_start']:%H:%M}: {first['vwap']:.2f}")
    print(f"  the last trade of {last['symbol']}: {last['vwap']:.2f} over {last['n']} trades")
    return by_clock, by_volume


if __name__ == "__main__":
    main()
