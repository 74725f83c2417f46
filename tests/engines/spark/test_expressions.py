"""Expressions of job files give on the local engine what they give on Spark: the same values of the same
types, or an error on both."""

from __future__ import annotations

import math
import random
import re
import sys
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.expression_rows import EQUAL, FAILING, WRONG, awkward_rows
from support.random_expressions import random_expression, random_number
from windrow.cli.expressions import ExpressionError, OnlySpark, ValueRefused, parse
from windrow.cli.expressions.compiled import compiled, source_names
from windrow.cli.expressions.letters import _CHANGED, lower, upper
from windrow.cli.expressions.values import Rows


@pytest.fixture(scope="module")
def frame(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    file = tmp_path_factory.mktemp("rows") / "awkward.parquet"
    pq.write_table(awkward_rows(), file)
    return spark.read.parquet(str(file))


def local(text: str) -> pa.Array:
    (rows,) = awkward_rows().combine_chunks().to_batches()
    return compiled(parse(text), source_names(rows.schema)).values(Rows(rows))


def assert_equal(text: str, found: pa.Array, expected: pa.ChunkedArray) -> None:
    assert str(found.type) == str(expected.type), text
    mine, theirs = _plain(found), _plain(expected)
    same = [_is_same(one, other) for one, other in zip(mine, theirs, strict=True)]
    assert all(same), f"{text}: {mine} on the local engine, {theirs}"


def _plain(values: Any) -> list[Any]:
    """Values that Python has: its calendar ends in the year 9999."""
    if pa.types.is_temporal(values.type):
        values = values.cast(pa.int32() if pa.types.is_date(values.type) else pa.int64())
    found: list[Any] = values.to_pylist()
    return found


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        if math.isnan(one) or math.isnan(other):
            return math.isnan(one) and math.isnan(other)
        return one == other and math.copysign(1, one) == math.copysign(1, other)
    return bool(one == other)


def test_expressions_give_what_spark_gives(frame: Any) -> None:
    results = frame.selectExpr(*(f"({text}) AS c{k}" for k, text in enumerate(EQUAL))).toArrow()
    assert results.num_columns == len(EQUAL) > 300
    for text, expected in zip(EQUAL, results.columns, strict=True):
        assert_equal(text, local(text), expected)


@pytest.mark.parametrize("text", FAILING)
def test_what_stops_on_spark_stops_on_the_local_engine(frame: Any, text: str) -> None:
    with pytest.raises(ValueRefused):
        local(text)
    with pytest.raises(Exception, match="SQLSTATE: 22"):  # errors of values: division by zero, overflow...
        frame.selectExpr(f"({text}) AS c").toArrow()


@pytest.mark.parametrize("text", WRONG)
def test_what_spark_does_not_read_is_wrong_on_the_local_engine(frame: Any, text: str) -> None:
    with pytest.raises(ExpressionError):
        local(text)
    with pytest.raises(Exception, match=r"SQLSTATE|exponent digits"):
        frame.selectExpr(f"({text}) AS c")


def test_random_expressions_give_what_spark_gives(frame: Any) -> None:
    seen = assert_same(frame, [random_expression(random.Random(seed)) for seed in range(500)])
    assert seen["equal"] > 300
    assert 0 < seen["failed"] < 100
    assert seen["dropped"] <= 3


def test_random_numbers_are_what_they_are_on_spark(frame: Any) -> None:
    seen = assert_same(frame, [random_number(random.Random(seed)) for seed in range(300)])
    assert seen["equal"] > 100
    assert seen["wrong"] > 100


def assert_same(frame: Any, texts: list[str]) -> Counter[str]:
    """How many are equal, fail or are wrong on both engines, or fail and are dropped by Spark, which knows
    the result beforehand. Those that the local engine refuses say so."""
    found: dict[str, pa.Array] = {}
    seen: Counter[str] = Counter()
    for text in texts:
        try:
            found[text] = local(text)
        except OnlySpark:
            seen["refused"] += 1
        except ExpressionError:
            seen["wrong"] += 1
            with pytest.raises(Exception, match="SQLSTATE"):
                frame.selectExpr(f"({text}) AS c").toArrow()
        except ValueRefused as error:
            if not re.search("known to Spark alone|Spark alone has", str(error)):
                seen["failed" if fails_on_spark(frame, text) else "dropped"] += 1
    kept = list(found)
    for first in range(0, len(kept), 25):
        some = kept[first : first + 25]
        expected = frame.selectExpr(*(f"({text}) AS c{k}" for k, text in enumerate(some))).toArrow()
        for text, column in zip(some, expected.columns, strict=True):
            assert_equal(text, found[text], column)
    seen["equal"] = len(kept)
    return seen


def fails_on_spark(frame: Any, text: str) -> bool:
    try:
        frame.selectExpr(f"({text}) AS c").toArrow()
    except Exception as error:
        if "SQLSTATE: 22" in str(error):
            return True
        raise
    return False


def test_every_letter_has_the_case_that_spark_gives_it(spark: Any, tmp_path: Path) -> None:
    """Of letters without case, which are most of Unicode, those before the ideographs."""
    letters = [
        c for c in map(chr, range(1, sys.maxunicode + 1)) if unicodedata.category(c) not in ("Cn", "Co", "Cs")
    ]
    known = [c for c in letters if c not in _CHANGED and (c < "\u3400" or unicodedata.category(c) != "Lo")]
    assert len(known) > 15_000
    file = tmp_path / "letters.parquet"
    pq.write_table(pa.table({"c": known}), file)
    shapes = ["{}", "a{}B", "AΣ{}", "{}Σ", "A{}Σ{}A"]
    joined = ["c", "concat('a', c, 'B')", "concat('AΣ', c)", "concat(c, 'Σ')", "concat('A', c, 'Σ', c, 'A')"]
    for name, cased in (("upper", upper), ("lower", lower)):
        found = (
            spark.read.parquet(str(file)).selectExpr("c", *(f"{name}({text})" for text in joined)).toArrow()
        )
        for shape, expected in zip(shapes, found.columns[1:], strict=True):
            texts = [shape.replace("{}", c) for c in found.column("c").to_pylist()]
            mine = cased(pa.array(texts)).to_pylist()
            assert [t for t, m, e in zip(texts, mine, expected.to_pylist(), strict=True) if m != e] == []
