"""The laws find what is wrong with an aggregate, name it, and pass what is right."""

from __future__ import annotations

import itertools
import math
import operator
from dataclasses import dataclass

import numpy as np
import pytest

import windrow as wr
from support.budget import examples
from windrow.monoids.base import Monoid
from windrow.monoids.laws import LawViolation, Report, check

NAN = math.nan
#: for the many aggregates of numbers; by default as many as in the thorough tier
CASES = examples(2000)


def same(value):
    return value


def add(a, b):
    return a + b


def larger(a, b):
    return a if a > b else b


def extend(a, b):
    a.extend(b)
    return a


def add_in_place(a, b):
    a += b
    return a


def append_to_second(a, b):
    b[:0] = a
    return b


def violation_of(monoid, samples, **options):
    with pytest.raises(LawViolation) as caught:
        check(monoid, samples, **options)
    return caught.value


# -- what must be found --------------------------------------------------------------------------------------


def test_mean_of_means():
    monoid = wr.monoid(name="mean_of_means", lift=same, combine=lambda a, b: (a + b) / 2, identity=0)
    found = violation_of(monoid, [1, 2, 4])
    assert found.law == "associativity"
    assert found.samples == (1, 1, 2)
    assert str(found) == (
        "mean_of_means is not associative: "
        "combine(combine(1, 1), 2) = 1.5 but combine(1, combine(1, 2)) = 1.25"
    )


def test_mean_of_means_with_a_true_identity_is_still_not_associative():
    def combine(a, b):
        if a is None or b is None:
            return b if a is None else a
        return (a + b) / 2

    monoid = wr.monoid(name="mean_of_means", lift=same, combine=combine, identity=None)
    assert violation_of(monoid, [5.0, 7.0]).law == "associativity"


@pytest.mark.parametrize("samples", [[1, 2, 3], [4.5], [1, -5, 2]])
@pytest.mark.parametrize("combine", [max, larger])
def test_max_with_identity_zero(samples, combine):
    found = violation_of(wr.monoid(name="largest", lift=same, combine=combine, identity=0), samples)
    assert found.law == "identity"
    assert len(found.samples) == 1
    assert "largest has a wrong identity: combine(identity, -" in str(found)


@pytest.mark.parametrize("combine", [max, larger, lambda a, b: b if b > a else a, lambda a, b: max(b, a)])
@pytest.mark.parametrize("samples", [[1.0, 2.0], [1, 2], [3.0, NAN, 1.0]])
def test_a_max_that_loses_nan(combine, samples):
    monoid = wr.monoid(name="largest", lift=same, combine=combine, identity=-math.inf, commutative=True)
    found = violation_of(monoid, samples)
    assert any(value != value for value in found.samples)
    assert "nan" in str(found)


@pytest.mark.parametrize(
    ("lift", "combine", "identity", "which"),
    [
        (lambda v: [v], extend, [], "first"),
        (lambda v: np.array([v, 1.0]), add_in_place, np.zeros(2), "first"),
        (lambda v: [v], append_to_second, [], "second"),
        (lambda v: {v: 1}, lambda a, b: a.update(b) or a, {}, "first"),
        (lambda v: {v}, lambda a, b: a.update(b) or a, set(), "first"),
    ],
)
def test_a_combine_that_mutates(lift, combine, identity, which):
    found = violation_of(wr.monoid(name="mine", lift=lift, combine=combine, identity=identity), [1, 2])
    assert found.law == "purity"
    assert f"mutates its {which} argument" in str(found)
    assert len(found.samples) == 1


def test_numpy_identities_survive_a_mutating_combine():
    identity = np.zeros(2)
    monoid = wr.monoid(
        name="mine", lift=lambda v: np.array([v, 1.0]), combine=add_in_place, identity=identity
    )
    violation_of(monoid, [1.0])
    assert identity.tolist() == [0.0, 0.0]


def test_a_lift_that_mutates_its_input():
    def lift(values):
        values.append(0)
        return len(values)

    samples = [[1], [1, 2]]
    found = violation_of(wr.monoid(name="mine", lift=lift, combine=add, identity=0), samples)
    assert found.law == "purity"
    assert "lift([1]) mutates" in str(found)
    assert samples == [[1], [1, 2]]


def test_a_lower_that_mutates():
    monoid = wr.monoid(name="mine", lift=lambda v: [v], combine=add, lower=lambda a: a.pop(), identity=[])
    assert "lower(lift(1)) mutates" in str(violation_of(monoid, [1, 2]))


def test_a_function_with_a_memory():
    calls = itertools.count()
    monoid = wr.monoid(name="mine", lift=same, combine=lambda a, b: a + b + next(calls), identity=0)
    assert "when called again" in str(violation_of(monoid, [1]))


@pytest.mark.parametrize(
    "combine",
    [
        lambda a, b: a[0] + b[0],
        lambda a, b: (a[0] + b[0], a[1] + b[1], 0),
        lambda a, b: (a[0] + b[0],),
        lambda a, b: [a[0] + b[0], a[1] + b[1]],
    ],
)
def test_a_wrong_shape(combine):
    monoid = wr.monoid(name="mine", lift=lambda v: (v, 1), combine=combine, identity=(0, 0))
    found = violation_of(monoid, [1, 2])
    assert found.law == "closure"
    assert "shape" in str(found)
    assert "lift gives a tuple" in str(found)
    assert found.samples == (1, 1)


def test_a_combine_that_raises_names_the_case():
    def combine(a, b):
        if a == b:
            raise KeyError("twice")
        return a + b

    found = violation_of(wr.monoid(name="mine", lift=same, combine=combine, identity=0), [1, 2])
    assert found.law == "closure"
    assert "combine(1, 1) raises KeyError: 'twice'" in str(found)


def test_a_false_commutative_claim():
    monoid = wr.monoid(name="joined", lift=same, combine=add, identity="", commutative=True)
    found = violation_of(monoid, ["b", "a"])
    assert found.law == "commutativity"
    assert "combine('a', 'b') = 'ab' but combine('b', 'a') = 'ba'" in str(found)


@pytest.mark.parametrize("inverse", [same, lambda total, oldest: oldest - total, lambda total, oldest: total])
def test_a_wrong_inverse_in_both_forms(inverse):
    monoid = wr.monoid(name="total", lift=same, combine=add, identity=0, inverse=inverse)
    assert violation_of(monoid, [1, 2]).law == "inverse"


def test_an_inverse_that_removes_the_newest_part():
    monoid = wr.monoid(
        name="joined",
        lift=same,
        combine=add,
        identity="",
        inverse=lambda total, old: total[: len(total) - len(old)],
    )
    found = violation_of(monoid, ["ab", "c"])
    assert found.law == "inverse"
    assert found.samples == ("c", "ab")


@pytest.mark.parametrize("claim", ["idempotent", "selection"])
def test_false_claims_about_a_sum(claim):
    monoid = wr.monoid(name="total", lift=same, combine=add, identity=0, **{claim: True})
    assert violation_of(monoid, [1, 2]).law == {"idempotent": "idempotence"}.get(claim, claim)


def test_the_group_form_is_checked_too():
    broken = Monoid(
        name="sum", lift=same, combine=add, lower=same, identity=0, inverse=lambda total, oldest: oldest
    )
    monoid = Monoid(name="sum", lift=same, combine=add, lower=same, identity=0, group=broken)
    assert violation_of(monoid, [1, 2]).law == "inverse"


# -- counter-examples are small ------------------------------------------------------------------------------


def test_counter_examples_are_the_simplest_of_many_samples():
    samples = [81.25, 17.0, 1e9, 33.5, 4.0, 2.0, 1e-7, *map(float, range(100, 160))]
    monoid = wr.monoid(name="mine", lift=same, combine=operator.sub, identity=0.0)
    assert violation_of(monoid, samples).samples == (2.0, 2.0, 2.0)


def test_a_violation_that_only_two_of_many_samples_show_is_found():
    def combine(a, b):
        return max(a, b) if {a, b} != {"x", "y"} else "z"

    monoid = wr.monoid(name="mine", lift=same, combine=combine, identity="", selection=True)
    found = violation_of(monoid, [*"abcdefghijklmn", "x", "y"])
    assert {"x", "y"} <= set(found.samples)
    assert len(found.samples) <= 3


# -- what is right passes ------------------------------------------------------------------------------------


@dataclass
class Span:
    low: float
    high: float


def test_any_object_may_be_a_partial():
    def union(a, b):
        return Span(min(a.low, b.low), max(a.high, b.high))

    monoid = wr.monoid(
        lift=lambda v: Span(v, v), combine=union, identity=Span(math.inf, -math.inf), idempotent=True
    )
    assert check(monoid, [1.5, 2.5, -3.0], extend=False)
    assert violation_of(monoid, [1.5, 2.5]).law in {"associativity", "identity"}  # min and max lose NaN


def test_a_plain_float_sum_with_an_inverse_passes():
    for inverse in (lambda total, oldest: total - oldest, lambda a: -a):
        monoid = wr.monoid(
            name="total", lift=same, combine=add, identity=0.0, inverse=inverse, commutative=True
        )
        assert check(monoid, [0.1, 0.2, 1e9, -3.3])
        assert violation_of(monoid, [1.0, NAN]).law == "inverse"


def test_a_rounding_error_is_no_violation_but_a_wrong_digit_is():
    assert check(wr.monoid(lift=same, combine=add, identity=0.0), [0.1, 0.2, 0.3, 1e15, -1e15])
    coarse = wr.monoid(name="coarse", lift=same, combine=lambda a, b: round(a + b, 1), identity=0.0)
    assert violation_of(coarse, [0.125, 0.25]).law in {"associativity", "identity"}


def test_derived_samples_that_lift_refuses_are_left_out():
    def lift(value):
        if not value > 0:
            raise ValueError("only positive numbers")
        return math.log(value)

    assert check(wr.monoid(lift=lift, combine=add, identity=0.0), [1.5, 2.0])


def test_samples_that_lift_refuses_are_the_callers_mistake():
    with pytest.raises(ValueError, match="lift refuses the sample"):
        check(wr.monoid(name="mine", lift=float, combine=add, identity=0.0), ["x"])


def test_extend_false_keeps_to_the_samples():
    lengths = wr.monoid(name="longest", lift=len, combine=max, identity=0)
    assert check(lengths, ["a", "bb"])
    assert check(wr.monoid(name="largest", lift=same, combine=max, identity=0), [1, 2, 3], extend=False)


def test_lists_and_sets_and_dicts_that_are_not_mutated():
    assert check(wr.monoid(lift=lambda v: [v], combine=add, identity=[]), [1, 2])
    assert check(wr.monoid(lift=lambda v: {v}, combine=operator.or_, identity=set(), idempotent=True), [1, 2])
    assert check(wr.monoid(lift=lambda v: {v: 1}, combine=operator.or_, identity={}), ["a", "b"])


def test_several_inputs_nulls_and_bound_aggregates():
    assert check(wr.arg_max, [(1.0, "a"), (2.0, "b"), (None, "c"), (1.0, "c")])
    assert check(wr.max("len"), np.array([1, 2]))
    with pytest.raises(ValueError, match="no samples"):
        check(wr.max, [None])
    with pytest.raises(TypeError, match="not an aggregate"):
        check(max, [1])


def test_the_report_says_what_was_tested():
    report = check(wr.sum, [1, 2.5])
    assert isinstance(report, Report)
    assert report
    assert {"purity", "closure", "associativity", "identity", "commutativity", "inverse"} == set(report.laws)
    assert str(report).startswith("sum holds purity, closure")
    assert report.cases > 1000


def test_checks_are_reproducible():
    assert check(wr.var, [1.5, 2.5, 4.0]) == check(wr.var, [1.5, 2.5, 4.0])


# -- every aggregate of windrow ------------------------------------------------------------------------------

FLOATS = [1.5, -2.25, 0.0, -0.0, 3.0, 1e6, 0.1, NAN]
INTEGERS = [3, -1, 0, 7, 2**40]
INFINITE = [math.inf, 1.0, 2.0]
TEXTS = ["b", "a", "", "zz", "é"]
NUMERIC = ["count", "sum", "product", "mean", "geo_mean", "var", "stddev", "range", "quantile", "median"]
NUMERIC += ["approx_quantile", "skew", "kurtosis", "increase"]
ORDERED = ["max", "min", "max_count", "min_count", "m4", "ohlc", "first", "last", "longest_run"]
ANYTHING = [
    *ORDERED,
    "mode",
    "collect",
    "collect_distinct",
    "count_distinct",
    "any",
    "all",
    "share",
    "bloom",
    "approx_distinct",
    "count_min",
]
WITH_K = ["top_k", "bottom_k", "first_k", "last_k"]
TWO_INPUTS = ["arg_max", "arg_min", "max_by", "min_by"]
TWO_NUMBERS = ["cov", "corr", "slope", "weighted_mean", "time_weighted_mean"]


def test_no_aggregate_is_forgotten():
    aggregates = {name for name in wr.monoids.__all__ if isinstance(getattr(wr.monoids, name), Monoid)}
    others = {"concat", "exp_decay", "rate", "histogram"}
    assert aggregates == {*NUMERIC, *ANYTHING, *WITH_K, *TWO_INPUTS, *TWO_NUMBERS, *others}


@pytest.mark.parametrize("samples", [FLOATS, INTEGERS], ids=["floats", "integers"])
@pytest.mark.parametrize("name", NUMERIC + ANYTHING)
def test_laws_of_aggregates_of_numbers(name, samples):
    assert check(getattr(wr, name), samples, cases=CASES)


@pytest.mark.parametrize("name", ANYTHING)
def test_laws_of_aggregates_of_text(name):
    assert check(getattr(wr, name), TEXTS)


@pytest.mark.parametrize("name", WITH_K)
@pytest.mark.parametrize("samples", [FLOATS, INTEGERS, TEXTS], ids=["floats", "integers", "texts"])
def test_laws_of_aggregates_of_k_values(name, samples):
    assert check(getattr(wr, name)(k=2), samples)


@pytest.mark.parametrize("name", TWO_INPUTS)
@pytest.mark.parametrize("samples", [FLOATS, INTEGERS, TEXTS], ids=["floats", "integers", "texts"])
def test_laws_of_aggregates_of_two_inputs(name, samples):
    rows = list(zip(samples, itertools.cycle([1, 2, 3]), strict=False))
    assert check(getattr(wr, name), [*rows, (samples[0], 9)])


@pytest.mark.parametrize("name", TWO_NUMBERS)
@pytest.mark.parametrize("samples", [FLOATS, INTEGERS], ids=["floats", "integers"])
def test_laws_of_aggregates_of_two_numbers(name, samples):
    assert check(getattr(wr, name), [*zip(samples, samples[::-1], strict=True), (1, 2.5)], cases=CASES)


@pytest.mark.parametrize("name", ["max", "min", "first", "last", "quantile", "longest_run", "count", "sum"])
def test_laws_with_infinities(name):
    assert check(getattr(wr, name), INFINITE, extend=False)


def test_laws_of_aggregates_that_need_parameters():
    assert check(wr.concat, TEXTS)
    assert check(wr.concat(sep=", "), TEXTS)
    assert check(wr.concat, [b"a", b"", b"bc"])
    assert check(wr.exp_decay(half_life=3), [(1.5, 0), (-2.0, 4.5), (NAN, 2), (7, -3)])
    assert check(wr.exp_decay(half_life=3, mean=True), [(1.5, 0), (-2.0, 4.5), (7, -3)])
    assert check(wr.rate(per=3), [(1.5, 0), (-2.0, 4.5), (NAN, 2), (7, -3)])
    assert check(wr.histogram(edges=[-1, 0, 2.5, 7]), FLOATS)
    assert check(wr.histogram(edges=[-1, 0, 2.5, 7]), INTEGERS)
    assert check(wr.stddev(ddof=0), FLOATS)
    assert check(wr.together(n=wr.count, top=wr.max, total=wr.sum), FLOATS)
