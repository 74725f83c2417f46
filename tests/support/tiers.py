"""Which tests run when.

``make test`` runs what a change to anything needs. ``make test-rest`` runs the rest: the tests that are
listed in ``tests/rest.txt``, and every property with other random examples and with kernels compiled.
``make test-all`` is both, and so is CI; no test runs twice with the same input. ``make test-fast`` is
``make test`` without Spark, Redis and what kills or damages.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["REST", "is_rest"]

_LISTED = (Path(__file__).parents[1] / "rest.txt").read_text().splitlines()
#: folders, files and tests of the rest, and why they can wait
REST = {place: why for place, _, why in (line.partition("  # ") for line in _LISTED) if why}


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
