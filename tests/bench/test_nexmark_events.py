"""NEXMark's events have the published proportions, and the queries over them are what a plain loop finds."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

BENCH = Path(__file__).parents[2] / "bench"
EVENTS = 50_000


@pytest.fixture(scope="module")
def nexmark() -> Iterator[Any]:
    sys.path.insert(0, str(BENCH))
    try:
        from sections import nexmark_events

        yield nexmark_events
    finally:
        sys.path.remove(str(BENCH))


def _columns(table: Any) -> dict[str, Any]:
    return {name: table[name].to_numpy() for name in table.column_names}


def _ms(moment: Any) -> int:
    return int(np.datetime64(moment, "ms").astype(int))


def test_one_person_to_three_auctions_to_forty_six_bids(nexmark: Any) -> None:
    made = nexmark.generate(EVENTS)
    assert (made.people.num_rows, made.auctions.num_rows, made.bids.num_rows) == (
        EVENTS // 50,
        3 * EVENTS // 50,
        46 * EVENTS // 50,
    )
    assert nexmark.kinds(50).tolist() == [0] + 3 * [1] + 46 * [2]


def test_the_same_seed_gives_the_same_events(nexmark: Any) -> None:
    first, again, other = nexmark.generate(5_000), nexmark.generate(5_000), nexmark.generate(5_000, seed=8)
    assert first.bids.equals(again.bids)
    assert first.auctions.equals(again.auctions)
    assert not first.bids.equals(other.bids)


def test_ids_are_consecutive_and_times_even(nexmark: Any) -> None:
    made = nexmark.generate(EVENTS)
    for table in (made.people, made.auctions):
        assert table["id"].to_pylist() == list(range(1_000, 1_000 + table.num_rows))
    for table in (made.people, made.auctions, made.bids):
        assert (np.diff(table["ms"].to_numpy()) >= 0).all()
    assert made.bids["ms"].to_numpy()[-1] - nexmark.START_MS == EVENTS // 10 - 1


def test_hot_ones_have_their_share(nexmark: Any) -> None:
    """Half of the bids are for the hot auction, three quarters by the hot bidder, three quarters of the
    auctions of the hot seller; the others meet the hot one seldom."""
    made = nexmark.generate(EVENTS)
    bids, auctions = _columns(made.bids), _columns(made.auctions)
    assert (bids["auction"] % 100 == 0).mean() == pytest.approx(0.5, abs=0.02)
    assert (bids["bidder"] % 100 == 1).mean() == pytest.approx(0.75, abs=0.02)
    assert (auctions["seller"] % 100 == 0).mean() == pytest.approx(0.75, abs=0.03)


def test_what_is_named_is_in_flight(nexmark: Any) -> None:
    made = nexmark.generate(EVENTS)
    bids, auctions = _columns(made.bids), _columns(made.auctions)
    newest = 1_000 + np.searchsorted(auctions["ms"], bids["ms"], side="right") - 1
    assert (bids["auction"] >= np.minimum(newest - 120, newest // 100 * 100 - 100)).all()
    assert (bids["auction"] <= newest + 10).all()
    people = 1_000 + np.searchsorted(made.people["ms"].to_numpy(), bids["ms"], side="right") - 1
    assert (bids["bidder"] >= people - 1_020).all()
    assert (bids["bidder"] <= people + 10).all()


def test_prices_are_even_in_their_logarithm(nexmark: Any) -> None:
    prices = nexmark.generate(EVENTS).bids["price"].to_numpy()
    assert prices.min() >= 100
    assert prices.max() <= 100_000_000
    shares, _ = np.histogram(np.log10(prices / 100), bins=6, range=(0, 6))
    assert shares / len(prices) == pytest.approx(np.full(6, 1 / 6), abs=0.01)


def test_closed_auctions_are_those_of_a_plain_loop(nexmark: Any) -> None:
    made = nexmark.generate(5_000)
    end = made.bids["ms"][-1].as_py()
    highest: dict[int, int] = defaultdict(int)
    opened = {row["id"]: row for row in made.auctions.to_pylist()}
    for bid in made.bids.to_pylist():
        auction = opened.get(bid["auction"])
        if auction and auction["ms"] <= bid["ms"] <= auction["expires"]:
            highest[bid["auction"]] = max(highest[bid["auction"]], bid["price"])
    wanted = Counter(
        (opened[number]["seller"], price)
        for number, price in highest.items()
        if opened[number]["expires"] <= end
    )
    closed = nexmark.closed_auctions(made).to_pylist()
    assert Counter((row["seller"], row["price"]) for row in closed) == wanted
    assert len({(row["seller"], row["ms"]) for row in closed}) == len(closed) > 100


def test_windrow_answers_the_queries_as_plain_loops_do(nexmark: Any) -> None:
    import pyarrow as pa
    from sections.nexmark_queries import QUERIES

    made = nexmark.generate(20_000)
    queries = {query.name: query.windrow() for query in QUERIES}
    bids, closed = made.bids, nexmark.closed_auctions(made)

    def run(name: str, table: Any) -> list[dict[str, Any]]:
        times = pa.array(table["ms"].to_numpy().astype("M8[ms]").astype("M8[us]"))
        return queries[name].run(table.append_column("ts", times)).to_pylist()

    rows = bids.to_pylist()
    whole = 10_000
    per_bidder = Counter((row["ms"] // whole, row["bidder"]) for row in rows)
    assert {(_ms(r["window_start"]) // whole, r["bidder"]): r["n"] for r in run("q12", bids)} == per_bidder
    best = max(rows, key=lambda row: row["price"])
    assert max((r["price"], r["bidder"]) for r in run("q7", bids)) == (best["price"], best["bidder"])
    assert sum(r["n"] for r in run("q11", bids)) == len(rows)
    for result in run("q5", bids):
        start, end = (_ms(result[name]) for name in ("window_start", "window_end"))
        counts = Counter(row["auction"] for row in rows if start <= row["ms"] < end)
        assert result["auction"] == min(counts, key=lambda auction: (-counts[auction], auction))
    last: dict[int, deque[int]] = defaultdict(lambda: deque(maxlen=10))
    for row, result in zip(closed.to_pylist(), run("q6", closed), strict=True):
        last[row["seller"]].append(row["price"])
        assert result["mean"] == pytest.approx(np.mean(last[row["seller"]]))
