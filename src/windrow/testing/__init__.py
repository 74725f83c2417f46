"""Tools for tests of windrow and of code that uses it: an oracle, a comparison of results, generated streams.

- :func:`evaluate` computes a query by brute force from the definitions, and is never optimised: what any
  engine gives is tested against it.
- :class:`StreamOracle` does the same for endless input: pushes, watermarks and late rows.
- :func:`run_transcript` runs a behaviour written as data (YAML: rows, watermarks, expected results) on any
  operator; :func:`run_on_oracle` runs it on that oracle, and :func:`list_transcripts` finds them.
- :func:`no_leak` changes every event that a label of an as-of query must not see, and demands equal results.
- :func:`assert_same_results` compares tables of results of any kind, whatever the order of their rows.
- :mod:`windrow.testing.strategies` draws streams, windows, aggregates and queries for Hypothesis.

Strategies need Hypothesis, and transcripts in files PyYAML: both are in the extra ``testing``. The rest needs
nothing but windrow. docs/testing.md shows how to use all of it.

>>> import windrow as wr
>>> from windrow.testing import assert_same_results, evaluate
>>> calls = [{"ts": 12, "len": 4}, {"ts": 3, "len": 5}, {"ts": 7, "len": 9}]
>>> longest = wr.query(time="ts").window(wr.Tumbling(10)).agg(longest=wr.max("len"))
>>> evaluate(longest, calls)
[{'window_start': 0, 'window_end': 10, 'longest': 9}, {'window_start': 10, 'window_end': 20, 'longest': 4}]

Nothing in windrow imports this package.
"""

from windrow.testing.comparison import assert_same_results
from windrow.testing.leaks import no_leak
from windrow.testing.oracle import evaluate
from windrow.testing.oracle.stream import StreamOracle
from windrow.testing.tables import rows_of
from windrow.testing.transcripts import list_transcripts, run_on_oracle, run_transcript

__all__ = [
    "StreamOracle",
    "assert_same_results",
    "evaluate",
    "list_transcripts",
    "no_leak",
    "rows_of",
    "run_on_oracle",
    "run_transcript",
]
