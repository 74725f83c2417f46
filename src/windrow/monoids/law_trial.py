"""A trial of the laws: which cases are tried, and the smallest that breaks one."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from windrow.monoids.base import Monoid
from windrow.monoids.equality import contains_float
from windrow.monoids.law_samples import Element, Row, distinct, extended, simplicity
from windrow.monoids.law_tests import Laws, copied
from windrow.monoids.laws import LawViolation

__all__ = ["Trial", "sample_rows"]

_MOST_ROWS = 16


def sample_rows(monoid: Monoid, samples: Iterable[Any]) -> list[Row]:
    """The inputs to try, the simplest first; some of them where there are many."""
    values = samples.tolist() if hasattr(samples, "tolist") else list(samples)
    rows = [row for row in distinct(monoid.row((value,)) for value in values) if not monoid.skips(row)]
    if not rows:
        raise ValueError(f"no samples to check {monoid.name} on: give a few inputs that are not null")
    rows.sort(key=simplicity)
    if len(rows) > _MOST_ROWS:
        half = _MOST_ROWS // 2
        rows[half:] = random.Random(0).sample(rows[half:], _MOST_ROWS - half)
    return rows


class Trial:
    """One run of all laws over one aggregate."""

    def __init__(self, monoid: Monoid, rows: list[Row], extend: bool, tolerance: float, cases: int) -> None:
        self.monoid = monoid
        self.given = rows
        self.laws = Laws(monoid, tolerance)
        self.cases = cases
        self.tried = 0
        derived = extended(rows, contains_float(monoid.identity)) if extend else []
        self.lifts = [self._lifted(row) for row in rows]
        self.lifts += [element for element in map(self._lifted_if_possible, derived) if element is not None]
        self.lifts.sort(key=lambda element: element.cost)
        self.laws.lifts = self.lifts

    def run(self) -> tuple[str, ...]:
        """Search for a violation of each law; the names of those that hold.

        The caller's own samples come first, then derived ones, NaN last: the first violation found is the
        most telling one."""
        given = [e for e in self.lifts if not e.derived]
        finite = [e for e in self.lifts if not e.derived or not e.has_nan]
        laws = self._run_on(given)
        if len(finite) > len(given):
            self._run_on(finite)
        if len(self.lifts) > len(finite):
            self._run_on(self.lifts, without="inverse")
        return laws

    def _run_on(self, lifts: list[Element], without: str = "") -> tuple[str, ...]:
        laws, monoid = self.laws, self.monoid
        # these first: a combine that changes its arguments would spoil the elements made with it
        self._search("purity", 1, laws.impure_on_one, lifts)
        self._search("purity", 2, laws.impure_on_two, [laws.identity, *lifts])
        self._search("closure", 2, laws.not_closed, lifts)
        elements = self._elements(lifts)
        stated: list[tuple[str, int, Any, bool]] = [
            ("purity", 2, laws.impure_on_two, True),
            ("closure", 2, laws.not_closed, True),
            ("associativity", 3, laws.not_associative, True),
            ("identity", 1, laws.identity_changes, True),
            ("inverse", 2, laws.inverse_fails, monoid.inverse is not None),
            ("commutativity", 2, laws.not_commutative, monoid.commutative),
            ("idempotence", 1, laws.not_idempotent, monoid.idempotent),
            ("selection", 2, laws.no_selection, monoid.selection),
        ]
        for law, inputs, test, applies in stated:
            if applies and law != without:
                self._search(law, inputs, test, elements)
        return tuple(law for law, _, _, applies in stated if applies)

    # -- elements --------------------------------------------------------------------------------------------

    def _lifted(self, row: Row) -> Element:
        try:
            partial = self.monoid.lift(*copied(row))
        except Exception as error:
            raise ValueError(f"{self.monoid.name}: lift refuses the sample {row!r}: {error}") from error
        is_itself = len(row) == 1 and repr(partial) == repr(row[0])
        return Element(partial, repr(partial) if is_itself else f"lift({', '.join(map(repr, row))})", (row,))

    def _lifted_if_possible(self, row: Row) -> Element | None:
        """A derived sample counts only if the aggregate takes it at all."""
        if self.monoid.skips(row):
            return None
        try:
            element = self._lifted(row)
            for a, b in ((element, element), (self.laws.identity, element), (element, self.laws.identity)):
                self.laws.combine_copies(a, b)
        except Exception:
            return None
        return Element(element.value, element.text, element.rows, derived=True)

    def _elements(self, lifts: list[Element]) -> list[Element]:
        """Lifts, some combinations of two, and one of all."""
        pairs = [self._joined(a, b) for a, b in itertools.product(lifts[:4], repeat=2)]
        pairs += [self._joined(a, b) for a, b in itertools.pairwise(lifts[3:])]
        everything = lifts[0]
        for element in lifts[1:]:
            everything = self._joined(everything, element)
        return [*lifts, *sorted(pairs, key=lambda element: element.cost), everything]

    def _joined(self, a: Element, b: Element) -> Element:
        text = f"combine({a}, {b})"
        try:
            value = self.laws.combine_copies(a, b)
        except Exception as error:
            raise self._violation(
                "closure", (a, b), f"{text} raises {type(error).__name__}: {error}"
            ) from error
        return Element(value, text, a.rows + b.rows, a.derived or b.derived)

    # -- the search for a smallest counter-example -----------------------------------------------------------

    def _search(self, law: str, inputs: int, test: Callable[..., str | None], pool: list[Element]) -> None:
        for case in self._combinations(pool, inputs):
            self.tried += 1
            if self._detail(test, case) is not None:
                smallest = self._smallest(test, case, pool)
                raise self._violation(law, smallest, self._detail(test, smallest) or "")

    def _combinations(self, pool: list[Element], inputs: int) -> Iterator[tuple[Element, ...]]:
        """All combinations of the simplest elements, the simplest first; then some of all elements."""
        fit = int((self.cases / 2) ** (1 / inputs))
        head = pool if len(pool) ** inputs <= self.cases else pool[:fit]
        places = itertools.product(range(len(head)), repeat=inputs)
        for case in sorted(places, key=lambda case: (sum(len(head[k].rows) for k in case), sum(case), case)):
            yield tuple(head[k] for k in case)
        if head is not pool:
            choose = random.Random(0)
            for _ in range(self.cases // 2):
                yield tuple(choose.choices(pool, k=inputs))

    def _smallest(
        self, test: Callable[..., str | None], case: tuple[Element, ...], pool: list[Element]
    ) -> tuple[Element, ...]:
        """Replace elements by simpler ones for as long as the law stays broken."""
        candidates = sorted(pool, key=lambda element: element.cost)
        for place, simpler in itertools.product(range(len(case)), candidates):
            if simpler.cost < case[place].cost:
                smaller = (*case[:place], simpler, *case[place + 1 :])
                if self._detail(test, smaller) is not None:
                    return self._smallest(test, smaller, pool)
        return case

    @staticmethod
    def _detail(test: Callable[..., str | None], case: tuple[Element, ...]) -> str | None:
        try:
            return test(*case)
        except Exception as error:
            return f"with {', '.join(map(str, case))} a function raises {type(error).__name__}: {error}"

    def _violation(self, law: str, case: tuple[Element, ...], detail: str) -> LawViolation:
        rows = tuple(row[0] if len(row) == 1 else row for element in case for row in element.rows)
        return LawViolation(self.monoid.name, law, rows, detail)
