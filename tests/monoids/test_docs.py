"""The guide's table names every aggregate and states the properties that the code states."""

from __future__ import annotations

import re
from pathlib import Path

import windrow as wr
from windrow.monoids.base import Monoid

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "aggregates.md"
LETTERS = {"c": "commutative", "i": "invertible", "d": "idempotent", "s": "selection"}
NEEDED = {"exp_decay": {"half_life": 1}, "histogram": {"edges": [0, 1]}}
NEEDED |= {name: {"k": 2} for name in ("top_k", "bottom_k", "first_k", "last_k")}


def rows_of_the_table():
    text = GUIDE.read_text(encoding="utf-8").split("| aggregate |")[1].split("\n\n")[0]
    for line in text.splitlines()[2:]:
        aggregates, _, properties, nan, cost = (cell.strip() for cell in line.strip("|").split("|"))
        for name in re.findall(r"`(\w+)", aggregates):
            yield name, tuple(LETTERS[letter] for letter in properties.split()), nan, cost


def test_every_aggregate_is_in_the_table_once():
    aggregates = [name for name in wr.monoids.__all__ if isinstance(getattr(wr.monoids, name), Monoid)]
    assert sorted(name for name, *_ in rows_of_the_table()) == sorted(aggregates)


def test_the_table_states_the_properties_of_the_code():
    for name, properties, _, cost in rows_of_the_table():
        aggregate = getattr(wr, name)
        aggregate = aggregate(**NEEDED[name]) if name in NEEDED else aggregate
        assert properties == aggregate.properties, name
        assert ("native" in cost) == bool(aggregate.compiles_for), name
