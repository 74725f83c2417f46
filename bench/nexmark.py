"""NEXMark on a Spark stream, on windrow's operator, on Spark's own streams and on Apache Flink: the same
rows.

    python bench/nexmark.py [--quick] [--only q5] [--json FILE]

Queries 5, 6, 7, 11 and 12 over events of the standard mix (``sections/nexmark_events.py``; the queries with
their rules are in ``sections/nexmark_queries.py``). Results of all sides are compared first, which also warms
them; then they run in turn, three times at least. Seconds are those of micro-batches or of the job, without
the start of sessions, clusters and queries. Spark and windrow on it commit their state with each of ten
micro-batches; Flink makes no checkpoint while it is timed. Flink is fetched by Maven on first use, and left
out, with the reason, where that cannot be.
"""

from __future__ import annotations

import shutil
import tempfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from common import Settings, progress
from sections.alternating import Part, alternate
from sections.field_command import ask, field_parser
from sections.flink import Flink, flink_version
from sections.jvm import Unavailable
from sections.nexmark_files import Source, write_sources
from sections.nexmark_queries import QUERIES, NexmarkQuery
from sections.nexmark_sides import FlinkSide, OperatorSide, SparkSide
from sections.spark_session import spark_session

BATCHES = 10
ON_SPARK, OPERATOR, SPARK, FLINK = "windrow on Spark", "windrow's operator", "Spark", "Flink"
NO_FORM = "Spark has no window by rows on streams"


def measure(query: NexmarkQuery, source: Source, sides: dict[str, Any], turns: int, part: Part) -> None:
    asked = {name: side for name, side in sides.items() if name != SPARK or query.spark}
    wanted = None
    for name, side in asked.items():
        progress(f"{query.name} on {name}: results")
        found = side.results(query, source)
        wanted = found if wanted is None else wanted
        assert found.shape == wanted.shape, (
            f"{query.name}: {name} has {len(found)} results, not {len(wanted)}"
        )
        assert np.allclose(found, wanted, rtol=1e-12), f"{query.name}: {name} disagrees"
    progress(f"{query.name}: {turns} turns")
    runs = {name: lambda side=side: side.seconds(query, source) for name, side in asked.items()}
    seconds = alternate(runs, turns)
    what = f"{query.name} {query.title}"
    part.add(what, source.rows, seconds, {ON_SPARK: (SPARK, FLINK), OPERATOR: (FLINK,)})
    part.tables.setdefault("state: bytes, and entries of Spark's own", []).append(
        {
            "query": query.name,
            "results": len(wanted),
            **{f"{name}": side.state.get(query.name, "") for name, side in sides.items()},
        }
    )


def main() -> None:
    parser = field_parser(__doc__, "a million events instead of ten", [query.name for query in QUERIES])
    parser.add_argument("--events", type=int, help="so many of people, auctions and bids together")
    parser.add_argument("--memory", default="3g", help="of Spark's driver, and of Flink")
    given = parser.parse_args()
    events = given.events or Settings(given.quick).pick(10_000_000, 1_000_000)
    part = Part("nexmark", f"NEXMark, {events:,} events")
    folder = Path(tempfile.mkdtemp(prefix="windrow-nexmark-"))
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder)
        progress(f"{events:,} events")
        sources = write_sources(folder, events, BATCHES)
        spark = spark_session(
            given.memory,
            spark_sql_shuffle_partitions="2",
            spark_sql_streaming_numRecentProgressUpdates="1000",
        )
        stack.callback(spark.stop)
        sides: dict[str, Any] = {
            ON_SPARK: SparkSide(spark, folder, is_windrow=True),
            OPERATOR: OperatorSide(),
            SPARK: SparkSide(spark, folder, is_windrow=False),
        }
        part.about["spark"] = spark.version
        part.skipped[f"{SPARK}, q6"] = NO_FORM
        try:
            sides[FLINK] = FlinkSide(stack.enter_context(Flink("SqlRunner", given.memory)), folder)
            part.about["flink"] = flink_version()
        except Unavailable as reason:
            part.skipped[FLINK] = str(reason)
        questions = {
            query.name: partial(measure, query, sources[query.source], sides, given.turns, part)
            for query in QUERIES
        }
        ask(part, questions, given)
    part.show()


if __name__ == "__main__":
    main()
