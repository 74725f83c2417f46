"""A combine that raises, at whichever call and in whatever operation, leaves a window as it was."""

from __future__ import annotations

from typing import Any

import pytest

import windrow as wr
from support.aggregates import ALGORITHMS
from support.budget import examples
from support.raising_combines import KINDS, Brittle, check_that_a_raising_combine_changes_nothing
from support.swag_windows import filled
from windrow.compile.native import CompileWarning

EVERY = [*ALGORITHMS, wr.swag.Recalc]


@pytest.mark.parametrize("call", [1, 2])
@pytest.mark.parametrize("algorithm", [wr.swag.TwoStacks, wr.swag.TwoStacksLite])
def test_a_flip_whose_combine_raises_changes_nothing(algorithm: type[wr.swag.Swag], call: int) -> None:
    brittle = Brittle()
    window = filled(algorithm(brittle.monoid), "abc")
    brittle.calls_left = call
    with pytest.raises(ZeroDivisionError):
        window.evict()
    assert (window.query(), len(window)) == ("abc", 3)
    window.evict()
    assert (window.query(), len(window)) == ("bc", 2)


@pytest.mark.parametrize("algorithm", EVERY)
def test_a_plain_batch_whose_combine_raises_leaves_the_window_as_it_was_before_it(
    algorithm: type[wr.swag.Swag],
) -> None:
    brittle = Brittle()
    brittle.stays_broken = True
    window = filled(algorithm(brittle.monoid), "abc")
    for call in (1, 2, 3, 4, 5):
        brittle.calls_left = call
        with pytest.raises(wr.swag.AggregateError, match="'brittle' raised ZeroDivisionError at row"):
            window.roll(list("defghijklm"), size=3)
        brittle.calls_left = 0
        assert (window.query(), len(window)) == ("abc", 3)
    assert window.roll(list("de"), size=3) == ["bcd", "cde"]


def test_a_batch_that_native_code_cannot_do_is_done_in_plain_python(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError("the kernel is lost")

    mine = wr.monoid(name="mine", lift=lambda v: v, combine=lambda a, b: a + b, identity=0)
    window = filled(wr.swag.DABALite(mine), [1, 2])
    with monkeypatch.context() as patch:
        patch.setattr("windrow.swag.native.roll.call_whole", broken)
        with pytest.warns(CompileWarning, match="RuntimeError: the kernel is lost"):
            results = window.roll([3, 4], size=3)
    assert results == [6, 9]
    assert (window.query(), len(window)) == (9, 3)
    assert window.roll([5], size=3) == [12]


@pytest.mark.parametrize("kinds", [kinds for kinds in KINDS if kinds != "in any order"])
@pytest.mark.parametrize("algorithm", EVERY)
def test_a_raising_combine_changes_nothing(algorithm: type[wr.swag.Swag], kinds: str) -> None:
    check_that_a_raising_combine_changes_nothing(algorithm, KINDS[kinds], range(examples(40)))


@pytest.mark.parametrize("mu", [2, 4])
def test_a_raising_combine_changes_nothing_in_any_order(mu: int) -> None:
    def make(monoid: Any) -> wr.swag.Swag:
        return wr.swag.FiBA(monoid, mu)

    check_that_a_raising_combine_changes_nothing(make, KINDS["in any order"], range(examples(40)))
