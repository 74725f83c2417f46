"""The queries and rows whose state is kept in tests/golden: what wrote it, and what goes on from it.

Half of the steps are taken before the state is written, half after it is read. Rows are drawn from
``random.Random().random()`` alone, which gives the same numbers in every version of Python: the state in
tests/golden is only right for these rows.
"""

from __future__ import annotations

import random
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

import windrow as wr
from windrow.state.codec import VERSION

GOLDEN = Path(__file__).parents[1] / "golden"
#: steps before the state is written, and steps in all
WRITTEN, STEPS = 6, 12
_ROWS = 24
_START = datetime(2024, 3, 30, tzinfo=UTC)  # clocks change the day after
SCHEMA = pa.schema(
    [
        ("t", pa.int64()),
        ("at", pa.timestamp("us", "UTC")),
        ("region", pa.string()),
        ("line", pa.int64()),
        ("len", pa.int64()),
        ("x", pa.float64()),
        ("km", pa.float64()),
        ("is_last", pa.bool_()),
        ("word", pa.string()),
    ]
)

#: a user's own text aggregate, which depends on the order of rows
joined = wr.monoid(
    name="joined",
    lift=lambda word: (word,),
    combine=lambda a, b: a + b,
    lower=lambda words: "-".join(words),
    identity=(),
    result_type="string",
    compile=False,
)


def rows(step: int) -> pa.Table:
    """Rows of one step: out of order, some late, keys and values that are null."""
    chance = random.Random(step).random
    found = []
    for number in range(_ROWS):
        t = 30 * step + number + int(chance() * 8) - (60 if chance() < 0.1 and step else 0)
        found.append(
            {
                "t": t,
                "at": _START + timedelta(minutes=20 * t),
                "region": ("north", "south", None)[int(chance() * 3)],
                "line": (1, None)[int(chance() * 2)],
                "len": None if chance() < 0.1 else int(chance() * 100),
                "x": None if chance() < 0.1 else int(chance() * 64) / 8,
                "km": t / 4,
                "is_last": chance() < 0.1,
                "word": f"w{step}.{number}",
            }
        )
    return pa.Table.from_pylist(found, SCHEMA)


def _queries() -> dict[str, Any]:
    calls = wr.query(time="t", by=["region", "line"], watermark=10, late="return")
    corrected = wr.query(time="t", by=["region", "line"], watermark=10, late="return", allowed_lateness=40)
    days = wr.query(time="at", by="region", watermark="3h", allowed_lateness="1d")
    every = {"n": wr.count(), "total": wr.sum("len"), "top": wr.max("len"), "middle": wr.mean("x")}
    picked = {"best": wr.arg_max("len", value="word"), "first": wr.first("word"), "last": wr.last("word")}
    text = {"words": wr.concat("word"), "all": wr.collect("len"), "joined": joined("word")}
    sketches = {
        "half": wr.approx_quantile("x", 0.5),
        "kinds": wr.approx_distinct("word", precision=6),
        "seen": wr.bloom("word", bits=512),
        "often": wr.count_min("region", width=16, depth=2),
    }
    return {
        "time-windows": corrected.window(
            ten=wr.Tumbling(10),
            slide=wr.Sliding(40, slide=5),
            steps=wr.Cumulative(60, step=20),
            band=wr.Fixed(20, 300),
        ).agg(**every, **picked, half=wr.quantile("x", 0.5)),
        "sessions": corrected.window(visit=wr.Session(8), short=wr.Session(5, max_size=20)).agg(**every),
        "sessions-by-row": calls.window(visit=wr.Session(8, late_by="row")).agg(**every),
        "text": corrected.window(slide=wr.Sliding(30, slide=10), visit=wr.Session(8)).agg(**text),
        "sketches": wr.query(time="t", watermark=100).window(all=wr.Tumbling(1_000)).agg(**sketches),
        "updates": wr.query(time="t", by="region", watermark=10, output="update")
        .window(ten=wr.Tumbling(10), visit=wr.Session(8))
        .agg(**every),
        "gaps": wr.query(time="t", by=["region", "line"], watermark=10, empty="include")
        .window(wr.Tumbling(5))
        .agg(**every),
        "data-windows": calls.window(
            four=wr.Rows(4, slide=2),
            far=wr.Delta("km", size=6, slide=2),
            done=wr.Punctuation("is_last"),
            six=wr.Policy(lambda total, old: total.n - old.n >= 6),
        ).agg(**every, **text),
        "rolling-by-time": calls.rolling(60).agg(**every, **picked, **text),
        "rolling-by-rows": calls.rolling(rows=9).agg(**every, **picked, **text),
        "calendar": days.window(
            day=wr.Tumbling("1d", timezone="Europe/Berlin"),
            month=wr.Cumulative("1mo", step="1d", timezone="Europe/Berlin"),
            visit=wr.Session("2h"),
        ).agg(**every),
    }


QUERIES = _queries()


#: operators of ``rolling(store=)`` as an earlier version kept them, which is refused by name
REFUSED = ("stored-rolling-by-time", "stored-rolling-by-rows")


def _with_history() -> Any:
    query = wr.query(time="t", by=["region", "line"], watermark=10, late="return")
    query = query.window(slide=wr.Sliding(40, slide=5), visit=wr.Session(8), four=wr.Rows(4))
    past = pa.concat_tables([rows(step) for step in range(100, 104)])
    times = pa.array([t - 3_100 for t in past["t"].to_pylist()])
    past = past.set_column(0, "t", times)  # the hour before the first step
    return query.agg(n=wr.count(), words=wr.concat("word")).open(history=past, history_until=-4)


def _with_frames() -> Any:
    query = wr.query(time="t", by="region", watermark=10).rolling(20, 60, closed="both", shift=5)
    return query.agg(n=wr.count(), top=wr.max("x"), joined=joined("word")).open()


#: operators that are kept as snapshots only
BEGUN: dict[str, Callable[[], Any]] = {"history": _with_history, "frames": _with_frames}

# -- operators -----------------------------------------------------------------------------------------------


def opened_in(store: Any, name: str) -> Any:
    """The operator of a case in a store."""
    return QUERIES[name].open(store=store, name=name)


def plain(name: str) -> Any:
    """The operator of a case that keeps nothing."""
    if name in BEGUN:
        return BEGUN[name]()
    return QUERIES[name].open()


def begin(operator: Any) -> None:
    """The steps before the state is written."""
    for step in range(WRITTEN):
        operator.push(rows(step))


def go_on(operator: Any) -> list[Any]:
    """All that comes out from then on: results of each step, rows that were late, counts."""
    found = [operator.push(rows(step)) for step in range(WRITTEN, STEPS)]
    found.append(operator.finish())
    if operator.query.late == "return":
        found.append(operator.late_rows())
    # how keys are held in groups decides in which order they come out
    return [f"{table.schema} {sorted(map(repr, table.to_pylist()))}" for table in found] + [counts(operator)]


def counts(operator: Any) -> str:
    """What was counted; not how the state is held, nor what is of the last push alone."""
    held = ("slices", "keys", "rows_held", "state_bytes", "late_times")
    return repr({name: value for name, value in asdict(operator.metrics).items() if name not in held})


@cache
def uninterrupted(name: str) -> tuple[str, Sequence[Any]]:
    """What an operator that never stopped has counted when the state is written, and gives from then on."""
    operator = plain(name)
    begin(operator)
    return counts(operator), go_on(operator)


# -- windows of windrow.swag ---------------------------------------------------------------------------------

WINDOWS: dict[str, tuple[Any, Any]] = {
    "amta, sums": (wr.swag.AMTA, wr.sum),
    "amta, text": (wr.swag.AMTA, joined),
    "amta, times": (wr.swag.AMTA, wr.count),
    "log mta, sums": (wr.swag.LogMTA, wr.sum),
}


def window_in(store: Any, name: str) -> Any:
    algorithm, monoid = WINDOWS[name]
    return algorithm.open(store, name, monoid, block=4, buffer=16, cache=8, durability="flush")


def window_without_store(name: str) -> Any:
    algorithm, monoid = WINDOWS[name]
    return algorithm(monoid)


def slide(window: Any, name: str, first: int, last: int) -> list[Any]:
    """Take a range of numbers; two thirds of them push an older one out. The results."""
    if name == "amta, times":
        found: list[Any] = window.roll_time([3 * at for at in range(first, last)], range(first, last), 60)
        return found
    results = []
    for number in range(first, last):
        window.insert(f"w{number}" if name == "amta, text" else number)
        window.evict_many(1 if number % 3 else 0)
        results.append(window.query())
    return results


# -- a stream on Spark ---------------------------------------------------------------------------------------

SPARK_SCHEMA = "t long, at timestamp, region string, line long, len long, x double, km double, " + (
    "is_last boolean, word string"
)


def spark_query() -> Any:
    """Windows that time, gaps and rows decide, late rows that correct, and a user's own aggregate."""
    query = wr.query(time="at", by=["region", "line"], order="word", watermark="3h", allowed_lateness="4h")
    query = query.window(
        day=wr.Sliding("12h", slide="3h"),
        steps=wr.Cumulative("1d", step="6h"),
        visit=wr.Session("2h"),
        four=wr.Rows(4),
    )
    return query.agg(n=wr.count(), total=wr.sum("len"), half=wr.quantile("x", 0.5), joined=joined("word"))


#: the folder that golden checkpoints say they are in, with their input
ELSEWHERE = "/golden"


def move_checkpoint(checkpoint: Path, before: str, after: str) -> None:
    """Spark writes down where the input and the schema of the state are, as absolute paths."""
    for path in [*checkpoint.glob("sources/*/*"), *checkpoint.glob("state/*/_metadata/**/*")]:
        if path.is_file() and not path.name.startswith("."):
            path.write_text(path.read_text().replace(f"{before}/", f"{after}/"))


# -- files ---------------------------------------------------------------------------------------------------


FOLDER = GOLDEN / f"format-{VERSION}"


def zip_folder(folder: Path, target: Path, leave: Sequence[str] = ()) -> None:
    """A folder as one file; the same bytes for the same content."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            if not any(path.match(pattern) for pattern in leave):
                info = zipfile.ZipInfo(path.relative_to(folder).as_posix())
                info.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(info, path.read_bytes())


def unzip(archive: Path, folder: Path) -> Path:
    with zipfile.ZipFile(archive) as found:
        found.extractall(folder)
    return folder
