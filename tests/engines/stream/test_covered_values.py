"""Distinct values, registers and bits that later slices cover are not held, and no window misses them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from engines.stream.test_operator_against_oracle import check
from support.budget import examples
from windrow.partials.columns import join
from windrow.partials.value_aggregates.bags import Bag
from windrow.partials.value_aggregates.column import KeptColumn, kept_column
from windrow.partials.value_aggregates.covered import without_covered
from windrow.testing import assert_same_results
from windrow.testing.strategies import operations, streams

COVERED = {
    "some": wr.approx_distinct("n", precision=4),
    "known": wr.count_distinct("s"),
    "bits": wr.bloom("n", bits=64, hashes=2),
}
WINDOWS = {"long": wr.Sliding(24, slide=3), "short": wr.Sliding(7, slide=2), "cut": wr.Tumbling(5)}


@settings(max_examples=examples(80))
@given(st.data())
def test_windows_of_any_stream_see_what_they_saw(data: st.DataObject) -> None:
    settings = {"watermark": data.draw(st.integers(0, 6)), "late": "emit"}
    lateness = data.draw(st.sampled_from([None, 5]))
    query = wr.query(time="ts", by="key", allowed_lateness=lateness, **settings)
    chosen = data.draw(st.sets(st.sampled_from(sorted(WINDOWS)), min_size=1))
    query = query.window(**{name: WINDOWS[name] for name in sorted(chosen)}).agg(**COVERED, n=wr.sum("n"))
    calls = data.draw(operations(data.draw(streams("integer", null_times=True))))
    check(query, calls, "integer", data.draw(st.integers(0, 8)))


def day(users: int) -> pa.Table:
    """Twenty rows of each of two keys in each minute of a day."""
    rng = np.random.default_rng(1)
    rows = 1_440 * 40
    return pa.table(
        {
            "t": np.sort(rng.integers(0, 86_400, rows)),
            "k": np.arange(rows) % 2,
            "n": rng.integers(0, users, rows),
        }
    )


@pytest.mark.parametrize(
    ("aggregate", "most"),
    [(wr.approx_distinct("n"), 6_000), (wr.bloom("n", bits=4_096), 16_000), (wr.count_distinct("n"), 6_000)],
    ids=str,
)
def test_a_dense_day_of_a_key_costs_about_a_sketch(aggregate: Any, most: int) -> None:
    query = wr.query(time="t", by="k", watermark=60).window(wr.Sliding(86_400, slide=60)).agg(r=aggregate)
    rows = day(users=800)
    for options in ({}, {"store": wr.state.MemoryStore(), "name": "q"}):
        operator = query.open(**options)
        parts = [operator.push(rows.slice(first, 4_000)) for first in range(0, rows.num_rows, 4_000)]
        if not options:
            assert sum(len(each.bag) for each in columns(operator)) < 2 * most, "of 28,800 values a key"
        found = pa.concat_tables([*parts, operator.finish()])
        assert_same_results(found, query.run(rows))


def columns(operator: Any) -> list[Any]:
    blocks = operator._state.time.store.blocks.values()
    return [block.slices.partials.columns[0] for block in blocks]


@pytest.mark.parametrize("distinct", [5, 40, 2_000])
def test_windows_up_to_the_last_slice_see_the_same_without_covered_values(distinct: int) -> None:
    """Of few values and of many, for each of two keys, whose slices lie side by side."""
    rng, aggregate = np.random.default_rng(distinct), wr.approx_distinct("n", precision=4)
    codes = rng.integers(-(2**63), 2**63, distinct)

    def column(slices: int) -> KeptColumn:
        offsets = np.arange(slices + 1) * 30
        bag = Bag(pa.array(rng.choice(codes, 30 * slices)))
        return kept_column(aggregate, None, bag, offsets)

    before, keys = [column(8), column(6)], [np.repeat([0, 1], 4), np.repeat([0, 1], 3)]
    after = without_covered(before, keys)
    for key in (0, 1):
        for first in range(7):
            found = []
            for columns in (before, after):
                of_key = [
                    each.take(np.flatnonzero(owners == key))
                    for each, owners in zip(columns, keys, strict=True)
                ]
                found.append(join(of_key).results(np.array([first]), np.array([7]), "any", np.array([1])))
            assert found[0].equals(found[1])
        assert (
            sum(len(each.take(np.flatnonzero(o == key)).bag) for each, o in zip(after, keys, strict=True))
            <= 4 * 16 + 33
        )
