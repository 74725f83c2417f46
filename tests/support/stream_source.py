"""A Spark stream in tests: files in a folder, one a micro-batch, and what a query gives for them."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import windrow as wr


class Source:
    """A folder that a stream reads one file a micro-batch of."""

    def __init__(self, spark: Any, folder: Path, schema: str) -> None:
        self.spark, self.folder, self.schema = spark, folder, schema
        self.checkpoint = str(folder / "checkpoint")
        self.input = folder / "input"
        self.input.mkdir()
        self.runs = 0

    @classmethod
    @contextmanager
    def in_folder(cls, spark: Any, folder: Path, schema: str) -> Iterator[Source]:
        wr.spark.session()
        yield cls(spark, folder, schema)
        shutil.rmtree(folder, ignore_errors=True)

    def write(self, batches: list[pa.Table]) -> None:
        for table in batches:
            number = len(list(self.input.iterdir()))
            path = self.input / f"{number:03}.parquet"
            pq.write_table(table, path)
            os.utime(path, (1_700_000_000 + number,) * 2)  # files are read by age

    def run(self, make: Callable[[Any], Any], mode: str = "append") -> tuple[list[Any], Counter[str]]:
        """Results of all micro-batches, and what was counted."""
        found, counts = self.run_to_table(make, mode)
        return found.to_pylist(), counts

    def run_to_table(self, make: Callable[[Any], Any], mode: str = "append") -> tuple[Any, Counter[str]]:
        """The same, for results that are too many for lists."""
        stream = (
            self.spark.readStream.schema(self.schema)
            .option("maxFilesPerTrigger", "1")
            .parquet(str(self.input))
        )
        self.runs += 1
        output = self.folder / f"output{self.runs}"
        writer = make(stream).writeStream.outputMode(mode).option("checkpointLocation", self.checkpoint)
        query = writer.foreachBatch(keep_in(output)).trigger(availableNow=True).start()
        query.awaitTermination()
        return kept_in(output), counted(query)


def keep_in(folder: Path) -> Callable[[Any, int], None]:
    """For ``foreachBatch``, which runs elsewhere on Spark Connect: write each micro-batch into a folder."""
    place = str(folder)

    def keep(frame: Any, number: int) -> None:
        frame.write.parquet(f"{place}/{number:03}")

    return keep


def kept_in(folder: Path) -> pa.Table:
    """All micro-batches that were written there."""
    tables = [pq.read_table(batch) for batch in sorted(folder.iterdir())]
    return pa.concat_tables(tables, promote_options="permissive")


def counted(query: Any) -> Counter[str]:
    """What a stream has counted in all its micro-batches."""
    counts: Counter[str] = Counter()
    for progress in query.recentProgress:
        for each in wr.spark.stream_counts(progress).values():
            counts.update({name: count for name, count in each.items() if name != "late_at"})
    return counts
