"""Events of NEXMark, an auction house: people, auctions and bids, in the standard mix, made with numpy.

Of 50 events in a row the first is a new person, the next three open an auction each, and 46 are bids. Ids are
consecutive. The shares, the hot ones and the ranges below are the defaults of the public generators (Apache
Beam's, and Flink's that follows it): every second bid is for the hot auction, three of four bids are by the
hot bidder, three of four auctions are of the hot seller, and the hot ones change with every hundredth id; the
others are spread over what is in flight, with a few ids that are yet to come. A price is ``100 * 10 ** (6 *
u)``, ``u`` even in [0, 1). Events come in order, 10,000 of them per second of event time.

Names, addresses, descriptions and other text are left out: no query here reads them. The same seed gives the
same events.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

__all__ = ["START_MS", "Nexmark", "closed_auctions", "generate", "kinds"]

#: of 50 events
PEOPLE, AUCTIONS, BIDS = 1, 3, 46
EVENTS = PEOPLE + AUCTIONS + BIDS
FIRST_PERSON = FIRST_AUCTION = 1_000
FIRST_CATEGORY, CATEGORIES = 10, 5
#: one of so many bids is not for the hot auction, not by the hot bidder; one of so many auctions not of the
#: hot seller
HOT_AUCTION, HOT_BIDDER, HOT_SELLER = 2, 4, 4
#: the hot one changes with every so many ids
HOT_FOR = 100
AUCTIONS_IN_FLIGHT, ACTIVE_PEOPLE = 100, 1_000
#: ids beyond the newest that may be named already
LEAD = 10
EVENTS_PER_SECOND = 10_000
#: 2015-07-15, where the public generators begin
START_MS = 1_436_918_400_000
Ints = Any


@dataclass(frozen=True)
class Nexmark:
    """The three streams, each in order of ``ms``, milliseconds since 1970."""

    people: pa.Table
    auctions: pa.Table
    bids: pa.Table


def kinds(events: int) -> Ints:
    """Of each event: 0 for a person, 1 for an auction, 2 for a bid.

    >>> kinds(50).tolist()[:6], kinds(100_000).tolist().count(2)
    ([0, 1, 1, 1, 2, 2], 92000)
    """
    place = np.arange(events) % EVENTS
    return (place >= PEOPLE).astype(np.int8) + (place >= PEOPLE + AUCTIONS)


def generate(events: int, seed: int = 7) -> Nexmark:
    """So many events of all three kinds together."""
    rng = np.random.default_rng(seed)
    numbers, kind = np.arange(events, dtype=np.int64), kinds(events)
    of_person, of_auction, of_bid = (numbers[kind == k] for k in range(3))
    return Nexmark(
        pa.table({"id": FIRST_PERSON + _newest_person(of_person), "ms": _time(of_person)}),
        _auctions(rng, of_auction),
        _bids(rng, of_bid),
    )


def _time(numbers: Ints) -> Ints:
    return START_MS + numbers * 1_000 // EVENTS_PER_SECOND


def _newest_person(numbers: Ints) -> Ints:
    """The newest id, counted from 0, when an event is made."""
    return numbers // EVENTS


def _newest_auction(numbers: Ints) -> Ints:
    # a person comes before the auctions of its round
    return AUCTIONS * (numbers // EVENTS) + np.clip(numbers % EVENTS - PEOPLE, -1, AUCTIONS - 1)


def _auctions(rng: np.random.Generator, numbers: Ints) -> pa.Table:
    first = _prices(rng, len(numbers))
    # as long as it takes to open those in flight, on average
    horizon = AUCTIONS_IN_FLIGHT * EVENTS // AUCTIONS * 1_000 // EVENTS_PER_SECOND
    return pa.table(
        {
            "id": FIRST_AUCTION + _newest_auction(numbers),
            "initial_bid": first,
            "reserve": first + _prices(rng, len(numbers)),
            "ms": _time(numbers),
            "expires": _time(numbers) + 1 + rng.integers(0, max(2 * horizon, 1), len(numbers)),
            "seller": FIRST_PERSON + _people(rng, numbers, HOT_SELLER, 0),
            "category": FIRST_CATEGORY + rng.integers(0, CATEGORIES, len(numbers)),
        }
    )


def _bids(rng: np.random.Generator, numbers: Ints) -> pa.Table:
    newest = _newest_auction(numbers)
    oldest = np.maximum(newest - AUCTIONS_IN_FLIGHT, 0)
    other = oldest + rng.integers(0, newest - oldest + 1 + LEAD)
    is_hot = rng.integers(0, HOT_AUCTION, len(numbers)) > 0
    return pa.table(
        {
            "auction": FIRST_AUCTION + np.where(is_hot, newest // HOT_FOR * HOT_FOR, other),
            "bidder": FIRST_PERSON + _people(rng, numbers, HOT_BIDDER, 1),
            "price": _prices(rng, len(numbers)),
            "ms": _time(numbers),
        }
    )


def _people(rng: np.random.Generator, numbers: Ints, hot: int, which: int) -> Ints:
    """Ids counted from 0; ``which``: of each hundred, the one that is hot."""
    newest = _newest_person(numbers)
    active = np.minimum(newest + 1, ACTIVE_PEOPLE)
    other = newest + 1 - active + rng.integers(0, active + LEAD)
    is_hot = rng.integers(0, hot, len(numbers)) > 0
    return np.where(is_hot, newest // HOT_FOR * HOT_FOR + which, other)


def _prices(rng: np.random.Generator, count: int) -> Ints:
    return np.round(10.0 ** (6 * rng.random(count)) * 100).astype(np.int64)


def closed_auctions(given: Nexmark) -> pa.Table:
    """What query 6 reads: auctions that have closed with a bid, in order of closing: seller, price of the
    highest bid while the auction was open, and when it closed. Of a seller no two close in the same
    millisecond: the later one is put off, so that "the last ten" are the same ten for everyone."""
    columns = {name: given.auctions[name].to_numpy() for name in ("id", "ms", "expires", "seller")}
    auction, price, ms = (given.bids[name].to_numpy() for name in ("auction", "price", "ms"))
    place = auction - FIRST_AUCTION
    there = place < len(columns["id"])
    place, price, ms = place[there], price[there], ms[there]
    valid = (ms >= columns["ms"][place]) & (ms <= columns["expires"][place])
    highest = np.zeros(len(columns["id"]), np.int64)
    np.maximum.at(highest, place[valid], price[valid])
    sold = (highest > 0) & (columns["expires"] <= given.bids["ms"].to_numpy()[-1])
    seller, closed = columns["seller"][sold], columns["expires"][sold]
    by_seller = np.lexsort((closed, seller))
    closed[by_seller] = _distinct(seller[by_seller], closed[by_seller])
    order = np.lexsort((seller, closed))
    return pa.table({"seller": seller[order], "price": highest[sold][order], "ms": closed[order]})


def _distinct(groups: Ints, times: Ints) -> Ints:
    """Times of each group, rising, put off so far that they are distinct."""
    count = np.arange(len(times))
    # a group begins above all that the one before it reached
    lift = np.cumsum(np.r_[0, groups[1:] != groups[:-1]]) * (int(np.ptp(times)) + len(times) + 1)
    return np.maximum.accumulate(times + lift - count) + count - lift
