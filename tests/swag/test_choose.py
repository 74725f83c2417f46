"""Which algorithm is chosen, and that engines can run what is chosen for them."""

from __future__ import annotations

from typing import Any

import pytest

import windrow as wr
from windrow.compile.access import interpret
from windrow.monoids.base import Monoid, as_monoid
from windrow.swag.sliding import sliding_algorithm

ANSWERS: list[tuple[dict[str, Any], str]] = [
    ({}, "TwoStacksLite"),
    ({"latency": "worst-case"}, "DABALite"),
    ({"bulk": True}, "AMTA"),
    ({"stored": True}, "AMTA"),
    ({"in_order": False}, "FiBA"),
    ({"in_order": False, "bulk": True}, "FiBA"),
    ({"ranges": "disjoint"}, "Recalc"),
    ({"ranges": "any"}, "FlatFAT"),
]
BUILT_IN = [getattr(wr, name) for name in wr.monoids.__all__ if isinstance(getattr(wr, name, None), Monoid)]


@pytest.mark.parametrize(("asked", "name"), ANSWERS)
def test_each_question_has_an_answer_that_gives_the_maximum(asked: dict[str, Any], name: str) -> None:
    choice = wr.swag.choose(wr.max, **asked)
    assert choice.name == name
    assert str(choice) == f"{name}: {choice.why}"
    window = choice(wr.max)
    for moment, value in enumerate([3, 9, 4]):
        if asked.get("in_order", True):
            window.insert(value)
        else:
            window.insert_at(moment, value)  # type: ignore[attr-defined]
    window.evict()
    assert window.query() == 9


def test_an_exact_inverse_is_used_and_one_of_floats_is_not() -> None:
    assert {wr.swag.choose(m).name for m in (wr.count, wr.share)} == {"SubtractOnEvict"}
    assert {wr.swag.choose(m).name for m in (wr.sum, wr.mean, wr.var)} == {"TwoStacksLite"}
    mine = wr.monoid(lift=float, combine=lambda a, b: a + b, identity=0.0, inverse=lambda a, b: a - b)
    assert wr.swag.choose(mine).name == "TwoStacksLite"


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"latency": "slow"}, "latency='slow': use 'throughput' or 'worst-case'"),
        ({"ranges": "some"}, "ranges='some': use 'sliding', 'disjoint' or 'any'"),
        ({"stored": True, "in_order": False}, "a window in a store takes values in order"),
    ],
)
def test_what_no_algorithm_answers_is_refused(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        wr.swag.choose(wr.max, **asked)


@pytest.mark.parametrize("monoid", [as_monoid(each) for each in BUILT_IN], ids=lambda each: each.name)
def test_drivers_have_the_steps_of_what_is_chosen_for_sliding_windows(monoid: Monoid) -> None:
    steps = sliding_algorithm(monoid)._make_operations(interpret, monoid)
    assert steps.empty is not None
