"""How many examples a property tries.

The number at a test is that of ``make test-thorough``. ``make test`` tries a tenth of it, ``make test-rest``
others, half as many again, and ``make test-fast`` the fewest. A property with few, expensive examples keeps
at least five in every tier. Long tests also take the number of their steps from here.
"""

from __future__ import annotations

from math import ceil

from hypothesis import settings

__all__ = ["SHARES", "examples"]

#: the share of the examples, by Hypothesis profile: ``--hypothesis-profile=thorough``
SHARES = {"fast": 0.04, "dev": 0.1, "ci": 0.1, "rest": 0.15, "thorough": 1.0}
_LEAST = 5


def examples(thorough: int, profile: str | None = None) -> int:
    """How many of these the tier that runs tries.

    >>> [examples(150, profile) for profile in SHARES]
    [6, 15, 15, 23, 150]
    >>> [examples(3, profile) for profile in SHARES]
    [3, 3, 3, 3, 3]
    """
    share = SHARES.get(profile or settings.get_current_profile_name(), 1.0)
    return max(min(thorough, _LEAST), ceil(thorough * share))
