"""Policies that are not monotone are found, and those that are pass."""

from __future__ import annotations

import itertools
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from support.budget import examples
from windrow.monoids.laws import LawViolation, check_policy

ROWS = [{"w": w, "who": who} for w, who in [(3, "a"), (1, "b"), (4, "a"), (1, "c"), (5, "b")]]


@pytest.mark.parametrize(
    ("policy", "aggregates"),
    [
        (lambda total, old: total.n - old.n >= 3, {"n": wr.count()}),
        (wr.Policy(lambda total, old: total.w - old.w >= 6), {"w": wr.sum("w")}),
        (lambda total, old: old.top < total.top, {"top": wr.max("w")}),
        (lambda total, old: False, {"n": wr.count()}),
        (lambda total, old: total.a - old.a >= 1, {"a": wr.count(where="is_a")}),
    ],
)
def test_monotone_policies_pass(policy: Any, aggregates: dict[str, Any]) -> None:
    rows = [row | {"is_a": row["who"] == "a"} for row in ROWS]
    assert check_policy(policy, rows, **aggregates).cases > 1_000
    assert check_policy(policy, pa.Table.from_pylist(rows), **aggregates)


@pytest.mark.parametrize(
    ("policy", "aggregates"),
    [
        (lambda total, old: old.n % 2 == 0, {"n": wr.count()}),
        (lambda total, old: old.w >= 4, {"w": wr.sum("w")}),
        (lambda total, old: old.top >= 4, {"top": wr.max("w")}),
    ],
)
def test_a_case_in_which_a_policy_is_not_monotone_is_shown(policy: Any, aggregates: dict[str, Any]) -> None:
    with pytest.raises(
        LawViolation, match=r"not monotone: of the window .* evicts the first \d+ rows"
    ) as found:
        check_policy(policy, ROWS, **aggregates)
    assert found.value.law == "monotonicity"
    assert 1 < len(found.value.samples) <= 3


def test_what_cannot_be_tried_is_refused() -> None:
    with pytest.raises(ValueError, match="no samples"):
        check_policy(lambda total, old: True, [])
    with pytest.raises(TypeError, match="not an aggregate"):
        check_policy(lambda total, old: True, ROWS, n=3)  # type: ignore[arg-type]


@settings(max_examples=examples(100))
@given(st.lists(st.integers(-4, 4), min_size=1, max_size=8), st.integers(-6, 6), st.booleans())
def test_what_is_found_is_a_counter_example(weights: list[int], least: int, of_old: bool) -> None:
    def policy(total: Any, old: Any) -> bool:
        return bool(old.w >= least) if of_old else bool(total.w - old.w >= least)

    rows = [{"w": w} for w in weights]
    try:
        check_policy(policy, rows, w=wr.sum("w"), cases=500)
    except LawViolation as violation:
        window = [row["w"] for row in violation.samples]
        held = [
            sum(window[:k]) >= least if of_old else sum(window) - sum(window[:k]) >= least
            for k in range(1, len(window) + 1)
        ]
        assert any(later and not earlier for earlier, later in itertools.pairwise(held))
