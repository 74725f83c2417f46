"""What the tests of single algorithms share: aggregates that tell mistakes, traces, a state machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from windrow.errors import EmptyWindow
from windrow.monoids.base import Monoid
from windrow.monoids.own import monoid
from windrow.swag.amta import AMTA
from windrow.swag.base import Swag
from windrow.swag.log_mta import LogMTA
from windrow.swag.mta import MonoidTree

#: neither commutative nor invertible, and shows every mistake in order or extent
TEXT = monoid(name="text", lift=str, combine=lambda a, b: a + b, identity="", empty="", compile=False)
SUM = monoid(name="total", lift=int, combine=lambda a, b: a + b, identity=0, compile=False)
MAX = monoid(name="largest", lift=int, combine=max, identity=-(10**9), compile=False)

#: the two monoid tree aggregators
both = pytest.mark.parametrize("algorithm", [LogMTA, AMTA])
Algorithm = type[MonoidTree]

#: [DABA] fig 4: the window 2 6 3 5 3, then evictions and insertions in turn
RUNNING_EXAMPLE = (None, 1, None, 4, None, 2, None, 7)
RUNNING_EXAMPLE_RESULTS = [6, 6, 6, 5, 5, 5, 5, 4, 7]


def filled(window: Any, values: Iterable[Any]) -> Any:
    for value in values:
        window.insert(value)
    return window


def running_example(make: Callable[[Monoid], Swag]) -> list[int]:
    window = make(MAX)
    for value in (2, 6, 3, 5, 3):
        window.insert(value)
    results = [window.query()]
    for step in RUNNING_EXAMPLE:
        window.evict() if step is None else window.insert(step)
        window.check_invariants()
        results.append(window.query())
    return results


class WindowMachine(RuleBasedStateMachine):
    """A window of text beside the text itself; subclasses say which algorithm."""

    make: ClassVar[Callable[[Monoid], Swag]]

    def __init__(self) -> None:
        super().__init__()
        self.window = type(self).make(TEXT)
        self.text = ""

    @rule(letters=st.text("abcdefgh", min_size=1, max_size=20))
    def insert(self, letters: str) -> None:
        for letter in letters:
            self.window.insert(letter)
        self.text += letters

    @rule(letter=st.sampled_from("xyz"))
    def insert_one(self, letter: str) -> None:
        self.window.insert(letter)
        self.text += letter

    @precondition(lambda self: self.text)
    @rule()
    def evict(self) -> None:
        self.window.evict()
        self.text = self.text[1:]

    @precondition(lambda self: not self.text)
    @rule()
    def evict_from_empty(self) -> None:
        with pytest.raises(EmptyWindow):
            self.window.evict()

    @rule(data=st.data())
    def evict_many(self, data: st.DataObject) -> None:
        count = data.draw(st.integers(0, len(self.text)))
        self.window.evict_many(count)
        self.text = self.text[count:]

    @rule()
    def evict_too_many(self) -> None:
        with pytest.raises(EmptyWindow):
            self.window.evict_many(len(self.text) + 1)

    @precondition(lambda self: hasattr(self.window, "evict_while"))
    @rule(data=st.data())
    def evict_while(self, data: st.DataObject) -> None:
        count = data.draw(st.integers(0, len(self.text)))

        def policy(total: str, old: str) -> bool:
            assert total == self.text
            assert total.startswith(old)
            assert old
            return len(old) <= count

        assert self.window.evict_while(policy) == count  # type: ignore[attr-defined]
        self.text = self.text[count:]

    @rule()
    def query(self) -> None:
        assert self.window.query() == self.text

    @invariant()
    def is_sound(self) -> None:
        assert len(self.window) == len(self.text)
        self.window.check_invariants()

    def teardown(self) -> None:
        assert self.window.query() == self.text


def machine_for(make: Callable[[Monoid], Swag]) -> type:
    """A Hypothesis test case for one algorithm."""
    return type("Machine", (WindowMachine,), {"make": staticmethod(make)}).TestCase
