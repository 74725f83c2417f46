"""Every aggregate on every store, LogMTA and AMTA, with buffers, caches and blocks so small that each way to
miss is taken; closed and opened again in between; against Recalc."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import windrow as wr
from support.aggregates import CASES, Case
from support.budget import examples
from windrow.monoids.equality import magnitude, same
from windrow.state import Store
from windrow.swag.mta import MonoidTree

NUMBERS = itertools.count()
SMALL = st.sampled_from([1, 2, 3])


def steps(case: Case) -> st.SearchStrategy[list[tuple[str, Any]]]:
    insert = st.tuples(st.just("insert"), st.one_of(case.rows, case.rows, case.rows, st.none()))
    other = st.one_of(
        st.tuples(st.just("evict"), st.none()),
        st.tuples(st.just("evict_many"), st.floats(0, 1)),
        st.tuples(st.just("reopen"), st.none()),
        st.tuples(st.just("flush"), st.none()),
    )
    fill = st.lists(insert, min_size=8, max_size=20)
    mix = st.lists(st.one_of(insert, insert, other), max_size=20)
    return st.tuples(fill, mix).map(lambda parts: parts[0] + parts[1])


def agree(a: Any, b: Any, inputs: list[Any]) -> bool:
    return same(a, b, slack=1e-9 * (1.0 + magnitude(inputs) + magnitude(a)))


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("algorithm", [wr.swag.LogMTA, wr.swag.AMTA])
def test_same_as_recalc_on_every_store(algorithm: type[MonoidTree], case: Case, store: Store) -> None:
    @settings(max_examples=examples(3), database=None, suppress_health_check=list(HealthCheck))
    @given(trace=steps(case), buffer=SMALL, cache=SMALL, block=SMALL)
    def run(trace: list[tuple[str, Any]], **options: int) -> None:
        name = f"window {next(NUMBERS)}"
        window = algorithm.open(store, name, case.monoid, **options)
        oracle = wr.swag.Recalc(case.monoid)
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
            elif operation == "flush":
                window.flush(sync=False)
            elif operation == "reopen":
                window.close()
                window = algorithm.open(store, name, case.monoid)
            assert len(window) == len(oracle)
            found, expected = window.query(), oracle.query()
            assert agree(found, expected, inputs), (found, expected)
        window.check_invariants()
        window.close()

    run()
