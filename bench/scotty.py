"""1 to 1,000 windows at once in windrow's operator and in Flink's window operator, which keeps a bucket per
window.

    python bench/scotty.py [--quick] [--json FILE]

The workload is that of [Scotty] figure 5 (``windrow_experiments.scotty``): 15,000 rows per second of event
time, tumbling windows of 1 to 20 s, sum and max, rows in order and with 20 % of them up to 2 s late. windrow
takes rows in small pushes and in large ones, in one thread; Flink takes them one by one from memory, in one
slot (two threads: its source, and its windows). Results are compared first. Seconds are per million rows,
since Flink gets fewer rows the more windows there are. ``bench/streams.py`` has buckets and FlatFAT as
compiled code instead.

Scotty's own operator is not on Maven Central, and nothing here builds fetched source: it is left out.
"""

from __future__ import annotations

import shutil
import tempfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from common import Settings, progress
from sections.alternating import Part, alternate, clocked
from sections.field_command import ask, field_parser
from sections.flink import Flink, Unavailable, flink_version

import windrow as wr
from windrow_experiments.scotty.workload import DELAY, batches, events, through_windrow, tumbling

COUNTS = (1, 10, 100, 1_000)
DISORDERS = {"in order": 0.0, "20 % out of order": 0.2}
SMALL, LARGE = 100, 100_000
MILLION = 1_000_000
WITHOUT_SCOTTY = "Scotty is not on Maven Central, and no fetched source is built here"


def query(count: int) -> Any:
    windows = {f"w{k}": wr.Tumbling(size) for k, (size, _) in enumerate(tumbling(count))}
    return wr.query(time="t", watermark=DELAY).window(**windows).agg(total=wr.sum("v"), top=wr.max("v"))


class Buckets:
    """Flink's window operator over rows from a file that it has in memory before it begins."""

    def __init__(self, flink: Flink, folder: Path) -> None:
        self._flink, self._folder = flink, folder

    def ask(self, data: pa.Table, count: int, results: str | Path) -> float:
        file = self._folder / "rows.bin"
        file.write_bytes(data["t"].to_numpy().astype("<i8").tobytes() + data["v"].to_numpy().tobytes())
        lengths = ",".join(str(size) for size, _ in tumbling(count))
        return float(self._flink.ask(file, lengths, DELAY, results)[0])

    def results(self, data: pa.Table, count: int) -> Any:
        file = self._folder / "results.tsv"
        self.ask(data, count, file)
        return _sorted(np.loadtxt(file, ndmin=2))


def _sorted(found: Any) -> Any:
    return found[np.lexsort((found[:, 1], found[:, 0]))]


def check(buckets: Buckets) -> None:
    for disorder in DISORDERS.values():
        data = events(60_000, disorder)
        for count in (1, 30):
            ours = pa.concat_tables(through_windrow(query(count), batches(data, 7_000)))
            names = ("window_start", "window_end", "total", "top")
            wanted = _sorted(np.column_stack([ours[name].to_numpy() for name in names]))
            found = buckets.results(data, count)
            assert found.shape == wanted.shape, f"Flink has {len(found)}, not {len(wanted)} windows"
            assert np.allclose(found, wanted), "Flink disagrees with windrow"


def windrow_side(count: int, disorder: float, push: int, rows: int) -> Any:
    """Seconds per million rows."""
    parts, asked = batches(events(rows, disorder), push), query(count)
    through_windrow(asked, parts[: max(2, len(parts) // 10)])
    side = clocked(lambda: through_windrow(asked, parts))
    return lambda: side() / rows * MILLION


def flink_side(buckets: Buckets, count: int, disorder: float, rows: int) -> Any:
    data = events(rows, disorder)
    buckets.ask(data.slice(0, rows // 10), count, "-")
    return lambda: buckets.ask(data, count, "-") / rows * MILLION


QUESTIONS = {
    f"{count:,} {'window' if count == 1 else 'windows'}, {order}": (count, disorder)
    for order, disorder in DISORDERS.items()
    for count in COUNTS
}


def measure(what: str, rows: int, buckets: Buckets | None, turns: int, part: Part) -> None:
    count, disorder = QUESTIONS[what]
    sides = {
        "windrow, large pushes": windrow_side(count, disorder, LARGE, rows),
        "windrow, small pushes": windrow_side(count, disorder, SMALL, rows // 10),
    }
    if buckets:
        # a row costs it as many updates as there are windows
        fewer = min(rows, max(60_000, rows // max(1, count // 4)))
        sides["Flink"] = flink_side(buckets, count, disorder, fewer)
    seconds = alternate(sides, turns)
    part.add(what, MILLION, seconds, dict.fromkeys(list(sides)[:2], ("Flink",)))
    part.tables.setdefault("rows per second", []).append(
        {"windows": what} | {name: MILLION / float(np.median(s)) for name, s in seconds.items()}
    )


def main() -> None:
    parser = field_parser(__doc__, "a million rows instead of five", list(QUESTIONS))
    parser.add_argument("--rows", type=int, help="so many")
    given = parser.parse_args()
    rows = given.rows or Settings(given.quick).pick(5_000_000, 1_000_000)
    part = Part("scotty", "Many windows at once")
    part.skipped["Scotty"] = WITHOUT_SCOTTY
    folder = Path(tempfile.mkdtemp(prefix="windrow-scotty-"))
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder)
        buckets = None
        try:
            buckets = Buckets(stack.enter_context(Flink("Buckets")), folder)
            part.about["flink"] = flink_version()
            progress("comparing results")
            check(buckets)
        except Unavailable as reason:
            part.skipped["Flink"] = str(reason)
        questions = {what: partial(measure, what, rows, buckets, given.turns, part) for what in QUESTIONS}
        ask(part, questions, given)
    part.show()


if __name__ == "__main__":
    main()
