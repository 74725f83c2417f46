"""Results are the same, bit for bit, with any number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from windrow import threads
from windrow.partials.value_aggregates import extremes, ranks
from windrow.testing import assert_same_results

COUNTS = (2, 3, 8)
ROWS = 1500


def made_up() -> pa.Table:
    """Rows out of order, with nulls; one key has most of them."""
    random = np.random.default_rng(11)
    keys = np.where(random.random(ROWS) < 0.6, "hot", random.integers(0, 40, ROWS).astype(str))
    values = random.normal(size=ROWS) * 10.0 ** random.integers(-6, 6, ROWS)
    times = random.integers(0, 4000, ROWS)
    return pa.table(
        {
            "t": pa.array(times, mask=random.random(ROWS) < 0.01),
            "k": pa.array(keys, mask=keys == "7"),
            "v": pa.array(values, mask=random.random(ROWS) < 0.1),
            "i": random.integers(-9, 9, ROWS),
            "word": pa.array(random.choice(["ab", "c", "ü", ""], ROWS)),
            "flag": random.random(ROWS) < 0.2,
            "d": np.floor(times / 30),
        }
    )


TABLE = made_up()

#: of lists, so that the order of rows shows, and of floats, so that the grouping of sums does
CHAIN = wr.monoid(
    name="chain", lift=lambda v: (v,), combine=lambda a, b: a + b, lower=list, identity=(), compile=False
)
SPREAD = wr.monoid(
    name="spread",
    lift=lambda v: (v, v),
    combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
    lower=lambda a: a[1] - a[0],
    identity=(np.inf, -np.inf),
)

AGGREGATES: dict[str, dict[str, Any]] = {
    "numbers": {
        "n": wr.count(),
        "s": wr.sum("v"),
        "whole": wr.sum("i"),
        "dev": wr.stddev("v"),
        "top": wr.max("v"),
        "mean": wr.mean("v"),
        "share": wr.share("flag"),
        "spread": SPREAD("v"),
    },
    "picks": {"first": wr.first("word"), "last": wr.last("i"), "who": wr.arg_max("v", value="word")},
    "kept": {
        "median": wr.median("v"),
        "p95": wr.quantile("v", 0.95),
        "about": wr.approx_quantile("v", 0.5),
        "distinct": wr.count_distinct("word"),
        "which": wr.collect_distinct("i"),
        "mode": wr.mode("i"),
        "tops": wr.top_k("v", k=3),
        "low": wr.bottom_k("i", k=2),
    },
    "texts": {"text": wr.concat("word"), "list": wr.collect("i"), "chain": CHAIN("i")},
    "sketches": {
        "about": wr.approx_distinct("i"),
        "bloom": wr.bloom("word", bits=256),
        "counted": wr.count_min("i", width=16, depth=2),
    },
}

QUERY = wr.query(time="t", by="k")
OVER: dict[str, wr.Query] = {
    "tumbling": QUERY.window(wr.Tumbling(50)),
    "one window": QUERY.window(wr.Tumbling(10_000)),
    "sliding": QUERY.window(wr.Sliding(300, slide=20)),
    "without keys": wr.query(time="t").window(wr.Sliding(300, slide=20)),
    "empty": wr.query(time="t", by="k", empty="include").window(wr.Sliding(40, slide=15)),
    "cumulative": QUERY.window(wr.Cumulative(200, step=50)),
    "fixed": QUERY.window(wr.Fixed(100, 900)),
    "session": QUERY.window(wr.Session(gap=12)),
    "rows": QUERY.window(wr.Rows(9, slide=4)),
    "delta": QUERY.window(wr.Delta("d", size=9, slide=2)),
    "punctuation": QUERY.window(wr.Punctuation("flag")),
    "threshold": QUERY.window(wr.Threshold("flag")),
    "kinds": QUERY.window(a=wr.Sliding(200, slide=10), b=wr.Tumbling(30), c=wr.Session(gap=9)),
    "rolling": QUERY.rolling(90),
    "rolling rows": QUERY.rolling(rows=12),
    "one key": wr.query(time="t").rolling(rows=30),
    "min_count": wr.query(time="t", by="k", order="i", min_count=3).rolling(60),
}


def bits(table: Any) -> str:
    """The rows of a table as text: equal for equal numbers alone, and for signs of zero."""
    return repr(table.to_pylist())


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "PIECE", 100)
    monkeypatch.setattr(ranks, "_GROUP", 50)
    monkeypatch.setattr(extremes, "_GROUP", 50)


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.filterwarnings("ignore::windrow.RejectedRows")
@pytest.mark.parametrize("aggregates", AGGREGATES)
@pytest.mark.parametrize("over", OVER)
def test_results_are_the_same_with_any_number_of_threads(
    over: str, aggregates: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = OVER[over].agg(**AGGREGATES[aggregates])
    alone = query.run(TABLE, threads=1)
    for count in COUNTS:
        assert bits(query.run(TABLE, threads=count)) == bits(alone)
    monkeypatch.setattr(threads, "PIECE", 1 << 18)
    assert_same_results(alone, query.run(TABLE), tolerance=1e-9)


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("over", ["tumbling", "sliding", "rolling", "rolling rows"])
def test_the_error_is_the_same_with_any_number_of_threads(over: str) -> None:
    """The user's function raises over several rows, which are in different pieces."""

    def inverse(value: int) -> float:
        return 1 / value

    bad = wr.monoid(name="bad", lift=inverse, combine=lambda a, b: a + b, lower=lambda a: a, identity=0.0)
    query = OVER[over].agg(r=bad("i"))
    table = TABLE.filter(TABLE["t"].is_valid())
    errors = []
    for count in (1, *COUNTS):
        with pytest.raises(wr.AggregateError) as raised:
            query.run(table, threads=count)
        errors.append(str(raised.value))
    assert len(set(errors)) == 1


@pytest.mark.usefixtures("small_pieces")
def test_large_integers_overflow_into_the_same_error_with_any_number_of_threads() -> None:
    table = pa.table({"t": np.arange(1000), "i": np.full(1000, 2**62)})
    query = wr.query(time="t").rolling(rows=5).agg(s=wr.sum("i"))
    errors = []
    for count in (1, *COUNTS):
        with pytest.raises(wr.IntegerOverflow) as raised:
            query.run(table, threads=count)
        errors.append(str(raised.value))
    assert len(set(errors)) == 1


@pytest.mark.usefixtures("small_pieces")
def test_too_many_windows_are_the_same_error_with_any_number_of_threads() -> None:
    query = wr.query(time="t", by="i", max_windows=200).window(wr.Sliding(300, slide=1)).agg(n=wr.count())
    errors = []
    for count in (1, *COUNTS):
        with pytest.raises(wr.TooManyWindows) as raised:
            query.run(TABLE.filter(TABLE["t"].is_valid()), threads=count)
        errors.append(str(raised.value))
    assert len(set(errors)) == 1


def test_a_small_table_starts_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_asked_for_help", None)
    for query in OVER.values():
        query.agg(s=wr.sum("i")).run(TABLE.filter(TABLE["t"].is_valid()), threads=8)


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("aggregates", ["numbers", "kept", "sketches"])
@pytest.mark.parametrize("over", ["sliding", "without keys", "rolling", "rolling rows", "one key"])
def test_several_threads_work_on_a_large_table(
    over: str, aggregates: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = TABLE.filter(TABLE["t"].is_valid())
    shared: list[Any] = []

    class Noted(threads._Shared[Any, Any]):
        def results(self, count: int) -> list[Any]:
            shared.append(repr(self._function))
            return super().results(count)

    monkeypatch.setattr(threads, "_Shared", Noted)
    for name, aggregate in AGGREGATES[aggregates].items():
        shared.clear()
        OVER[over].agg(**{name: aggregate}).run(table, threads=2)
        loops = ("slide", "roll", "answer", "in_groups", "select")
        assert name == "n" or any(loop in each for each in shared for loop in loops), name


@pytest.mark.usefixtures("small_pieces")
def test_operators_use_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_asked_for_help", None)
    operator = QUERY.window(wr.Sliding(300, slide=20)).agg(s=wr.sum("v"), p=wr.median("v")).open()
    operator.push(TABLE)
    assert operator.finish().num_rows > 100
