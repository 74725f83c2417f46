"""What makes windrow known to SQL; loads nothing before it is called."""

from __future__ import annotations

from typing import Any

__all__ = ["register"]


def register(spark: Any) -> None:
    """Make windrow's table functions known to a Spark session.

    After it, ``SELECT * FROM windrow_rolling(TABLE(calls) PARTITION BY region ORDER BY ts, time => 'ts',
    size => '24h', longest => 'max(len)')`` gives each row of ``calls`` the longest call of the 24 hours up to
    it. Aggregates are named arguments, written as in Python; ``rows => 100`` counts rows instead.
    """
    from windrow.engines.spark.sql import register as register_functions

    register_functions(spark)
