"""Cards: at each payment, in how many countries the card was used in the last hour, and how much was paid.

A result for every row is ``rolling``. The same query decides on rows as they come, a watermark behind.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import windrow as wr

COUNTRIES = ["DE", "FR", "PL", "IT", "ES", "US", "JP"]


def payments(count: int = 20_000, seed: int = 5) -> pa.Table:
    """Mostly at home; a few cards are used all over the world within the hour."""
    rng = np.random.default_rng(seed)
    cards = rng.integers(0, 50, count)
    stolen = (cards % 17 == 0) & (rng.random(count) < 0.6)
    country = np.where(stolen, rng.integers(0, len(COUNTRIES), count), cards % 5)
    seconds = np.sort(rng.uniform(0, 86_400, count))
    return pa.table(
        {
            "ts": np.datetime64("2024-05-01", "us") + (seconds * 1e6).astype("m8[us]"),
            "card": cards,
            "country": np.array(COUNTRIES)[country],
            "amount": np.round(rng.lognormal(3, 1, count), 2),
        }
    )


def main(count: int = 20_000) -> pa.Table:
    query = (
        wr.query(time="ts", by="card", watermark="1m")
        .rolling("1h")
        .agg(countries=wr.approx_distinct("country"), paid=wr.sum("amount"), payments=wr.count())
    )
    table = payments(count)
    operator = query.open()
    parts = [operator.push(table.slice(start, 2_000)) for start in range(0, table.num_rows, 2_000)]
    result = pa.concat_tables([*parts, operator.finish()])
    alarms = [row for row in result.to_pylist() if row["countries"] >= 3]
    cards = sorted({row["card"] for row in alarms})
    print(f"{table.num_rows:,} payments, {len(alarms):,} with a card used in three countries within the hour")
    print(f"  cards: {', '.join(map(str, cards))}")
    return result


if __name__ == "__main__":
    main()
