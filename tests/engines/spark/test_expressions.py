"""Expressions of job files give on the local engine what they give on Spark: the same values of the same
types, or an error on both."""

from __future__ import annotations

import math
import random
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.expression_rows import EQUAL, FAILING, awkward_rows
from support.random_expressions import random_expression
from windrow.cli.expressions import ValueRefused, parse
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
    for mine, theirs in zip(found.to_pylist(), expected.to_pylist(), strict=True):
        assert _is_same(mine, theirs), (
            f"{text}: {found.to_pylist()} on the local engine, {expected.to_pylist()}"
        )


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


def test_random_expressions_give_what_spark_gives(frame: Any) -> None:
    found: dict[str, pa.Array] = {}
    failed = 0
    for seed in range(150):
        text = random_expression(random.Random(seed))
        try:
            found[text] = local(text)
        except ValueRefused:
            failed += 1
            with pytest.raises(Exception, match="SQLSTATE: 22"):
                frame.selectExpr(f"({text}) AS c").toArrow()
    assert 0 < failed < 50
    texts = list(found)
    for first in range(0, len(texts), 25):
        some = texts[first : first + 25]
        expected = frame.selectExpr(*(f"({text}) AS c{k}" for k, text in enumerate(some))).toArrow()
        for text, column in zip(some, expected.columns, strict=True):
            assert_equal(text, found[text], column)


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
