"""Checkpoints that are copied, verified, and rescaled: a stream goes on from each copy as from the one it is
of, and what fails leaves that one as it was."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from engines.spark.spark_frames import KIND
from support.stream_source import Source
from windrow.cli.main import main
from windrow.engines.spark.streaming import copies
from windrow.errors import CorruptState
from windrow.testing import assert_same_results

SCHEMA = "ts long, key string, s string"
QUERY = (
    wr.query(time="ts", by="key", watermark=5)
    .window(slide=wr.Sliding(40, slide=10), visit=wr.Session(4), five=wr.Rows(5))
    .agg(n=wr.count(), text=wr.concat("s"))
)
#: Spark Connect does not offer what spreads state over other partitions
CAN_RESCALE = KIND == "master"
PARTITIONS, BUCKETS = "spark.sql.shuffle.partitions", "spark.windrow.buckets"


def batch(place: int) -> pa.Table:
    numbers = range(place * 40, (place + 1) * 40)
    return pa.table(
        {
            "ts": [30 * place + (7 * k) % 40 for k in range(40)],
            "key": [f"key {number % 7}" for number in numbers],
            "s": [f"<{number}>" for number in numbers],
        }
    )


BATCHES = [batch(place) for place in range(3)]


@pytest.fixture
def source(spark: Any, tmp_path: Path) -> Iterator[Source]:
    before = spark.conf.get(PARTITIONS)
    spark.conf.set(BUCKETS, "6")
    with Source.in_folder(spark, tmp_path, SCHEMA) as found:
        yield found
    spark.conf.set(PARTITIONS, before)
    spark.conf.unset(BUCKETS)


def test_a_stream_goes_on_in_other_partitions_and_its_fork_by_itself(source: Source, capfd: Any) -> None:
    operator = QUERY.open(lateness="spark")

    def expected(table: pa.Table) -> list[Any]:
        return operator.push(table).to_pylist() + operator.push(table.slice(0, 0)).to_pylist()

    def found(checkpoint: str) -> list[Any]:
        source.checkpoint = checkpoint
        return source.run(QUERY.run)[0]

    point = source.checkpoint
    source.write(BATCHES[:1])
    assert_same_results(found(point), expected(BATCHES[0]))
    forked = f"{point}-forked"
    wr.spark.fork(point, forked)
    for place, partitions in enumerate((8, 3), start=1):
        if CAN_RESCALE:
            source.spark.conf.set(PARTITIONS, str(partitions))
            assert wr.spark.rescale(point, partitions, f"{point}{place}", source.spark) == 6
            shutil.rmtree(point)  # a copy needs nothing of what it is of
            point = f"{point}{place}"
        source.write(BATCHES[place : place + 1])
        assert_same_results(found(point), expected(BATCHES[place]))
    verified = wr.spark.check_state(point, source.spark)
    assert verified.buckets == 6
    assert verified.entries > 12
    again = QUERY.open(lateness="spark")
    for table in BATCHES[:1]:
        again.push(table), again.push(table.slice(0, 0))
    rest = [row for table in BATCHES[1:] for row in again.push(table).to_pylist()]
    source.spark.conf.set(PARTITIONS, "3" if CAN_RESCALE else "2")
    with running(source, point):
        source.spark.conf.set(PARTITIONS, "2")
        assert_same_results(found(forked), rest + again.push(BATCHES[0].slice(0, 0)).to_pylist())
    _check_commands(forked, source.folder, capfd)


@contextmanager
def running(source: Source, checkpoint: str) -> Iterator[None]:
    """While a stream goes on from a checkpoint, in the same application."""
    rows = source.spark.readStream.schema(SCHEMA).parquet(str(source.input))
    writer = QUERY.run(rows).writeStream.option("checkpointLocation", checkpoint).format("noop")
    stream = writer.trigger(processingTime="1 hour").start()
    try:
        yield
        assert stream.isActive
    finally:
        stream.stop()


def _check_commands(checkpoint: str, folder: Path, capfd: Any) -> None:
    assert main(["state", "check", checkpoint]) == 0
    assert main(["state", "save", checkpoint, str(folder / "slices.csv")]) == 0
    assert main(["state", "fork", checkpoint, "--to", str(folder / "again")]) == 0
    rescaled = main(["state", "rescale", checkpoint, "--partitions", "3", "--to", str(folder / "three")])
    said = "".join(capfd.readouterr())
    assert "in order: " in said
    assert rescaled == (0 if CAN_RESCALE else 1)
    assert ('"spark.windrow.buckets" = 6' if CAN_RESCALE else "and not over Spark Connect") in said
    assert "key 3" in (folder / "slices.csv").read_text()
    assert main(["state", "fork", checkpoint, "--to", str(folder / "again")]) == 2
    assert "is there already" in "".join(capfd.readouterr())


def test_what_fails_leaves_the_checkpoint_as_it_was(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    point, folder = Path(source.checkpoint), source.folder
    (point / "state").mkdir(parents=True)
    (point / "metadata").write_text("{}")
    monkeypatch.setattr(copies, "buckets_of", lambda *_: 2)

    def fail(*_: Any) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(copies, "repartition_state", fail)
    before = sorted(path.name for path in folder.iterdir())
    with pytest.raises(OSError, match="the disk is full"):
        wr.spark.rescale(str(point), 3, f"{point}3", source.spark)
    assert sorted(path.name for path in folder.iterdir()) == before
    with pytest.raises(ValueError, match="is not the checkpoint of a stream"):
        wr.spark.fork(str(folder), f"{point}3")
    with pytest.raises(ValueError, match="is not a folder of this machine"):
        wr.spark.fork("s3://bucket/point", f"{point}3")


def flipped(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


def test_a_bucket_that_lacks_an_entry_is_corrupt() -> None:
    from support.packed_stream import PackedStream
    from windrow.engines.spark.streaming.verify import check_bucket

    stream = PackedStream(QUERY, BATCHES[0].schema)
    stream.batch(BATCHES[0], 20)
    for bucket, held in stream.entries.items():
        entries = {"header": held.head, "fence": held.guard, **held.blocks}
        check_bucket(bucket, entries)
        for name in entries:
            with pytest.raises(CorruptState):
                check_bucket(bucket, {k: v for k, v in entries.items() if k != name} | {"fence": b"none"})
            with pytest.raises(CorruptState):
                check_bucket(bucket, entries | {name: flipped(entries[name])})
