"""Times with a time zone beside times without one are taken for UTC, with a warning."""

from __future__ import annotations

import warnings
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr

NAIVE = pa.table({"ts": pa.array([0, 3_600], pa.timestamp("s")), "v": [1, 2]})


def zoned(zone: str) -> pa.Table:
    return NAIVE.set_column(0, "ts", NAIVE["ts"].cast(pa.timestamp("s", zone)))


ASOF = wr.query(time="ts").asof("1h", closed="both").agg(n=wr.count())


def answers(events: pa.Table, labels: pa.Table, engine: str) -> list[int]:
    if engine == "run":
        return list(ASOF.run(events, at=labels)["n"].to_pylist())
    operator = ASOF.open()
    operator.push(events)
    return list(operator.at(labels)["n"].to_pylist())


@pytest.mark.parametrize("engine", ["run", "at"])
def test_naive_events_with_zoned_labels_were_taken_without_a_word(engine: str) -> None:
    berlin = zoned("Europe/Berlin")
    with pytest.warns(wr.MixedZones) as caught:
        assert answers(NAIVE, berlin, engine) == [1, 2]
    assert str(caught[0].message) == (
        "column 'ts' of the events has no time zone and column 'ts' of the labels is in "
        "'Europe/Berlin': times "
        "without a zone are taken for UTC. Give both a zone, as in "
        "pyarrow.compute.assume_timezone(column, 'Europe/Berlin'), or neither"
    )
    with pytest.warns(
        wr.MixedZones, match="column 'ts' of the labels has no time zone and column 'ts' of the"
    ):
        assert answers(berlin, NAIVE, engine) == [1, 2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert answers(berlin, zoned("Asia/Tokyo"), engine) == [1, 2]
        assert answers(NAIVE, NAIVE, engine) == [1, 2]


@pytest.mark.parametrize(
    "query", [wr.query(time="ts").window(wr.Tumbling("1h")), wr.query(time="ts").rolling("1h")]
)
@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("zone", ["Europe/Berlin", "UTC"])
def test_pushes_that_change_between_naive_and_zoned_were_taken_without_a_word(
    query: Any, order: int, zone: str
) -> None:
    operator = query.agg(n=wr.count()).open()
    first, second = [NAIVE, zoned(zone)][::order]
    operator.push(first)
    with pytest.warns(wr.MixedZones, match=f"has no time zone and column 'ts' of .* is in '{zone}'"):
        operator.push(second)
    assert operator.metrics.rows_in == 4


def test_history_without_a_zone_before_rows_with_one_is_told() -> None:
    query = wr.query(time="ts").window(wr.Tumbling("1h")).agg(n=wr.count())
    operator = query.open(history=NAIVE)
    with pytest.warns(wr.MixedZones, match="has no time zone"):
        operator.push(zoned("Europe/Berlin"))


def test_naive_rows_are_refused_where_days_of_a_zone_are_counted() -> None:
    operator = wr.query(time="ts").window(wr.Tumbling("1d")).agg(n=wr.count()).open()
    operator.push(zoned("Europe/Berlin"))
    with pytest.raises(
        TypeError, match=r"was in the time zone 'Europe/Berlin' before, .* is in 'UTC' in this table"
    ):
        operator.push(NAIVE)
