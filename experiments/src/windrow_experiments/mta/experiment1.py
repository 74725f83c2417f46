"""[MTA] experiment 1, figure 6: the latency of an update in windows of constant size."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import repeat

from windrow_experiments.growth import growth_of
from windrow_experiments.measure import power
from windrow_experiments.model import Chart, Finding, Result, Series, Settings, Table
from windrow_experiments.mta.sized import sized, too_large
from windrow_experiments.mta.stores import places
from windrow_experiments.mta.windows import Measured, kinds, measured

__all__ = ["run"]

#: the name of a window: by size, what an update takes
Found = dict[str, dict[int, Measured]]

HOW = (
    "Windows are plain Python, fed one update at a time, with the aggregate and the policy of listings 2 and "
    "3; combines are counted in the same run, and Python's collector of cycles is off. The paper slides a "
    "window until all updates of the filling are gone. Here so do windows of up to {whole} values, of DABA "
    "up to {whole_daba}; larger ones slide {slides:,} times, and Naive as often as it can fold {folded} "
    "values. Instead of Couchbase on three other machines there are RocksDB in the process and Redis on "
    "loopback. {largest}"
)
FULL = (
    "A Python window of 2^25 values takes several GB and minutes to fill: sizes end at 2^20 (DABA, AMTA, "
    "AMTA on RocksDB: 2^22). What an update takes in a window of 2^25 on RocksDB is in experiment 4. DABA at "
    "2^22 is seen at the beginning of a turn, where it combines 10 times an update, and not 7."
)
QUICK = "This quick run ends at 2^14."


@dataclass(frozen=True)
class _Limits:
    """Windows of up to ``whole`` values slide once through, larger ones so often; Naive folds so many.

    DABA, which has cheap and dear stretches in a turn, does so in larger windows, too."""

    whole: int
    whole_daba: int
    slides: int
    folded: int

    def rounds(self, name: str, n: int) -> int:
        if name == "Naive":
            return max(4, min(self.folded // n, max(n, 256)))
        whole = self.whole_daba if name == "DABA" else self.whole
        return max(n, 256) if n <= whole else self.slides


def run(settings: Settings) -> Result:
    limits = settings.pick(
        _Limits(1 << 16, 1 << 20, 8_000, 2_000_000), _Limits(1 << 12, 1 << 14, 1_000, 300_000)
    )
    found: Found = {}
    with places() as where:
        for name, make in kinds(where).items():
            for n in _sizes(name, settings.quick):
                settings.progress(f"{name}, a window of {power(n)}")
                updates = repeat((n,), limits.rounds(name, n))
                found.setdefault(name, {})[n] = measured(make, sized, too_large, repeat((n,), n), updates)
        how = _how(limits, settings.quick) + where.remark
    return Result(
        tables=[
            _table("Nanoseconds an update", found, "ns"),
            _table("Combines per update", found, "combines"),
            _paper(),
        ],
        charts=[
            _chart("Latency of an update", "nanoseconds", found, "ns"),
            _chart("Combines of an update", "combines", found, "combines"),
        ],
        findings=findings(found, limits.whole),
        how=how,
    )


def _how(limits: _Limits, quick: bool) -> str:
    largest = QUICK if quick else FULL
    return HOW.format(
        whole=power(limits.whole),
        whole_daba=power(limits.whole_daba),
        slides=limits.slides,
        folded=f"{limits.folded:,}",
        largest=largest,
    )


def _sizes(name: str, quick: bool) -> list[int]:
    """Powers of two from 1 on; the larger ones where they are bearable."""
    if quick:
        return [1 << k for k in range(0, 15, 2)]
    most = {"Naive": 18, "DABA": 22, "AMTA": 22, "AMTA on RocksDB": 22}.get(name, 20)
    return [1 << k for k in range(0, most + 1, 2)]


def _table(title: str, found: Found, what: str) -> Table:
    sizes = sorted({n for of in found.values() for n in of})
    rows = [
        [power(n), *(round(getattr(of[n], what), 2) if n in of else None for of in found.values())]
        for n in sizes
    ]
    return Table(title, ["window", *found], rows)


def _paper() -> Table:
    rows = [
        ["Naive", "the fastest in small windows, then linear"],
        ["DABA", "constant"],
        ["LMTA", "O(log n), in memory and on the store"],
        ["AMTA", "constant; the fastest of all from 2^9 on"],
        ["AMTA on a store", "about 1 µs above AMTA in large windows, less than 0.5 µs above DABA"],
    ]
    note = "From the text: figure 6 is not printed as numbers."
    return Table(
        "What the paper reports", ["window", "latency of an update"], rows, source="paper", note=note
    )


def _chart(title: str, label: str, found: Found, what: str) -> Chart:
    lines = [Series(name, [(n, getattr(of[n], what)) for n in sorted(of)]) for name, of in found.items()]
    return Chart(title, "values in the window", label, lines, log_x=True, log_y=True)


def findings(found: Found, whole: int) -> list[Finding]:
    """What the figures say of the paper's statements; windows of up to ``whole`` values slid once through."""
    growths = {"Naive": "linear", "DABA": "constant", "LMTA": "logarithmic", "AMTA": "constant"}
    grown = [_grows(name, found[name], wanted, whole) for name, wanted in growths.items()]
    return [*grown, _worst_size(found), _first_place(found), *_on_stores(found)]


def _grows(name: str, of: dict[int, Measured], wanted: str, whole: int) -> Finding:
    # windows of fewer than 16 values are special cases, and DABA has cheap and dear stretches in a turn
    fitted = growth_of([(n, each.combines) for n, each in sorted(of.items()) if 16 <= n <= whole])
    return Finding.judged(
        f"{name}: the cost of an update is {wanted} in the size of the window.",
        fitted.growth == wanted,
        f"combines per update, windows of 2^4 to {power(whole)}: {fitted}",
        "The fit is over the sizes of the table.",
    )


def _first_place(found: Found) -> Finding:
    large = [n for n in found["Naive"] if n in found["AMTA"] and n >= 1 << 9]
    small = [n for n in found["Naive"] if n < 1 << 5]
    ahead = all(found["AMTA"][n].ns <= min(found[k][n].ns for k in ("Naive", "DABA", "LMTA")) for n in large)
    first = all(found["Naive"][n].ns <= min(found[k][n].ns for k in ("AMTA", "DABA", "LMTA")) for n in small)
    n = max(large)
    return Finding.judged(
        "Naive is the fastest in the smallest windows, AMTA the fastest in memory from 2^9 on.",
        ahead and first,
        f"at {power(n)}, ns: "
        + ", ".join(f"{name} {found[name][n].ns:,.0f}" for name in ("Naive", "DABA", "LMTA", "AMTA"))
        + f"; combines: DABA {found['DABA'][n].combines:.2f}, AMTA {found['AMTA'][n].combines:.2f}",
        "Combines are few for both, and in Python the steps around them decide: AMTA keeps levels of pairs "
        "and searches by the policy, DABA has an array and compares one value.",
    )


def _on_stores(found: Found) -> list[Finding]:
    names = [name for name in found if " on " in name]
    out = [_store_costs(found, name) for name in names if name.startswith("AMTA")]
    if names:
        shared = [(name, n) for name in names for n in found[name] if n in found[name.split()[0]]]
        apart = [
            f"{k}, {power(n)}" for k, n in shared if found[k][n].combines != found[k.split()[0]][n].combines
        ]
        out.append(
            Finding.judged(
                "On a store the algorithms are the same: only where pairs are kept differs.",
                not apart,
                f"combines differ in {len(apart)} of {len(shared)} windows {', '.join(apart)}".strip(),
                "Expected are the same combines in every window.",
            )
        )
    return out


def _store_costs(found: Found, name: str) -> Finding:
    n = max(n for n in found[name] if n in found["AMTA"])
    here, there = found["AMTA"][n].ns, found[name][n].ns
    return Finding.judged(
        f"{name}: a store costs little, as it is written and read some hundred pairs at a time (the paper, "
        "in the background: about 1 µs an update, and less than 0.5 µs more than DABA).",
        there <= 2 * here,
        f"at {power(n)}: {there:,.0f} ns, {there / here:.2f} times AMTA in memory",
        "Nothing is done in the background, as Python's threads take turns, and pairs are encoded and "
        "decoded in Python.",
    )


def _worst_size(found: Found) -> Finding:
    of = {n: each.combines for name in found if name.startswith("AMTA") for n, each in found[name].items()}
    most = max(of, key=lambda n: of[n])
    return Finding.judged(
        "AMTA: an update costs O(1) amortised at any size of the window.",
        of[most] <= 8,
        f"at most {of[most]:.2f} combines per update (at {power(most)}) in windows of up to {power(max(of))}",
        "Expected are 2 combines per insert, 1 per eviction, 1 per query, and at most 4 to ask the policy.",
    )
