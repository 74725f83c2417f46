"""[Scotty] figure 5b: 20 concurrent windows and a session, by the share of rows that are out of order."""

from __future__ import annotations

from windrow_experiments.model import Finding, Result, Settings, Table
from windrow_experiments.scotty.figure5a import HOW, SPARSE, TECHNIQUES, combine_chart, rate_chart
from windrow_experiments.scotty.rates import Combines, combines, lazy_and_eager, peer_rate
from windrow_experiments.scotty.workload import arrays, batches, events, peers, query, tumbling

__all__ = ["run"]

WINDOWS = 20
SHARES = (0, 20, 40, 60, 80, 100)

#: per cent of rows out of order: the rate of each technique
Rates = dict[int, dict[str, float]]
Counts = dict[int, dict[str, Combines]]


def run(settings: Settings) -> Result:
    rates, counts, slices = _rates(settings), _counts(settings), _slices(settings)
    return Result(
        tables=[_rate_table(rates), _combine_table(counts), _paper()],
        charts=[
            rate_chart("Rows a second by rows out of order", "% of rows out of order", rates),
            combine_chart("Combines per row by rows out of order", "% of rows out of order", counts),
        ],
        findings=_findings(rates, counts, slices),
        how=HOW,
    )


def _rates(settings: Settings) -> Rates:
    asked, chosen = query(tumbling(WINDOWS)), tumbling(WINDOWS)
    rows = {"windrow": settings.pick(2_000_000, 500_000), "buckets": settings.pick(1_000_000, 200_000)}
    rows["FlatFAT"] = settings.pick(150_000, 40_000)
    inputs = [batches(events(rows["windrow"], share / 100, seed=settings.seed)) for share in SHARES]
    settings.progress("windrow's operator, lazy and eager, 0 to 100 % of rows out of order")
    ours = lazy_and_eager([(asked, parts) for parts in inputs], settings.pick(4, 2))
    found: Rates = {}
    for share, (lazy, eager) in zip(SHARES, ours, strict=True):
        settings.progress(f"buckets and FlatFAT, {share} % of rows out of order")
        found[share] = {"lazy": float(lazy), "eager": float(eager)}
        for name in ("buckets", "FlatFAT"):
            parts = arrays(batches(events(rows[name], share / 100, seed=settings.seed)))
            found[share][name] = peer_rate(peers(chosen, rows[name])[name], parts)
    return found


def _counts(settings: Settings) -> Counts:
    found: Counts = {}
    for share in SHARES:
        settings.progress(f"combines, {share} % of rows out of order")
        data = events(settings.pick(60_000, 20_000), share / 100, SPARSE, settings.seed)
        found[share] = combines(tumbling(WINDOWS), batches(data, 5_000), SPARSE)
    return found


def _slices(settings: Settings) -> int:
    """How many slices the operator holds at most."""
    operator = query(tumbling(WINDOWS)).open()
    most = 0
    for part in batches(events(900_000, 1.0, seed=settings.seed)):
        operator.push(part)
        most = max(most, operator.metrics.slices)
    return most


def _rate_table(rates: Rates) -> Table:
    in_order = rates[0]
    rows = [
        [
            share,
            *(round(of[name]) for name in TECHNIQUES),
            *(of[name] / in_order[name] for name in TECHNIQUES),
        ]
        for share, of in rates.items()
    ]
    columns = ["% out of order", *(f"{name}, rows/s" for name in TECHNIQUES)]
    columns += [f"{name}, of in order" for name in TECHNIQUES]
    return Table("Rows a second of processor time", columns, rows)


def _combine_table(counts: Counts) -> Table:
    rows = [[share, *(of[name].adding for name in TECHNIQUES)] for share, of in counts.items()]
    return Table("Combines to add a row", ["% out of order", *TECHNIQUES], rows)


def _paper() -> Table:
    rows = [
        ["lazy, eager", "tuples out of order nearly as fast as in order; a few hundred slices to search"],
        ["buckets", "constant, whatever the share"],
        ["FlatFAT", "falls with the share: leaves are inserted, the tree is rebalanced"],
    ]
    note = "From the text: the figure's points are not printed as numbers."
    return Table("What the paper reports", ["technique", "throughput"], rows, source="paper", note=note)


def _findings(rates: Rates, counts: Counts, slices: int) -> list[Finding]:
    kept = {name: min(of[name] for of in rates.values()) / rates[0][name] for name in TECHNIQUES}
    added = {name: [of[name].adding for of in counts.values()] for name in TECHNIQUES}
    tree = added["FlatFAT"]
    return [
        Finding.judged(
            "Slicing takes tuples out of order nearly as fast as those in order.",
            min(kept["lazy"], kept["eager"]) >= 0.8,
            f"at worst {kept['lazy']:.2f} (lazy) and {kept['eager']:.2f} (eager) of the rate in order",
            "A batch that is out of order has to be sorted by slice first; nothing else is added.",
        ),
        Finding.judged(
            "What slicing combines does not depend on the order of tuples.",
            max(added["lazy"]) - min(added["lazy"]) < 0.01,
            f"{min(added['lazy']):.3f} to {max(added['lazy']):.3f} combines to add a row",
            "More slices are touched by a batch, and each is combined with what was there.",
        ),
        Finding.judged(
            "Slices to search are few hundred.",
            slices < 1_000,
            f"at most {slices:,} slices at {WINDOWS} windows, all rows out of order",
            "A slice is held until no window needs it.",
        ),
        Finding.judged(
            "Buckets are independent of the share of tuples out of order.",
            kept["buckets"] >= 0.8 and max(added["buckets"]) - min(added["buckets"]) < 0.01,
            f"at worst {kept['buckets']:.2f} of the rate in order; {max(added['buckets']):.2f} combines a "
            "row at any share",
            "The combines are the same; the times are those of memory and of branches that are hard to "
            "foresee.",
        ),
        Finding.judged(
            "FlatFAT decays as more tuples are out of order.",
            kept["FlatFAT"] <= 0.5 and all(later > tree[0] for later in tree[1:]),
            f"at worst {kept['FlatFAT']:.4f} of the rate in order; {tree[0]:,.0f} combines per row in order, "
            f"{tree[1]:,.0f} with 20 % and {tree[-1]:,.0f} with 100 % out of order",
            "Expected is a fall to less than half.",
        ),
    ]
