"""Expressions of job files: Spark SQL, of which the local engine evaluates a part, with Spark's results.

From text to words (``tokens``), to a tree (``parse``, ``tree``), to Arrow arrays (``compiled`` and the files
it imports). Nothing in an expression is run as code. What the local engine would evaluate differently from
Spark is refused by name (``OnlySpark``)."""

from windrow.cli.expressions.errors import ExpressionError, OnlySpark, ValueRefused
from windrow.cli.expressions.parse import parse
from windrow.cli.expressions.tree import Node

__all__ = ["ExpressionError", "Node", "OnlySpark", "ValueRefused", "parse"]
