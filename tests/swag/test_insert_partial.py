"""Partials that go in as one value, in every algorithm."""

from __future__ import annotations

from typing import Any

import pytest

import windrow as wr
from support.aggregates import ALGORITHMS
from windrow.swag import FiBA, SubtractOnEvict


@pytest.mark.parametrize(("aggregate", "partial"), [(wr.sum, 7), (wr.count, 3), (wr.mean, (7, 2))])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_partial_is_one_value(algorithm: type[wr.swag.Swag], aggregate: Any, partial: Any) -> None:
    window, oracle = algorithm(aggregate), wr.swag.Recalc(aggregate)
    for each in (window, oracle):
        each.insert(1)
        each.insert_partial(partial)
        each.insert(5)
    for _ in range(3):
        assert (window.query(), len(window)) == (oracle.query(), len(oracle))
        window.evict()
        oracle.evict()


def test_fiba_takes_a_partial_behind_all_others() -> None:
    window = FiBA(wr.concat)
    window.insert_at(5, "a")
    window.insert_partial("bc")
    window.insert_at(3, "-")
    assert (window.query(), window.youngest) == ("-abc", 6)
    named = FiBA(wr.concat)
    named.insert_at("noon", "a")
    with pytest.raises(TypeError, match=r"FiBA adds 1 to the last time, 'noon', .* use insert_at\(\)"):
        named.insert_partial("b")


def test_fiba_takes_a_partial_into_its_native_form() -> None:
    window = FiBA(wr.sum)
    window.bulk_insert(range(100), [1] * 100)
    window.insert_partial(7)
    assert type(window._form).__name__ == "NativeForm"
    assert (window.query(), window.youngest) == (107, 100)


@pytest.mark.parametrize("aggregate", [wr.geo_mean, wr.weighted_mean])
def test_subtract_on_evict_takes_partials_that_it_keeps_in_another_form(aggregate: Any) -> None:
    rows = [(2.0, 3), (4.0, 1)] if aggregate is wr.weighted_mean else [(2.0,), (4.0,)]
    other, window = wr.swag.DABALite(aggregate), SubtractOnEvict(aggregate)
    for row in rows:
        other.insert(*row)
    window.insert(*rows[0])
    window.insert_partial(other.query_partial())
    window.evict()
    assert window.query() == pytest.approx(other.query())


def test_subtract_on_evict_names_what_takes_a_partial_that_it_cannot_subtract() -> None:
    window, other = SubtractOnEvict(wr.var), SubtractOnEvict(wr.var)
    for value in (1, 2, 4):
        other.insert(value)
    window.insert_partial(other.query_partial())
    window.insert(9)
    assert window.query() == pytest.approx(38 / 3)
    with pytest.raises(TypeError, match=r"SubtractOnEvict cannot subtract .* of var: .* use DABALite"):
        window.insert_partial((3, 2.0, 1.0))
    assert len(window) == 2
    both = wr.together(total=wr.sum, n=wr.count)
    window, other = SubtractOnEvict(both), wr.swag.DABALite(both)
    other.insert(7)
    with pytest.raises(TypeError, match=r"SubtractOnEvict cannot subtract .* of together: .* use DABALite"):
        window.insert_partial(other.query_partial())


@pytest.mark.parametrize("by_partials", [False, True])
@pytest.mark.parametrize("name", ["Recalc", "TwoStacksLite", "DABALite", "DABA", "FlatFAT", "BInt"])
def test_integers_of_single_operations_do_not_wrap_in_a_native_roll(name: str, by_partials: bool) -> None:
    window = getattr(wr.swag, name)(wr.sum)
    for value in (2**62, 2**62 - 1):
        (window.insert_partial if by_partials else window.insert)(value)
    assert window.roll([1, 2], size=9) == [2**63, 2**63 + 2]
