"""Queries: what to compute, over which windows, of which columns. An immutable value that holds no data.

``wr.query(time=..., by=...)`` starts one; ``.window(...)`` or ``.rolling(...)`` says which rows belong
together; ``.agg(...)`` what to compute. ``q.run(table)`` evaluates it. ``wr.events(table, ...)`` is the same
with the data at hand.

All that can be checked without data is checked when the query is built; each error names the input and the
remedy.
"""

from windrow.query.value import Query, query

__all__ = ["Query", "query"]
