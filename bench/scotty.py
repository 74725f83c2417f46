"""1 to 1,000 windows at once in windrow's operator, in Flink's window operator, which keeps a bucket per
window, and in Scotty's, which shares slices as windrow does.

    python bench/scotty.py [--quick] [--json FILE] [--scotty CHECKOUT]

The workload is that of [Scotty] figure 5 (``windrow_experiments.scotty``): 15,000 rows per second of event
time, tumbling windows of 1 to 20 s, sum and max, rows in order and with 20 % of them up to 2 s late. windrow
takes rows in small pushes and in large ones, in one thread; Flink takes them one by one from memory, in one
slot (two threads: its source, and its windows). Results are compared first. Seconds are per million rows,
since Flink gets fewer rows the more windows there are. ``bench/streams.py`` has buckets and FlatFAT as
compiled code instead.

Scotty is not on Maven Central: it takes part where ``--scotty`` names a checkout of its source. It takes
rows one by one from memory, in one thread, with a watermark after as many rows as a push of windrow has.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from common import Settings, progress
from sections.alternating import Part, alternate, clocked
from sections.field_command import ask, field_parser
from sections.flink import Flink, flink_version
from sections.jvm import Jvm, Unavailable
from sections.scotty_source import Scotty

import windrow as wr
from windrow_experiments.scotty.workload import DELAY, batches, events, through_windrow, tumbling

COUNTS = (1, 10, 100, 1_000)
DISORDERS = {"in order": 0.0, "20 % out of order": 0.2}
SMALL, LARGE = 100, 100_000
MILLION = 1_000_000
WITHOUT_SCOTTY = "it is not on Maven Central; --scotty takes a checkout of its source"
#: windrow's sides, and the rows of a push
PUSHES = {"windrow, large pushes": LARGE, "windrow, small pushes": SMALL}


def query(count: int) -> Any:
    windows = {f"w{k}": wr.Tumbling(size) for k, (size, _) in enumerate(tumbling(count))}
    return wr.query(time="t", watermark=DELAY).window(**windows).agg(total=wr.sum("v"), top=wr.max("v"))


class Peer:
    """A program in Java over rows from a file that it has in memory before it begins."""

    def __init__(self, name: str, jvm: Jvm, folder: Path) -> None:
        self.name, self._jvm, self._folder = name, jvm, folder

    def ask(self, data: pa.Table, count: int, results: str | Path = "-", every: int = LARGE) -> float:
        """The seconds it takes. ``every``: rows between watermarks, for those whose watermark we move."""
        file = self._folder / "rows.bin"
        file.write_bytes(data["t"].to_numpy().astype("<i8").tobytes() + data["v"].to_numpy().tobytes())
        lengths = ",".join(str(size) for size, _ in tumbling(count))
        return float(self._jvm.ask(file, lengths, DELAY, results, every)[0])

    def results(self, data: pa.Table, count: int) -> Any:
        file = self._folder / "results.tsv"
        self.ask(data, count, file, SMALL)
        return _sorted(np.loadtxt(file, ndmin=2))

    def side(self, data: pa.Table, count: int, every: int = LARGE) -> Any:
        """Seconds per million rows."""
        self.ask(data.slice(0, data.num_rows // 10), count, every=every)
        return lambda: self.ask(data, count, every=every) / data.num_rows * MILLION


def _sorted(found: Any) -> Any:
    return found[np.lexsort((found[:, 1], found[:, 0]))]


def to_compare(disorder: float) -> pa.Table:
    """Rows without late ones in the first millisecond: Scotty drops a late row at the start of its first
    slice."""
    data = events(60_000, disorder)
    times = data["t"].to_numpy()
    is_late = times < np.maximum.accumulate(times)
    return data.filter(pa.array(~(is_late & (times == times.min()))))


def check(peer: Peer) -> None:
    for disorder in DISORDERS.values():
        data = to_compare(disorder)
        for count in (1, 30):
            ours = pa.concat_tables(through_windrow(query(count), batches(data, 7_000)))
            names = ("window_start", "window_end", "total", "top")
            wanted = _sorted(np.column_stack([ours[name].to_numpy() for name in names]))
            found = peer.results(data, count)
            assert found.shape == wanted.shape, f"{peer.name} has {len(found)}, not {len(wanted)} windows"
            assert np.allclose(found, wanted), f"{peer.name} disagrees with windrow"


def windrow_side(count: int, disorder: float, push: int, rows: int) -> Any:
    """Seconds per million rows."""
    parts, asked = batches(events(rows, disorder), push), query(count)
    through_windrow(asked, parts[: max(2, len(parts) // 10)])
    side = clocked(lambda: through_windrow(asked, parts))
    return lambda: side() / rows * MILLION


QUESTIONS = {
    f"{count:,} {'window' if count == 1 else 'windows'}, {order}": (count, disorder)
    for order, disorder in DISORDERS.items()
    for count in COUNTS
}


def measure(what: str, rows: int, peers: Mapping[str, Peer], turns: int, part: Part) -> None:
    count, disorder = QUESTIONS[what]
    sides = {
        name: windrow_side(count, disorder, push, rows if push == LARGE else rows // 10)
        for name, push in PUSHES.items()
    }
    pairs: dict[str, tuple[str, ...]] = dict.fromkeys(PUSHES, ())
    if "Flink" in peers:
        # a row costs it as many updates as there are windows
        fewer = min(rows, max(60_000, rows // max(1, count // 4)))
        sides["Flink"] = peers["Flink"].side(events(fewer, disorder), count)
        pairs = {name: (*against, "Flink") for name, against in pairs.items()}
    if "Scotty" in peers:
        for name, push in PUSHES.items():
            own = f"Scotty, a watermark every {push:,} rows"
            sides[own] = peers["Scotty"].side(events(rows, disorder), count, push)
            pairs[name] = (*pairs[name], own)
    seconds = alternate(sides, turns)
    for ours, against in pairs.items():
        for peer in against:
            shown = peer.partition(",")[0]
            part.add(what, MILLION, {ours: seconds[ours], shown: seconds[peer]}, {ours: (shown,)})
    part.tables.setdefault("rows per second", []).append(
        {"windows": what} | {name: MILLION / float(np.median(s)) for name, s in seconds.items()}
    )


def start(stack: ExitStack, part: Part, folder: Path, checkout: Path | None) -> dict[str, Peer]:
    """The peers that can be had, with results that are those of windrow."""
    begin: dict[str, Callable[[], Jvm]] = {"Flink": lambda: Flink("Buckets")}
    if checkout:
        begin["Scotty"] = lambda: Scotty(checkout)
    else:
        part.skipped["Scotty"] = WITHOUT_SCOTTY
    found = {}
    for name, jvm in begin.items():
        try:
            peer = Peer(name, stack.enter_context(jvm()), folder)
            progress(f"comparing results with {name}'s")
            check(peer)
            found[name] = peer
        except (Unavailable, AssertionError) as reason:
            part.skipped[name] = str(reason)
    return found


def main() -> None:
    parser = field_parser(__doc__, "a million rows instead of five", list(QUESTIONS))
    parser.add_argument("--rows", type=int, help="so many")
    parser.add_argument("--scotty", type=Path, metavar="CHECKOUT", help="a folder with Scotty's source")
    given = parser.parse_args()
    rows = given.rows or Settings(given.quick).pick(5_000_000, 1_000_000)
    part = Part("scotty", "Many windows at once")
    part.about["flink"] = flink_version()
    folder = Path(tempfile.mkdtemp(prefix="windrow-scotty-"))
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder)
        peers = start(stack, part, folder, given.scotty)
        questions = {what: partial(measure, what, rows, peers, given.turns, part) for what in QUESTIONS}
        ask(part, questions, given)
    part.show()


if __name__ == "__main__":
    main()
