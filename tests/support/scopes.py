"""Which tests run in one process, one after the other, when several processes share the tests.

Tests that share a Spark session run in one process, with one JVM. Tests that start sessions of their own run
in one other process, one after the other. Both wait more than they compute and take longest, so they begin
first (pytest-xdist begins with the largest scopes). Every other test is by itself.
"""

from __future__ import annotations

__all__ = ["SHARED", "scope_of"]

#: where tests share one Spark session, and those among them that start their own
SHARED = "tests/engines/spark"
OWN_SESSION = {"test_cluster.py", "test_connect.py", "test_exactly_once.py"}


def scope_of(nodeid: str) -> str:
    """The name of what a test runs together with.

    >>> scope_of("tests/engines/spark/test_types.py::test_dates")
    'a Spark session for all'
    >>> scope_of("tests/engines/spark/test_cluster.py::test_results")
    'Spark sessions of their own'
    >>> scope_of("tests/engines/spark/worker/test_buckets.py::test_equal_keys")
    'tests/engines/spark/worker/test_buckets.py::test_equal_keys'
    """
    folder, _, name = nodeid.partition("::")[0].rpartition("/")
    if folder != SHARED:
        return nodeid
    return "Spark sessions of their own" if name in OWN_SESSION else "a Spark session for all"
