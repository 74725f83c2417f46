"""Which tests run in one process, one after the other, when several processes share the tests.

Tests that share a Spark session run in two processes, with one JVM each: those of streams in one, those of
tables in the other. Tests that start sessions of their own run in one other process, one after the other. All
three wait more than they compute and take longest, so they begin first (pytest-xdist begins with the largest
scopes). Every other test is by itself.
"""

from __future__ import annotations

__all__ = ["OWN_SESSION", "SHARED", "scope_of"]

#: where tests share a Spark session
SHARED = "tests/engines/spark"
#: those among them that start their own
OWN_SESSION = {
    "test_cluster.py",
    "test_connect.py",
    "test_exactly_once.py",
    "test_history_kills.py",
    "test_kafka.py",
}
#: those that spend most of their time on streams
STREAMS = {
    "test_bending.py",
    "test_checkpoints.py",
    "test_cli.py",
    "test_copies.py",
    "test_derived_jobs.py",
    "test_explosions.py",
    "test_golden.py",
    "test_history.py",
    "test_late_jobs.py",
    "test_moments_and_lists.py",
    "test_rejected.py",
    "test_state_of_streams.py",
    "test_stream_additions.py",
    "test_stream_peers.py",
    "test_stream_rolling.py",
    "test_streaming.py",
}


def scope_of(nodeid: str) -> str:
    """The name of what a test runs together with.

    >>> scope_of("tests/engines/spark/test_types.py::test_dates")
    'a Spark session for tables'
    >>> scope_of("tests/engines/spark/test_streaming.py::test_two_queries")
    'a Spark session for streams'
    >>> scope_of("tests/engines/spark/test_cluster.py::test_results")
    'Spark sessions of their own'
    >>> scope_of("tests/engines/spark/worker/test_buckets.py::test_equal_keys")
    'tests/engines/spark/worker/test_buckets.py::test_equal_keys'
    """
    folder, _, name = nodeid.partition("::")[0].rpartition("/")
    if folder != SHARED:
        return nodeid
    if name in OWN_SESSION:
        return "Spark sessions of their own"
    return f"a Spark session for {'streams' if name in STREAMS else 'tables'}"
