"""Expressions of job files: what is read, what is refused by name, and which rows are computed.

That results are Spark's is in ``engines/spark/test_expressions.py``."""

from __future__ import annotations

import contextlib
import time
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.expression_rows import EQUAL, FAILING, WRONG, awkward_rows
from windrow.cli.expressions import ExpressionError, OnlySpark, ValueRefused, parse
from windrow.cli.expressions.compiled import FUNCTIONS, compiled, source_names
from windrow.cli.expressions.derivation import Derivation, columns_apart
from windrow.cli.expressions.tokens import tokens_of
from windrow.cli.expressions.tree import (
    Between,
    Binary,
    Call,
    Case,
    Cast,
    Column,
    Constant,
    In,
    Is,
    Like,
    Node,
    Unary,
)
from windrow.cli.expressions.values import Rows, Typed

ROWS = awkward_rows().combine_chunks().to_batches()[0]


def values(text: str, **columns: Any) -> list[Any]:
    rows = pa.RecordBatch.from_pydict(columns) if columns else ROWS
    found: list[Any] = compiled(parse(text), source_names(rows.schema)).values(Rows(rows)).to_pylist()
    return found


# -- the parser ----------------------------------------------------------------------------------------------

_LETTERS = st.text("ab_ `'\"\\%.é😀\n", max_size=6)
_WHOLE = st.integers(-(2**31), 2**31 - 1)
_CONSTANTS = st.one_of(
    st.just(Constant(None, "void")),
    st.booleans().map(lambda value: Constant(value, "boolean")),
    _WHOLE.map(lambda value: Constant(value, "int")),
    st.integers(-(2**63), 2**63 - 1).map(lambda value: Constant(value, "bigint")),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda value: Constant(value, "double")),
    st.decimals(-(10**34), 10**34, allow_nan=False, allow_infinity=False, places=3).map(
        lambda value: Constant(value, "decimal")
    ),
    _LETTERS.map(lambda value: Constant(value, "string")),
)
_COLUMNS = st.lists(_LETTERS.filter(bool), min_size=1, max_size=3).map(lambda path: Column(tuple(path)))
_SIGNS = ("+", "-", "*", "/", "%", "div", "||", "=", "<>", "<", "<=", ">", ">=", "<=>", "and", "or")


def _grown(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    some = st.lists(inner, min_size=1, max_size=3).map(tuple)
    branches = st.lists(st.tuples(inner, inner), min_size=1, max_size=2).map(tuple)
    return st.one_of(
        st.builds(Unary, st.just("not"), inner),
        st.builds(Unary, st.just("-"), inner.filter(lambda node: not isinstance(node, Constant))),
        st.builds(Binary, st.sampled_from(_SIGNS), inner, inner),
        st.builds(Is, inner, st.sampled_from(["null", "true", "false"]), st.booleans()),
        st.builds(In, inner, some),
        st.builds(Like, inner, inner, st.sampled_from(["\\", "!", "'"])),
        st.builds(Between, inner, inner, inner),
        st.builds(Case, branches, st.none() | inner, st.none() | inner),
        st.builds(Cast, inner, st.sampled_from(["int", "timestamp", "decimal(10,2)"])),
        st.builds(Call, st.sampled_from(["coalesce", "no_such_function", "upper"]), some),
    )


@given(st.recursive(_CONSTANTS | _COLUMNS, _grown, max_leaves=12))
def test_a_tree_that_is_written_as_sql_is_read_as_the_same_tree(tree: Node) -> None:
    assert parse(tree.sql()) == tree


@given(
    st.text() | st.text("abc 0123456789.()'\"`,=<>!+-*/%\\and or not is null in like case when end cast as")
)
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(ExpressionError, OnlySpark):
        tree = parse(text)
        assert parse(tree.sql()) == tree


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a or b and not c = d + e * -f", "(a or (b and (not (c = (d + (e * (- f)))))))"),
        ("a = b is null", "((a = b) is null)"),
        ("a between b and c and d", "((a between b and c) and d)"),
        ("a not in (1, 2)", "(not (a in (1, 2)))"),
        ("a - b - c", "((a - b) - c)"),
        ("a = b = c", "((a = b) = c)"),
        ("-1", "-1"),
        ("a -1", "(a - 1)"),
        ("- a * b", "((- a) * b)"),
        ("case a when 1 then b end", "(case a when 1 then b end)"),
        ("date '2024-05-01'", "cast('2024-05-01' as date)"),
        ("a != b || c", "(a <> (b || c))"),
    ],
)
def test_what_binds_tighter(text: str, expected: str) -> None:
    assert parse(text).sql().replace("`", "") == expected


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("1", "int"),
        ("3000000000", "bigint"),
        ("1L", "bigint"),
        ("1.50", "decimal"),
        ("1e3", "double"),
        ("1D", "double"),
    ],
)
def test_numbers_have_the_types_that_spark_gives_them(text: str, kind: str) -> None:
    found = parse(text)
    assert isinstance(found, Constant)
    assert found.kind == kind
    assert text != "1.50" or found.value == Decimal("1.50")


# -- what is refused -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("len > ", "this ends too early"),
        ("(len > 3", "the parenthesis at character 1 is not closed"),
        ("len > 3)", "the parenthesis at character 8 closes nothing"),
        ("s = 'abc", "the quote at character 5 is not closed"),
        ("  ", "this is empty"),
        ("nmu > 3", "the source has no column 'nmu': did you mean 'num'?"),
        ("inner.b", "'inner' has no field 'b'"),
        ("num.a", "'num' is int and has no field 'a'"),
        ("num and flag", "the left side of and is int: it must be true or false"),
        ("ts > 'noon'", "'noon' cannot be cast to timestamp"),
        ("word like 'a\\\\b'", "\\ must stand before %, _ or itself"),
    ],
)
def test_what_is_wrong_on_every_engine(text: str, said: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        values(text)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("s rlike 'a.*'", "rlike at character 3"),
        ("regexp_extract(s, 'a', 0)", "the function 'regexp_extract'"),
        ("uper(s)", "did you mean 'upper'?"),
        ("timestampadd(HOUR, 1, ts)", "the function 'timestampadd'"),
        ("inner[0]", "the sign '[' at character 6"),
        ("transform(s, x -> x + 1)", "> at character 17"),
        ("ts + interval 1 hour", "interval at character 6"),
        ("current_timestamp", "current_timestamp"),
        ("try_cast(s as int)", "try_cast(...)"),
        ("cast(x as string)", "the cast from double to string"),
        ("cast(s as decimal(10,2))", "the cast from string to decimal(10,2)"),
        ("cast(s as varchar(10))", "the type 'varchar(10)'"),
        ("s > 3", "the comparison > of string and int"),
        ("price / 2", "/ of decimals"),
        ("num % 1.5", "% of decimals"),
        ("round(x, 2)", "round with 2 arguments"),
        ("num in (small, 3)", "'in' with anything but literals"),
        ("s like word", "like with an argument other than a text"),
        ("'a' 'b'", "'b' at character 5"),
        ("s = '\\u0041'", "the escape \\u"),
        ("concat(s, num)", "concat of int"),
        ("sum(num)", "the function 'sum'"),
        ("date_trunc('century', ts)", "date_trunc with anything but"),
        ("1a", "1a"),
        ("x -- note", "the comment --"),
        ("x /* note */", "the comment /*"),
        ("inner = inner", "the comparison ="),
    ],
)
def test_what_only_spark_knows_is_refused_by_name(text: str, named: str) -> None:
    with pytest.raises(OnlySpark) as caught:
        values(text)
    assert named in str(caught.value)
    assert "run this job on Spark" in str(caught.value)


def test_deep_nesting_is_refused_and_not_a_crash() -> None:
    with pytest.raises(OnlySpark, match="levels of parentheses"):
        parse("(" * 2_000 + "1" + ")" * 2_000)
    with pytest.raises(ExpressionError, match="at most 10,000"):
        parse("1 + " * 5_000 + "1")


def test_long_chains_are_evaluated() -> None:
    assert values(" + ".join(["n"] * 100), n=[1, 2]) == [100, 200]
    with pytest.raises(OnlySpark, match="a chain of more than 100 operators"):
        parse(" + ".join(["n"] * 500))


@pytest.mark.parametrize("text", FAILING)
def test_a_value_without_a_result_stops(text: str) -> None:
    with pytest.raises(ValueRefused):
        values(text)


def test_every_function_is_among_the_expressions_that_are_held_against_spark() -> None:
    names = "|".join(EQUAL)
    missing = [name for name in FUNCTIONS if f"{name}(" not in names]
    assert missing == []


@pytest.mark.parametrize("letter", ["\u019b", "\u0378"])
def test_letters_whose_case_depends_on_the_version_of_unicode_are_refused(letter: str) -> None:
    with pytest.raises(ValueRefused, match="known to Spark alone"):
        values("upper(s)", s=["plain", f"a{letter}"])


@pytest.mark.parametrize("text", ["year(at)", "date_trunc('year', at)", "dayofyear(at)"])
def test_years_that_arrow_cannot_count_are_refused(text: str) -> None:
    at = pa.array([1_100_000_000_000_000_000], pa.timestamp("us", "UTC"))
    with pytest.raises(ValueRefused, match="Spark alone has a calendar"):
        values(text, at=at)
    assert values("unix_seconds(cast(cast(at as date) as timestamp))", at=at) == [1_099_999_958_400]


# -- results that were not Spark's ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # a number next to a half was rounded away from zero
        ("round(-0.49999999999999994D)", 0.0),
        ("round(-0.49999997F)", 0.0),
        ("round(-0.5D)", -1.0),
        # a float of a whole number, widened, was rounded to a float
        ("cast(cast(n as float) as double)", 16777217.0),
        ("cast(n as float) = n", True),
        ("floor(cast(+ cast(n as float) as float))", 16777217),
        ("case cast(n as float) when 16777217D then 'own' end", "own"),
        ("cast(cast(16777217 as float) as double)", 16777216.0),
        # the sign of a decimal did not round to 34 digits
        ("-(12345678901234567890123456789012345678BD)", Decimal("-12345678901234567890123456789012350000")),
        ("abs(-12345678901234567890123456789012345678BD)", Decimal("12345678901234567890123456789012350000")),
        ("abs(12345678901234567890123456789012345678BD)", Decimal("12345678901234567890123456789012345678")),
        # the case of a case
        ("lower(upper(s))", "straße"),
        ("lower(upper(lower(s)))", "straße"),
        ("upper(lower(s))", "STRASSE"),
        ("lower(upper('ß'))", "ss"),
        ("lower(replace(upper(s), '', 'x'))", "strasse"),
        # literals of more than 28 digits were a bug in windrow, and those beyond bigint were refused
        ("12345678901234567890123456789012345678BD", Decimal("12345678901234567890123456789012345678")),
        ("1234567890123456789012345678.5", Decimal("1234567890123456789012345678.5")),
        ("9223372036854775808", Decimal("9223372036854775808")),
        ("1.00000005960464480000001F", 1.0000001192092896),
        # whole numbers and decimals that no bigint reaches
        ("cast(null as int) < 99999999999999999999.5", True),
        ("n > 99999999999999999999.5", False),
        # numbers in text
        ("isnan(cast('+NaN' as double))", True),
        ("isnan(cast(' -NaN ' as double))", True),
        # seconds out of range are the last time that there is
        ("unix_micros(cast(9223372036854775807 as timestamp))", 2**63 - 1),
        ("unix_micros(cast(-9223372036855 as timestamp))", -(2**63)),
        ("cast(cast(9223372036854 as timestamp) as bigint)", 9223372036854),
    ],
)
def test_a_result_that_was_not_sparks(text: str, expected: Any) -> None:
    assert values(text, n=[16777217], s=["straße"]) == [expected]


@pytest.mark.parametrize("text", WRONG)
def test_what_spark_does_not_read_is_wrong(text: str) -> None:
    with pytest.raises(ExpressionError):
        values(text)


def test_a_null_is_no_where() -> None:
    with pytest.raises(ExpressionError, match="this is void: it must be true or false"):
        derived(ROWS, {}, "null")


@pytest.mark.parametrize(
    "columns",
    [
        {"u": "upper(s)", "l": "lower(u)"},
        {"u": "if(n > 0, upper(s), s)", "l": "lower(u)"},
        {"l": "lower(coalesce(upper(s), 'x'))"},
        {"l": "lower(upper(upper(coalesce(s, 'x'))))"},
        {"a": "upper(s)", "b": "upper(a)", "c": "upper(b)", "l": "lower(c)"},
        {"f": "cast(n as float)", "d": "f * 1D"},
        {"d": "cast(if(s = 'a', 0F, cast(n as float)) as double)"},
    ],
)
def test_a_value_that_depends_on_sparks_plan_is_refused(columns: dict[str, str]) -> None:
    rows = pa.RecordBatch.from_pydict({"n": [3], "s": ["plain"]})
    assert derived(rows, columns).num_rows == 1
    rows = pa.RecordBatch.from_pydict({"n": [3, 16777217], "s": ["plain", "straße"]})
    with pytest.raises(ValueRefused, match="depending on how Spark plans the query: known to Spark alone"):
        derived(rows, columns)


@pytest.mark.parametrize(
    "text",
    ["cast(cast(coalesce(16777217, n) as float) as double)", "lower(upper(coalesce('straße', s)))"],
)
def test_a_value_that_spark_may_know_beforehand_is_refused(text: str) -> None:
    rows = {"n": [3], "s": ["plain"]}
    with pytest.raises(ValueRefused, match="depending on how Spark plans the query"):
        values(text, **rows)
    assert values(text.replace("16777217", "n").replace("'straße'", "s"), **rows) in ([3.0], ["plain"])


# -- expressions that doubled with each level ----------------------------------------------------------------

#: what an operand is put into, and whether Spark repeats it
_NESTED = [
    ("case @ when 3 then 1 when 4 then 3 else 4 end", True),
    ("cast(@ between 0 and 5 as int)", True),
    ("nullif(@, 5)", True),
    ("coalesce(@, 1)", False),
    ("if(@ is distinct from 3, 3, 4)", False),
]


def nested(shape: str, depth: int, operand: str = "n") -> str:
    for _ in range(depth):
        operand = shape.replace("@", operand)
    return operand


@pytest.mark.parametrize(("shape", "_is_repeated"), _NESTED)
def test_a_nested_operand_is_computed_once(shape: str, _is_repeated: bool) -> None:
    expected: list[int | None] = [3, 4, None]
    for _ in range(28):
        expected = values(shape.replace("@", "n"), n=pa.array(expected, pa.int32()))
    assert values(nested(shape, 28), n=pa.array([3, 4, None], pa.int32())) == expected


@pytest.mark.parametrize(("shape", "is_repeated"), _NESTED)
def test_a_plan_that_would_be_too_large_for_spark_is_refused_by_name(shape: str, is_repeated: bool) -> None:
    columns = (("fine", nested(shape, 4)), ("deep", nested(shape, 16)))
    if not is_repeated:
        assert columns_apart(columns, None) <= {"deep"}
        return
    with pytest.raises(ExpressionError, match="more than 10,000 names, literals and operators") as caught:
        columns_apart(columns, "deep > 0")
    assert caught.value.args[:2] == ("source.columns", "deep")
    with pytest.raises(ExpressionError) as caught:
        columns_apart((), nested(shape, 16) + " > 0")
    assert caught.value.args[:2] == ("source", "where")


def chain(shape: str, count: int) -> dict[str, str]:
    return {f"c{k + 1}": shape.format(k) for k in range(count)}


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ("c{0} + c{0} - c{0}", [1, 2, None]),
        ("case when c{0} > 1 then c{0} else c{0} + 1 end", [2, 2, None]),
        ("if(c{0} between 0 and 5, c{0}, nullif(c{0}, 4))", [1, 2, None]),
        ("coalesce(c{0}, c{0}) * 1 + case c{0} when c{0} then 0 end", [1, 2, None]),
    ],
)
def test_a_chain_of_derived_columns_is_computed_once_per_batch(shape: str, expected: list[Any]) -> None:
    rows = pa.RecordBatch.from_pydict({"c0": [1, 2, None]})
    assert derived(rows, chain(shape, 40)).column("c40").to_pylist() == expected
    assert derived(rows, chain(shape, 40), "c40 >= 0").column("c40").to_pylist() == expected[:2]


def test_a_long_chain_that_where_reads_is_no_deep_recursion() -> None:
    rows = pa.RecordBatch.from_pydict({"c0": [1, 2]})
    assert derived(rows, chain("c{0} + 1", 600), "c600 > 601").to_pydict()["c600"] == [602]


def test_a_conversion_through_very_many_columns_is_refused_and_not_a_crash() -> None:
    schema = pa.schema([("c0", pa.string())])
    columns = {"c1": "upper(c0)"} | dict(list(chain("if(c{0} > '', c{0}, c{0})", 600).items())[1:])
    for count, named in ((50, []), (600, ["last"])):
        some = tuple(columns.items())[:count]
        refused = Derivation.of((*some, ("last", f"lower(c{count})")), None, schema).refused
        assert [key for _, key, _ in refused] == named


def test_a_column_is_computed_for_each_row_at_most_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []
    least, most, made = FUNCTIONS["length"]

    def counting(arguments: list[Typed]) -> Typed:
        inner = made(arguments)

        def work(rows: Rows) -> pa.Array:
            counted.append(rows.num_rows)
            return inner.values(rows)

        return replace(inner, values=work)

    monkeypatch.setitem(FUNCTIONS, "length", (least, most, counting))
    rows = pa.RecordBatch.from_pydict({"s": ["a", "bb", None, "dddd"], "n": [1, 2, 3, 4]})
    columns = {"k": "length(s)", "a": "case when n = 1 then k end", "b": "case when n > 1 then k + k end"}
    assert derived(rows, columns | {"c": "k + a"}).column("b").to_pylist() == [None, 4, None, 8]
    assert sum(counted) == 4
    counted.clear()
    derived(rows, columns, "n > 2 and (a is null or b > 0) and k between k and k")
    assert sum(counted) == 4


def test_the_nodes_of_a_source_have_a_limit() -> None:
    columns = {f"c{k}": " + ".join(["n"] * 50) for k in range(200)}
    rows = pa.RecordBatch.from_pydict({"n": [1]})
    with pytest.raises(ExpressionError, match="more than 10,000 names, literals and operators") as caught:
        derived(rows, columns)
    assert caught.value.args[:2] == ("source.columns", "c101")


@pytest.mark.parametrize(
    "text",
    [shape.replace("1", "1" * 4_900) + "x" for shape in ("11", "1.1", "1e1", "1e-1", ".11")],
)
def test_numbers_are_read_in_linear_time(text: str) -> None:
    start = time.perf_counter()
    with pytest.raises(OnlySpark):
        tokens_of(text)
    assert time.perf_counter() - start < 0.3  # it took seconds


# -- which rows are computed ---------------------------------------------------------------------------------


def test_branches_are_computed_for_their_rows_alone() -> None:
    a, b = [6, 1, 9], [3, 0, None]
    assert values("case when b <> 0 then a / b end", a=a, b=b) == [2.0, None, None]
    assert values("b <> 0 and a / b > 1", a=a, b=b) == [True, False, None]
    assert values("b = 0 or a / b > 1", a=a, b=b) == [True, True, None]
    assert values("coalesce(b, a / 0)", a=[1], b=[5]) == [5.0]
    assert values("b + a / 0", a=[1, 2], b=pa.nulls(2, pa.int64())) == [None, None]


def derived(batch: pa.RecordBatch, columns: dict[str, str], where: str | None = None) -> pa.RecordBatch:
    return Derivation.of(tuple(columns.items()), where, batch.schema).applied(batch)


def test_columns_come_first_and_where_after_them() -> None:
    rows = pa.RecordBatch.from_pydict({"a": [1, 2, 3], "b": [0, 1, 2]})
    found = derived(rows, {"a": "a * 10", "c": "a + b"}, "c > 21 and a < 30")
    assert found.to_pydict() == {"a": [], "b": [], "c": []}
    found = derived(rows, {"a": "a * 10", "c": "a + b"}, "c > 20")
    assert found.to_pydict() == {"a": [20, 30], "b": [1, 2], "c": [21, 32]}


def test_a_row_that_where_leaves_out_stops_nothing() -> None:
    rows = pa.RecordBatch.from_pydict({"a": [6, 1], "b": [3, 0]})
    assert derived(rows, {"ratio": "a / b"}, "b <> 0").to_pydict() == {"a": [6], "b": [3], "ratio": [2.0]}
    assert derived(rows, {"ratio": "a / b"}, "b <> 0 and ratio > 1").num_rows == 1
    with pytest.raises(ValueRefused, match=r"\[source.columns\] ratio = 'a / b': division by zero"):
        derived(rows, {"ratio": "a / b"})


def test_a_derived_column_takes_the_place_of_one_of_the_same_name() -> None:
    rows = pa.RecordBatch.from_pydict({"Region": ["n"], "len": [3]})
    assert derived(rows, {"region": "upper(REGION)"}).to_pydict() == {"region": ["N"], "len": [3]}


def test_names_that_differ_in_case_alone_are_ambiguous() -> None:
    with pytest.raises(ExpressionError, match="Spark takes them for the same"):
        values("len > 1", len=[1], Len=[2])


def test_types_that_spark_reads_as_others() -> None:
    rows = pa.RecordBatch.from_arrays(
        [
            pa.array([200], pa.uint8()),
            pa.array(["a"]).dictionary_encode(),
            pa.array([1], pa.timestamp("ns")),
            pa.array(["b"], pa.large_string()),
        ],
        names=["small", "word", "at", "text"],
    )
    found = derived(
        rows, {"n": "small + 100S", "w": "upper(word)", "t": "date_trunc('day', at)", "u": "text || 'c'"}
    )
    assert found.column("n").to_pylist() == [300]
    assert (found.column("w").to_pylist(), found.column("u").to_pylist()) == (["A"], ["bc"])
    assert found.schema.field("t").type == pa.timestamp("us", "UTC")
