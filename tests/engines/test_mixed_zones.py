"""Times with a time zone beside times without one: refused, or taken for UTC with a warning."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import windrow as wr

NAIVE = pa.table({"ts": pa.array([0, 3_600], pa.timestamp("s")), "v": [1, 2]})
REMEDY = (
    "and times without a zone mean UTC: give both a zone, as in "
    "pyarrow.compute.assume_timezone(column, '{}'), or "
    "neither"
)


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
    message = (
        "column 'ts' of the events has no time zone and column 'ts' of the labels is in 'Europe/Berlin', "
    )
    with pytest.raises(TypeError) as caught:
        answers(NAIVE, berlin, engine)
    assert str(caught.value) == message + REMEDY.format("Europe/Berlin")
    with pytest.raises(
        TypeError, match="column 'ts' of the labels has no time zone and column 'ts' of the events"
    ):
        answers(berlin, NAIVE, engine)
    assert answers(berlin, zoned("Asia/Tokyo"), engine) == [1, 2]
    with pytest.warns(wr.MixedZones, match="is in 'UTC', and times without a zone mean UTC"):
        assert answers(NAIVE, zoned("UTC"), engine) == [1, 2]


@pytest.mark.parametrize(
    "query", [wr.query(time="ts").window(wr.Tumbling("1h")), wr.query(time="ts").rolling("1h")]
)
@pytest.mark.parametrize("order", [1, -1])
def test_pushes_that_change_between_naive_and_zoned_were_taken_without_a_word(query: Any, order: int) -> None:
    operator = query.agg(n=wr.count()).open()
    first, second = [NAIVE, zoned("Europe/Berlin")][::order]
    operator.push(first)
    with pytest.raises(
        TypeError, match=r"column 'ts' of .* has no time zone and column 'ts' of .* 'Europe/Berlin'"
    ):
        operator.push(second)
    operator.push(first)
    assert operator.metrics.rows_in == 4
    of_utc = query.agg(n=wr.count()).open()
    first, second = [NAIVE, zoned("UTC")][::order]
    of_utc.push(first)
    with pytest.warns(wr.MixedZones, match="of the tables before|of this table"):
        of_utc.push(second)
    assert of_utc.metrics.rows_in == 4


def test_history_without_a_zone_before_rows_with_one_is_refused() -> None:
    query = wr.query(time="ts").window(wr.Tumbling("1h")).agg(n=wr.count())
    operator = query.open(history=NAIVE)
    with pytest.raises(TypeError, match="has no time zone"):
        operator.push(zoned("Europe/Berlin"))
