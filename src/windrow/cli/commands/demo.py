"""``windrow demo``: five days of phone calls, aggregated while you watch, and a report of it.

The query is that of the Reactive Aggregator paper (figure 1): the longest call of the last 24 hours, how many
were that long and who made it, every minute, per region; with sessions next to it. Without options it runs
in this process. With ``--spark`` the calls are streamed through Spark; then Spark's own ``window()`` and
windrow compute 24-hour windows that slide every ten minutes, and their times are compared. Each time that is
printed covers only what it names.
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

from windrow.cli.commands.run import recorded, run_job
from windrow.cli.demo.calls import DAYS, write_calls
from windrow.cli.demo.day_windows import day_windows, largest_fall, noons
from windrow.cli.errors import JobError
from windrow.cli.job import Job, read_job
from windrow.cli.record import Record
from windrow.cli.show.comparison import Comparison, bar_table
from windrow.cli.show.out import say_line
from windrow.cli.show.progress import human_seconds
from windrow.cli.show.steps import Steps
from windrow.cli.show.tables import text_table

__all__ = ["execute", "show_comparison", "show_summary"]

JOB = Path(__file__).parents[1] / "demo" / "job.toml"
#: calls with and without Spark
_CALLS = {True: 250_000, False: 20_000}


def execute(options: argparse.Namespace) -> int:
    """Run the demo; its exit code."""
    folder = Path(options.folder)
    report = folder.resolve() / "report.html"
    steps = Steps(4 if options.spark else 2)
    job = prepared(folder, options.calls or _CALLS[options.spark], steps)
    if options.spark:
        record, seconds = ran_on_spark(job, report, options.sample, steps)
    else:
        record, seconds = ran_locally(job, report, steps), 0.0
    show_results(record)
    for comparison in record.comparisons:
        show_comparison(comparison)
    show_summary(record, seconds)
    show_next(job, report, options.spark)
    return 0


def prepared(folder: Path, count: int, steps: Steps) -> Job:
    """Make a new folder with the job and its calls; only that of an earlier demo is replaced."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        if not (folder / "phone_calls.toml").is_file():
            raise JobError(f"{folder}: this was not made by windrow demo: name another with --folder")
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(JOB, folder / "phone_calls.toml")
    with steps:
        steps.begin(f"generating {count:,} phone calls")
        before = time.perf_counter()
        files = write_calls(folder / "calls", count)
    seconds = time.perf_counter() - before
    steps.note(f"{count:,} calls of {DAYS} days, out of order, in {files} files: {human_seconds(seconds)}")
    return read_job(folder / "phone_calls.toml")


def _settings(engine: str, report: Path | None) -> argparse.Namespace:
    """What ``windrow run`` would be given."""
    return argparse.Namespace(
        engine=engine,
        json=False,
        quiet=False,
        verbose=False,
        report=report,
        overwrite=False,
        batch_rows=65_536,
    )


def ran_locally(job: Job, report: Path, steps: Steps) -> Record:
    """The job in this process, with its report."""
    steps.begin("aggregating the calls")
    settings = _settings("local", report)
    return recorded(job, settings, lambda record, reporter: run_job(job, settings, record, reporter))


def ran_on_spark(job: Job, report: Path, sample: int, steps: Steps) -> tuple[Record, float]:
    """The job on Spark with the comparison in its report, and the seconds of the comparison."""
    from windrow.cli.report import write_report

    seconds = 0.0
    with _started(job, steps) as (spark, startup):
        record = _streamed(job, spark, startup, steps)
        try:
            if sample:
                comparison, seconds = _compared(job, spark, sample, steps)
                record.comparisons.append(comparison)
        finally:
            write_report(record, report)
    return record, seconds


@contextlib.contextmanager
def _started(job: Job, steps: Steps) -> Iterator[tuple[Any, float]]:
    """Spark, and the seconds of its start."""
    from windrow.cli.execution.spark.session import open_session

    before = time.perf_counter()
    with contextlib.ExitStack() as stack:
        with steps:
            steps.begin("starting Spark")
            spark = stack.enter_context(open_session(job))
        seconds = time.perf_counter() - before
        steps.note(f"Spark has started: {human_seconds(seconds)}")
        yield spark, seconds


def _streamed(job: Job, spark: Any, startup: float, steps: Steps) -> Record:
    """The stream, from its first micro-batch to its last."""
    from windrow.cli.execution.spark.run import run_spark

    def work(record: Record, reporter: Any) -> None:
        record.startup = startup
        run_spark(job, spark, record, reporter, read_back=True)

    steps.begin("streaming the calls through windrow; the first micro-batch starts Python workers")
    return recorded(job, _settings("spark", None), work)


def _compared(job: Job, spark: Any, sample: int, steps: Steps) -> tuple[Comparison, float]:
    """Spark's ``window()`` next to windrow, and the seconds of all of it."""
    from windrow.cli.demo.on_spark import compare
    from windrow.cli.execution.spark.failures import guarded

    before = time.perf_counter()
    with steps:
        steps.begin("windows of 24 hours by Spark's window()")
        found = guarded(compare, spark, job.file.parent, sample, steps.tell)
    return found, time.perf_counter() - before


def show_results(record: Record) -> None:
    """Print how the windows of the day move."""
    table = record.results.table()
    day = None if table is None else day_windows(table)
    fall = None if day is None else largest_fall(day)
    if day is None or fall is None:
        return
    _say(f"\nWindows move. {fall}\nIts windows that end at noon:\n\n{text_table(noons(day, fall.region))}")


def show_comparison(comparison: Comparison) -> None:
    """Print a bar for each time."""
    from rich.console import Console
    from rich.padding import Padding

    console = Console(highlight=False)
    console.print(f"\n{comparison.title}. {comparison.about}\n", markup=False)
    console.print(Padding(bar_table(comparison, console.width - 2, console.options.ascii_only), (0, 0, 0, 2)))
    factors = " and ".join(f"{factor:.0f}" for factor in comparison.factors(0))
    console.print(f"\n  Spark's window() took {factors} times as long.")


def show_summary(record: Record, comparison_seconds: float) -> None:
    """Print rows, results and times in a few lines."""
    steps, totals = record.steps, record.totals
    table = record.results.table()
    kinds = [] if table is None else table.column("window").value_counts().to_pylist()
    counts = {entry["values"]: entry["counts"] for entry in kinds}
    outside = [f"{human_seconds(record.startup)} in which Spark started"] if record.startup else []
    outside += [f"{human_seconds(comparison_seconds)} of comparison"] if comparison_seconds else []
    _say(
        f"\nIn short\n"
        f"  {totals.rows:,} calls in {len(steps)} micro-batches, {human_seconds(record.seconds)}; "
        f"the first took {human_seconds(steps[0].seconds)}, the last {human_seconds(steps[-1].seconds)}\n"
        f"  results: {counts.get('day', 0):,} windows of 24 hours, one per minute and region, "
        f"and {counts.get('spell', 0):,} spells;\n"
        f"    {totals.late:,} calls came too late and were counted"
        + (f"\n  not in that time: {', '.join(outside)}" if outside else "")
    )


def show_next(job: Job, report: Path, on_spark: bool) -> None:
    """Print where the report is, and commands to try."""
    windrow = Path(sys.argv[0]).name if Path(sys.argv[0]).name == "windrow" else "python -m windrow.cli"
    file, checkpoint = _shorter(job.file), _shorter(job.file.parent / "checkpoint")
    lines = [f"\nThe picture, for a browser: {_shorter(report)}\n\nWhat to try next"]
    lines.append(f"  {windrow} explain {file}\n    what runs, with which algorithms, and what is kept")
    if on_spark:
        lines.append(
            f"  {windrow} replay {file} --engine local --speed max\n    the same calls without Spark"
        )
        lines.append(f"  {windrow} state {checkpoint}\n    what the stream keeps for its next run")
    else:
        lines.append(
            f"  {windrow} demo --spark\n    the same on Spark, and Spark's own window() for comparison"
        )
    lines.append(f"  {windrow} new calls\n    a job of your own, with every key explained")
    _say("\n".join(lines))


def _say(text: str) -> None:
    for line in text.split("\n"):
        say_line(line)


def _shorter(path: Path) -> Path:
    """Relative, where that is below the current folder."""
    path = path.resolve()
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
