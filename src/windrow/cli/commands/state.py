"""``windrow state``: what a stream keeps in its checkpoint, shown, saved, verified, copied and rescaled."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from windrow.cli.commands.reading import conf_of
from windrow.cli.errors import JobError
from windrow.cli.job import Job, Sink, Source
from windrow.cli.job.secrets import Setting
from windrow.cli.job.spark_conf import spark_without_a_job
from windrow.cli.json_text import json_text
from windrow.cli.show.out import say
from windrow.cli.show.progress import human_time

__all__ = ["execute", "read_slices"]


def execute(options: argparse.Namespace) -> int:
    conf, checkpoint = conf_of(options), options.checkpoint
    if "://" not in checkpoint and not (Path(checkpoint) / "state").is_dir():
        raise JobError(
            f"{checkpoint}: this is not the checkpoint of a stream with state, which has a folder 'state': "
            f"name the folder that is checkpoint in [sink] of the job, once the job has run"
        )
    return _ACTIONS[options.action](options, conf)


def _show(options: argparse.Namespace, conf: Sequence[Setting]) -> int:
    table, watermark = _on_spark(conf, lambda spark: _shown(options.checkpoint, spark))
    if options.json:
        _write_lines(table, sys.stdout)
        return 0
    from windrow.cli.show.tables import text_table

    say(_summary(table, watermark))
    print(text_table(table, options.rows, shutil.get_terminal_size().columns))
    return 0


def _save(options: argparse.Namespace, conf: Sequence[Setting]) -> int:
    path = Path(options.file)
    if path.suffix not in (".parquet", ".csv", ".jsonl"):
        raise JobError(f"{options.file}: give a name that ends in .parquet, .csv or .jsonl")
    if not path.absolute().parent.is_dir():
        raise JobError(f"{options.file}: there is no folder {str(path.parent)!r}: make it first")
    table = read_slices(options.checkpoint, conf)
    part = path.with_name(f".{path.name}.part")
    try:
        _write(table, part, path.suffix)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    say(f"{table.num_rows:,} slices in {options.file}")
    return 0


def _write(table: Any, path: Path, suffix: str) -> None:
    if suffix == ".parquet":
        import pyarrow.parquet as pq

        pq.write_table(table, path)
    elif suffix == ".csv":
        from pyarrow import csv

        csv.write_csv(table, path)
    else:
        with path.open("w") as file:
            _write_lines(table, file)


def _write_lines(table: Any, file: TextIO) -> None:
    from windrow.cli.show.moments import plain_rows

    for row in plain_rows(table):
        print(json_text(row), file=file)


def _check(options: argparse.Namespace, conf: Sequence[Setting]) -> int:
    def check(spark: Any) -> Any:
        from windrow.spark import check_state

        return check_state(options.checkpoint, spark)

    found = _on_spark(conf, check)
    say(f"in order: {found.entries:,} entries of {found.buckets:,} buckets, {found.nbytes:,} bytes")
    return 0


def _fork(options: argparse.Namespace, _: Sequence[Setting]) -> int:
    from windrow.engines.spark.streaming.copies import fork

    with _naming_mistakes():
        fork(options.checkpoint, options.to)
    say(f"{options.to} goes on from where {options.checkpoint} is now")
    return 0


def _rescale(options: argparse.Namespace, conf: Sequence[Setting]) -> int:
    def change(spark: Any) -> Any:
        from windrow.spark import rescale

        with _naming_mistakes():
            return rescale(options.checkpoint, options.partitions, options.to, spark)

    buckets = _on_spark(conf, change)
    say(
        f"{options.to} holds the state in {options.partitions:,} partitions, and {options.checkpoint} is as "
        f"it was. To go on from it, name it as checkpoint in [sink], and set in [spark.conf] "
        f'"spark.sql.shuffle.partitions" = {options.partitions} and "spark.windrow.buckets" = {buckets}'
    )
    return 0


@contextmanager
def _naming_mistakes() -> Iterator[None]:
    """What is wrong with the folders is wrong with the command."""
    try:
        yield
    except (FileExistsError, ValueError) as error:
        raise JobError(str(error)) from error


_ACTIONS = {"show": _show, "save": _save, "check": _check, "fork": _fork, "rescale": _rescale}


def _on_spark(conf: Sequence[Setting], work: Callable[[Any], Any]) -> Any:
    from windrow.cli.execution.spark.failures import guarded
    from windrow.cli.execution.spark.session import open_session

    with open_session(_no_job(conf)) as spark:
        return guarded(work, spark)


def _shown(checkpoint: str, spark: Any) -> tuple[Any, Any]:
    from windrow.spark import watermark_of_state

    return _slices(checkpoint, spark), watermark_of_state(checkpoint, spark)


def read_slices(checkpoint: str, conf: Sequence[Setting]) -> Any:
    """The slices in a checkpoint, as a table."""
    return _on_spark(conf, lambda spark: _slices(checkpoint, spark))


def _slices(checkpoint: str, spark: Any) -> Any:
    from windrow.spark import inspect_state

    return inspect_state(checkpoint, spark)


def _no_job(conf: Sequence[Setting]) -> Job:
    """Spark is started for a job; here there is none."""
    from windrow.query import query

    source = Source("noop", None, False, (), ())
    sink = Sink("noop", None, "error", None, "continuously", ())
    spark = spark_without_a_job("windrow state", conf)
    return Job(Path("state.toml"), source, query(time="ts"), sink, spark)


def _summary(table: Any, watermark: Any) -> str:
    import pyarrow.compute as pc

    from windrow.cli.show.moments import plain_value

    reached = "no watermark yet" if watermark is None else f"watermark {watermark}"
    if not table.num_rows:
        return f"the state is empty, {reached}\n"
    keys = [
        n for n in table.column_names if n not in ("bucket", "part", "first", "last", "rows", "came_late")
    ]
    count = table.group_by(keys).aggregate([]).num_rows if keys else 1
    first, last = plain_value(pc.min(table.column("first"))), plain_value(pc.max(table.column("last")))
    rows = pc.sum(table.column("rows")).as_py()
    return (
        f"{table.num_rows:,} slices of {count:,} keys, {rows:,} rows folded in, "
        f"from {human_time(first)} to {human_time(last)}, {reached}\n"
    )
