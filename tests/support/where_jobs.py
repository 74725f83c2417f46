"""A job whose aggregates see some of the rows."""

from __future__ import annotations

from support.cli_jobs import GOOD

_COLUMNS = """\
[source.columns]
is_long = "len > 50"
is_north = "region = 'north'"

"""
_AGGREGATES = """\
long = "count(where=is_long)"
total = "sum(len, where=is_long)"
p90 = "quantile(len, q=0.9, where=is_long)"
who = "arg_max(len, caller, where='is_north')"
n = "count()"
"""
SOME = GOOD.replace("[events]\n", f"{_COLUMNS}[events]\n")
SOME = SOME[: SOME.index("longest =")] + _AGGREGATES + "\n" + SOME[SOME.index("[sink]") :]
SOME = SOME.replace("stream = true\n", "")
SOME = SOME.replace('checkpoint = "checkpoint"\ntrigger = "available_now"\n', "")
