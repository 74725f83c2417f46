"""Several aggregates over one window."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from support.monoid_folds import fold, grouped_fold, result
from windrow.monoids.laws import check

rows = st.lists(st.one_of(st.integers(-9, 9), st.sampled_from([math.nan, 2.5])), min_size=1)


@given(rows, st.integers(0, 2**32))
def test_each_member_gets_what_it_would_get_alone(values, seed):
    members = {"n": wr.count, "top": wr.max, "text": wr.collect}
    both = wr.together(**members)
    found = both.lower(grouped_fold(both, values, seed))
    assert repr(found) == repr({name: result(member, values) for name, member in members.items()})


def test_partials_are_read_by_name():
    both = wr.together(count=wr.count, index=wr.max)
    partial = fold(both, [3, 5])
    assert (partial.count, partial.index) == (2, 5)
    assert both.identity.count == 0


def test_members_read_the_first_inputs_as_many_as_they_take():
    both = wr.together(top=wr.max, who=wr.arg_max, n=wr.count)
    assert both.arity == (2, 2)
    assert result(both, [(3, "ann"), (5, "bob")]) == {"top": 5, "who": "bob", "n": 2}


def test_an_empty_window_gives_each_member_its_own_empty_result():
    both = wr.together(n=wr.count, top=wr.max, total=wr.sum)
    window = wr.swag.Recalc(both)
    assert window.query() == {"n": 0, "top": None, "total": None}
    window.insert(0)
    assert window.query() == {"n": 1, "top": 0, "total": 0}
    window.evict()
    window.insert(None)
    assert window.query() == {"n": 0, "top": None, "total": None}


def test_empty_results_are_not_shared():
    window = wr.swag.Recalc(wr.together(n=wr.count))
    window.query()["n"] = 7
    assert window.query() == {"n": 0}


def test_a_member_may_ignore_nan_on_its_own():
    both = wr.together(strict=wr.max, lax=wr.max(nan="ignore"), n=wr.count(nan="ignore"))
    assert both.inverse is None
    found = result(both, [1.0, math.nan])
    assert math.isnan(found["strict"])
    assert (found["lax"], found["n"]) == (1.0, 1)
    only_nan = result(both, [math.nan])
    assert (only_nan["lax"], only_nan["n"]) == (None, 0)


def test_properties_hold_where_all_members_have_them():
    assert wr.together(a=wr.max, b=wr.min).idempotent
    assert not wr.together(a=wr.max, b=wr.sum).idempotent
    assert not wr.together(a=wr.max, b=wr.first).commutative
    assert wr.together(a=wr.count, b=wr.sum).invertible
    assert wr.together(a=wr.count).inverse is not None
    assert not wr.together(a=wr.count, b=wr.max).invertible


@pytest.mark.parametrize(
    "members",
    [
        {"n": wr.count, "top": wr.max},
        {"n": wr.count, "total": wr.sum, "spread": wr.var},
        {"half": wr.median, "total": wr.sum},
        {"seen": wr.approx_distinct, "rate": wr.mean(nan="ignore")},
        {"inner": wr.together(a=wr.min, b=wr.last), "n": wr.count},
    ],
    ids=lambda members: "+".join(members),
)
def test_laws(members):
    assert check(wr.together(**members), [1.5, -2.0, 0.1, math.nan], cases=500)


def test_mistakes_are_named():
    with pytest.raises(TypeError, match="at least one"):
        wr.together()
    with pytest.raises(TypeError, match=r"top=max\('len'\) reads columns of its own"):
        wr.together(top=wr.max("len"))
    with pytest.raises(TypeError, match="not an aggregate"):
        wr.together(top=max)
    with pytest.raises(ValueError, match="'_n' cannot name"):
        wr.together(_n=wr.count)
    with pytest.raises(ValueError, match="same rule"):
        wr.together(a=wr.max, b=wr.max(nulls="propagate"))


def test_it_binds_to_columns():
    assert repr(wr.together(n=wr.count, top=wr.max)("len")) == "together(n=count, top=max)('len')"
