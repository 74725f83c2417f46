"""Windows, aggregates and policies as text: what is read, and that nothing in it runs."""

from __future__ import annotations

import pytest

import windrow as wr
from windrow.spec_text import AGGREGATES, SpecTextError, aggregate_of, policy_of, window_of


@pytest.mark.parametrize(
    "text",
    [
        "Tumbling(__import__('os'))",
        "Tumbling(*[10])",
        "Tumbling(**{'size': 10})",
        "Tumbling((1, 2))",
        "wr.Tumbling(10)",
        "(lambda: 0)()",
        "Tumbling(10); 1",
        "Policy('total.n', 'old.n')",
    ],
)
def test_windows_run_no_code(text: str) -> None:
    with pytest.raises(SpecTextError):
        window_of(text)


@pytest.mark.parametrize("text", ["max(x.y)", "max(print(1))", "monoid(f)", "max"])
def test_aggregates_run_no_code(text: str) -> None:
    with pytest.raises(SpecTextError):
        aggregate_of(text)


@pytest.mark.parametrize(
    "text", ["total.n", "total.__class__ > 1", "other.n > 1", "total.n ** 9 > 1", "f(total) > 1", "1 < 2 < 3"]
)
def test_policies_run_no_code(text: str) -> None:
    with pytest.raises(SpecTextError):
        policy_of(text)


def test_every_aggregate_of_windrow_can_be_written() -> None:
    known = {name for name in wr.monoids.__all__ if isinstance(getattr(wr.monoids, name), wr.monoids.Monoid)}
    assert set(AGGREGATES) == known


def test_own_aggregates_are_known_by_name() -> None:
    total = wr.monoid(name="total", lift=float, combine=lambda a, b: a + b, identity=0.0)
    assert repr(aggregate_of("total(len)", {"total": total})) == "total('len')"
    with pytest.raises(SpecTextError, match="use one of"):
        aggregate_of("total(len)")


@pytest.mark.parametrize("text", ["(" * 500 + ")" * 500, "max(" + "-" * 900 + "1)", "max(len" + " " * 2_000])
def test_long_and_deep_text_is_refused(text: str) -> None:
    with pytest.raises(SpecTextError):
        aggregate_of(text)


def test_an_aggregate_without_a_column_is_refused() -> None:
    with pytest.raises(SpecTextError, match=r"max\(\)"):
        aggregate_of("max()")
    assert repr(aggregate_of("count()")) == "count()"


def test_the_nearest_name_is_suggested() -> None:
    with pytest.raises(SpecTextError, match=r"did you mean arg_max\(\.\.\.\)\?"):
        aggregate_of("argmax(len, caller)")
    with pytest.raises(SpecTextError, match=r"did you mean Tumbling\(\.\.\.\)\?"):
        window_of("Tumblin(10)")
