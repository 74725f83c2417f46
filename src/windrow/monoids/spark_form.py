"""How Spark's own expressions compute an aggregate: a value that the aggregate declares as ``spark=``.

Nothing here knows Spark: a form is SQL text with places to fill in, and
:mod:`windrow.engines.spark.windows.catalyst` fills them in. An aggregate without a form is computed in Python
workers.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["SparkForm"]


@dataclass(frozen=True, slots=True)
class SparkForm:
    """SQL for the members of the native partial, and for the result.

    ``{x}`` is the column, as a double where it holds floats, else as a bigint (booleans are 0 and 1); it may
    be null. Where the members are null for no value, the aggregate's identity takes their place. A member
    that adds integers up (``adds_integers``) must be ``sum({x})``: it is computed in two halves.

    >>> SparkForm(members=("sum({x})", "count({x})"), result="IF({1} > 0, {0} / {1}, NULL)").of_floats
    ('sum({x})', 'count({x})')
    """

    #: each member of the partial, over the rows of a slice
    members: tuple[str, ...]
    #: the result, of the members ``{0}``, ``{1}`` and so on; null, or ``empty``, where there is no value
    result: str
    #: the members for columns of floats, where they are others
    members_of_floats: tuple[str, ...] | None = None
    #: kinds of columns (numpy's letters) for which the form holds
    kinds: str = "iuf"

    @property
    def of_floats(self) -> tuple[str, ...]:
        return self.members if self.members_of_floats is None else self.members_of_floats
