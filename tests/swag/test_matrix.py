"""Every algorithm, every aggregate, the same trace as Recalc: results agree and invariants hold after each
step."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from support.aggregates import ALGORITHMS, CASES, Case
from support.budget import examples
from windrow.monoids.equality import magnitude, same

PAIRS = [
    pytest.param(algorithm, case, id=f"{algorithm.__name__}-{case}")
    for algorithm in ALGORITHMS
    for case in CASES
    if case.monoid.invertible or not algorithm.needs_inverse
]


def agree(a: Any, b: Any, inputs: list[Any]) -> bool:
    """Equal, floats up to the rounding that another grouping of the same inputs may cause."""
    return same(a, b, slack=1e-9 * (1.0 + magnitude(inputs) + magnitude(a)))


def steps(case: Case) -> st.SearchStrategy[list[tuple[str, Any]]]:
    """Mostly inserts, then a mix; rows may be null."""
    insert = st.tuples(st.just("insert"), st.one_of(case.rows, case.rows, case.rows, st.none()))
    other = st.one_of(
        st.tuples(st.just("evict"), st.none()),
        st.tuples(st.just("evict_many"), st.floats(0, 1)),
    )
    return st.lists(st.one_of(insert, insert, other), max_size=25)


@pytest.mark.parametrize(("algorithm", "case"), PAIRS)
def test_same_as_recalc_on_every_trace(algorithm: type[wr.swag.Swag], case: Case) -> None:
    @settings(max_examples=examples(12), database=None)
    @given(steps(case))
    def run(trace: list[tuple[str, Any]]) -> None:
        window, oracle = algorithm(case.monoid), wr.swag.Recalc(case.monoid)
        inputs: list[Any] = []
        for operation, argument in trace:
            if operation == "insert":
                inputs.append(argument)
                window.insert(argument)
                oracle.insert(argument)
            elif operation == "evict" and len(oracle):
                window.evict()
                oracle.evict()
            elif operation == "evict_many":
                count = int(argument * len(oracle))
                window.evict_many(count)
                oracle.evict_many(count)
            assert len(window) == len(oracle)
            window.check_invariants()
            found, expected = window.query(), oracle.query()
            assert agree(found, expected, inputs), (found, expected)

    run()


@pytest.mark.parametrize("algorithm", [*ALGORITHMS, wr.swag.Recalc])
def test_evicting_from_an_empty_window_is_a_clear_error(algorithm: type[wr.swag.Swag]) -> None:
    window = algorithm(wr.count)
    with pytest.raises(IndexError, match="empty"):
        window.evict()
    window.insert(1)
    with pytest.raises(IndexError, match="evict 2 of 1"):
        window.evict_many(2)
    assert len(window) == 1
    assert window.query() == 1


@pytest.mark.parametrize("algorithm", [*ALGORITHMS, wr.swag.Recalc])
def test_an_empty_window_lowers_to_null_and_count_to_zero(algorithm: type[wr.swag.Swag]) -> None:
    assert algorithm(wr.sum).query() is None
    assert algorithm(wr.count).query() == 0
    window = algorithm(wr.sum)
    window.insert(None)
    assert window.query() is None
    window.insert(3)
    window.evict()
    assert window.query() == 3


@pytest.mark.parametrize("algorithm", [*ALGORITHMS, wr.swag.Recalc])
def test_nulls_propagate_while_they_are_in_the_window(algorithm: type[wr.swag.Swag]) -> None:
    window = algorithm(wr.sum("x", nulls="propagate"))
    for value in (1, None, 2):
        window.insert(value)
    assert window.query() is None
    window.evict_many(2)
    assert window.query() == 2


@pytest.mark.parametrize("algorithm", [*ALGORITHMS, wr.swag.Recalc])
def test_nan_leaves_with_its_row(algorithm: type[wr.swag.Swag]) -> None:
    window = algorithm(wr.sum)
    for value in (1.0, float("nan"), float("inf"), 2.0):
        window.insert(value)
    assert window.query() != window.query()
    window.evict_many(2)
    assert window.query() == float("inf")
    window.evict()
    assert window.query() == 2.0
    ignoring = algorithm(wr.sum(nan="ignore"))
    for value in (1.0, float("nan"), 2.0):
        ignoring.insert(value)
    assert ignoring.query() == 3.0


def test_what_is_no_aggregate_is_refused() -> None:
    with pytest.raises(TypeError, match="is not an aggregate"):
        wr.swag.DABA(max)
    with pytest.raises(TypeError, match="has no inverse"):
        wr.swag.SubtractOnEvict(wr.max)
