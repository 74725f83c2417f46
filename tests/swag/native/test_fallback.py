"""A user's aggregate that leaves native code says so once, with the reason and the remedy; ``explain()`` says
what is known before there is data. Windows without a value are no reason to leave it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from engines.spark.worker.test_rolling_task import rolled
from engines.spark.worker.test_window_tasks import by_rows, by_slices
from windrow.compile.native import CompileWarning
from windrow.engines.spark.plan import plan_of

REMEDY = "Give compile=False to wr.monoid(...) if that is fine"
ROWS = pa.table(
    {
        "t": [0, 10, 20, 30, 40, 50, 60],
        "v": [1.0, None, None, None, 4.0, 8.0, None],
        "n": [1, 2, 3, 4, 5, 6, 7],
        "s": list("abcdefg"),
        "price": [Decimal(k) for k in range(7)],
        "big": pa.array([2**63 + k for k in range(7)], pa.uint64()),
    }
)
KINDS = {
    "tumbling": lambda: wr.query(time="t").window(wr.Tumbling(20)),
    "filled": lambda: wr.query(time="t", empty="include").window(wr.Tumbling(5)),
    "sliding": lambda: wr.query(time="t").window(wr.Sliding(20, slide=5)),
    "several": lambda: wr.query(time="t").window(a=wr.Sliding(20, slide=5), b=wr.Tumbling(20)),
    "session": lambda: wr.query(time="t").window(wr.Session(5)),
    "rows": lambda: wr.query(time="t").window(wr.Rows(2)),
    "rolling": lambda: wr.query(time="t").rolling(15),
    "rolling rows": lambda: wr.query(time="t").rolling(rows=2),
}


def average(**options: Any) -> Any:
    """An aggregate whose lower divides by zero for the identity."""
    return wr.monoid(
        name="average",
        lift=lambda v: (v, 1),
        combine=lambda a, b: (a[0] + b[0], a[1] + b[1]),
        lower=lambda a: a[0] / a[1],
        identity=(0.0, 0),
        commutative=True,
        **options,
    )


def pushed(query: wr.Query, table: pa.Table, **options: Any) -> pa.Table:
    operator = query.open(**options)
    pieces = [operator.push(table.slice(0, 3)), operator.push(table.slice(3)), operator.finish()]
    return pa.concat_tables(pieces, promote_options="permissive")


ENGINES: dict[str, Any] = {
    "table": lambda query, table: query.run(table),
    "operator": pushed,
    "store": lambda query, table: pushed(query, table, store=wr.state.MemoryStore(), name="q"),
    "Spark's tasks": lambda query, table: (
        rolled(query, table, [2]) if query.is_rolling else by_rows(query, table, [2])
    ),
}


@pytest.fixture
def native_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("this ran in plain Python")

    monkeypatch.setattr("windrow.partials.aggregate.plain_results", refuse)
    monkeypatch.setattr("windrow.partials.fold._fold_plainly", refuse)
    monkeypatch.setattr("windrow.partials.columns.NativeColumn.as_plain", refuse)
    monkeypatch.setattr("windrow.swag.plain_ranges.PlainRanges.results", refuse)
    warnings.simplefilter("error", CompileWarning)


@pytest.fixture(autouse=True)
def same_filters() -> Iterator[None]:
    with warnings.catch_warnings():
        yield


@pytest.mark.usefixtures("native_only")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_lower_that_divides_stays_native_over_windows_of_nulls(kind: str, engine: str) -> None:
    mine = average()
    query = KINDS[kind]().agg(x=mine("v"), some=mine("v", where="odd"))
    rows = ROWS.append_column("odd", pa.array([True, True, False, None, False, True, True]))
    found = ENGINES[engine](query, rows)
    assert 0 < found["x"].null_count < found.num_rows
    assert 0 < found["some"].null_count < found.num_rows


@pytest.mark.usefixtures("native_only")
def test_partials_of_many_tasks_stay_native_over_windows_of_nulls() -> None:
    query = KINDS["sliding"]().agg(x=average()("v"))
    assert None in by_slices(query, ROWS, [2], 2)["x"].to_pylist()


# -- reasons -------------------------------------------------------------------------------------------------

LAST: Any = {"lift": lambda v: v, "combine": lambda a, b: b}
REASONS: dict[str, tuple[Any, str, str]] = {
    "an identity that is not a number": (
        {"lift": lambda v: {v}, "combine": lambda a, b: a | b, "lower": len, "identity": set()},
        "n",
        "the identity set() is not a number or a flat tuple of numbers",
    ),
    "a combine that does not compile": (
        {"lift": lambda v: v, "combine": lambda a, b: eval("a + b"), "identity": 0},
        "n",
        "combine does not compile for int64, int64",
    ),
    "a lower that does not compile": (
        {"lift": lambda v: v, "combine": lambda a, b: a + b, "lower": lambda a: f"{a:.1f}", "identity": 0},
        "n",
        "lower does not compile",
    ),
    "partials of another shape": (
        {"lift": lambda v: (v, 1), "combine": lambda a, b: b, "lower": lambda a: a[0], "identity": 0},
        "n",
        "partials have different shapes: one number and a tuple of 2",
    ),
    "text": ({**LAST, "identity": 0}, "s", "values of type string have no native form: cast the column"),
    "decimals": ({**LAST, "identity": 0}, "price", "values of type decimal128(1, 0) have no native form"),
    "large integers": (
        {"lift": lambda v: v % 7, "combine": lambda a, b: b, "identity": 0},
        "big",
        "integers beyond 63 bits have no native form",
    ),
}


@pytest.mark.parametrize("engine", ["table", "operator", "store"])
@pytest.mark.parametrize("reason", REASONS)
def test_each_reason_is_reported_once_with_the_remedy(reason: str, engine: str) -> None:
    functions, column, said = REASONS[reason]
    mine = wr.monoid(name="mine", result_type="string" if column == "s" else None, **functions)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for kind in ("sliding", "rolling"):
            query = KINDS[kind]().agg(x=mine(column), y=mine(column))
            ENGINES[engine](query, ROWS)
    found = [str(w.message) for w in caught if issubclass(w.category, CompileWarning)]
    assert said in found[0]
    assert REMEDY in found[0]
    assert len(found) == 1


@pytest.mark.parametrize("reason", [name for name in REASONS if name != "large integers"])
def test_sparks_driver_reports_what_tasks_will_do(reason: str) -> None:
    functions, column, said = REASONS[reason]
    mine = wr.monoid(name="mine", result_type="string", commutative=True, **functions)
    query = KINDS["sliding"]().agg(x=mine(column))
    with pytest.warns(CompileWarning) as caught:
        plan = plan_of(query, ROWS.schema)
    assert said in str(caught[0].message)
    assert "x = mine" in plan.reason
    warnings.simplefilter("error", CompileWarning)
    plan_of(query, ROWS.schema)


def test_compile_false_reports_nothing() -> None:
    warnings.simplefilter("error", CompileWarning)
    for functions, column, _ in REASONS.values():
        mine = wr.monoid(name="mine", compile=False, **functions)
        KINDS["sliding"]().agg(x=mine(column)).run(ROWS)


def test_columns_of_nulls_report_nothing() -> None:
    warnings.simplefilter("error", CompileWarning)
    rows = pa.table({"t": [1, 2], "v": pa.nulls(2)})
    assert KINDS["sliding"]().agg(x=average()("v")).run(rows)["x"].null_count > 0


@pytest.mark.parametrize("values", [["a", "b"], pa.array(["a", "b"])], ids=["list", "Arrow"])
def test_bare_windows_report_values_without_a_native_form(values: Any) -> None:
    mine = wr.monoid(name="mine", **LAST, identity=0)
    with pytest.warns(CompileWarning, match="values of type str(ing)? have no native form"):
        wr.swag.DABALite(mine).roll(values, size=2)
    warnings.simplefilter("error", CompileWarning)
    wr.swag.TwoStacksLite(mine).roll(values, size=2)


@pytest.mark.parametrize("engine", ["table", "operator"])
def test_native_code_that_raises_where_python_does_not_is_reported(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError("the kernel is lost")

    for place in ("aggregate.native_results", "fold.fold_rows_natively", "columns.partial_results"):
        monkeypatch.setattr(f"windrow.partials.{place}", broken)
    mine, plain = average(), average(compile=False)
    query = KINDS["sliding"]().agg(x=mine("v"))
    with pytest.warns(CompileWarning, match="native code raised RuntimeError: the kernel is lost"):
        found = ENGINES[engine](query, ROWS)
    assert found["x"].to_pylist() == KINDS["sliding"]().agg(x=plain("v")).run(ROWS)["x"].to_pylist()
    warnings.simplefilter("error", CompileWarning)
    ENGINES[engine](query, ROWS)


def test_what_a_users_function_raises_is_an_error_and_no_fallback() -> None:
    warnings.simplefilter("error", CompileWarning)
    mine = wr.monoid(name="mine", lift=lambda v: 1 / (v - 3), combine=lambda a, b: a + b, identity=0.0)
    with pytest.raises(wr.swag.AggregateError, match="'mine' raised ZeroDivisionError at row 2"):
        KINDS["sliding"]().agg(x=mine("n")).run(ROWS)


# -- explain -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["tumbling", "several", "rolling"])
def test_explain_says_what_is_native_and_why_not(kind: str) -> None:
    names = wr.monoid(name="names", lift=lambda v: {v}, combine=lambda a, b: a | b, identity=set())
    slow = wr.monoid(name="slow", lift=lambda v: v, combine=lambda a, b: a + b, identity=0, compile=False)
    query = KINDS[kind]().agg(a=average()("v"), b=names("v"), c=slow("v"), d=wr.sum("v"))
    lines = {line.split(" = ")[0].strip(): line for line in query.explain().splitlines() if " = " in line}
    assert lines["a"].endswith("native code where average compiles for the data")
    assert lines["b"].endswith("plain Python: the identity set() is not a number or a flat tuple of numbers")
    assert lines["c"].endswith("plain Python: it was made with compile=False")
    assert lines["d"].endswith("native code where sum compiles for the data")
