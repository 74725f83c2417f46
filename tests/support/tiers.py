"""Which tests run when.

``make test`` runs what a change to anything needs. ``make test-rest`` runs the rest: the tests that are
listed here, and every property with other random examples and with kernels compiled. ``make test-all`` is
both, and so is CI; no test runs twice with the same input. ``make test-fast`` is ``make test`` without Spark,
Redis and what kills or damages.
"""

from __future__ import annotations

__all__ = ["REST", "is_rest"]

#: tests of the rest: a folder, a file or a test, and why it can wait
REST = {
    "experiments": "the papers' experiments",
    "tests/bench": "benchmarks in miniature",
    "tests/cli/live/test_browser.py": "Chromium",
    "tests/state/test_golden.py": "golden state",
    "tests/state/test_disks.py": "damaged and full disks",
    "tests/state/test_crashes.py": "kills; test_operator_kills.py stays",
    "tests/engines/stream/test_forged_state.py": "forged state, many times",
    "tests/engines/stream/test_soak.py": "minutes of load",
    "tests/engines/stream/persistence/test_two_writers.py": "many takeovers",
    "tests/engines/spark/worker/test_step_costs.py": "large state, counted; test_key_groups.py stays",
    "tests/engines/spark/worker/test_exchanged_state.py": "exchanged state, many times",
    "tests/engines/spark/test_bending.py": "checkpoints that go on with other queries, with kills",
    "tests/engines/spark/test_cluster.py": "a cluster",
    "tests/engines/spark/test_connect.py": "Spark Connect",
    "tests/engines/spark/test_copies.py": "rescaled checkpoints",
    "tests/engines/spark/test_derived_jobs.py": "jobs as processes; expressions stay",
    "tests/engines/spark/test_exactly_once.py": "kills",
    "tests/engines/spark/test_explosions.py": "too many windows; the local tests stay",
    "tests/engines/spark/test_full_disk.py": "full disks",
    "tests/engines/spark/test_golden.py": "golden state",
    "tests/engines/spark/test_history_kills.py": "kills",
    "tests/engines/spark/test_kafka.py": "a Kafka broker",
    "tests/engines/spark/test_late_jobs.py": "jobs as processes",
    "tests/engines/spark/test_long_soak.py": "minutes of load",
    "tests/engines/spark/test_moments_and_lists.py": "every aggregate on streams",
    "tests/engines/spark/test_numbers.py": "every number type against Spark's own",
    "tests/engines/spark/test_random.py": "random queries",
    "tests/engines/spark/test_skew.py": "keys with most of the rows",
    "tests/engines/spark/test_soak.py": "minutes of load",
    "tests/engines/spark/test_state_of_streams.py": "checkpoints that were exchanged",
    "tests/engines/spark/test_stream_peers.py": "streams against Spark's own windows",
    "tests/engines/spark/test_worker_python.py": "sessions with other Pythons",
}


def is_rest(nodeid: str) -> bool:
    """Whether ``make test`` leaves a test out.

    >>> is_rest("tests/engines/spark/test_kafka.py::test_verify")
    True
    >>> is_rest("tests/swag/test_matrix.py::test_any")
    False
    """
    path, _, name = nodeid.partition("::")
    test = f"{path}::{name.partition('[')[0]}"
    folders = path.split("/")
    parents = ("/".join(folders[:count]) for count in range(1, len(folders) + 1))
    return test in REST or any(parent in REST for parent in parents)
