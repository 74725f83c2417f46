"""Which tests run in one process, one after the other, when several processes share the tests.

Tests that share a Spark session run in two processes, with one JVM each: those of streams in one, those of
tables in the other. Tests that start sessions of their own run in two more: those that wait for minutes in
one, those that compute in the other. All four take longest, so they begin first (pytest-xdist begins with the
scopes that have most tests). Every other test is by itself, and fills what is left of the time: no process is
left alone with something long at the end.
"""

from __future__ import annotations

__all__ = ["OWN_SESSION", "SHARED", "scope_of"]

#: where tests share a Spark session
SHARED = "tests/engines/spark"
#: those among them that start their own, and wait most of the time
WAITING = {"test_kafka.py", "test_long_soak.py"}
#: all that start their own
OWN_SESSION = WAITING | {
    "test_cluster.py",
    "test_connect.py",
    "test_exactly_once.py",
    "test_history_kills.py",
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
    >>> scope_of("tests/engines/spark/test_kafka.py::test_verify")
    'Spark sessions that wait'
    >>> scope_of("tests/engines/spark/worker/test_buckets.py::test_equal_keys")
    'tests/engines/spark/worker/test_buckets.py::test_equal_keys'
    """
    folder, _, name = nodeid.partition("::")[0].rpartition("/")
    if folder != SHARED:
        return nodeid
    if name in WAITING:
        return "Spark sessions that wait"
    if name in OWN_SESSION:
        return "Spark sessions of their own"
    return f"a Spark session for {'streams' if name in STREAMS else 'tables'}"
