"""DataFrames that come back: the types of columns that came along, NaN for null, no digit lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import windrow as wr

LARGE = 2**60 + 1

COLUMNS = {
    "NumPy": pd.Series([1.5, np.nan, 2.5]),
    "Float64": pd.Series([1.5, None, 2.5], dtype="Float64"),
    "Int64": pd.Series([LARGE, None, 3], dtype="Int64"),
    "UInt64": pd.Series([2**64 - 1, None, 3], dtype="UInt64"),
    "Arrow": pd.Series([LARGE, None, 3], dtype="int64[pyarrow]"),
    "NaN in Arrow": pd.Series(pd.arrays.ArrowExtensionArray(pa.array([1.5, float("nan"), None]))),
    "text": pd.Series(["a", None, "b"]),
    "string": pd.Series(["a", None, "b"], dtype="string"),
    "boolean": pd.Series([True, None, False], dtype="boolean"),
    "category": pd.Series(["a", None, "b"], dtype="category"),
    "moments": pd.Series(pd.to_datetime(["2024-01-01", None, "2024-01-02"], utc=True)),
}


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_rolling_gives_pandas_columns_back_as_they_were(column: Any) -> None:
    frame = pd.DataFrame({"t": [1, 2, 3], "v": column})
    frame.columns.name = "names"
    found = wr.events(frame, time="t").rolling(rows=2).agg(n=wr.count())
    pd.testing.assert_frame_equal(found[["t", "v"]], frame, check_names=False)


@pytest.mark.parametrize("kind", ["Int64", "UInt64", "Arrow", "Float64", "NumPy", "string"])
def test_keys_keep_their_pandas_types(kind: str) -> None:
    frame = pd.DataFrame({"t": [1, 2, 3], "k": COLUMNS[kind]})
    found = wr.events(frame, time="t", by="k").window(wr.Tumbling(10)).agg(n=wr.count())
    pd.testing.assert_series_equal(found["k"], frame["k"])


def test_integers_with_nulls_lose_no_digits_in_pandas() -> None:
    frame = pd.DataFrame({"t": [1, 12], "v": pd.array([None, LARGE], dtype="Int64")})
    found = wr.events(frame, time="t").window(wr.Tumbling(10)).agg(top=wr.max("v"), low=wr.min("t"))
    assert found["top"].tolist() == [pd.NA, LARGE]
    assert (found["top"].dtype, found["low"].dtype) == ("Int64", "int64")
    small = frame.assign(v=pd.array([None, 7], dtype="Int64"))
    found = wr.events(small, time="t").window(wr.Tumbling(10)).agg(top=wr.max("v"))
    assert found["top"].dtype == "float64"  # as pandas has integers with missing values
    assert found["top"].isna().tolist() == [True, False]


def test_a_result_with_the_name_of_a_column_has_a_type_of_its_own() -> None:
    frame = pd.DataFrame({"t": [1, 2], "v": pd.array([1, 2], dtype="Int64"), 0: [1, 2]})
    found = wr.events(frame, time="t").window(wr.Tumbling(10)).agg(v=wr.mean("v"), z=wr.sum("0"))
    assert found["v"].tolist() == [1.5]
    assert found["v"].dtype == "float64"
    assert list(found.columns) == ["window_start", "window_end", "v", "z"]
