"""Checkpoints that are copied, and spread over another number of partitions: offline, of a stream that is
stopped.

A copy is made beside its place and moved there when it is complete: the checkpoint that it is of stays as it
is, and whatever fails leaves it so. Spark's metadata name some files of the checkpoint by their whole paths:
in a copy they name its own.

State is spread by bucket of keys, and the buckets of a stream stay what they are for as long as it lives
(``spark.windrow.buckets``), so that Spark's own repartitioning, which moves keys of state, moves buckets.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from windrow.engines.spark.compat import repartition_state
from windrow.engines.spark.streaming.checkpoint import buckets_of, running_session
from windrow.engines.stream.persistence.stored_state import lineage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["fork", "rescale"]

#: in this order: what commits refer to was there before them
_PARTS = ("commits", "offsets", "sources", "metadata", "state")


def fork(checkpoint: str, to: str) -> None:
    """Copy a checkpoint to a folder that is not there yet; another stream resumes from the copy.

    Stop the stream for so long as this takes. The copy has an id of its own, so that Spark runs both, and is
    known by its first parts to be of the same stream."""
    with _copy(_local(checkpoint), _free(to)) as part:
        _give_id(part / "metadata")


def rescale(checkpoint: str, partitions: int, to: str, spark: SparkSession | None = None) -> int:
    """Copy a checkpoint to a folder that is not there yet, with its state in another number of partitions.

    The stream resumes from the copy with ``spark.sql.shuffle.partitions`` set to that number, and
    ``spark.windrow.buckets`` to the number of buckets that this gives back: what it had from its first start,
    by default that of its partitions then. Needs PySpark 4.2 or newer, and not Spark Connect."""
    if partitions < 1:
        raise ValueError(f"partitions={partitions!r}: give a whole number of at least 1")
    spark = running_session(spark)
    buckets = buckets_of(checkpoint, spark)
    if buckets is None:
        raise ValueError(
            f"there is no state at {checkpoint!r}: no micro-batch of a stream was completed there"
        )
    with _copy(_local(checkpoint), _free(to)) as part:
        repartition_state(spark, str(part), partitions)
    return buckets


def _local(path: str) -> Path:
    found = path.removeprefix("file://").removeprefix("file:")
    if "://" in found:
        raise ValueError(
            f"{path!r} is not a folder of this machine: copy it here with the tools of its file system, and "
            f"the result back"
        )
    return Path(found).absolute()


def _free(path: str) -> Path:
    found = _local(path)
    if found.exists():
        raise FileExistsError(f"{path!r} is there already: name a folder that is not")
    return found


@contextmanager
def _copy(checkpoint: Path, target: Path) -> Iterator[Path]:
    """A copy beside its place, which it takes once nothing has failed."""
    if not (checkpoint / "metadata").is_file():
        raise ValueError(f"{str(checkpoint)!r} is not the checkpoint of a stream: it has no file 'metadata'")
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.{uuid4().hex[:8]}.part")
    try:
        part.mkdir()
        for name in _PARTS:
            found = checkpoint / name
            if found.is_dir():
                shutil.copytree(found, part / name)
            elif found.exists():
                shutil.copy2(found, part / name)
        _name_own_files(part, part)
        yield part
        _name_own_files(part, target)
        os.rename(part, target)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _give_id(metadata: Path) -> None:
    """Let a stream have another id, of the same lineage."""
    stored = json.loads(metadata.read_text())
    stored["id"] = f"{lineage(stored['id'])}-{uuid4().hex[-12:]}"
    metadata.write_text(json.dumps(stored, separators=(",", ":")))
    metadata.with_name(f".{metadata.name}.crc").unlink(missing_ok=True)


def _name_own_files(checkpoint: Path, place: Path) -> None:
    """Let the metadata of operators name files as they will be called once the checkpoint is in its place."""
    for path in checkpoint.glob("state/*/_metadata/v2/[0-9]*"):
        version, _, text = path.read_text().partition("\n")
        stored = json.loads(text)
        for store in stored.get("stateStoreInfo", ()):
            names = store.get("stateSchemaFilePaths", ())
            store["stateSchemaFilePaths"] = [_moved(name, place) for name in names]
        path.write_text(f"{version}\n{json.dumps(stored, separators=(',', ':'))}")
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def _moved(name: str, place: Path) -> str:
    """
    >>> _moved("file:/old/point/state/0/_stateSchema/default/0_ab", Path("/new"))
    'file:/new/state/0/_stateSchema/default/0_ab'
    """
    before, sign, operator = name.partition("/_stateSchema/")
    number = before.rpartition("/state/")[2]
    return f"file:{place}/state/{number}{sign}{operator}"
