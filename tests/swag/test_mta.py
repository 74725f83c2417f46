"""The monoid tree aggregators: the traces of their paper, and evicting many; see test_mta_costs, too."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.swag_windows import (
    MAX,
    RUNNING_EXAMPLE_RESULTS,
    SUM,
    TEXT,
    Algorithm,
    both,
    filled,
    machine_for,
    running_example,
)
from windrow.monoids.own import monoid
from windrow.swag.amta import AMTA
from windrow.swag.log_mta import LogMTA
from windrow.swag.mta import EMPTY

TestLogMTAAgainstText = machine_for(LogMTA)
TestAMTAAgainstText = machine_for(AMTA)


# -- the paper's traces ------------------------------------------------------------------------------------


@both
def test_running_example(algorithm: Algorithm) -> None:
    assert running_example(algorithm) == RUNNING_EXAMPLE_RESULTS


def test_figure_1() -> None:
    window = filled(LogMTA(SUM), [1, 2, 1, 2, 1, 2])
    assert window.levels() == [[(1, 2), (1, 2), (1, 2)], [(3, 3), (3, EMPTY)], [(6, 3)]]


def test_figure_2() -> None:
    """Timestamps, of which those of the last 4 units stay."""
    window = LogMTA(MAX)
    sizes = []
    for time in (1, 2, 3, 4, 8):
        window.insert(time)
        window.evict_while(lambda total, old: total - old >= 4)
        sizes.append(len(window))
    assert sizes == [1, 2, 3, 4, 1]
    assert window.levels() == [[(8, EMPTY)]]


def test_figure_4() -> None:
    window = filled(AMTA(SUM), [1, 2, 1, 2, 1, 2, 1, 2])
    assert window.levels() == [
        [(1, 2), (1, 2), (1, 2), (1, 2)],
        [(3, 3), (3, EMPTY)],
        [(6, EMPTY)],
    ]
    assert window.result_pair == (6, 6)
    assert window.stack == (3, 5)  # 5 on top
    window.insert(1)
    assert window.result_pair == (6, 7)
    window.evict()
    assert window.result_pair == (5, 7)


def test_figure_5() -> None:
    window = filled(AMTA(SUM), [1, 3, 2, 1, 2, 1, 1, 0, 3, 1])
    assert window.levels() == [
        [(1, 3), (2, 1), (2, 1), (1, 0), (3, 1)],
        [(4, 3), (3, 1)],
        [(7, EMPTY)],
    ]
    assert (window.query(), window.result_pair, window.stack) == (15, (7, 8), (3, 6))
    window.evict()
    assert (window.query(), window.result_pair, window.stack) == (14, (6, 8), (3,))
    assert window.levels()[0][0] == (EMPTY, 3)
    window.evict()
    assert (window.query(), window.result_pair, window.stack) == (11, (3, 8), (1,))
    assert window.levels()[0][0] == (2, 1)
    assert window.levels()[1][0] == (EMPTY, 3)


def test_figure_5_goes_on_where_algorithm_6_pops_an_empty_stack() -> None:
    window = filled(AMTA(SUM), [1, 3, 2, 1, 2, 1, 1, 0, 3, 1])
    window.evict_many(3)
    assert (window.result_pair, window.stack) == ((1, 8), ())
    window.evict()  # the leftmost tree goes; the pair (3, 1) of level 1 is the next
    window.check_invariants()
    assert (window.query(), window.result_pair, window.stack) == (8, (4, 4), (1, 2))
    assert window.levels() == [[(2, 1), (1, 0), (3, 1)], [(3, 1)]]


@both
def test_policy_example_of_section_3_2(algorithm: Algorithm) -> None:
    """Updates that add up to at most 10 stay: a prefix goes while its last update and all after exceed 10."""
    sum_last_max = monoid(
        lift=lambda v: (v, v, v),
        combine=lambda a, b: (a[0] + b[0], b[1], max(a[2], b[2])) if b[0] else a,
        lower=lambda p: p[2],
        identity=(0, 0, 0),
    )

    def policy(total: tuple[int, ...], old: tuple[int, ...]) -> bool:
        return total[0] - old[0] + old[1] > 10

    window = algorithm(sum_last_max)
    results = []
    for update in (2, 2, 3, 3, 4):
        window.insert(update)
        evicted = window.evict_while(policy)
        results.append((window.query(), evicted, len(window)))
    assert results == [(2, 0, 1), (2, 0, 2), (3, 0, 3), (3, 0, 4), (4, 2, 3)]
    assert [window._node(0, p) for p in range(2, 5)] == [(3, 3, 3), (3, 3, 3), (4, 4, 4)]


@both
def test_listing_3_keeps_a_constant_size(algorithm: Algorithm) -> None:
    count = monoid(lift=lambda v: 1, combine=lambda a, b: a + b, identity=0)
    window = algorithm(count)
    for number in range(100):
        window.insert(number)
        window.evict_while(lambda total, old: total - old >= 7)
        assert window.query() == min(number + 1, 7)


# -- evicting many -----------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("size", [*range(1, 20), 31, 32, 33, 63, 64, 65])
@pytest.mark.parametrize("start", [0, 1, 2, 3, 7, 8, 13])
def test_every_number_from_every_window(algorithm: Algorithm, size: int, start: int) -> None:
    letters = [chr(256 + number) for number in range(size)]
    for count in range(size + 1):
        for by_policy in (False, True):
            window = filled(algorithm(TEXT), "x" * start)
            window.evict_many(start)
            for letter in letters:
                window.insert(letter)
            if by_policy:
                assert window.evict_while(lambda total, old: len(old) <= count) == count  # noqa: B023
            else:
                window.evict_many(count)
            window.check_invariants()
            assert window.query() == "".join(letters[count:])
            window.insert("+")
            window.check_invariants()
            assert window.query() == "".join(letters[count:]) + "+"


@both
def test_windows_that_empty_and_refill(algorithm: Algorithm) -> None:
    window = algorithm(TEXT)
    for size in (1, 1, 2, 3, 1, 5, 8, 1, 16, 7):
        text = "abcdefghijklmnop"[:size]
        for letter in text:
            window.insert(letter)
        assert window.query() == text
        for left in range(size - 1, -1, -1):
            window.evict()
            window.check_invariants()
            assert window.query() == text[size - left :]
        assert window.query_partial() == ""
        assert window.levels() == []


@both
def test_policies_at_the_edges(algorithm: Algorithm) -> None:
    window = algorithm(TEXT)
    assert window.evict_while(lambda total, old: 1 / 0) == 0  # nothing to ask about
    for letter in "abcde":
        window.insert(letter)
    assert window.evict_while(lambda total, old: False) == 0
    assert window.evict_while(lambda total, old: True) == 5
    window.check_invariants()
    assert (window.query(), len(window)) == ("", 0)


@both
def test_a_policy_that_raises_evicts_nothing(algorithm: Algorithm) -> None:
    window = filled(algorithm(TEXT), "abcdefgh")
    with pytest.raises(ZeroDivisionError):
        window.evict_while(lambda total, old: len(old) < 3 or 1 / 0)
    window.check_invariants()
    assert window.query() == "abcdefgh"


@both
def test_nulls_take_places(algorithm: Algorithm) -> None:
    window = filled(algorithm(TEXT), ["a", None, "b", None, None, "c", None])
    assert window.evict_while(lambda total, old: len(old) <= 2) == 5
    assert (window.query(), len(window)) == ("c", 2)
    window.evict()
    assert (window.query(), len(window)) == ("", 1)
    window.insert("d")
    window.evict_many(1)
    assert window.query() == "d"


@both
@given(
    gaps=st.lists(st.integers(0, 30), min_size=1, max_size=80),
    size=st.integers(1, 60),
)
def test_a_time_policy_over_irregular_arrivals(algorithm: Algorithm, gaps: list[int], size: int) -> None:
    """[MTA] listing 1, on pairs of the latest time and the times themselves."""
    times = monoid(
        lift=lambda time: (time, (time,)),
        combine=lambda a, b: (max(a[0], b[0]), a[1] + b[1]),
        identity=(-1, ()),
    )
    window = algorithm(times)
    now = 0
    expected: tuple[int, ...] = ()
    for gap in gaps:
        now += gap
        window.insert(now)
        expected = tuple(time for time in (*expected, now) if now - time < size)
        window.evict_while(lambda total, old: total[0] - old[0] >= size)
        window.check_invariants()
        assert window.query() == (now, expected)
