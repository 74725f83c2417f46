"""What a stream left behind, held against the job that is to go on from it.

A stream with a changed query refuses its checkpoint when rows come; a stream with a new checkpoint writes
nothing where an older one has written files, since Spark takes its micro-batches for done. Both are refused
before the stream starts, and the second before Spark does.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from windrow.cli.errors import JobError
from windrow.cli.job import Job

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["check_goes_on", "check_results", "has_begun"]

#: formats of which Spark keeps a log of micro-batches beside the results
_LOGGED = ("parquet", "csv", "json", "orc", "xml", "avro")


def check_goes_on(job: Job, spark: SparkSession) -> list[str]:
    """Refuse a checkpoint of another query now: the stream would when rows come, which may be much later.
    Gives what there is to say of one that fits."""
    from windrow.spark import check_checkpoint

    checkpoint = job.sink.checkpoint
    if checkpoint is None:
        return []
    try:
        added = check_checkpoint(job.query, checkpoint, spark)
    except ValueError as error:
        afresh = "another checkpoint and another path" if job.sink.path else "another checkpoint"
        raise JobError(
            f"{job.file}: [sink] checkpoint {job.sink.checkpoint}: {str(error).removesuffix('.')}. To start "
            f"afresh, name {afresh}"
        ) from error
    if not added:
        return []
    others = "another checkpoint and path" if job.sink.path else "another checkpoint"
    return [
        f"{', '.join(added)} {'was' if len(added) == 1 else 'were'} added since {checkpoint} was begun, and "
        f"will see the rows from now on alone. To fill what was added from history, name {others} in [sink] "
        f'and write takes_over = "{checkpoint}" in [history], with the rows before'
    ]


def check_results(job: Job) -> None:
    """Refuse a folder of results in which Spark would take new micro-batches for written: their results would
    be lost without a word. Folders that are not on this machine are not looked at."""
    if job.source.is_stream:
        _check_folders(job)
    sink = job.sink
    results, checkpoint = _here(sink.path), _here(sink.checkpoint)
    if (
        not job.source.is_stream
        or sink.format.lower() not in _LOGGED
        or results is None
        or checkpoint is None
    ):
        return
    if _latest(results / "_spark_metadata") > _latest(checkpoint / "offsets"):
        raise JobError(
            f"{job.file}: [sink] path {sink.path}: a stream with another checkpoint than {sink.checkpoint} "
            f"has written there, and Spark would leave out the first results of this one as written already: "
            f"name another path, or the checkpoint of that stream"
        )


def _check_folders(job: Job) -> None:
    """Micro-batches in folders of their own do not go with files of which Spark keeps a log: readers would
    see the one or the other. And those of another stream would be written over."""
    checkpoint = _here(job.sink.checkpoint)
    for sink in job.sinks:
        results, place = _here(sink.path), f"{job.file}: [{sink.table}] path {sink.path}"
        if results is None or sink.format.lower() not in _LOGGED:
            continue
        last = max((int(number) for number in _folders(results)), default=-1)
        if (job.dead_letters and (results / "_spark_metadata").exists()) or (
            not job.dead_letters and last >= 0
        ):
            raise JobError(
                f"{place}: a stream has written there {'without' if job.dead_letters else 'with'} [late] or "
                f"[rejected], which lay files out differently: name another path"
            )
        if checkpoint is not None and last > _latest(checkpoint / "offsets"):
            raise JobError(
                f"{place}: a stream with another checkpoint than {job.sink.checkpoint} has written there, "
                f"and this one would write over it: name another path, or the checkpoint of that stream"
            )


def _folders(results: Path) -> list[str]:
    """The numbers of micro-batches that have a folder."""
    named = [folder.name.removeprefix("micro_batch=") for folder in results.glob("micro_batch=*")]
    return [number for number in named if number.isdigit()]


def has_begun(checkpoint: str) -> bool:
    """Whether a stream may have completed something; what is elsewhere may."""
    here = _here(checkpoint)
    return here is None or _latest(here / "commits") >= 0


def _here(path: str | None) -> Path | None:
    """A folder on this machine."""
    if path is None or "://" in path or path.startswith(("hdfs:", "dbfs:")):
        return None
    return Path(path.removeprefix("file:"))


def _latest(log: Path) -> int:
    """The last number in a Spark log, of which each entry is a file; -1: there is none."""
    names = [file.name.removesuffix(".compact") for file in log.iterdir()] if log.is_dir() else []
    return max((int(name) for name in names if name.isdigit()), default=-1)
