"""Each of windrow's own kernels is called compiled and interpreted on the same arguments: results are equal.

The other tests of ``make test`` interpret kernels on small tables, as users do. This one compiles all of
them, and fails if a kernel is added that no case here reaches.
"""

from __future__ import annotations

import importlib
import pkgutil
import types
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from engines.spark.partitions import batches, shuffled_table
from support.both_forms import checking
from windrow import threads
from windrow.compile.cache import Kernel
from windrow.engines.spark.shipping import packed
from windrow.engines.spark.types import result_type
from windrow.engines.spark.worker.local_task import roll_batches
from windrow.rows import integer_codes
from windrow.rows.integer_codes import numbered_in_range
from windrow.rows.keys import encoded_keys
from windrow.rows.merging import sort_in_pieces
from windrow.rows.sorting import radix_sort
from windrow.rows.stable_codes import stable_codes
from windrow.slicing import any_order
from windrow.slicing.slicer import Slicer
from windrow.state import MemoryStore

SIMPLE = {"rows": wr.count(), "total": wr.sum("y"), "most": wr.max("n")}
MANY = SIMPLE | {
    "mean": wr.mean("x"),
    "first": wr.first("x"),
    "last": wr.last("w"),
    "median": wr.median("x"),
    "distinct": wr.count_distinct("n"),
    "words": wr.approx_distinct("w"),
    "seen": wr.bloom("w"),
    "often": wr.count_min("w"),
    "all": wr.collect("n"),
    "each": wr.collect_distinct("w"),
    "half": wr.approx_quantile("x", 0.5),
    "mode": wr.mode("n"),
    "top": wr.top_k("x", 3),
}
STEPS = {"a": wr.Sliding("3m", slide="1m"), "b": wr.Cumulative("1h", step="10m")}
TIMED = STEPS | {"c": wr.Session("9s")}
BERLIN = {"day": wr.Tumbling("1d", timezone="Europe/Berlin"), "hour": wr.Tumbling("1h")}
BY_DATA = {
    "far": wr.Delta("km", size=3, slide=1),
    "eight": wr.Rows(8, slide=2),
    "done": wr.Punctuation("f"),
    "high": wr.Threshold("f"),
}


def table(count: int, keys: int, key: str = "text", late: float = 0.2) -> pa.Table:
    """Rows out of order, with nulls and NaN."""
    random = np.random.default_rng(count)
    times = np.cumsum(random.integers(0, 3_000_000, count))
    times += random.integers(-20_000_000, 20_000_000, count) * (random.random(count) < late)
    number = random.integers(0, keys, count)
    values = random.normal(size=count)
    values[::17] = np.nan
    columns = {
        "t": pa.array(times, pa.timestamp("us")),
        "x": pa.array(values, mask=random.random(count) < 0.1),
        "y": pa.array(random.normal(size=count)),
        "n": pa.array(random.integers(0, 50, count)),
        "km": pa.array(times / 4e6),
        "f": pa.array(random.random(count) < 0.1),
        "w": pa.array([f"word {k}" for k in random.integers(0, 30, count)]),
    }
    if key == "text":
        columns["k"] = pa.array([f"a key of more than eight bytes: {k}" for k in number])
    else:
        columns["k"] = pa.array(number * (7_919 if key == "few" else 2**40))
    return pa.table(columns)


def tables() -> None:
    for key in ("text", "few", "far apart"):
        rows = table(300, 9, key)
        events = wr.events(rows, time="t", by="k")
        for windows in ({"one": wr.Tumbling("1m")}, TIMED, BERLIN, BY_DATA):
            events.window(**windows).agg(**MANY)
            if windows is not BY_DATA:
                events.window(**windows).agg(**SIMPLE)
        events.window(**STEPS).agg(**SIMPLE)
        for rolling in (events.rolling("2m"), events.rolling("1m", "5m"), events.rolling(rows=7)):
            rolling.agg(**MANY)
    wr.events(table(9_000, 40), time="t").window(wr.Tumbling("1m")).agg(**SIMPLE)


def tables_in_pieces() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threads, "PIECE", 100)
        patch.setattr(any_order, "_CELLS_A_PIECE", 100)
        for key in ("text", "few", "far apart"):
            for late in (0.0, 0.2):
                rows = table(900, 40, key, late)
                for windows in (TIMED, STEPS, BERLIN):
                    query = wr.query(time="t", by="k", empty="include").window(**windows)
                    query.agg(**SIMPLE).run(rows, threads=2)
                wr.query(time="t", by="k").rolling("1m").agg(**MANY).run(rows, threads=2)


def operators() -> None:
    settings: list[dict[str, Any]] = [
        {},
        {"output": "update", "allowed_lateness": "30s"},
        {"late": "return", "empty": "include", "watermark": "1s"},
    ]
    for key in ("text", "few"):
        rows = table(300, 9, key)
        for setting in settings:
            query = wr.query(time="t", by="k", **{"watermark": "5s", **setting})
            push_all(query.window(**TIMED).agg(**SIMPLE), rows)
            push_all(query.window(one=wr.Sliding("3m", slide="1m")).agg(**MANY), rows)
        for windows in (STEPS, BERLIN):
            push_all(wr.query(time="t", by="k", watermark="90s").window(**windows).agg(**SIMPLE), rows)
        query = wr.query(time="t", by="k", watermark="5s")
        push_all(query.window(**BY_DATA).agg(**MANY), rows)
        push_all(query.rolling("2m").agg(**MANY), rows)
        push_all(query.rolling("1m", "5m").agg(**MANY), rows)
        push_all(query.rolling("1m", "5m").agg(**SIMPLE), rows)


def push_all(query: wr.Query, rows: pa.Table, size: int = 50) -> None:
    operator = query.open()
    for front in range(0, len(rows), size):
        operator.push(rows.slice(front, size))
    operator.finish()


def sketches_in_blocks() -> None:
    """Later slices cover registers of earlier ones."""
    random = np.random.default_rng(1)
    rows = pa.table({"t": np.arange(6_000), "k": np.arange(6_000) % 2, "n": random.integers(0, 99, 6_000)})
    query = wr.query(time="t", by="k", watermark=0).window(wr.Sliding(4_000, slide=20))
    push_all(query.agg(n=wr.approx_distinct("n", precision=4)), rows, 2_000)


def labels() -> None:
    features = wr.query(time="t", by="k").asof("1m", "5m").agg(**SIMPLE)
    rows = table(300, 9)
    asked = rows.select(["k", "t"]).slice(100, 60)
    features.run(rows, at=asked)
    for operator in (features.open(), features.open(store=MemoryStore())):
        for front in range(0, 300, 100):
            operator.push(rows.slice(front, 100))
        operator.at(asked)


def spark_tasks() -> None:
    for query in (wr.query(time="t", by="k").rolling("2m"), wr.query(time="t", by="k").rolling(rows=7)):
        rolling = query.agg(**SIMPLE)
        rows = table(300, 9)
        kinds = [result_type(aggregate, rows.schema) for _, aggregate in rolling.aggregates]
        list(roll_batches(packed(rolling), kinds, batches(shuffled_table(rolling, rows), [97]), 1 << 30))


def cells_by_sorting() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(any_order, "_FEW_PLACES", 1)
        wr.events(table(9_000, 40), time="t", by="k").window(wr.Tumbling("1s")).agg(**SIMPLE)


def codes() -> None:
    rows = table(6_000, 9).select(["k", "n", "x"])
    stable_codes(rows)
    encoded_keys(("x",), rows.select(["x"]))
    Slicer([wr.Tumbling(10), wr.Sliding(30, slide=7)]).edges_after(np.arange(100))
    with pytest.MonkeyPatch.context() as patch, threads.using_threads(2):
        patch.setattr(threads, "PIECE", 100)
        patch.setattr(integer_codes, "_FIRST_ROWS", 50)
        numbers = np.random.default_rng(2).integers(0, 200, 900)
        numbered_in_range(numbers, 0, 200)
        sort_in_pieces(numbers.copy())
        radix_sort(numbers << 10 | np.arange(900), 10)


def kernels() -> dict[str, Kernel]:
    found = {}
    for module in pkgutil.walk_packages(wr.__path__, "windrow."):
        if not module.name.endswith("__main__"):
            for value in vars(importlib.import_module(module.name)).values():
                if isinstance(value, Kernel):
                    found[f"{value.function.__module__}.{value.function.__qualname__}"] = value
    return found


def reached(names: Iterable[str], known: dict[str, Kernel]) -> set[str]:
    """These kernels, and those that they call."""
    found: set[str] = set()
    waiting = [known[name].function for name in names if name in known]
    while waiting:
        function = waiting.pop()
        name = f"{function.__module__}.{function.__qualname__}"
        if name not in found:
            found.add(name)
            waiting += called(function)
    return found & set(known)


def called(function: types.FunctionType) -> Iterator[types.FunctionType]:
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    for value in (*map(function.__globals__.get, function.__code__.co_names), *cells):
        value = value.function if isinstance(value, Kernel) else value
        if isinstance(value, types.FunctionType) and value.__module__.startswith("windrow."):
            yield value


CASES = [
    tables,
    tables_in_pieces,
    operators,
    sketches_in_blocks,
    cells_by_sorting,
    labels,
    spark_tasks,
    codes,
]


def test_every_kernel_does_the_same_compiled_as_interpreted() -> None:
    known = {name: each for name, each in kernels().items() if not each._entry._is_whole}
    with checking() as compared:
        for case in CASES:
            case()
    missing = sorted(set(known) - reached(compared, known))
    assert not missing, f"no case compares these kernels: {', '.join(missing)}"
