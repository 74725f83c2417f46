"""Spark's own plan of a stream against windrow's: equal results for random streams with late rows, and errors
that name what cannot be equal. Checkpoints go on with the plan that made them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from support.cli_jobs import GOOD, write_calls, write_job
from support.stream_source import Source
from windrow.cli.job import read_job
from windrow.engines.spark.streaming.run import sparks_plan
from windrow.errors import ChangedQuery

SCHEMA = (
    "ts timestamp, `the key` string, day date, flag boolean, b byte, s short, i int, l long, f float, "
    "d double, x double, p decimal(9,2), w decimal(38,4), at timestamp, plain timestamp_ntz, text string, "
    "raw binary"
)
SECOND = 1_000_000
FEW = {"n": wr.count(), "top": wr.max("d"), "least": wr.min("d"), "sum": wr.sum("i"), "mean": wr.mean("f")}
DELAY = "20 seconds"
AGGREGATES = {
    "rows": wr.count(),
    "some": wr.count(where="flag"),
    **{f"n_{c}": wr.count(c) for c in ("the key", "flag", "d", "p", "at", "text", "raw")},
    **{f"sum_{c}": wr.sum(c) for c in ("b", "s", "i", "f", "d", "p")},
    **{f"mean_{c}": wr.mean(c) for c in ("b", "s", "i", "f", "d")},
    **{f"{name}_{c}": a(c) for name, a in (("max", wr.max), ("min", wr.min)) for c in ("b", "s", "i", "l")},
    **{f"{name}_{c}": a(c) for name, a in (("max", wr.max), ("min", wr.min)) for c in ("f", "d", "p", "w")},
    **{f"{name}_{c}": a(c) for name, a in (("max", wr.max), ("min", wr.min)) for c in ("day", "at", "plain")},
    **{f"share_{c}": wr.share(c) for c in ("flag", "i", "d")},
    "known": wr.sum("i", where="flag", min_count=2),
    "enough": wr.max("d", min_count=3),
    "many": wr.count("d", min_count=2),
}


def table(chance: np.random.Generator, seconds: Any) -> pa.Table:
    """Values at the edges of their types, and nulls, at these times."""
    rows = len(seconds)

    def drawn(values: list[Any], kind: Any, nulls: float = 0.2) -> Any:
        chosen = [values[k] for k in chance.integers(0, len(values), rows)]
        return pa.array([None if chance.random() < nulls else v for v in chosen], kind)

    nan, inf = math.nan, math.inf
    moments = [None if m is None else int(m * SECOND) for m in seconds]
    # of doubles some are sums of powers of two, which are exact in any order
    columns = {
        "ts": pa.array(moments, pa.timestamp("us", "UTC")),
        "the key": drawn(["a", "b", "ß", ""], pa.string()),
        "day": drawn([-40_000, 0, 20_000], pa.date32(), 0.3),
        "flag": drawn([True, False], pa.bool_()),
        "b": drawn([-128, 127, 0, 5], pa.int8()),
        "s": drawn([-(2**15), 2**15 - 1, 1], pa.int16()),
        "i": drawn([-(2**31), 2**31 - 1, 3], pa.int32()),
        "l": drawn([-(2**63), 2**63 - 1, 0, 7], pa.int64()),
        "f": drawn([0.5, -0.25, 1e30, nan, -0.0], pa.float32(), 0.5),
        "d": drawn([1.5, 2.25, -4.0, -0.0, 0.0, inf, -inf, nan], pa.float64(), 0.5),
        "x": pa.array(chance.normal(0, 1e6, rows)),
        "p": drawn([Decimal("9999999.99"), Decimal("-0.01"), Decimal(0)], pa.decimal128(9, 2)),
        "w": drawn([Decimal(10) ** 33, -(Decimal(10) ** 33), Decimal("0.0001")], pa.decimal128(38, 4)),
        "at": drawn([-(2**52), 0, 2**52], pa.timestamp("us", "UTC")),
        "plain": drawn([-1, 0, 2**52], pa.timestamp("us")),
        "text": drawn(["", "z", "ä"], pa.string()),
        "raw": drawn([b"", b"\0"], pa.binary()),
    }
    return pa.table(columns)


def streams(seed: int, start: int = 1_700_000_000, batches: int = 6, rows: int = 80) -> list[pa.Table]:
    """Micro-batches of half a minute; a third of the rows come up to two minutes late, some on edges; of each
    one has no time and one is out of reach. In one there are no rows at all."""
    chance = np.random.default_rng(seed)
    tables = []
    for batch in range(batches):
        late = np.where(chance.random(rows) < 0.35, chance.integers(0, 120, rows), 0)
        seconds = start + batch * 30 + chance.random(rows) * 30 - late
        seconds = np.where(chance.random(rows) < 0.3, np.floor(seconds / 10) * 10, seconds)
        moments: list[Any] = [*seconds, None, 2**62 / SECOND, -(2**62) / SECOND]
        tables.append(table(chance, moments))
        if batch == 3:
            tables.append(tables[0].slice(0, 0))
    return tables


@pytest.fixture
def source(spark: Any, tmp_path: Path) -> Iterator[Source]:
    with Source.in_folder(spark, tmp_path, SCHEMA) as found:
        yield found


def asked(window: Any = None, by: Any = "the key", **options: Any) -> Any:
    started = wr.query(time="ts", by=by, **({"late": "drop", "watermark": DELAY} | options))
    return started.window(wr.Tumbling("10s") if window is None else window)


def same(value: Any) -> str:
    """A value with its type; NaN equals itself, and 0.0 equals -0.0."""
    return repr(value + 0.0 if isinstance(value, float) else value)


def results(source: Source, query: Any) -> tuple[list[str], Any, dict[str, int]]:
    """The results of a query on all micro-batches in the order of micro-batches, with their types."""
    source.checkpoint += "-"
    found, counts = source.run_to_table(query.run)
    rows = [[same(value) for value in row.values()] for row in found.to_pylist()]
    return sorted(map(repr, rows)), found.schema, counts


def is_sparks(query: Any, source: Source) -> bool:
    frame = source.spark.readStream.schema(SCHEMA).parquet(str(source.input))
    return sparks_plan(query, frame, has_watermark=False, has_history=False)[0]


def test_the_choice_is_explained(source: Source) -> None:
    frame = source.spark.readStream.schema(SCHEMA).parquet(str(source.input))
    assert asked().agg(n=wr.count()).explain(frame).startswith("plan: Spark's own; it gives the same results")
    said = asked(late="count").agg(n=wr.count()).explain(frame)
    assert said.startswith("plan: windrow's own; late='count' counts late rows one by one")
    own = asked().agg(n=wr.count()).explain(frame.withWatermark("ts", "1 minute"))
    assert own.startswith("plan: windrow's own; the stream has a watermark already")


def test_results_that_are_not_final_are_refused(source: Source) -> None:
    frame = source.spark.readStream.schema(SCHEMA).parquet(str(source.input))
    writer = asked().agg(n=wr.count()).run(frame).writeStream.format("noop").outputMode("update")
    with pytest.raises(ValueError, match="output mode 'update' takes results before they are final"):
        writer.start()


@pytest.mark.parametrize("window", [wr.Tumbling("10s"), wr.Session("10s", late_by="row")], ids=repr)
@pytest.mark.parametrize("name", ["", "ten seconds"])
def test_columns_of_results_are_those_of_windrows_plan(source: Source, window: Any, name: str) -> None:
    frame = source.spark.readStream.schema(SCHEMA).parquet(str(source.input))

    def schema(plan: Any) -> Any:
        started = wr.query(time="ts", by=["the key", "b"], watermark=DELAY, late="drop", plan=plan)
        over = started.window(**{name: window}) if name else started.window(window)
        return over.agg(**AGGREGATES).run(frame).schema

    assert schema("spark").jsonValue() == schema("windrow").jsonValue()


@pytest.mark.parametrize("by", [None, ["the key", "flag", "day", "p", "raw"]])
def test_results_are_those_of_windrows_plan(source: Source, by: Any) -> None:
    source.write(streams(3))
    query = asked(by=by).agg(**AGGREGATES)
    assert is_sparks(query, source)
    found, types, _ = results(source, query)
    own, own_types, own_counts = results(source, asked(by=by, plan="windrow").agg(**AGGREGATES))
    assert len(found) > 20
    assert found == own
    assert types == own_types
    assert own_counts["rows_late"] > 30
    assert own_counts["rows_rejected"] == 18
    assert own_counts["windows_fired"] == len(found)


def test_times_before_1970_are_no_later_than_in_windrows_plan(source: Source) -> None:
    source.write(streams(4, start=-65))
    window = wr.Tumbling("7s", offset="3s")
    found, _, _ = results(source, asked(window).agg(**FEW))
    assert found == results(source, asked(window, plan="windrow").agg(**FEW))[0]


def test_nothing_in_a_window_is_null_in_both_plans(source: Source) -> None:
    tables = streams(5)
    empty = {name: pa.nulls(tables[0].num_rows, tables[0].schema.field(name).type) for name in SCHEMA_NAMES}
    source.write([pa.table({**empty, "ts": each["ts"]}) if each.num_rows else each for each in tables])
    source.spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        found, types, _ = results(source, asked().agg(**AGGREGATES))
        assert found
        assert (found, types) == results(source, asked(plan="windrow").agg(**AGGREGATES))[:2]
    finally:
        source.spark.conf.set("spark.sql.ansi.enabled", "true")


SCHEMA_NAMES = table(np.random.default_rng(0), [0]).column_names


def test_named_windows_and_sums_of_any_floats(source: Source) -> None:
    source.write(streams(6))

    def of(plan: str) -> Any:
        source.checkpoint += "-"
        started = wr.query(time="ts", by="the key", watermark=DELAY, late="drop", plan=plan)
        named = started.window(**{"ten seconds": wr.Tumbling("10s")})
        found, _ = source.run_to_table(named.agg(s=wr.sum("x"), m=wr.mean("x")).run)
        return found.sort_by([("the key", "ascending"), ("window_start", "ascending")])

    found, own = of("auto"), of("windrow")
    assert found.select(["the key", "window", "window_start", "window_end"]).equals(
        own.select(["the key", "window", "window_start", "window_end"])
    )
    for name in ("s", "m"):
        np.testing.assert_allclose(found[name].to_numpy(), own[name].to_numpy(), rtol=1e-12, atol=1e-7)


def test_sessions_by_rows(source: Source) -> None:
    source.write(streams(7))
    window = wr.Session("4s", late_by="row")
    assert not is_sparks(asked(window).agg(n=wr.count()), source)  # for the sake of rows before 1970
    query = asked(window, plan="spark").agg(**FEW)
    found, types, _ = results(source, query)
    assert len(found) > 20
    assert (found, types) == results(source, asked(window, plan="windrow").agg(**FEW))[:2]
    with pytest.raises(ChangedQuery, match=r"the window was Session\('4s', .* is Session\('5s'"):
        wr.spark.check_checkpoint(asked(wr.Session("5s", late_by="row")).agg(**FEW), source.checkpoint[:-1])


CANNOT: list[tuple[str, Any, str]] = [
    ("late rows", lambda: asked(late="count").agg(n=wr.count()), "late='drop'"),
    ("late rows back", lambda: asked(late="return").agg(n=wr.count()), "late='drop'"),
    ("lateness", lambda: asked(allowed_lateness="1m").agg(n=wr.count()), "allowed_lateness"),
    ("updates", lambda: asked(output="update").agg(n=wr.count()), "output='update'"),
    ("empty", lambda: asked(empty="include").agg(n=wr.count()), "empty='include'"),
    ("rejected", lambda: asked(on_error="reject").agg(n=wr.count()), "on_error='reject'"),
    ("ahead", lambda: asked(max_ahead="1h").agg(n=wr.count()), "max_ahead"),
    ("limit", lambda: asked(max_windows=9).agg(n=wr.count()), "max_windows"),
    ("sliding", lambda: asked(wr.Sliding("10s", slide="5s")).agg(n=wr.count()), "Sliding"),
    ("calendar", lambda: asked(wr.Tumbling("1mo")).agg(n=wr.count()), "calendar"),
    ("rows", lambda: asked(wr.Rows(3)).agg(n=wr.count()), "decided by data"),
    ("sessions", lambda: asked(wr.Session("1m")).agg(n=wr.count()), "late_by='row'"),
    ("no key", lambda: asked(wr.Session("1m", late_by="row"), by=None).agg(n=wr.count()), "needs a key"),
    ("long sums", lambda: asked().agg(s=wr.sum("l")), r"sum\('l'\) over int64"),
    ("long means", lambda: asked().agg(s=wr.mean("l")), r"mean\('l'\) over int64"),
    ("large decimals", lambda: asked().agg(s=wr.sum("w")), r"sum\('w'\)"),
    ("means of decimals", lambda: asked().agg(s=wr.mean("p")), r"mean\('p'\)"),
    ("text", lambda: asked().agg(s=wr.max("text")), r"max\('text'\)"),
    ("ties", lambda: asked().agg(s=wr.arg_max("d", "text")), "arg_max"),
    ("variance", lambda: asked().agg(s=wr.stddev("d")), "stddev"),
    ("order", lambda: asked().agg(s=wr.last("d")), "last"),
    ("nulls", lambda: asked().agg(s=wr.sum("i", nulls="propagate")), "nulls="),
    ("no NaN", lambda: asked().agg(s=wr.max("d", nan="ignore")), "nan="),
    ("float key", lambda: asked(by="d").agg(n=wr.count()), "key 'd' is of type double"),
    (
        "several",
        lambda: (
            wr.query(time="ts", watermark=DELAY, late="drop")
            .window(a=wr.Tumbling("1m"), b=wr.Tumbling("2m"))
            .agg(n=wr.count())
        ),
        "several windows",
    ),
    (
        "rolling",
        lambda: wr.query(time="ts", watermark=DELAY, late="drop").rolling("1m").agg(n=wr.count()),
        "no windows",
    ),
    (
        "plain time",
        lambda: (
            wr.query(time="plain", watermark=DELAY, late="drop").window(wr.Tumbling("1m")).agg(n=wr.count())
        ),
        "'plain' is of type timestamp",
    ),
]


@pytest.mark.parametrize(("make", "named"), [case[1:] for case in CANNOT], ids=[case[0] for case in CANNOT])
def test_what_sparks_plan_cannot_do_is_named_and_left_to_windrow(
    source: Source, make: Any, named: str
) -> None:
    from dataclasses import replace

    query = make()
    frame = source.spark.readStream.schema(SCHEMA).parquet(str(source.input))
    with pytest.raises(ValueError, match=f"plan='spark' cannot run this query: .*{named}"):
        replace(query, plan="spark").run(frame)
    if not query.is_rolling:
        assert not is_sparks(query, source)


def test_keys_that_are_held_long_are_left_to_windrow(source: Source) -> None:
    assert not is_sparks(asked(wr.Tumbling("2h")).agg(n=wr.count()), source)
    assert is_sparks(asked(wr.Tumbling("2h"), by=None).agg(n=wr.count()), source)
    assert is_sparks(asked(wr.Tumbling("2h"), plan="spark").agg(n=wr.count()), source)


def test_a_checkpoint_goes_on_with_its_plan_and_query_alone(source: Source) -> None:
    tables = streams(8)
    source.write(tables[:4])
    found, _ = source.run(asked().agg(**FEW).run)
    kept = source.checkpoint
    for query, said in (
        (asked(plan="windrow"), "was made by Spark's own plan, and this query runs on windrow's"),
        (asked(late="count"), "write plan='spark'"),
        (asked(wr.Tumbling("20s")), r"the window was Tumbling\('10s'\), is Tumbling\('20s'\)"),
        (asked(min_count=2), "min_count was 0, is 2"),
    ):
        changed = query.agg(**FEW)
        with pytest.raises(ChangedQuery, match=f"(?i){said}"):
            source.run(changed.run)
        with pytest.raises(ChangedQuery, match=f"(?i){said}"):
            wr.spark.check_checkpoint(changed, kept)
    fewer = dict(list(FEW.items())[:-1])
    with pytest.raises(ChangedQuery, match="aggregate 'mean' is missing"):
        source.run(asked().agg(**fewer).run)
    wr.spark.check_checkpoint(asked().agg(**FEW), kept)
    with pytest.raises(ValueError, match="is of a query on Spark's own plan, whose state is Spark's"):
        wr.spark.inspect_state(kept)
    source.write(tables[4:])
    rest, _ = source.run(asked().agg(**FEW).run)
    whole, _, _ = results(source, asked(plan="windrow").agg(**FEW))
    with_rest = [[same(value) for value in row.values()] for row in (*found, *rest)]
    assert sorted(map(repr, with_rest)) == whole
    source.checkpoint = kept
    source.write(streams(8, start=1_700_001_000)[:2])
    later, _ = source.run(asked(watermark="1 minute").agg(**FEW).run)
    fired = [(row["the key"], row["window_start"]) for row in (*found, *rest, *later)]
    assert later
    assert len(fired) == len(set(fired))


def test_a_checkpoint_of_windrows_plan_refuses_sparks(source: Source) -> None:
    source.write(streams(9)[:2])
    source.run(asked(late="count").agg(n=wr.count()).run)
    said = "was made by windrow's plan, and this query runs on Spark's own.*plan='windrow'"
    with pytest.raises(ChangedQuery, match=said):
        source.run(asked().agg(n=wr.count()).run)
    with pytest.raises(ChangedQuery, match=said):
        wr.spark.check_checkpoint(asked(plan="spark").agg(n=wr.count()), source.checkpoint)
    source.write(streams(9)[2:3])
    source.run(asked(plan="windrow").agg(n=wr.count()).run)  # what is dropped changes no state


def test_spark_operators_may_follow(source: Source) -> None:
    source.write(streams(10))

    def everywhere(plan: str) -> Any:
        def make(stream: Any) -> Any:
            from pyspark.sql import functions as f

            found = asked(plan=plan).agg(n=wr.count()).run(stream)
            return found.groupBy("window_end").agg(f.sum("n").alias("n"))

        return make

    found, _ = source.run(everywhere("auto"))
    source.checkpoint += "-"
    own, _ = source.run(everywhere("windrow"))
    assert len(found) > 5
    assert sorted(map(repr, found)) == sorted(map(repr, own))


def test_a_job_says_which_plan(tmp_path: Path) -> None:
    text = GOOD.replace('watermark = "10m"', 'watermark = "10m"\nlate = "drop"\nplan = "spark"')
    assert text != GOOD
    write_calls(tmp_path)
    query = read_job(write_job(tmp_path, text)).query
    assert (query.late, query.plan) == ("drop", "spark")
