"""Which of the field's figures stand for all in docs/field.md: some of each part, losses as well as gains."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LINES", "Line"]


@dataclass(frozen=True)
class Line:
    """A line of the short table; ``figures``: question, windrow side, peer."""

    title: str
    part: str
    figures: tuple[tuple[str, str, str], ...]


def _against(what: str, *peers: str, ours: str = "windrow") -> tuple[tuple[str, str, str], ...]:
    return tuple((what, ours, peer) for peer in peers)


_TABLES = ("Polars", "pandas", "DuckDB")
_ON_SPARK, _OPERATOR = "windrow on Spark", "windrow's operator"
_PUSHES = ("windrow, large pushes", "windrow, small pushes")
LINES = (
    Line("rolling mean over 1,000 rows", "rollfun", _against("mean", *_TABLES)),
    Line("rolling minimum over 1,000 rows", "rollfun", _against("min", *_TABLES)),
    Line("rolling median over 1,000 rows", "rollfun", _against("median", *_TABLES)),
    Line("means of two columns over 950 and 1,050 rows", "rollfun", _against("multiroll", *_TABLES)),
    Line("rolling mean over uneven times", "rollfun", _against("uneven sparse", *_TABLES)),
    Line(
        "rolling maximum over 1,000 rows, 10,000 keys",
        "local",
        _against("keys 10,000, frame 1,000, max", *_TABLES),
    ),
    Line(
        "a user-defined aggregate over 1,000 rows, against callbacks",
        "local",
        _against("frame 1,000, spread (Python)", "Polars", "pandas"),
    ),
    Line("1 h sliding by 1 min, 100 keys", "local", _against("sliding 1h / 1m", "Polars")),
    Line("sessions, 100 keys", "local", _against("session 10m", "DuckDB")),
    *(
        Line(
            f"{count} at once, 20 % of rows late: pushes of 100,000 rows / of 100",
            "scotty",
            tuple((f"{count}, 20 % out of order", ours, peer) for ours in _PUSHES),
        )
        for count in ("1 window", "1,000 windows")
        for peer in ("Flink", "Scotty")
    ),
    *(
        Line(
            f"NEXMark {name}, {title}: a stream on Spark",
            "nexmark",
            _against(name, "Spark", "Flink", ours=_ON_SPARK),
        )
        for name, title in (
            ("q5", "hot items"),
            ("q7", "highest bid"),
            ("q11", "sessions"),
            ("q12", "counts"),
        )
    ),
    Line(
        "NEXMark q6, last 10 rows of a seller: a stream on Spark",
        "nexmark",
        _against("q6", "Flink", ours=_ON_SPARK),
    ),
    Line(
        "NEXMark q5 / q6 / q7 / q11 / q12: windrow's operator",
        "nexmark",
        tuple((name, _OPERATOR, "Flink") for name in ("q5", "q6", "q7", "q11", "q12")),
    ),
    Line(
        "24 h sliding by 1 min, a Spark DataFrame",
        "spark",
        _against("windows of 24 h sliding by 1 min, 10 keys", "window()", ours=_ON_SPARK),
    ),
    Line(
        "rolling stddev over 1,000 rows, 10 keys, a Spark DataFrame",
        "spark",
        _against(
            "rolling stddev, 1,000 rows, 10 keys",
            "rowsBetween",
            "rowsBetween with Spark's segment tree",
            ours=_ON_SPARK,
        ),
    ),
    Line(
        "a user-defined aggregate over 1,000 rows, a Spark DataFrame",
        "spark",
        _against(
            "own aggregate: fall over 1,000 rows, 10 keys", "pandas function over a window", ours=_ON_SPARK
        ),
    ),
)
