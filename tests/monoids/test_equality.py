"""Whether two partials are the same."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.monoids.equality import contains_float, magnitude, same, shape

partials = st.recursive(
    st.one_of(st.integers(), st.floats(), st.text(), st.none(), st.booleans()),
    lambda inner: st.one_of(st.lists(inner), st.tuples(inner, inner), st.dictionaries(st.text(), inner)),
    max_leaves=6,
)


class Plain:
    def __init__(self, **fields):
        self.__dict__.update(fields)


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


@given(partials)
def test_a_partial_is_the_same_as_itself(partial):
    assert same(partial, partial)
    assert magnitude(partial) >= 0.0
    assert shape(partial) == shape(partial)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (math.nan, np.float64("nan")),
        (0.0, -0.0),
        (1, 1.0),
        (np.array([1.0, math.nan]), np.array([1.0, math.nan])),
        (np.int64(3), 3),
        (Plain(x=[math.nan]), Plain(x=[math.nan])),
        (Slotted((1, 2)), Slotted((1, 2))),
        ({"a": math.nan}, {"a": math.nan}),
        ({1, 2}, {2, 1}),
    ],
)
def test_same(a, b):
    assert same(a, b)
    assert same((a, "x"), (b, "x"))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (math.nan, 1.0),
        (math.inf, -math.inf),
        (math.inf, 1e308),
        ((1, 2), [1, 2]),
        ((1, 2), (1, 2, 3)),
        (np.zeros(2), np.zeros(3)),
        (np.zeros(2), 0.0),
        ({"a": 1}, {"b": 1}),
        (Plain(x=1), Plain(x=2)),
        (Slotted(1), Slotted(2)),
        (2**60, 2**60 + 1),
        ("1", 1),
        (None, 0),
    ],
)
def test_different(a, b):
    assert not same(a, b, slack=0.5)
    assert not same(b, a, slack=0.5)


def test_slack_is_for_floats_only():
    assert same([1.0], [1.25], slack=0.25)
    assert same(np.array([1.0]), np.array([1.25]), slack=0.25)
    assert not same([1.0], [1.25], slack=0.2)
    assert not same([1], [2], slack=5.0)


def test_magnitude_ignores_what_is_not_finite():
    assert magnitude(math.nan, math.inf, (-3, {"a": [2.5]}), "999", None) == 3.0
    assert magnitude(Plain(x=-8.0), np.array([1.0, -9.0])) == 9.0
    assert magnitude(10**400) == 1e308


def test_contains_float():
    assert contains_float((1, [{"a": 0.0}]))
    assert contains_float(np.zeros(1))
    assert not contains_float((1, "x", None, np.zeros(1, int)))
