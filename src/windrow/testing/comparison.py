"""Whether two tables of results are the same, whatever they are made of and however they are sorted.

Purpose: one assertion for results of every engine against the oracle or against each other.
Invariant: rows are matched one to one. Columns without a float must be equal; a float may differ by
rounding, and NaN equals NaN. Times are compared as instants, so that naive UTC, aware and Arrow timestamps
of any unit agree. In pandas NaN stands for null: where one side is a pandas frame, the two are the same.
Cost: linear, but quadratic in rows that differ in floats only.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Context, Decimal
from itertools import zip_longest
from typing import Any

from windrow.monoids.equality import contains_float, magnitude, same
from windrow.testing.tables import is_pandas, rows_of
from windrow.windows import format_time, to_us

__all__ = ["assert_same_results"]

Row = dict[str, Any]
_SHOWN = 20
_ALL_DIGITS = Context(prec=100)


def assert_same_results(found: Any, expected: Any, *, tolerance: float = 1e-9) -> None:
    """Raise AssertionError, with the differing rows side by side, unless two tables hold the same rows.

    Args:
        found: an Arrow, pandas, Polars or DuckDB table, or a list of dicts.
        expected: the same, of any kind.
        tolerance: by how much floats may differ, relative to the larger of the two and 1.

    >>> import pyarrow as pa
    >>> table = pa.table({"key": ["b", "a"], "total": [0.30000000000000004, float("nan")]})
    >>> assert_same_results(table, [{"key": "a", "total": float("nan")}, {"key": "b", "total": 0.3}])
    >>> assert_same_results([{"key": "a", "n": 1}], [{"key": "a", "n": 2}])
    Traceback (most recent call last):
    AssertionError: results differ: 1 row found, 1 expected, 0 the same
    found      | expected
    key='a' n=1 | key='a' n=2  <- n
    """
    nan_is_null = is_pandas(found) or is_pandas(expected)
    left, right = _plain_rows(found, nan_is_null), _plain_rows(expected, nan_is_null)
    _check_columns(left, right)
    extra, missing = _unmatched(left, right, tolerance)
    if extra or missing:
        raise AssertionError(_report(extra, missing, len(left), len(right), tolerance))


# -- matching ------------------------------------------------------------------------------------------------


def _check_columns(left: list[Row], right: list[Row]) -> None:
    if not left or not right:
        return
    for row in (*left, *right):
        if row.keys() != right[0].keys():
            raise AssertionError(f"columns differ: found {list(left[0])}, expected {list(right[0])}")


def _unmatched(left: list[Row], right: list[Row], tolerance: float) -> tuple[list[Row], list[Row]]:
    """The rows of either side for which the other has no partner."""
    rounded = _rounded_columns(left + right)
    waiting: dict[str, list[Row]] = {}
    for row in right:
        waiting.setdefault(_exact_part(row, rounded), []).append(row)
    extra: list[Row] = []
    for row in left:
        partners = waiting.get(_exact_part(row, rounded), [])
        number = next((i for i, other in enumerate(partners) if not _differing(row, other, tolerance)), None)
        if number is None:
            extra.append(row)
        else:
            partners.pop(number)
    return extra, [row for rows in waiting.values() for row in rows]


def _rounded_columns(rows: list[Row]) -> set[str]:
    return {column for row in rows for column, value in row.items() if contains_float(value)}


def _exact_part(row: Row, rounded: set[str]) -> str:
    return repr([(column, row[column]) for column in sorted(row) if column not in rounded])


def _differing(row: Row, other: Row, tolerance: float) -> list[str]:
    """The columns in which two rows are not the same."""
    return [column for column in row if not _is_same(row[column], other[column], tolerance)]


def _is_same(a: Any, b: Any, tolerance: float) -> bool:
    return same(a, b, slack=tolerance * (1.0 + magnitude(a, b)))


# -- values --------------------------------------------------------------------------------------------------


def _plain_rows(table: Any, nan_is_null: bool) -> list[Row]:
    return [{column: _plain(value, nan_is_null) for column, value in row.items()} for row in rows_of(table)]


def _plain(value: Any, nan_is_null: bool) -> Any:
    """A value free of what differs between tables: numpy scalars, named tuples, time zones, scales."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, datetime):
        return None if value != value else format_time(to_us(value))
    if isinstance(value, Decimal):
        return value.normalize(_ALL_DIGITS)
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {key: _plain(each, nan_is_null) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(each, nan_is_null) for each in value]
    return None if nan_is_null and isinstance(value, float) and value != value else value


# -- the report ----------------------------------------------------------------------------------------------


def _report(extra: list[Row], missing: list[Row], found: int, expected: int, tolerance: float) -> str:
    lines = _side_by_side(extra, missing, tolerance)
    hidden = len(lines) - _SHOWN - 1
    rows = "row" if found == 1 else "rows"
    head = f"results differ: {found} {rows} found, {expected} expected, {found - len(extra)} the same"
    return "\n".join([head, *lines[: _SHOWN + 1], *([f"... and {hidden} more"] if hidden > 0 else [])])


def _side_by_side(extra: list[Row], missing: list[Row], tolerance: float) -> list[str]:
    pairs = _pairs(extra, missing, tolerance)
    texts = [(_text(left), _text(right)) for left, right in pairs]
    width = max(len(left) for left, _ in texts)
    lines = [f"{'found':{width}} | expected"]
    for (left, right), (left_text, right_text) in zip(pairs, texts, strict=True):
        names = ", ".join(_differing(left, right, tolerance)) if left and right else ""
        lines.append(f"{left_text:{width}} | {right_text}{f'  <- {names}' if names else ''}".rstrip())
    return lines


def _pairs(extra: list[Row], missing: list[Row], tolerance: float) -> list[tuple[Row, Row]]:
    """Each row that was found beside the one it is most like; the rest beside nothing."""
    rest = list(missing)
    pairs: list[tuple[Row, Row]] = []
    for row in extra[: _SHOWN if rest else None]:
        like = min(rest, key=lambda other: len(_differing(row, other, tolerance)), default={})
        is_like = bool(like) and len(_differing(row, like, tolerance)) * 2 <= len(row)
        pairs.append((row, like if is_like else {}))
        rest = [other for other in rest if not is_like or other is not like]
    return [*pairs, *zip_longest(extra[len(pairs) :], rest, fillvalue={})]


def _text(row: Row) -> str:
    return " ".join(f"{column}={value!r}" for column, value in row.items())
