"""Expressions drawn at random over the awkward rows, each with the type that it should have."""

from __future__ import annotations

import random

_COLUMNS = {
    "truth": ["flag", "true", "false", "cast(null as boolean)"],
    "whole": ["tiny", "small", "num", "big", "zero", "inner.a", "1", "-3", "7L", "0", "2Y"],
    "real": ["x", "y", "real", "0.5D", "1e3", "-2.5F"],
    "exact": ["price", "1.5", "0.25", "-3.0"],
    "text": ["s", "word", "digits", "inner.t", "'a'", "''", "'North'", "'é😀'"],
    "time": ["ts", "wall", "day", "timestamp '2024-05-01 12:00:00'", "date '1969-12-31'"],
}
_GROWN = {
    "truth": [
        "({whole} {compare} {whole})",
        "({real} {compare} {real})",
        "({whole} {compare} {real})",
        "({exact} {compare} {whole})",
        "({exact} {compare} {real})",
        "({text} {compare} {text})",
        "({time} {compare} {time})",
        "({truth} {compare} {truth})",
        "({truth} and {truth})",
        "({truth} or {truth})",
        "(not {truth})",
        "({any} is null)",
        "({truth} is not true)",
        "({whole} in (1, 3, null))",
        "({whole} not in (1, 3L, 11))",
        "({text} in ('a', '', 'abc'))",
        "({real} between {real} and {real})",
        "({text} like '%a%')",
        "({text} not like '_b%')",
        "isnan({real})",
        "contains({text}, 'a')",
        "if({truth}, {truth}, {truth})",
    ],
    "whole": [
        "({whole} + {whole})",
        "({whole} - {whole})",
        "({whole} * {whole})",
        "({whole} % {whole})",
        "({whole} div {whole})",
        "(- {whole})",
        "abs({whole})",
        "floor({real})",
        "length({text})",
        "cast({truth} as int)",
        "cast({real} as bigint)",
        "cast({whole} as tinyint)",
        "cast({text} as int)",
        "coalesce({whole}, {whole})",
        "case when {truth} then {whole} when {truth} then {whole} end",
        "case {whole} when {whole} then {whole} else {whole} end",
        "nullif({whole}, {whole})",
        "year({time})",
        "hour({time})",
        "dayofweek({time})",
        "unix_millis(cast({time} as timestamp))",
    ],
    "real": [
        "({real} + {real})",
        "({real} - {whole})",
        "({real} * {exact})",
        "({real} / {real})",
        "({whole} / {whole})",
        "({real} % {real})",
        "(- {real})",
        "abs({real})",
        "round({real})",
        "cast({whole} as double)",
        "cast({exact} as double)",
        "cast({real} as float)",
        "coalesce({real}, {whole})",
        "if({truth}, {real}, {real})",
        "case when {truth} then {real} else {exact} end",
    ],
    "exact": [
        "({exact} + {exact})",
        "({exact} - {exact})",
        "(- {exact})",
        "abs({exact})",
        "coalesce({exact}, {exact})",
    ],
    "text": [
        "upper({text})",
        "lower({text})",
        "trim({text})",
        "concat({text}, {text})",
        "({text} || {text})",
        "substring({text}, 2, 2)",
        "substring({text}, -2)",
        "replace({text}, 'a', 'bb')",
        "cast({whole} as string)",
        "coalesce({text}, {text})",
        "if({truth}, {text}, {text})",
        "nullif({text}, {text})",
    ],
    "time": [
        "date_trunc('hour', {time})",
        "date_trunc('week', {time})",
        "cast({time} as date)",
        "cast({time} as timestamp)",
        "cast({time} as timestamp_ntz)",
        "coalesce({time}, {time})",
        "if({truth}, {time}, {time})",
        "timestamp_seconds({whole})",
    ],
}


def random_expression(draw: random.Random, depth: int = 3, kind: str | None = None) -> str:
    kind = kind or draw.choice(list(_COLUMNS))
    if kind == "compare":
        return draw.choice(["=", "<>", "<", "<=", ">", ">=", "<=>"])
    if kind == "any":
        kind = draw.choice(list(_COLUMNS))
    if depth == 0 or draw.random() < 0.2:
        return draw.choice(_COLUMNS[kind])
    shape = draw.choice(_GROWN[kind])
    parts = shape.split("{")
    return parts[0] + "".join(
        random_expression(draw, depth - 1, name) + rest
        for name, rest in (part.split("}", 1) for part in parts[1:])
    )
