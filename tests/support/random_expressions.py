"""Expressions drawn at random over the awkward rows, each with the type that it should have."""

from __future__ import annotations

import random

_LEAVES = {
    "truth": "flag; true; false; cast(null as boolean); null",
    "whole": "tiny; small; num; big; zero; inner.a; 1; -3; 7L; 0; 2Y; odd; far; null",
    "real": "x; y; real; 0.5D; 1e3; -2.5F; near; -0.49999999999999994D; {digits}D",
    "exact": "price; 1.5; 0.25; -3.0; wide; 12345678901234567890123456789012345678BD; {digits}BD",
    "text": "s; word; digits; inner.t; 'a'; ''; 'North'; 'é😀'; spelled; 'straße'; '+NaN'",
    "time": "ts; wall; day; timestamp '2024-05-01 12:00:00'; date '1969-12-31'",
}
_COLUMNS = {kind: leaves.split("; ") for kind, leaves in _LEAVES.items()}
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
        "({whole} not between {whole} and {real})",
        "({exact} between {exact} and {exact})",
        "({text} between {text} and {text})",
        "case {text} when {text} then {truth} when {text} then {truth} end",
        "({number} {compare} {number})",
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
        "nullif({whole}, {real})",
        "case {real} when {real} then {whole} when {whole} then {whole} end",
        "cast(cast({whole} as timestamp) as bigint)",
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
        "cast({whole} as float)",
        "cast(cast({whole} as float) as double)",
        "(+ {real})",
        "cast({text} as double)",
        "nullif({real}, {real})",
        "coalesce({real}, {whole})",
        "if({truth}, {real}, {real})",
        "case when {truth} then {real} else {exact} end",
    ],
    "exact": [
        "({exact} + {exact})",
        "({exact} - {exact})",
        "(- {exact})",
        "(+ {exact})",
        "nullif({exact}, {exact})",
        "case when {truth} then {exact} when {truth} then {exact} end",
        "abs({exact})",
        "coalesce({exact}, {exact})",
    ],
    "text": [
        "upper({text})",
        "lower({text})",
        "lower(upper({text}))",
        "concat({text})",
        "case {text} when {text} then {text} else {text} end",
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
        "cast({whole} as timestamp)",
    ],
}


def random_expression(draw: random.Random, depth: int = 3, kind: str | None = None) -> str:
    kind = kind or draw.choice(list(_COLUMNS))
    if kind == "compare":
        return draw.choice(["=", "<>", "<", "<=", ">", ">=", "<=>"])
    if kind == "number":
        return random_number(draw)
    if kind == "digits":
        return f"{draw.randrange(10 ** draw.randrange(1, 30))}.{draw.randrange(100_000)}"
    if kind == "any":
        kind = draw.choice(list(_COLUMNS))
    if depth == 0 or draw.random() < 0.2:
        shape = draw.choice(_COLUMNS[kind])
    else:
        shape = draw.choice(_GROWN[kind])
    parts = shape.split("{")
    return parts[0] + "".join(
        random_expression(draw, depth - 1, name) + rest
        for name, rest in (part.split("}", 1) for part in parts[1:])
    )


def random_number(draw: random.Random) -> str:
    """A literal, of which about a third are in the range of no type."""

    def digits() -> str:
        return "".join(draw.choices("0123456789", k=draw.choice((1, 2, 5, 10, 17, 19, 28, 29, 38, 39))))

    text = draw.choice((digits(), f"{digits()}.", f".{digits()}", f"{digits()}.{digits()}"))
    if draw.random() < 0.3:
        text += f"e{draw.choice((0, 3, -7, 30, 38, 39, -46, 290, 308, 309, -330, 1000))}"
    return draw.choice(("", "-", "- ")) + text + draw.choice(("", "", "D", "F", "BD", "L", "S", "Y"))
