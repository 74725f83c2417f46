"""A query of NEXMark on windrow's operator, on Spark streams, and on Flink: seconds, state, results."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sections.flink import Flink
from sections.nexmark_files import FILES, Source
from sections.nexmark_queries import WATERMARK, NexmarkQuery

import windrow as wr

__all__ = ["FlinkSide", "OperatorSide", "SparkSide"]


_COUNTED = "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows"


def _rows(columns: list[Any], source: Source) -> Any:
    """Results as numbers, times in milliseconds, sorted, without those of the closing row."""
    found = np.column_stack([_numbers(column) for column in columns])
    found = found[found[:, 0] < source.end_ms]
    return found[np.lexsort(found.T[::-1])]


def _numbers(column: Any) -> Any:
    values = np.asarray(column)
    return values.astype("M8[ms]").astype(float) if values.dtype.kind == "M" else values.astype(float)


def _columns(result: pa.Table) -> list[Any]:
    return [column.to_numpy() for column in result.columns]


@dataclass
class OperatorSide:
    """``query.open()``, pushed one micro-batch after the other as it is read from disk."""

    state: dict[str, float] = field(default_factory=dict)

    def seconds(self, query: NexmarkQuery, source: Source) -> float:
        begun = time.perf_counter()
        self._run(query, source)
        return time.perf_counter() - begun

    def results(self, query: NexmarkQuery, source: Source) -> Any:
        result = pa.concat_tables(self._run(query, source)).select(query.results)
        return _rows(_columns(result), source)

    def _run(self, query: NexmarkQuery, source: Source) -> list[pa.Table]:
        operator = query.windrow().open()
        found, largest = [], 0
        for files in source.tables():
            columns = ["ts", *query.columns]
            found.append(operator.push(pa.concat_tables([pq.read_table(f, columns=columns) for f in files])))
            largest = max(largest, operator.metrics.state_bytes)
        self.state[query.name] = largest
        return [*found, operator.finish()]


class SparkSide:
    """Streams over the same micro-batches: Spark's own form, or windrow's."""

    def __init__(self, spark: Any, folder: Path, is_windrow: bool) -> None:
        self._spark, self._folder, self._is_windrow = spark, folder, is_windrow
        self._number = itertools.count()
        #: bytes, or entries of Spark's state store
        self.state: dict[str, float] = {}

    def seconds(self, query: NexmarkQuery, source: Source) -> float:
        """What its micro-batches took together, without the start of the query."""
        progresses = self._run(query, source, lambda writer: writer.format("noop"))
        return sum(p["durationMs"]["triggerExecution"] for p in progresses) / 1_000

    def _held(self, progress: Any) -> float:
        if self._is_windrow:
            return float(sum(counts["state_bytes"] for counts in wr.spark.stream_counts(progress).values()))
        return float(sum(operator["numRowsTotal"] for operator in progress["stateOperators"]))

    def results(self, query: NexmarkQuery, source: Source) -> Any:
        """And how large the state was at most; Spark counts its entries here, which takes it time."""
        name = f"{query.name}_{'windrow' if self._is_windrow else 'spark'}"
        usual = self._spark.conf.get(_COUNTED)
        self._spark.conf.set(_COUNTED, "true")
        progresses = self._run(query, source, lambda writer: writer.format("memory").queryName(name))
        self._spark.conf.set(_COUNTED, usual)
        self.state[query.name] = max(map(self._held, progresses))
        table = self._spark.table(name).toArrow()
        return _rows(_columns(table.select(query.results) if self._is_windrow else table), source)

    def _run(self, query: NexmarkQuery, source: Source, sink: Callable[[Any], Any]) -> list[Any]:
        stream = (
            self._spark.readStream.schema(self._spark.read.parquet(str(source.halves[0])).schema)
            .option("maxFilesPerTrigger", FILES)
            .parquet(str(source.batches))
            .select("ts", *query.columns)
        )
        if self._is_windrow:
            result = query.windrow().run(stream)
        else:
            assert query.spark
            result = query.spark(stream.withWatermark("ts", WATERMARK))
        checkpoint = self._folder / f"checkpoint-{self._is_windrow}-{next(self._number)}"
        writer = sink(result.writeStream).outputMode("append").option("checkpointLocation", str(checkpoint))
        running = writer.trigger(availableNow=True).start()
        running.awaitTermination()
        return list(running.recentProgress)


class FlinkSide:
    """Flink SQL on a local cluster of two slots, state on the heap, no checkpoints while it is timed."""

    def __init__(self, flink: Flink, folder: Path) -> None:
        self._flink, self._folder = flink, folder
        self._number = itertools.count()
        self.state: dict[str, float] = {}

    def seconds(self, query: NexmarkQuery, source: Source) -> float:
        script = self._script(query, source, into_nothing=True)
        return float(self._flink.ask(script, "-", "-")[0])

    def results(self, query: NexmarkQuery, source: Source) -> Any:
        """Of a run with checkpoints, whose largest is the size of the state."""
        number = next(self._number)
        rows, checkpoints = self._folder / f"rows-{number}.tsv", self._folder / f"checkpoints-{number}"
        self._flink.ask(self._script(query, source, into_nothing=False), rows, checkpoints)
        sizes = [_size(made) for made in checkpoints.glob("*/chk-*")]
        self.state[query.name] = max(sizes, default=0)
        columns = zip(*(line.split("\t") for line in rows.read_text().splitlines()), strict=True)
        return _rows([_parsed(column) for column in columns], source)

    def _script(self, query: NexmarkQuery, source: Source, into_nothing: bool) -> Path:
        tables = [_table(k, path) for k, path in enumerate(source.halves)]
        names = " UNION ALL ".join(f"SELECT * FROM events_{k}" for k in range(len(tables)))
        statements = [*tables, f"CREATE TEMPORARY VIEW events AS {names}"]
        last = query.flink
        if into_nothing:
            kinds = ["TIMESTAMP(3)", "TIMESTAMP(3)", "BIGINT", "BIGINT"][: len(query.results)]
            kinds = ["TIMESTAMP(3)", "BIGINT", "DOUBLE"] if query.results[0] == "ts" else kinds
            columns = ", ".join(f"c{k} {kind}" for k, kind in enumerate(kinds))
            statements.append(f"CREATE TABLE nothing ({columns}) WITH ('connector' = 'blackhole')")
            last = f"INSERT INTO nothing {query.flink}"
        script = self._folder / f"{query.name}-{into_nothing}.sql"
        script.write_text(";\n".join([*statements, last]))
        return script


def _table(number: int, path: Path) -> str:
    columns = {"auction": "BIGINT", "bidder": "BIGINT", "seller": "BIGINT", "price": "BIGINT"}
    there = ", ".join(f"{n} {columns[n]}" for n in pq.read_schema(path).names if n in columns)
    return (
        f"CREATE TABLE events_{number} ({there}, ts TIMESTAMP(3), "
        "WATERMARK FOR ts AS ts - INTERVAL '4' SECOND) "
        f"WITH ('connector' = 'filesystem', 'path' = 'file://{path}', 'format' = 'parquet')"
    )


def _parsed(column: tuple[str, ...]) -> Any:
    return np.array(column, "M8[ms]") if "T" in column[0] else np.array(column, float)


def _size(folder: Path) -> float:
    return float(sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()))
