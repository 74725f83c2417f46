"""What Python shows of an aggregate: its documentation, its signature, and text that makes it again."""

from __future__ import annotations

import doctest
import inspect
import pydoc
from datetime import timedelta
from typing import Any

import pytest

import windrow as wr
from windrow.monoids.base import Monoid
from windrow.spec_text import AGGREGATES


@pytest.mark.parametrize("name", AGGREGATES)
def test_every_aggregate_has_documentation_of_its_own(name: str) -> None:
    text = getattr(wr, name).__doc__
    assert text.startswith(f"{name}{inspect.signature(getattr(wr, name))}\n")
    assert "ull" in text  # what it does with nulls
    assert "NaN" in text or name == "concat"
    shown = pydoc.render_doc(getattr(wr, name), renderer=pydoc.plaintext)
    assert text.splitlines()[2] in shown
    assert "not bound to columns yet" not in shown


@pytest.mark.parametrize("name", AGGREGATES)
def test_the_examples_in_the_documentation_of_an_aggregate_run(name: str) -> None:
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    test = doctest.DocTestParser().get_doctest(getattr(wr, name).__doc__, {}, name, None, None)
    assert test.examples
    results = doctest.DocTestRunner(optionflags=flags).run(test)
    assert results.failed == 0


def test_the_class_keeps_its_own_documentation_and_signature() -> None:
    assert Monoid.__doc__.startswith("An aggregate that is not bound to columns yet")
    assert "identity" in inspect.signature(Monoid).parameters


@pytest.mark.parametrize(
    ("aggregate", "signature"),
    [
        (wr.max, "(column, /, *, where=None, min_count=None, nulls='skip', nan='propagate')"),
        (wr.count, "(column=None, /, *, where=None, min_count=None, nulls='skip', nan='propagate')"),
        (wr.quantile, "(column, /, q=0.5, *, where=None, min_count=None, nulls='skip', nan='propagate')"),
        (wr.arg_max, "(column, /, *, value, where=None, min_count=None, nulls='skip', nan='propagate')"),
        (wr.max_by, "(value, by, /, *, where=None, min_count=None, nulls='skip', nan='propagate')"),
        (
            wr.exp_decay,
            "(value, time, /, half_life, mean=False, *, where=None, min_count=None, nulls='skip', "
            "nan='propagate')",
        ),
        (
            wr.monoid(name="dot", lift=lambda x, y: x * y, combine=lambda a, b: a + b, identity=0),
            "(x, y, /, *, where=None, min_count=None, nulls='skip', nan='propagate')",
        ),
        (
            wr.monoid(lift=lambda *x: x, combine=max, identity=()),
            "(*columns, where=None, min_count=None, nulls='skip', nan='propagate')",
        ),
        (
            wr.monoid(lift=str, combine=max, identity=""),
            "(column, /, *, where=None, min_count=None, nulls='skip', nan='propagate')",
        ),
    ],
)
def test_the_signature_of_an_aggregate_is_how_it_is_called(aggregate: Any, signature: str) -> None:
    assert str(inspect.signature(aggregate)) == signature


@pytest.mark.parametrize(
    "aggregate",
    [
        wr.max("len"),
        wr.count(),
        wr.count("call length"),
        wr.sum("len", nan="ignore"),
        wr.sum("len", nulls="propagate"),
        wr.quantile("len", 0.99),
        wr.concat("name", sep=", "),
        wr.concat("name"),
        wr.arg_max("len", value="caller"),
        wr.exp_decay("v", "ts", half_life=timedelta(minutes=1)),
        wr.together(n=wr.count, top=wr.max(nan="ignore"), p=wr.quantile(0.9))("len", nulls="skip"),
    ],
    ids=repr,
)
def test_the_repr_of_an_aggregate_makes_it_again(aggregate: Any) -> None:
    import datetime

    again = eval(repr(aggregate), vars(wr) | {"quantile": wr.quantile, "datetime": datetime})
    assert repr(again) == repr(aggregate)
    assert (again.columns, again.monoid.name, dict(again.monoid.parameters)) == (
        aggregate.columns,
        aggregate.monoid.name,
        dict(aggregate.monoid.parameters),
    )
    assert (again.monoid.nulls, again.monoid.nan) == (aggregate.monoid.nulls, aggregate.monoid.nan)


def test_the_name_of_an_aggregate_in_stored_state_is_what_it_was() -> None:
    """State of earlier versions names aggregates so: ``repr`` may change, this may not."""
    found = [
        wr.max("len"),
        wr.quantile("len", 0.99),
        wr.arg_max("len", value="caller", nan="ignore"),
        wr.count(),
    ]
    assert [aggregate.identity_text for aggregate in found] == [
        "max(len)",
        "quantile(len, q=0.99)",
        "arg_max(len, caller)",
        "count()",
    ]
    assert wr.together(n=wr.count)("len").identity_text == "together(len, n='count')"
