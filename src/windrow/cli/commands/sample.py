"""What ``windrow new`` writes: a job with all its keys explained, and an afternoon of phone calls."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import datetime, timedelta

__all__ = ["JOB", "MONOIDS", "sample_files"]

JOB = """\
# A windrow job: where rows come from, which windows they belong to, what is computed, where results go.
# Every key is explained in docs/cli.md. Paths are relative to this file.

[source]
format = "csv"              # any Spark format: parquet, json, csv, kafka, delta, rate, ...
path = "data"
stream = true               # false: a finite table, computed at once
# where = "len > 0"         # an expression (Spark SQL): rows for which it is not true are left out

[source.options]            # options of the format; secrets: password = { env = "NAME" }
header = true
maxFilesPerTrigger = 1

[source.schema]             # columns and their types, as Spark writes them; a stream of files needs them
ts = "timestamp"
region = "string"
caller = "string"
len = "long"

# [source.columns]          # derived columns (Spark SQL), in order, before where; docs/cli.md has a list
# minutes = "len / 60"
# region = "upper(region)"  # takes the place of the source's

# [source.value]            # of kafka: read its values into the columns of the schema
# format = "json"

[events]
time = "ts"                 # the column of event times
by = ["region"]             # each region has windows of its own
watermark = "10m"           # rows may be up to 10 minutes out of order
# allowed_lateness = "30m"  # rows later than that may still correct windows that came out
# late = "return"           # return late rows, in the column `late`
# on_error = "reject"       # leave out rows over which an aggregate of your own raises

[[window]]                  # any number of windows share one pass over the rows
name = "hour"
kind = "sliding"            # also tumbling, session, cumulative, fixed, rows, delta, punctuation,
                            # threshold, policy
size = "1h"
slide = "5m"

[[window]]
name = "spell"
kind = "session"            # rows with no longer silence than this between them
gap = "1m"

# [rolling]                 # instead of windows: a result for every row
# size = "1h"               # or ["1h", "1d"], rows = 1000, evict_while; also closed, shift, timezone

# [asof]                    # instead of windows: a result for every label in [at]
# size = ["1d", "7d"]       # what came before it; also rows, closed, lag, direction, timezone
# [at]                      # the labels: moments to look from, and the keys to look at
# format = "parquet"
# path = "labels"
# time = "decided_at"
# by = ["region"]

# [history]                 # of a stream: rows before it, of which its state is made when it first starts
# format = "parquet"
# path = "archive"
# until = 2024-05-01T00:00:00Z   # the stream's rows from before it are left out
# takes_over = "old"        # in place of until: the checkpoint of a stream that this one replaces

[agg]                       # result column = aggregate(column, ...)
longest = "max(len)"
ties = "max_count(len)"
who = "max_by(caller, len)"
mean = "mean(len)"
calls = "count()"
# spread = "spread(len)"    # your own: windrow run job.toml --monoids monoids.py

[sink]
format = "json"             # any Spark format; parquet, csv, json and console also without Spark
path = "results"
checkpoint = "checkpoint"   # progress and state of the stream; delete it, and the results, to start again
trigger = "available_now"   # take what is there and end; "continuously", or a pause such as "10s"

# [late]                    # where late rows go, and rejected ones
# format = "json"
# path = "late"
# [rejected]
# format = "json"
# path = "rejected"

[spark]
master = "local[2]"

[spark.conf]                # Spark settings
"spark.sql.shuffle.partitions" = 2
"""

MONOIDS = '''\
"""Your own aggregates, for `windrow run job.toml --monoids monoids.py`; `windrow check` tries their laws."""

import windrow as wr

spread = wr.monoid(
    name="spread",
    lift=lambda x: (x, x),
    combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
    lower=lambda s: s[1] - s[0],
    identity=(float("inf"), float("-inf")),
    commutative=True,
    result_type="float64",
)
'''

_FILES = 6
_CALLS = 500
_START = datetime(2024, 5, 1, 12)


def sample_files() -> Iterator[tuple[str, str]]:
    """Files of an hour each. Calls are logged up to 8 minutes late, a few of them hours."""
    draw = random.Random(1876)
    for number in range(_FILES):
        rows = [_call(draw, number) for _ in range(_CALLS)]
        rows.sort(key=lambda row: row[0])
        lines = [
            f"{ts:%Y-%m-%dT%H:%M:%S}Z,{region},{caller},{length}" for _, ts, region, caller, length in rows
        ]
        yield f"calls-{number}.csv", "\n".join(["ts,region,caller,len", *lines, ""])


def _call(draw: random.Random, hour: int) -> tuple[float, datetime, str, str, int]:
    minute = hour * 60 + draw.uniform(0, 60)
    is_late = hour > 3 and draw.random() < 0.01
    moment = _START + timedelta(minutes=minute - (200 if is_late else 0))
    region = draw.choices(["north", "east", "south", "islands"], [60, 30, 25, 3])[0]
    logged = minute + draw.uniform(0, 8)
    return logged, moment, region, f"c{draw.randrange(400):03}", round(draw.lognormvariate(4.5, 1.1))
