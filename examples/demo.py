"""The guided tour, ``make demo``: five days of phone calls streamed through Spark, and a report of it.

The query is that of the Reactive Aggregator paper (figure 1): the longest call of the last 24 hours, how many
were that long and who made it, every minute, per region; with sessions beside it. The job is
``examples/phone_calls/job.toml``, run as ``windrow run`` runs it; then windows of 24 hours that slide by ten
minutes are computed by Spark's own ``window()`` and by windrow on fewer calls, and compared. Each time that
is printed is that of what it names alone.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from phone_calls.compare import compare, timed
from phone_calls.generate import DAYS, write_calls
from phone_calls.moves import day_windows, largest_fall, noons

from windrow.cli.commands.run import recorded
from windrow.cli.errors import JobError, JobFailed, JobInterrupted
from windrow.cli.execution.spark.failures import guarded
from windrow.cli.execution.spark.run import run_spark
from windrow.cli.execution.spark.session import open_session
from windrow.cli.job import Job, read_job
from windrow.cli.record import Record
from windrow.cli.report import write_report
from windrow.cli.show.comparison import Comparison, bar_table
from windrow.cli.show.progress import human_seconds
from windrow.cli.show.steps import Steps
from windrow.cli.show.tables import text_table

HERE = Path(__file__).parent


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=250_000)
    parser.add_argument("--sample", type=int, default=20_000, help="most calls of the comparison; 0: none")
    parser.add_argument("--folder", type=Path, default=HERE.parent / ".cache" / "demo")
    return parser.parse_args()


def prepared(folder: Path, count: int, steps: Steps) -> Job:
    """A fresh folder with the job and its calls."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copy(HERE / "phone_calls" / "job.toml", folder / "phone_calls.toml")
    with steps:
        steps.begin(f"generating {count:,} phone calls")
        files, seconds = timed(lambda: write_calls(folder / "calls", count))
    steps.note(f"{count:,} calls of {DAYS} days, out of order, in {files} files: {human_seconds(seconds)}")
    return read_job(folder / "phone_calls.toml")


@contextlib.contextmanager
def started(job: Job, steps: Steps) -> Iterator[tuple[Any, float]]:
    """Spark, and the seconds of its start."""
    before = time.perf_counter()
    with contextlib.ExitStack() as stack:
        with steps:
            steps.begin("starting Spark")
            spark = stack.enter_context(open_session(job))
        seconds = time.perf_counter() - before
        steps.note(f"Spark has started: {human_seconds(seconds)}")
        yield spark, seconds


def streamed(job: Job, spark: Any, startup: float, steps: Steps) -> Record:
    """The stream, from its first micro-batch to its last."""
    settings = argparse.Namespace(
        engine="spark", json=False, quiet=False, verbose=False, report=None, overwrite=False
    )

    def work(record: Record, reporter: Any) -> None:
        record.startup = startup
        run_spark(job, spark, record, reporter, read_back=True)

    steps.begin("streaming the calls through windrow; the first micro-batch starts Python workers")
    return recorded(job, settings, work)


def compared(spark: Any, options: argparse.Namespace, steps: Steps) -> tuple[Comparison, float]:
    """Spark's ``window()`` beside windrow, and the seconds of all of it."""
    with steps:
        steps.begin("windows of 24 hours by Spark's window()")
        found: Comparison
        found, seconds = timed(lambda: guarded(compare, spark, options.folder, options.sample, steps.tell))
    return found, seconds


def ran(options: argparse.Namespace, report: Path) -> tuple[Job, Record, float]:
    """All of it; the seconds are those of the comparison."""
    steps = Steps(4 if options.sample else 3)
    job = prepared(options.folder, options.calls, steps)
    seconds = 0.0
    with started(job, steps) as (spark, startup):
        record = streamed(job, spark, startup, steps)
        try:
            if options.sample:
                comparison, seconds = compared(spark, options, steps)
                record.comparisons.append(comparison)
        finally:
            write_report(record, report)
    return job, record, seconds


def show_results(record: Record) -> None:
    table = record.results.table()
    day = None if table is None else day_windows(table)
    fall = None if day is None else largest_fall(day)
    if day is None or fall is None:
        return
    print(f"\nWindows move. {fall}\nIts windows that end at noon:\n")
    print(text_table(noons(day, fall.region)))


def show_comparison(comparison: Comparison) -> None:
    from rich.console import Console
    from rich.padding import Padding

    console = Console(highlight=False)
    console.print(f"\n{comparison.title}. {comparison.about}\n", markup=False)
    console.print(Padding(bar_table(comparison, console.width - 2, console.options.ascii_only), (0, 0, 0, 2)))
    factors = " and ".join(f"{factor:.0f}" for factor in comparison.factors(0))
    console.print(f"\n  Spark's window() took {factors} times as long.")


def show_summary(record: Record, comparison_seconds: float) -> None:
    steps, totals = record.steps, record.totals
    table = record.results.table()
    kinds = [] if table is None else table.column("window").value_counts().to_pylist()
    counts = {entry["values"]: entry["counts"] for entry in kinds}
    print(
        f"\nIn short\n"
        f"  windrow's stream: {totals.rows:,} calls in {len(steps)} micro-batches, "
        f"{human_seconds(record.seconds)}; the first took {human_seconds(steps[0].seconds)},\n"
        f"    since it starts Python workers and loads kernels, the last {human_seconds(steps[-1].seconds)}\n"
        f"  its results: {counts.get('day', 0):,} windows of 24 hours, one per minute and region, "
        f"and {counts.get('spell', 0):,} spells;\n"
        f"    {totals.late:,} calls came too late and were counted\n"
        f"  not in that time: {human_seconds(record.startup)} in which Spark started"
        + (f", {human_seconds(comparison_seconds)} of comparison" if comparison_seconds else "")
    )


def show_next(job: Job, report: Path) -> None:
    windrow = shorter(Path(sys.executable).parent / "windrow")
    file, checkpoint = shorter(job.file), shorter(job.file.parent / "checkpoint")
    print(
        f"\nThe report, for a browser: {shorter(report)}\n\nWhat to try next\n"
        f"  {windrow} explain {file}\n    what runs, with which algorithms, and what is kept\n"
        f"  {windrow} replay {file} --engine local --speed max\n    the same calls without Spark\n"
        f"  {windrow} state {checkpoint}\n    what the stream keeps for its next run\n"
        f"  {windrow} new calls\n    a job of your own, with every key explained\n"
        f"  docs/getting-started.md goes on from here"
    )


def shorter(path: Path) -> Path:
    """Relative, where that is below the current folder."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def main() -> int:
    options = arguments()
    report = options.folder.resolve() / "report.html"
    try:
        job, record, comparison_seconds = ran(options, report)
    except (JobError, JobFailed) as error:
        print(f"the demo cannot run: {error}", file=sys.stderr)
        return 1
    except JobInterrupted:
        return 130
    show_results(record)
    for comparison in record.comparisons:
        show_comparison(comparison)
    show_summary(record, comparison_seconds)
    show_next(job, report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
