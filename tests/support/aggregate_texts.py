"""Aggregates of moments, of time, of counters and of lists as job files have them."""

from __future__ import annotations


def aggregate_texts(x: str, y: str, text: str, time: str) -> dict[str, str]:
    """By result name, over two columns of numbers, one of text and one of times."""
    return {
        "skewness": f"skew({x})",
        "tails": f"kurtosis({x}, bias=True)",
        "together": f"cov({x}, {y}, ddof=0)",
        "r": f"corr({x}, {y})",
        "b": f"slope({y}, {x})",
        "weighted": f"weighted_mean({x}, {y})",
        "held": f"time_weighted_mean({x}, {time})",
        "candle": f"ohlc({x})",
        "risen": f"increase({x})",
        "speed": f"rate({x}, {time}, per='1m')",
        "often": f"mode({text})",
        "top": f"top_k({x}, 3)",
        "low": f"bottom_k({text}, 2)",
        "head": f"first_k({text}, 2)",
        "tail": f"last_k({x}, 2)",
        "bins": f"histogram({x}, [0, 10, 25.5, 50])",
    }
