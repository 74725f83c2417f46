"""Each law as a test of one case: what is wrong, in words, or None.

The search for a case, and for the smallest one, is in :mod:`windrow.monoids.law_trial`. Functions are called
with copies, so that one which changes its arguments cannot spoil the elements that other cases use.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from windrow.monoids.base import Monoid
from windrow.monoids.equality import magnitude, same, shape
from windrow.monoids.law_samples import Element

__all__ = ["Laws", "copied"]


class Laws:
    """The laws of one aggregate. ``lifts`` are what partials must look like."""

    def __init__(self, monoid: Monoid, tolerance: float) -> None:
        self.monoid = monoid
        self.tolerance = tolerance
        self.identity = Element(monoid.identity, "identity", ())
        self.lifts: list[Element] = []

    def combine(self, a: Element, b: Element) -> Any:
        return self.monoid.combine(a.value, b.value)

    def combine_copies(self, a: Element, b: Element) -> Any:
        """The same, for elements that must survive a combine that may not be pure."""
        return self.monoid.combine(*copied((a.value, b.value)))

    def _same(self, a: Any, b: Any, *inputs: Element) -> bool:
        if self.monoid.equal is not None:
            return self.monoid.equal(a, b, magnitude(*(element.rows for element in inputs)))
        return same(a, b, self.tolerance * magnitude(a, b, *(element.value for element in inputs)))

    def impure_on_one(self, a: Element) -> str | None:
        arguments = ", ".join(map(repr, a.rows[0]))
        found = self._impure(self.monoid.lift, a.rows[0], f"lift({arguments})")
        return found or self._impure(self.monoid.lower, (a.value,), f"lower({a})")

    def impure_on_two(self, a: Element, b: Element) -> str | None:
        found = self._impure(self.monoid.combine, (a.value, b.value), f"combine({a}, {b})")
        if found is not None or self.monoid.inverse is None:
            return found
        try:
            total = self.combine(a, b)
        except Exception:
            return None
        return self._impure(self.monoid.inverse, (total, a.value), f"inverse(combine({a}, {b}), {a})")

    def _impure(self, function: Callable[..., Any], values: tuple[Any, ...], text: str) -> str | None:
        arguments = copied(values)
        try:
            answer = function(*arguments)
        except Exception:
            return None  # refusing a partial has nothing to do with purity
        for which, before, after in zip(("first", "second", "third"), values, arguments, strict=False):
            if not self._unchanged(before, after):
                return f"{text} mutates its {which} argument: {_shown(before)} becomes {_shown(after)}"
        again = function(*copied(values))
        if not self._unchanged(answer, again):
            return f"{text} = {_shown(answer)} at first, but {_shown(again)} when called again"
        return None

    def _unchanged(self, a: Any, b: Any) -> bool:
        return same(a, b) or (
            self.monoid.equal is not None and type(a) is type(b) and self.monoid.equal(a, b, 0.0)
        )

    def not_closed(self, a: Element, b: Element) -> str | None:
        lifts = [shape(element.value) for element in self.lifts]
        own = shape(self.identity.value)
        try:
            result = self.combine(a, b)
        except Exception as error:
            return f"combine({a}, {b}) raises {type(error).__name__}: {error}"
        kind, parts = shape(result)
        wanted = ""
        if kind not in {own[0], *(k for k, _ in lifts)}:
            wanted = lifts[0][0]
        elif set(lifts) == {own} and parts != own[1]:  # a record: identity and all lifts have the same parts
            wanted = f"{own[0]} of {own[1]}"
        if not wanted:
            return None
        found = kind if parts < 0 else f"{kind} of {parts}"
        return f"combine({a}, {b}) = {_shown(result)} has the shape of {found}, but lift gives {wanted}"

    def identity_changes(self, a: Element) -> str | None:
        for text, pair in ((f"identity, {a}", (self.identity, a)), (f"{a}, identity", (a, self.identity))):
            result = self.combine(*pair)
            if not self._same(result, a.value, a):
                return f"combine({text}) = {_shown(result)}, not {_shown(a.value)}"
        return None

    def not_associative(self, a: Element, b: Element, c: Element) -> str | None:
        combine = self.monoid.combine
        left = combine(combine(a.value, b.value), c.value)
        right = combine(a.value, combine(b.value, c.value))
        if self._same(left, right, a, b, c):
            return None
        first, last = f"combine(combine({a}, {b}), {c})", f"combine({a}, combine({b}, {c}))"
        return f"{first} = {_shown(left)} but {last} = {_shown(right)}"

    def inverse_fails(self, a: Element, b: Element) -> str | None:
        assert self.monoid.inverse is not None
        total = self.combine(a, b)
        for text, whole, rest in ((f"combine({a}, {b})", total, b), (str(a), a.value, self.identity)):
            left = self.monoid.inverse(whole, a.value)
            if not self._same(left, rest.value, a, b):
                return f"inverse({text}, {a}) = {_shown(left)}, not {_shown(rest.value)}"
        return None

    def not_commutative(self, a: Element, b: Element) -> str | None:
        one, other = self.combine(a, b), self.combine(b, a)
        if self._same(one, other, a, b):
            return None
        return f"combine({a}, {b}) = {_shown(one)} but combine({b}, {a}) = {_shown(other)}"

    def not_idempotent(self, a: Element) -> str | None:
        result = self.combine(a, a)
        return None if self._same(result, a.value, a) else f"combine({a}, {a}) = {_shown(result)}"

    def no_selection(self, a: Element, b: Element) -> str | None:
        result = self.combine(a, b)
        if self._same(result, a.value, a, b) or self._same(result, b.value, a, b):
            return None
        return f"combine({a}, {b}) = {_shown(result)} is neither {_shown(a.value)} nor {_shown(b.value)}"


def copied(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Copies that share nothing with the originals, where that is possible."""
    try:
        return copy.deepcopy(values)
    except Exception:  # what cannot be copied is used as it is; that it gives the same answer twice must do
        return values


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:197]}..."
