"""The guided tour, ``make demo``: a day of phone calls streamed through Spark, and a report of it.

The query is that of the Reactive Aggregator paper (figure 1): the longest call of the last 24 hours, how many
were that long and who made it, every minute, per region; with sessions beside it. The job is
``examples/phone_calls/job.toml``, run as ``windrow run`` runs it; at the end the same aggregates are computed
by Spark's own ``window()`` on a sample, and compared.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

sys.path.insert(0, str(Path(__file__).parent))

from phone_calls.generate import calls, write_calls

import windrow as wr
from windrow.cli.commands.run import recorded
from windrow.cli.errors import JobError, JobFailed, JobInterrupted
from windrow.cli.job import Job, read_job
from windrow.cli.record import Record
from windrow.cli.show import Reporter
from windrow.cli.show.tables import text_table
from windrow.cli.spark.run import run_spark
from windrow.cli.spark.session import open_session

HERE = Path(__file__).parent


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=150_000)
    parser.add_argument("--sample", type=int, default=2_000, help="calls for the comparison; 0: none")
    parser.add_argument("--folder", type=Path, default=HERE.parent / ".cache" / "demo")
    return parser.parse_args()


def prepared(folder: Path, count: int) -> Job:
    """A fresh folder with the job and its calls."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copy(HERE / "phone_calls" / "job.toml", folder / "phone_calls.toml")
    print(f"generating {count:,} phone calls, out of order, in {write_calls(folder / 'calls', count)} files")
    return read_job(folder / "phone_calls.toml")


def timed(work: Any) -> tuple[Any, float]:
    before = time.perf_counter()
    return work(), time.perf_counter() - before


def compare(spark: Any, folder: Path, count: int) -> tuple[float, float, bool]:
    """Seconds of Spark's own window() and of windrow for the same on the same calls; whether they agree."""
    import pyarrow.parquet as pq
    from pyspark.sql import functions as f

    pq.write_table(calls(count).drop_columns(["logged"]), folder / "sample.parquet")
    sample = spark.read.parquet(str(folder / "sample.parquet"))
    windows = sample.groupBy("region", f.window("ts", "24 hours", "1 minute").alias("w"))
    native = windows.agg(f.max("len").alias("longest"), f.count("*").alias("calls"))
    ours = (
        wr.query(time="ts", by="region")
        .window(wr.Sliding("24h", slide="1m"))
        .agg(longest=wr.max("len"), calls=wr.count())
    )
    mine, our_seconds = timed(lambda: ours.run(sample).toArrow())
    theirs, their_seconds = timed(
        lambda: native.select("region", "w.start", "w.end", "longest", "calls").toArrow()
    )
    return their_seconds, our_seconds, rows(mine) == rows(theirs)


def rows(table: Any) -> set[tuple[Any, ...]]:
    return set(zip(*(column.to_pylist() for column in table.columns), strict=True))


def show_results(record: Record) -> None:
    table = record.results.table()
    day = table.filter(pc.equal(table.column("window"), "day"))
    last = day.filter(pc.equal(day.column("window_end"), pc.max(day.column("window_end"))))
    spells = table.filter(pc.equal(table.column("window"), "spell"))
    columns = ["region", "window_end", "longest", "ties", "who", "mean", "calls"]
    print("\nthe last 24-hour window of each region (the watermark has passed it, so it is final):\n")
    print(text_table(last.select(columns)))
    print(
        f"\n{day.num_rows:,} such windows came out, one a minute and region, and {spells.num_rows:,} spells."
    )


def work(job: Job, options: argparse.Namespace, record: Record, reporter: Reporter) -> None:
    reporter.note("starting Spark ...")
    with open_session(job) as spark:
        run_spark(job, spark, record, reporter, read_back=True)
        if not options.sample:
            return
        reporter.note(f"the same windows of {options.sample:,} calls, by Spark's window() and by windrow ...")
        theirs, ours, agree = compare(spark, options.folder, options.sample)
        cost = [["", "seconds"], ["Spark's window('24 hours', '1 minute')", f"{theirs:.1f}"]]
        cost.append(["windrow: Sliding('24h', slide='1m')", f"{ours:.1f}"])
        about = (
            f"The longest call and the number of calls, of the same {options.sample:,} calls, each run once, "
            f"in batch. Spark copies a row into each of the 1,440 windows that hold it; windrow touches it "
            f"once. The results are {'equal' if agree else 'NOT EQUAL: please report this'}."
        )
        record.tables.append(("What it costs without windrow", about, cost))


def main() -> int:
    options = arguments()
    report = options.folder / "report.html"
    settings = argparse.Namespace(
        engine="spark", json=False, quiet=False, verbose=False, report=str(report), overwrite=False
    )
    try:
        job = prepared(options.folder, options.calls)
        record = recorded(job, settings, lambda record, shown: work(job, options, record, shown))
    except (JobError, JobFailed) as error:
        print(f"the demo cannot run: {error}", file=sys.stderr)
        return 1
    except JobInterrupted:
        return 130
    show_results(record)
    for _, about, cost in record.tables:
        print(f"\n{about}\n")
        print("\n".join(f"  {what:42}{seconds:>8} s" for what, seconds in cost[1:]))
    print(f"\nthe job: {job.file}\nthe report: {report}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
