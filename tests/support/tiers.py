"""Which tests run when.

``make test`` runs what a change to anything needs. ``make test-rest`` runs the rest: the tests that are
listed in ``tests/rest.txt``, and every property with other random examples and with kernels compiled.
``make test-all`` is both, and so is CI; no test runs twice with the same input. ``make test-fast`` is
``make test`` without Spark, Redis, what kills or damages, and what ``tests/slow.txt`` lists.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["REST", "SLOW", "is_listed"]


def _places(name: str) -> dict[str, str]:
    """Folders, files and tests, and why they can wait."""
    lines = (Path(__file__).parents[1] / name).read_text().splitlines()
    return {place: why for place, _, why in (line.partition("  # ") for line in lines) if why}


REST = _places("rest.txt")
SLOW = _places("slow.txt")


def is_listed(nodeid: str, places: dict[str, str]) -> bool:
    """Tell whether a test is in one of these places.

    >>> is_listed("tests/engines/spark/test_kafka.py::test_verify", REST)
    True
    >>> is_listed("tests/swag/test_matrix.py::test_any", REST)
    False
    """
    path, _, name = nodeid.partition("::")
    test = f"{path}::{name.partition('[')[0]}"
    folders = path.split("/")
    parents = ("/".join(folders[:count]) for count in range(1, len(folders) + 1))
    return test in places or any(parent in places for parent in parents)
