"""NEXMark's rows on disk: in micro-batches for Spark and for windrow's operator, and in two halves for Flink.

After the last row comes one more, an hour later: it moves the watermark past all windows, so that they are in
the results of streams that never end. What falls into its own windows is left out when results are compared.
"""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sections.nexmark_events import closed_auctions, generate

__all__ = ["FILES", "Source", "write_sources"]

#: files of a micro-batch: a task each
FILES = 2
_HOUR_MS = 3_600_000


@dataclass(frozen=True)
class Source:
    """The rows of one stream in both layouts."""

    rows: int
    #: micro-batches for Spark, ``FILES`` files each
    batches: Path
    #: files that each span all of the time, for sources that read side by side
    halves: list[Path]
    #: results from here on are of the closing row
    end_ms: int

    def tables(self) -> list[list[Path]]:
        """The files of each micro-batch."""
        files = sorted(self.batches.iterdir())
        return [files[k : k + FILES] for k in range(0, len(files), FILES)]


def write_sources(folder: Path, events: int, batches: int, seed: int = 7) -> dict[str, Source]:
    """``bids`` and ``closed``."""
    made = generate(events, seed)
    closed = closed_auctions(made)
    # the order of closing is that of one seller's rows, so they stay in one file
    return {
        "bids": _write(folder / "bids", made.bids, batches, 2),
        "closed": _write(folder / "closed", closed, batches, 1),
    }


def _write(folder: Path, rows: pa.Table, batches: int, halves: int) -> Source:
    end_ms = int(rows["ms"][-1].as_py()) + _HOUR_MS
    closing = pa.table({name: [end_ms if name == "ms" else -1] for name in rows.column_names})
    (folder / "batches").mkdir(parents=True)
    edges = np.linspace(0, rows.num_rows, batches * FILES + 1).astype(int)
    for k, (first, end) in enumerate(itertools.pairwise(edges)):
        _save(folder / "batches" / f"{k:05}.parquet", rows.slice(first, end - first), k)
    _save(folder / "batches" / f"{len(edges):05}.parquet", closing, len(edges))
    paths = [folder / f"half-{half}.parquet" for half in range(halves)]
    for half, path in enumerate(paths):
        some = rows.take(np.arange(half, rows.num_rows, halves))
        _save(path, pa.concat_tables([some, closing]) if half == 0 else some, half)
    return Source(rows.num_rows, folder / "batches", paths, end_ms - _HOUR_MS // 2)


def _save(path: Path, rows: pa.Table, number: int) -> None:
    times: Any = pa.array(rows["ms"].to_numpy().astype("M8[ms]").astype("M8[us]"), pa.timestamp("us", "UTC"))
    pq.write_table(rows.drop_columns("ms").append_column("ts", times), path)
    os.utime(path, (1_700_000_000 + number,) * 2)  # Spark's source takes files in this order
