"""As-of queries on tables: kinds of tables, types of keys and times, errors, names, and other engines."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import windrow as wr
from windrow.errors import RejectedRows, UnknownColumn
from windrow.rows import points
from windrow.slicing.finder import relative
from windrow.testing import assert_same_results
from windrow.testing.strategies import CONCATENATION
from windrow.threads import using_threads

EVENTS = pa.table(
    {"ts": [1, 5, 5, 9, 20, 3], "user": ["a", "a", "b", "a", "b", None], "v": [1, 2, 3, 4, 5, 6]}
)
LABELS = pa.table({"who": ["b", "a", "zz", None, "a"], "at": [21, 9, 7, 4, 9], "y": [1, 0, 1, 0, 1]})
QUERY = wr.query(time="ts", by="user").asof(5, "all").agg(total=wr.sum("v"), n=wr.count())
COLUMNS: Any = {"at_time": "at", "at_by": "who"}
FOUND = {
    "total_5": [5, 2, None, 6, 2],
    "total_all": [8, 3, None, 6, 3],
    "n_5": [1, 1, 0, 1, 1],
    "n_all": [2, 2, 0, 1, 2],
}

KINDS: dict[str, Any] = {
    "arrow": lambda table: table,
    "pandas": lambda table: table.to_pandas(),
    "polars": pl.from_arrow,
    "duckdb": duckdb.from_arrow,
}


# -- tables --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", KINDS)
@pytest.mark.parametrize("events", KINDS)
def test_events_and_labels_of_any_two_kinds(events: str, labels: str) -> None:
    found = QUERY.run(KINDS[events](EVENTS), at=KINDS[labels](LABELS), **COLUMNS)
    assert type(found) is type(KINDS[labels](LABELS))
    assert_same_results(found, LABELS.append_column("total_5", [FOUND["total_5"]]).append_column(
        "total_all", [FOUND["total_all"]]).append_column("n_5", [FOUND["n_5"]]).append_column(
        "n_all", [FOUND["n_all"]]))  # fmt: skip


def test_labels_keep_their_rows_and_columns_in_order() -> None:
    found = QUERY.run(EVENTS, at=LABELS, **COLUMNS)
    assert found.column_names == ["who", "at", "y", *FOUND]
    assert found.select(["who", "at", "y"]).equals(LABELS)
    assert found.select(list(FOUND)).to_pydict() == FOUND


def test_events_with_the_data_at_hand() -> None:
    start = wr.events(EVENTS, time="ts", by="user")
    found = start.asof(5, at=LABELS, **COLUMNS).agg(n=wr.count())
    assert found["n"].to_pylist() == FOUND["n_5"]


def test_columns_of_labels_default_to_those_of_the_query() -> None:
    found = QUERY.run(EVENTS, at=LABELS.rename_columns(["user", "ts", "y"]))
    assert found["n_5"].to_pylist() == FOUND["n_5"]


def test_labels_that_are_chunked_and_sliced() -> None:
    pieces = pa.concat_tables([LABELS.slice(0, 2), LABELS.slice(2)])
    assert QUERY.run(EVENTS, at=pieces, **COLUMNS)["n_all"].to_pylist() == FOUND["n_all"]


# -- rows ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("direction", "closed", "expected"),
    [
        ("backward", None, "b"),  # events a=1, b=2, c=5, d=5, e=8, and a label at 5
        ("backward", "left", "b"),
        ("backward", "neither", "b"),
        ("backward", "right", "d"),
        ("backward", "both", "d"),
        ("forward", None, "e"),
        ("forward", "right", "e"),
        ("forward", "neither", "e"),
        ("forward", "left", "c"),
        ("forward", "both", "c"),
    ],
)
def test_the_nearest_rows_by_hand(direction: Any, closed: Any, expected: str) -> None:
    events = pa.table({"ts": [8, 5, 2, 5, 1], "order": [0, 1, 0, 2, 0], "s": list("ecbda")})
    start = wr.query(time="ts", order="order")
    query = start.asof(rows=1, direction=direction, closed=closed).agg(s=wr.concat("s"))
    assert query.run(events, at=pa.table({"ts": [5]}))["s"].to_pylist() == [expected]
    every = start.asof(rows=9, direction=direction, closed=closed, lag=3).agg(s=wr.concat("s"))
    closed_at_end = closed in (("right", "both") if direction == "backward" else ("left", "both"))
    near = ("ab" if closed_at_end else "a") if direction == "backward" else ("e" if closed_at_end else None)
    assert every.run(events, at=pa.table({"ts": [5]}))["s"].to_pylist() == [near]


# -- labels without a time -----------------------------------------------------------------------------------


def test_a_label_without_a_time_has_null_results_and_is_counted() -> None:
    labels = pa.table({"who": ["a", "a", None], "at": pa.array([None, 9, None], pa.int64())})
    with pytest.warns(RejectedRows, match="2 of 3 labels have no time in 'at': their results are null"):
        found = QUERY.run(EVENTS, at=labels, **COLUMNS)
    assert found["n_5"].to_pylist() == [None, 1, None]
    assert found["total_all"].to_pylist() == [None, 3, None]


def test_an_event_without_a_time_is_seen_by_none() -> None:
    events = pa.concat_tables(
        [EVENTS, pa.table({"ts": pa.array([None], pa.int64()), "user": ["a"], "v": [9]})]
    )
    with pytest.warns(RejectedRows, match="1 of 7 rows"):
        found = QUERY.run(events, at=LABELS, **COLUMNS)
    assert found.select(list(FOUND)).to_pydict() == FOUND


# -- keys ----------------------------------------------------------------------------------------------------

TEXTS = {
    "string": pa.string(),
    "large_string": pa.large_string(),
    "string_view": pa.string_view(),
    "dictionary": pa.dictionary(pa.int8(), pa.string()),
    "dictionary of large": pa.dictionary(pa.int32(), pa.large_string()),
}


@pytest.mark.parametrize("labels", TEXTS)
@pytest.mark.parametrize("events", TEXTS)
def test_keys_that_are_text_of_any_type(events: str, labels: str) -> None:
    rows = EVENTS.set_column(1, "user", pa.array(EVENTS["user"].to_pylist(), TEXTS[events]))
    asked = LABELS.set_column(0, "who", pa.array(LABELS["who"].to_pylist(), TEXTS[labels]))
    assert QUERY.run(rows, at=asked, **COLUMNS).select(list(FOUND)).to_pydict() == FOUND


INTEGERS = [pa.int8(), pa.int32(), pa.int64(), pa.uint16(), pa.uint64()]


@pytest.mark.parametrize("labels", [*INTEGERS, pa.float64()], ids=str)
@pytest.mark.parametrize("events", [*INTEGERS, pa.float32()], ids=str)
def test_keys_that_are_whole_numbers_of_any_type(events: Any, labels: Any) -> None:
    rows = EVENTS.set_column(1, "user", pa.array([1, 1, 2, 1, 2, None], events))
    asked = LABELS.set_column(0, "who", pa.array([2, 1, 7, None, 1], labels))
    assert QUERY.run(rows, at=asked, **COLUMNS).select(list(FOUND)).to_pydict() == FOUND


def test_integers_that_pandas_has_as_floats_for_want_of_null() -> None:
    rows = EVENTS.set_column(1, "user", pa.array([1, 1, 2, 1, 2, None]))
    asked = pd.DataFrame({"who": [2, 1, 7, None, 1], "at": [21, 9, 7, 4, 9]})
    assert asked["who"].dtype == float
    assert QUERY.run(rows, at=asked, **COLUMNS)["n_all"].tolist() == FOUND["n_all"]


def test_float_keys_match_by_value() -> None:
    nan, other = float("nan"), np.array([0x7FF8000000000001], np.uint64).view(np.float64)[0]
    rows = pa.table({"ts": [1, 2, 3], "user": pa.array([0.0, nan, 1.5]), "v": [1, 2, 3]})
    asked = pa.table({"at": [9] * 4, "who": pa.array([-0.0, other, 1.5, 2.5], from_pandas=False)})
    assert QUERY.run(rows, at=asked, **COLUMNS)["total_all"].to_pylist() == [1, 2, 3, None]


def test_keys_of_several_columns() -> None:
    query = wr.query(time="ts", by=["user", "shop"]).asof(10).agg(n=wr.count())
    rows = pa.table({"ts": [1, 2, 3], "user": ["a", "a", None], "shop": pa.array([1, 2, None], pa.int32())})
    asked = pa.table({"s": [2, 1, 1, None], "u": ["a", "a", "b", None], "ts": [5] * 4})
    assert query.run(rows, at=asked, at_by=["u", "s"])["n"].to_pylist() == [1, 1, 0, 1]


def test_keys_that_only_null_is_known_of() -> None:
    asked = pa.table({"who": pa.nulls(2), "at": [4, 1]})
    assert QUERY.run(EVENTS, at=asked, **COLUMNS)["n_all"].to_pylist() == [1, 0]


@pytest.mark.parametrize("key", [[1, 2], [1.5, 2.0], [True, False], [b"a", b"b"]], ids=str)
def test_keys_that_cannot_be_compared_are_refused(key: list[Any]) -> None:
    with pytest.raises(TypeError, match="'user' of the events is of type string and 'who' of the labels"):
        QUERY.run(EVENTS, at=pa.table({"who": key, "at": [1, 2]}), **COLUMNS)


def test_fractions_as_keys_beside_integers_are_refused() -> None:
    rows = EVENTS.set_column(1, "user", pa.array([1, 1, 2, 1, 2, None]))
    with pytest.raises(TypeError, match="cannot be compared"):
        QUERY.run(rows, at=pa.table({"who": [1.5], "at": [1]}), **COLUMNS)


# -- times ---------------------------------------------------------------------------------------------------

UNITS = ["s", "ms", "us", "ns"]
ZONES = [None, "UTC", "Europe/Berlin"]
LAST = wr.query(time="ts").asof("2s", closed="both").agg(n=wr.count(), last=wr.last("v"))


@pytest.mark.parametrize("labels", [(unit, zone) for unit in UNITS for zone in ZONES], ids=str)
@pytest.mark.parametrize("events", [(unit, zone) for unit in UNITS for zone in ZONES], ids=str)
def test_units_and_zones_are_compared_as_moments(events: Any, labels: Any) -> None:
    rows = pa.table(
        {"ts": pa.array([10, 11, 12, 13], pa.timestamp("s")).cast(pa.timestamp(*events)), "v": [1, 2, 3, 4]}
    )
    asked = pa.table({"ts": pa.array([12, 13, 99, 9], pa.timestamp("s")).cast(pa.timestamp(*labels))})
    found = LAST.run(rows, at=asked)
    assert found["n"].to_pylist() == [3, 3, 0, 0]
    assert found["last"].to_pylist() == [3, 4, None, None]


NEAR = wr.query(time="ts").asof("1us", closed="left").agg(n=wr.count())


def test_nanoseconds_are_not_cut_off_on_either_side() -> None:
    """A microsecond before 5,001,500 ns begins at 5,000,500 ns."""
    at = pa.table({"ts": pa.array([5_001_500, 5_001_501, 5_000_000], pa.timestamp("ns"))})
    rows = pa.table({"ts": pa.array([5_000_499, 5_000_500, 5_001_499, 5_001_500], pa.timestamp("ns"))})
    assert NEAR.run(rows, at=at)["n"].to_pylist() == [2, 2, 0]
    coarse = pa.table({"ts": pa.array([5_000, 5_001], pa.timestamp("us"))})
    assert NEAR.run(coarse, at=at)["n"].to_pylist() == [1, 1, 0]
    assert NEAR.run(rows, at=coarse)["n"].to_pylist() == [0, 2]


def test_moments_that_no_nanosecond_reaches() -> None:
    rows = pa.table({"ts": pa.array([0, 253_370_764_800], pa.timestamp("s"))})  # the year 9999
    asked = pa.table({"ts": pa.array([1, 2**62], pa.timestamp("ns"))})
    query = wr.query(time="ts").asof("1s", "all").agg(n=wr.count())
    assert query.run(rows, at=asked)["n_all"].to_pylist() == [1, 1]
    late = pa.table({"ts": pa.array([253_370_764_801], pa.timestamp("s"))})
    assert query.run(rows, at=late).to_pylist()[0]["n_1s"] == 1
    assert query.run(asked, at=late).to_pylist()[0] | {"ts": 0} == {"ts": 0, "n_1s": 0, "n_all": 2}


def test_dates_beside_timestamps() -> None:
    rows = pa.table({"ts": pa.array([0, 1, 2], pa.date32())})
    asked = pa.table({"ts": pa.array([86_400, 86_401], pa.timestamp("s"))})
    assert wr.query(time="ts").asof("1d").agg(n=wr.count()).run(rows, at=asked)["n"].to_pylist() == [1, 1]


@pytest.mark.parametrize("size", [2**61, 2**62, 2**63 - 1])
def test_sizes_that_reach_beyond_time(size: int) -> None:
    rows = pa.table({"ts": [-(2**62) + 1, 0, 2**62 - 1]})
    asked = pa.table({"ts": [2**62 - 1, -(2**62) + 1]})
    query = wr.query(time="ts").asof(size, lag=5, closed="both").agg(n=wr.count())
    assert query.run(rows, at=asked)["n"].to_pylist() == [{2**61: 0, 2**62: 1}.get(size, 2), 0]
    ahead = wr.query(time="ts").asof(size, lag=5, direction="forward").agg(n=wr.count())
    assert ahead.run(rows, at=asked)["n"].to_pylist() == [0, {2**61: 0, 2**62: 1}.get(size, 2)]


def test_months_and_local_days() -> None:
    """A month before 31 March begins on 29 February, and a day before 1 April in Berlin is 23 hours."""
    moments = [
        "2024-02-28T23:59",
        "2024-02-29T12:00",
        "2024-03-30T22:59:59",
        "2024-03-30T23:00",
        "2024-03-31T09:00",
    ]
    rows = pa.table({"ts": pa.array(np.array(moments, "datetime64[us]"))})
    asked = pa.table({"ts": pa.array(np.array(["2024-03-31T12:00", "2024-03-31T22:00"], "datetime64[us]"))})
    query = wr.query(time="ts").asof("1mo").agg(n=wr.count())
    assert query.run(rows, at=asked)["n"].to_pylist() == [4, 3]
    days = wr.query(time="ts").asof("1d", timezone="Europe/Berlin").agg(n=wr.count())
    assert days.run(rows, at=asked)["n"].to_pylist() == [3, 2]
    hours = wr.query(time="ts").asof("1d").agg(n=wr.count())
    assert hours.run(rows, at=asked)["n"].to_pylist() == [3, 3]


def test_ends_by_the_calendar_that_fall() -> None:
    """A month before 30 March 12:00 is later than a month before 31 March 10:00: ranges go back and forth."""
    rows = pa.table(
        {
            "ts": pa.array(np.arange("2024-02-25", "2024-04-02", 3, "datetime64[h]").astype("datetime64[s]")),
            "v": range(296),
            "f": [bool(v % 2) for v in range(296)],
        }
    )
    asked = pa.table(
        {"ts": pa.array(np.arange("2024-03-28", "2024-04-01", 1, "datetime64[h]").astype("datetime64[s]"))}
    )
    several = {
        "s": wr.sum("v"),
        "m": wr.max("v"),
        "q": wr.median("v"),
        "c": wr.collect("v"),
        "d": wr.count("v"),
    }
    more = {"u": wr.count_distinct("v"), "k": wr.top_k("v", k=2), "t": CONCATENATION("v"), "a": wr.share("f")}
    found = wr.query(time="ts").asof("1mo").agg(**several, **more).run(rows, at=asked)
    for row in found.to_pylist():
        first = max(pd.Timestamp(row["ts"]) - pd.DateOffset(months=1), pd.Timestamp("2024-02-25"))
        held = [
            v
            for t, v in zip(rows["ts"].to_pylist(), rows["v"].to_pylist(), strict=True)
            if first <= t < row["ts"]
        ]
        assert row["c"] == held
        assert (row["s"], row["m"], row["q"]) == (sum(held), max(held), float(np.median(held)))
        assert (row["u"], row["d"], row["k"]) == (len(held), len(held), sorted(held)[-2:][::-1])
        assert (row["t"], row["a"]) == ("".join(map(str, held)), sum(v % 2 for v in held) / len(held))


def test_integers_beside_timestamps_are_refused_by_name() -> None:
    asked = pa.table({"who": ["a"], "at": pa.array([1], pa.timestamp("us"))})
    with pytest.raises(
        TypeError, match="column 'ts' of the events holds integers and column 'at' of the labels"
    ):
        QUERY.run(EVENTS, at=asked, **COLUMNS)
    query = wr.query(time="at", by="who").asof("1d").agg(n=wr.count())
    with pytest.raises(
        TypeError, match="column 'ts' of the labels holds integers and column 'at' of the events"
    ):
        query.run(asked, at=EVENTS, at_time="ts", at_by="user")


# -- errors --------------------------------------------------------------------------------------------------

START = wr.query(time="ts", by="user")
DAYS = START.asof("7d").agg(n=wr.count())


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: START.asof(), TypeError, "one or more sizes"),
        (lambda: START.asof("7d", close="left"), TypeError, "did you mean closed=?"),
        (lambda: START.asof("7d", week=7), ValueError, "different kinds"),
        (lambda: START.asof("7d", lag=7), ValueError, "size '7d' and lag 7"),
        (lambda: START.asof("7d", lag="-1h"), ValueError, "its future"),
        (lambda: START.asof("7d", "7d"), ValueError, "two sizes are named '7d'"),
        (lambda: START.asof("7d", rows=3), TypeError, "not both"),
        (lambda: START.asof(rows=0), ValueError, "at least 1"),
        (lambda: START.asof(rows=[]), TypeError, "asks for nothing"),
        (lambda: START.asof("-7d"), ValueError, "not positive"),
        (lambda: START.asof("7d", direction="back"), ValueError, "'backward' or 'forward'"),
        (lambda: START.asof("7d", closed="none"), ValueError, "'neither'"),
        (lambda: START.asof(wr.Tumbling("7d")), TypeError, "is a window"),
        (lambda: START.asof(7, timezone="UTC"), ValueError, "integer size 7"),
        (lambda: START.asof("7d", timezone="Nowhere"), ValueError, "not known"),
        (lambda: START.asof("7d").rolling("7d"), TypeError, "has its windows already"),
        (lambda: START.agg(n=wr.count()), TypeError, ".asof(...)"),
        (lambda: DAYS.run(EVENTS, at=LABELS, **COLUMNS), TypeError, "meant for"),
        (lambda: QUERY.run(EVENTS), TypeError, "run\\(events, at=labels\\)"),
        (lambda: START.rolling(3).agg(n=wr.count()).run(EVENTS, at=LABELS), TypeError, "use .asof"),
        (lambda: START.rolling(3).agg(n=wr.count()).run(EVENTS, at_time="at"), TypeError, "use .asof"),
        (lambda: QUERY.run(EVENTS, at=LABELS, at_time=3), TypeError, "at_time=3"),
        (lambda: QUERY.run(EVENTS, at=LABELS, at_by=["who", "y"]), ValueError, "names 2 columns"),
        (lambda: QUERY.run(EVENTS, at=LABELS, at_time="At", at_by="who"), UnknownColumn, "did you mean 'at'"),
        (lambda: QUERY.run(EVENTS, at=LABELS, at_time="at"), UnknownColumn, "table of labels has"),
        (lambda: QUERY.run(EVENTS, at=[{"at": 1}], **COLUMNS), TypeError, "not a table"),
    ],
)  # fmt: skip
def test_errors_name_the_input_and_the_remedy(build: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        build()


def test_a_result_with_the_name_of_a_labels_column_is_refused() -> None:
    labels = LABELS.append_column("n_5", [[0] * 5])
    with pytest.raises(ValueError, match="the labels have a column 'n_5' already"):
        QUERY.run(EVENTS, at=labels, **COLUMNS)


def test_two_results_of_one_name_are_refused() -> None:
    query = wr.query(time="ts").asof("1d", d_1d="2d")
    with pytest.raises(ValueError, match="duplicate result column 'n_d_1d'"):
        query.agg(n=wr.count(), n_d=wr.count())


class DataFrame:
    """What passes for a Spark DataFrame: no session is needed to be refused."""

    __module__ = "pyspark.sql.dataframe"


def test_a_dataframe_of_spark_and_a_table_do_not_mix() -> None:
    frame = DataFrame()
    with pytest.raises(TypeError, match=r"the labels are not: .* spark.createDataFrame\(labels\)"):
        QUERY.run(frame, at=LABELS, **COLUMNS)
    with pytest.raises(TypeError, match=r"the events are not: .* spark.createDataFrame\(events\)"):
        QUERY.run(EVENTS, at=frame, **COLUMNS)


def test_explain_says_what_a_label_sees() -> None:
    text = wr.query(time="ts", by="user").asof("1d", ever="all", lag="1h").agg(s=wr.max("v")).explain()
    lines = text.splitlines()
    assert lines[1].startswith("labels: sorted by the same columns")
    assert lines[2:4] == ["  1d: [t - 1h - 24h, t - 1h)", "  ever: all before t - 1h"]
    assert "TwoStacksLite over rows" in lines[4]
    assert "one pass for each of 2 sizes" in lines[4]
    assert lines[-2] == "  events: all, since there is no watermark"
    bounded = wr.query(time="ts", watermark="1h")
    for query, kept in (
        (bounded.asof("1d"), "those that a label at the watermark or later can see"),
        (bounded.asof("1d", "all"), "all, since labels look at all before"),
        (bounded.asof(rows=[2, 5]), "the last 5 of a key before the watermark, and those from it on"),
    ):
        assert f"open() keeps:\n  events: {kept}\n" in query.agg(n=wr.count()).explain()
    text = wr.query(time="ts").rolling(rows=3, closed="left").agg(n=wr.count()).explain()
    assert text.splitlines()[1:3] == ["rolling: a result per row, over", "  rows [i - 3, i)"]


# -- names ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "names"),
    [
        (START.asof("7d"), ["n"]),
        (START.asof("1d", "7d"), ["n_1d", "n_7d"]),
        (START.asof(day="1d", week="7d"), ["n_day", "n_week"]),
        (START.asof(week="7d"), ["n_week"]),
        (START.asof("1d", ever="all"), ["n_1d", "n_ever"]),
        (START.asof(timedelta(days=1), "7 days"), ["n_24h", "n_7d"]),
        (START.asof(np.int64(3), 5), ["n_3", "n_5"]),
        (START.asof(5, 10, "all"), ["n_5", "n_10", "n_all"]),
        (START.asof(rows=3), ["n"]),
        (START.asof(rows=[3, 5]), ["n_3", "n_5"]),
        (START.rolling("1d"), ["n"]),
        (START.rolling("1d", "7d"), ["n_1d", "n_7d"]),
        (START.rolling(day="1d"), ["n_day"]),
        (START.rolling(rows=[3, 5]), ["n_3", "n_5"]),
    ],
    ids=repr,
)
def test_names_of_results(query: wr.Query, names: list[str]) -> None:
    assert query.agg(n=wr.count()).result_names == names


# -- what other engines say ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def orders() -> tuple[pa.Table, pa.Table]:
    random = np.random.default_rng(3)
    events = pa.table(
        {
            "ts": pa.array(random.integers(0, 2_000, 4_000), pa.timestamp("s")),
            "user": random.integers(0, 30, 4_000),
            "x": random.integers(0, 1_000, 4_000).astype(float),
        }
    )
    labels = pa.table(
        {
            "at": pa.array(random.integers(0, 2_100, 500), pa.timestamp("s")),
            "who": random.integers(0, 33, 500).astype(np.int32),
            "row": np.arange(500),
        }
    )
    return events, labels


@pytest.mark.parametrize("direction", ["backward", "forward"])
@pytest.mark.parametrize("closed", ["left", "right", "both", "neither"])
def test_the_range_join_of_duckdb(orders: Any, closed: Any, direction: Any) -> None:
    events, labels = orders
    query = wr.query(time="ts", by="user").asof("5m", lag="10s", closed=closed, direction=direction)
    found = query.agg(total=wr.sum("x"), n=wr.count(), top=wr.max("x")).run(events, at=labels, **COLUMNS)
    low = ">=" if closed in ("left", "both") else ">"
    high = "<=" if closed in ("right", "both") else "<"
    near = "- INTERVAL 10 SECOND" if direction == "backward" else "+ INTERVAL 10 SECOND"
    far = f"{near} {near[0]} INTERVAL 5 MINUTE"
    first, last = (far, near) if direction == "backward" else (near, far)
    expected = duckdb.sql(
        f"""SELECT l.at, l.who, l.row, sum(e.x) AS total, count(e.x) AS n, max(e.x) AS top
        FROM labels l LEFT JOIN events e
          ON e.user = l.who AND e.ts {low} l.at {first} AND e.ts {high} l.at {last}
        GROUP BY ALL"""
    )
    assert_same_results(found, expected.to_arrow_table())


@pytest.mark.filterwarnings("ignore:Sortedness:UserWarning")
def test_the_last_event_as_polars_joins_it(orders: Any) -> None:
    events, labels = orders
    query = wr.query(time="ts", by="user").asof("all", closed="right").agg(ts=wr.last("ts"), x=wr.last("x"))
    found = query.run(events, at=labels, **COLUMNS)
    # of events of one time Polars takes the last
    right = pl.from_arrow(events).sort("ts", maintain_order=True).cast({"user": pl.Int32})
    left = pl.from_arrow(labels).sort("at")
    joined = left.join_asof(
        right.with_columns(found_ts="ts"), left_on="at", right_on="ts", by_left="who", by_right="user"
    )
    assert_same_results(found, joined.select("at", "who", "row", ts="found_ts", x="x"))


def test_threads_that_share_many_labels_find_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    events = pa.table({"ts": rng.integers(0, 90, 200), "user": rng.integers(0, 5, 200), "v": np.arange(200)})
    asked = pa.table({"ts": rng.integers(0, 99, 60), "user": rng.integers(0, 7, 60)})
    query = wr.query(time="ts", by="user").asof(7, 20, "all").agg(total=wr.sum("v"), n=wr.count())
    expected = query.run(events, at=asked)
    monkeypatch.setattr(relative, "_POINTS", 4)
    monkeypatch.setattr(points, "_MANY", 1)
    with using_threads(3):
        assert query.run(events, at=asked).equals(expected)
