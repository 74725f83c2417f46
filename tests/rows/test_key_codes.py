"""Numbers of keys by a pass over buffers: those that Arrow gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.rows.key_codes import fast_codes, text_word, text_words
from windrow.rows.key_index import distinct_values
from windrow.rows.keys import Keys

TEXTS = st.lists(st.text(alphabet="ab\x00é", max_size=12), min_size=1, max_size=60)
INTEGERS = st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3), min_size=1, max_size=600)


def check(array: Any) -> None:
    found = fast_codes(array)
    assert found is not None
    encoded = array.dictionary_encode()
    assert found[0].tolist() == encoded.indices.to_pylist()
    assert array.take(pa.array(found[1])).equals(encoded.dictionary)


@given(TEXTS, st.integers(0, 5), st.sampled_from([pa.string(), pa.large_string(), pa.binary()]))
@settings(deadline=None)
def test_texts_have_the_numbers_that_arrow_gives(texts: list[str], cut: int, kind: Any) -> None:
    array = pa.array(texts, pa.string()).cast(kind).slice(min(cut, len(texts) - 1))
    check(array)
    rows = np.arange(len(array))[::2]
    assert text_words(array, rows) == list(map(text_word, array.take(pa.array(rows)).to_pylist()))


@given(INTEGERS)
@settings(deadline=None)
def test_integers_have_the_numbers_that_arrow_gives(numbers: list[int]) -> None:
    check(pa.array(numbers, pa.int64()))
    check(pa.array(numbers, pa.int64()).cast(pa.timestamp("us")))


def test_many_keys_make_the_table_grow() -> None:
    check(pa.array([f"key {k * 7919 % 5000}" for k in range(12_000)]))
    check(pa.array([k * 7919 % 5000 for k in range(12_000)]))
    check(pa.array([3, 4, 3], pa.date32()))
    check(pa.array([0, 86_400_000, 0], pa.date64()))


@pytest.mark.parametrize(
    "array", [pa.array(["a", None]), pa.array([1.5]), pa.array([True]), pa.array([], pa.string())]
)
def test_other_columns_are_left_to_arrow(array: Any) -> None:
    assert fast_codes(array) is None


@pytest.mark.parametrize(
    "values",
    [
        pa.array(["a", "b", None, "c", "a"]),
        pa.array([0.0, -0.0, float("nan"), 2.5, None]),
        pa.array([1, 2, 3, 2, 1], pa.uint64()),
        pa.array([1, 2, 3, 2, 1], pa.timestamp("ns")),
        pa.array([True, False, None, True, True]),
        pa.array([[1.0], [-0.0], [0.0], None, [1.0]]),
    ],
)
def test_keys_that_come_again_have_their_numbers(values: Any) -> None:
    known, first = Keys(("k",)).with_values({"k": values.slice(0, 1)})
    for place in range(1, len(values)):
        known, numbers = known.with_values({"k": values}, np.array([place]))
        again, same = known.with_values({"k": values}, np.array([place]))
        assert len(again) == len(known)
        assert same.tolist() == numbers.tolist()
    assert first.tolist() == [0]
    shown = [repr(value) for value in known.columns(np.arange(len(known)))["k"].to_pylist()]
    assert len(set(shown)) == len(shown)


@pytest.mark.parametrize("kind", [pa.string(), pa.int64(), pa.timestamp("s")])
@given(data=st.data())
@settings(deadline=None, max_examples=40)
def test_rows_of_tables_have_the_numbers_of_their_keys(kind: Any, data: st.DataObject) -> None:
    texts = st.text(alphabet="ab\x00é", max_size=9)
    some = texts if kind == pa.string() else st.integers(-3, 3).map(lambda n: n << 40)
    tables = st.lists(
        st.tuples(st.lists(some | st.none(), min_size=1, max_size=9), st.booleans()), max_size=9
    )
    keys, known = Keys(("k",)), dict[Any, int]()
    for values, is_kept in data.draw(tables):
        table = pa.table({"k": pa.array(values, kind)})
        tried = dict(known)
        wanted = [tried.setdefault(value, len(tried)) for value in values]
        grown, (codes, rows), numbers = keys.with_rows(table)
        assert numbers[codes].tolist() == wanted
        assert numbers.tolist() == sorted({*wanted})
        assert [wanted[row] for row in rows] == numbers.tolist()
        if is_kept:  # the others are those of a push that failed
            keys, known = grown, tried
            assert len(keys) == len(known)


def test_keys_of_a_push_that_was_given_up_are_forgotten() -> None:
    def added(keys: Keys, *names: str) -> tuple[Keys, list[int]]:
        keys, numbers = keys.with_values({"k": pa.array(names)})
        return keys, numbers.tolist()

    known, _ = added(Keys(("k",)), "a", "b")
    given_up, numbers = added(known, "c", "d")
    assert numbers == [2, 3]
    after, numbers = added(known, "d", "a")
    assert numbers == [2, 0]
    after, numbers = added(after, "c", "d", "b")
    assert numbers == [3, 2, 1]
    assert added(given_up, "d", "c")[1] == [3, 2]
    assert after.columns(np.arange(4))["k"].to_pylist() == ["a", "b", "d", "c"]


def test_values_of_which_arrow_has_no_bits_have_no_index() -> None:
    assert distinct_values([pa.array([[1]])]) is None
    assert distinct_values([pa.array([1.0, -0.0, 0.0])]) == [4607182418800017408, 0, 0]
