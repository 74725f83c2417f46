"""The laws of aggregates, for windrow's own and for yours.

:func:`check` tries an aggregate on partials made of samples and raises :class:`LawViolation` with the
smallest counter-example it finds. The laws: functions are pure, partials keep their shape (closure), the
identity changes nothing, combine is associative; and whatever the aggregate states besides: inverse,
commutative, idempotent, selection.

A check that passes is not a proof: it has tried samples, their derivatives
(:mod:`windrow.monoids.law_samples`) and combinations of both, some thousand cases in a fixed pseudo-random
order.

Floats are compared with a tolerance relative to the largest number that takes part; NaN equals NaN.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from windrow.monoids.base import Aggregate, as_monoid

__all__ = ["LawViolation", "Report", "check", "check_policy"]

_BROKEN = {
    "purity": "is not pure",
    "closure": "is not closed",
    "associativity": "is not associative",
    "identity": "has a wrong identity",
    "inverse": "has a wrong inverse",
    "commutativity": "is not commutative, as it states",
    "idempotence": "is not idempotent, as it states",
    "selection": "is not a selection, as it states",
    "monotonicity": "is not monotone",
}


class LawViolation(AssertionError):
    """An aggregate breaks a law: ``law`` says which, ``samples`` on which inputs, the message how.

    >>> import windrow as wr
    >>> try:
    ...     check(wr.monoid(name="mine", lift=lambda v: v, combine=lambda a, b: a - b, identity=0), [3])
    ... except LawViolation as violation:
    ...     violation.law, violation.samples
    ('associativity', (3, 3, 3))
    """

    def __init__(self, aggregate: str, law: str, samples: tuple[Any, ...], detail: str) -> None:
        super().__init__(f"{aggregate} {_BROKEN[law]}: {detail}")
        self.aggregate = aggregate
        self.law = law
        self.samples = samples
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Report:
    """What was tested when all laws held; always true.

    >>> import windrow as wr
    >>> check(wr.any, [True]).laws
    ('purity', 'closure', 'associativity', 'identity', 'commutativity', 'idempotence', 'selection')
    """

    aggregate: str
    laws: tuple[str, ...]
    cases: int

    def __bool__(self) -> bool:
        return True

    def __str__(self) -> str:
        return f"{self.aggregate} holds {', '.join(self.laws)} in {self.cases:,} cases"


def check(
    monoid: Any, samples: Iterable[Any], *, extend: bool = True, tolerance: float = 1e-9, cases: int = 2000
) -> Report:
    """Test the laws of an aggregate on samples: raw inputs, or tuples where it takes several.

    ``extend`` adds derived samples: negatives, zero, one, NaN where floats occur, the empty text; those that
    ``lift`` refuses by raising are left out. Say ``extend=False`` if your column cannot hold such values. A
    derived NaN is not tried on an inverse, since no plain subtraction survives it; a NaN among the samples
    is. ``cases`` bounds the work a law.

    >>> import windrow as wr
    >>> bool(check(wr.max, [3, 1.5, -2]))
    True
    >>> mean_of_means = wr.monoid(
    ...     name="mean_of_means", lift=float, combine=lambda a, b: (a + b) / 2, identity=0.0
    ... )
    >>> check(mean_of_means, [1.0, 2.0, 4.0])
    Traceback (most recent call last):
    windrow.monoids.laws.LawViolation: mean_of_means is not associative:
    combine(combine(1.0, 1.0), 2.0) = 1.5 but combine(1.0, combine(1.0, 2.0)) = 1.25
    """
    from windrow.monoids.law_trial import Trial, sample_rows  # which programs that check nothing do without

    subject = as_monoid(monoid)
    trial = Trial(subject, sample_rows(subject, samples), extend, tolerance, cases)
    laws = trial.run()
    if subject.group is None:
        return Report(subject.name, laws, trial.tried)
    exact = Trial(subject.group, trial.given, extend, tolerance, cases)
    laws = tuple(dict.fromkeys(laws + exact.run()))
    return Report(subject.name, laws, trial.tried + exact.tried)


def check_policy(policy: Any, samples: Any, *, cases: int = 20_000, **aggregates: Aggregate) -> Report:
    """Test that a slide policy is monotone: if it evicts a prefix of a window, it evicts every shorter one.

    ``policy``: a function ``fn(total, old)`` or ``wr.Policy``. ``samples``: rows as dicts, or a table, in an
    order that may occur. ``aggregates``: those of the query that the policy reads, by their names; without
    any, each column of the samples is summed under its name. Windows of neighbours are tried, the shortest
    first, then rows in other orders.

    >>> import windrow as wr
    >>> rows = [{"w": 3}, {"w": 1}, {"w": 4}]
    >>> bool(check_policy(lambda total, old: total.w - old.w >= 4, rows))
    True
    >>> check_policy(lambda total, old: old.n % 2 == 0, rows, n=wr.count())
    Traceback (most recent call last):
    windrow.monoids.laws.LawViolation: policy is not monotone: of the window [{'w': 3}, {'w': 1}] it evicts
    the first 2 rows, and not the first 1
    """
    from windrow.monoids.law_policy import counter_example, shared_partials
    from windrow.monoids.numbers import sum as total

    rows = list(samples.to_pylist() if hasattr(samples, "to_pylist") else samples)
    if not rows:
        raise ValueError("no samples: give some rows, as dicts by column or as a table")
    named = aggregates or {name: total(name) for name in rows[0]}
    for name, aggregate in named.items():
        if not isinstance(aggregate, Aggregate):
            raise TypeError(
                f"{name}={aggregate!r} is not an aggregate of a query: write {name}=wr.sum('...')"
            )
    tried, found = counter_example(getattr(policy, "fn", policy), shared_partials(named), rows, cases)
    if found is not None:
        window, evicted, kept = found
        detail = f"of the window {window} it evicts the first {evicted} rows, and not the first {kept}"
        raise LawViolation("policy", "monotonicity", tuple(window), detail)
    return Report("policy", ("monotonicity",), tried)
