"""[Scotty] figure 5a: 1 to 1,000 concurrent windows and a session, a fifth of all rows out of order."""

from __future__ import annotations

from collections.abc import Sequence

from windrow_experiments.growth import growth_of
from windrow_experiments.model import Chart, Finding, Result, Series, Settings, Table
from windrow_experiments.scotty.rates import Combines, combines, lazy_and_eager, peer_rate
from windrow_experiments.scotty.workload import arrays, batches, events, peers, query, tumbling

__all__ = ["DISORDER", "HOW", "TECHNIQUES", "run"]

DISORDER = 0.2
COUNTS = (1, 10, 100, 1_000)
TECHNIQUES = ("lazy", "eager", "buckets", "FlatFAT")
#: rows a second of event time where combines are counted: in plain Python, so of fewer rows
SPARSE = 2_000

HOW = (
    "The match is generated: 15,000 rows a second of event time, five silences of 1.5 s a minute, delays of "
    "0 to 2 s. Windows are tumbling, their lengths spread evenly from 1 to 20 s; sum and max. Lazy and eager "
    "are windrow's operator, which takes Arrow batches of 100,000 rows, made to use one or the other store "
    "of slices. Buckets and FlatFAT are compiled for this comparison; buckets lie in a ring rather than in a "
    "hash map. Rates are per second of processor time in one thread. Combines are counted on 2,000 rows a "
    "second of event time, the operator's with an aggregate in plain Python and batches of 5,000 rows."
)

#: windows: the rate of each technique
Rates = dict[int, dict[str, float]]
Counts = dict[int, dict[str, Combines]]


def run(settings: Settings) -> Result:
    rates, counts = _rates(settings), _counts(settings)
    return Result(
        tables=[_rate_table(rates), _combine_table(counts), _paper()],
        charts=[
            rate_chart("Rows a second by concurrent windows", "concurrent windows", rates, log_x=True),
            combine_chart("Combines per row by concurrent windows", "concurrent windows", counts, log_x=True),
        ],
        findings=_findings(rates, counts),
        how=HOW,
    )


def _rates(settings: Settings) -> Rates:
    parts = batches(events(settings.pick(2_000_000, 500_000), DISORDER, seed=settings.seed))
    settings.progress("windrow's operator, lazy and eager, 1 to 1,000 windows")
    ours = lazy_and_eager([(query(tumbling(count)), parts) for count in COUNTS], settings.pick(4, 2))
    found: Rates = {}
    for count, (lazy, eager) in zip(COUNTS, ours, strict=True):
        found[count] = {"lazy": float(lazy), "eager": float(eager)}
        # fewer rows where all would take minutes
        most = {"buckets": 2_000_000 // max(count // 10, 1), "FlatFAT": 150_000}
        for name, rows in most.items():
            rows = max(50_000, rows // settings.pick(1, 4))
            settings.progress(f"{name}, {count:,} windows, {rows:,} rows")
            some = arrays(batches(events(rows, DISORDER, seed=settings.seed)))
            found[count][name] = peer_rate(peers(tumbling(count), rows)[name], some)
    return found


def _counts(settings: Settings) -> Counts:
    parts = batches(events(settings.pick(60_000, 20_000), DISORDER, SPARSE, settings.seed), 5_000)
    found: Counts = {}
    for count in COUNTS:
        settings.progress(f"combines, {count:,} windows")
        found[count] = combines(tumbling(count), parts, SPARSE)
    return found


def _rate_table(rates: Rates) -> Table:
    rows = [
        [
            count,
            *(round(of[name]) for name in TECHNIQUES),
            of["lazy"] / of["buckets"],
            of["lazy"] / of["FlatFAT"],
        ]
        for count, of in rates.items()
    ]
    columns = ["windows", *(f"{name}, rows/s" for name in TECHNIQUES), "lazy / buckets", "lazy / FlatFAT"]
    return Table("Rows a second of processor time", columns, rows)


def _combine_table(counts: Counts) -> Table:
    rows = [
        [count, *(of[name].adding for name in TECHNIQUES), of["lazy"].results, of["eager"].results,
         of["FlatFAT"].results, of["lazy"].results_a_row]
        for count, of in counts.items()
    ]  # fmt: skip
    columns = ["windows", *(f"{name}: to add a row" for name in TECHNIQUES)]
    columns += ["lazy: for results", "eager: for results", "FlatFAT: for results", "results per row"]
    note = "Results of buckets are ready: none is combined for them."
    return Table("Combines per row: to add it, and for the results that come out", columns, rows, note=note)


def _paper() -> Table:
    rows = [
        ["lazy", "1.9 million tuples/s, the same for all numbers of windows"],
        ["eager", "8 % below lazy"],
        ["buckets", "orders of magnitude below; up to 1,000 aggregation steps a tuple for 1,000 windows"],
        ["FlatFAT", "fewer than 2,000 tuples/s"],
    ]
    note = "From the text: the figure's points are not printed as numbers."
    return Table("What the paper reports", ["technique", "throughput"], rows, source="paper", note=note)


def rate_chart(title: str, x_label: str, rates: dict[int, dict[str, float]], log_x: bool = False) -> Chart:
    """The rate of each technique."""
    lines = [Series(name, [(x, of[name]) for x, of in rates.items()]) for name in TECHNIQUES]
    return Chart(title, x_label, "rows a second", lines, log_x=log_x, log_y=True)


def combine_chart(
    title: str, x_label: str, counts: dict[int, dict[str, Combines]], log_x: bool = False
) -> Chart:
    """The combines of each technique, those for results with them."""
    lines = [
        Series(name, [(x, of[name].adding + of[name].results) for x, of in counts.items()])
        for name in TECHNIQUES
    ]
    return Chart(title, x_label, "combines per row", lines, log_x=log_x, log_y=True)


def adding(counts: dict[int, dict[str, Combines]], name: str) -> Sequence[tuple[float, float]]:
    """What a technique combines to add a row, as points."""
    return [(x, of[name].adding) for x, of in counts.items()]


def _findings(rates: Rates, counts: Counts) -> list[Finding]:
    one, most = rates[COUNTS[0]], rates[COUNTS[-1]]
    lazy, of_lazy = growth_of(adding(counts, "lazy")), most["lazy"] / one["lazy"]
    buckets = growth_of(adding(counts, "buckets"))
    ahead = {name: most["lazy"] / most[name] for name in ("buckets", "FlatFAT")}
    behind = 1 - most["eager"] / most["lazy"]
    results = counts[COUNTS[-1]]["lazy"]
    return [
        Finding.judged(
            "Slicing does the same work a tuple for any number of concurrent windows: each is put in one "
            "slice.",
            lazy.growth == "constant",
            f"combines to add a row, lazy: {lazy}",
            "A slice begins wherever a window does, and the first row of a slice is combined with nothing.",
        ),
        Finding.judged(
            "The throughput of slicing stays almost constant up to 1,000 windows.",
            of_lazy >= 0.8,
            f"1,000 windows run at {of_lazy:.2f} of the rate of one",
            f"Adding a row stays the same, but results do not: {results.results_a_row * SPARSE:,.0f} come "
            "out a second of event time, each put together from slices and written to an Arrow table.",
        ),
        Finding.judged(
            "Slicing has a throughput an order of magnitude above what does without it.",
            min(ahead.values()) >= 10,
            f"with 1,000 windows lazy runs at {ahead['buckets']:,.0f} times the rate of buckets and "
            f"{ahead['FlatFAT']:,.0f} times that of FlatFAT; with one window at "
            f"{one['lazy'] / one['buckets']:.2f} times that of buckets",
            "With one window a bucket is as little work as a slice, and this one reads bare arrays.",
        ),
        Finding.judged(
            "Buckets do as many aggregation steps a tuple as there are concurrent windows.",
            buckets.growth == "linear" and 0.9 <= buckets.slope <= 1.1,
            f"combines to add a row, buckets: {buckets}",
            "Expected is a slope of 1: one combine per row and window.",
        ),
        Finding.judged(
            "The eager store has 8 % less throughput than the lazy one, as tuples out of order change its "
            "tree.",
            0.0 < behind <= 0.2,
            f"eager runs at {1 - behind:.2f} of the rate of lazy with 1,000 windows",
            "windrow's eager store has no tree: it keeps a partial for each block of slices, and makes it "
            "when windows that come out need it, so that rows out of order cost it nothing.",
        ),
        Finding.judged(
            "FlatFAT over tuples takes fewer than 2,000 tuples a second, as tuples out of order are inserted "
            "among its leaves.",
            most["FlatFAT"] < 2_000,
            f"{most['FlatFAT']:,.0f} rows a second, {counts[COUNTS[-1]]['FlatFAT'].adding:,.0f} combines a "
            f"row at {SPARSE:,} rows a second of event time",
            "This one is compiled and moves numbers in arrays; its rows a second are those of this machine, "
            "its place behind the others is the paper's.",
        ),
    ]
