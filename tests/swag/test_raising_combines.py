"""A combine that raises, at whichever call and in whatever operation, leaves a window as it was."""

from __future__ import annotations

from typing import Any

import pytest

import windrow as wr
from support.aggregates import ALGORITHMS
from support.budget import examples
from support.raising_combines import KINDS, Brittle, check_that_a_raising_combine_changes_nothing

EVERY = [*ALGORITHMS, wr.swag.Recalc]


@pytest.mark.parametrize("kinds", [kinds for kinds in KINDS if kinds != "in any order"])
@pytest.mark.parametrize("algorithm", EVERY)
def test_a_raising_combine_changes_nothing(algorithm: type[wr.swag.Swag], kinds: str) -> None:
    check_that_a_raising_combine_changes_nothing(algorithm, KINDS[kinds], range(examples(40)))


@pytest.mark.parametrize("mu", [2, 4])
def test_a_raising_combine_changes_nothing_in_any_order(mu: int) -> None:
    def make(monoid: Any) -> wr.swag.Swag:
        return wr.swag.FiBA(monoid, mu)

    check_that_a_raising_combine_changes_nothing(make, KINDS["in any order"], range(examples(40)))
