"""What an aggregate is: lift, combine, lower ([RA] section 3).

An aggregate turns each input row into a *partial* (``lift``), merges two neighbouring partials, the older on
the left (``combine``), and turns the partial of a whole window into a result (``lower``). All that an
algorithm may assume is that ``combine`` is associative, that ``identity`` changes nothing, and that none of
the functions changes its arguments. Whatever else holds is *stated* as a property, so that a faster
algorithm can rely on it, and checked by :mod:`windrow.monoids.laws`.

A :class:`Monoid` says what is computed; calling it with column names gives an :class:`Aggregate`, which also
says on what. Neither imports numpy: a monoid's functions are plain Python, and :mod:`windrow.compile` makes
native code of them when a batch is processed.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Literal, overload

from windrow.monoids.described import OwnDoc, OwnSignature, call_text, example_call
from windrow.monoids.spark_form import SparkForm
from windrow.names import nearest
from windrow.old_names import warn_of_old_name

__all__ = ["Aggregate", "Monoid", "WideState", "as_monoid", "check_min_count", "itself"]

Nulls = Literal["skip", "propagate"]
NaNs = Literal["propagate", "ignore"]


@dataclass(frozen=True, slots=True)
class WideState:
    """A partial that is a row of ``width`` numbers, worked on in place.

    ``lift_into(out, code)`` adds a value to a row: to a row of zeros it is the lift, and to any row the same
    as combining it with the lift. ``combine_into(a, b, out)`` may be called with ``out``
    being ``a`` or ``b``. The identity is a row of zeros. ``lower`` of the monoid receives a row; where its
    ``result_type`` is "binary", the row itself, as bytes, is the result.
    """

    dtype: str
    width: int
    lift_into: Callable[..., None]
    combine_into: Callable[[Any, Any, Any], None]
    #: turns any hashable input into the unsigned 64-bit number that ``lift_into`` takes
    encode: Callable[[Any], int]


@dataclass(frozen=True, eq=False, kw_only=True)
class Monoid:
    """An aggregate that is not bound to columns yet. Make your own with :func:`monoid`.

    >>> import windrow as wr
    >>> wr.max
    max (commutative, idempotent, selection)
    >>> wr.max.combine(3, 5)
    5
    >>> wr.max("len")
    max('len')
    """

    __signature__ = OwnSignature()

    name: str
    lift: Callable[..., Any]
    combine: Callable[[Any, Any], Any]
    lower: Callable[[Any], Any]
    identity: Any
    #: ``inverse(total, oldest)`` is the rest: what combine(oldest, rest) == total holds for
    inverse: Callable[[Any, Any], Any] | None = None
    commutative: bool = False
    #: combine(a, a) == a
    idempotent: bool = False
    #: combine returns one of its arguments
    selection: bool = False
    #: the result of a window in which there is no value, for which lower is never asked; None: null
    empty: Any = None
    #: the fewest and the most inputs that lift takes
    arity: tuple[int, int] = (1, 1)
    nulls: Nulls = "skip"
    nan: NaNs = "propagate"
    #: an Arrow type, or its name, for results; None: inferred
    result_type: Any = None
    #: identity for a native partial, from the dtypes of the inputs, where ``identity`` itself is not a native
    #: number
    typed_identity: Callable[..., Any] | None = None
    #: the inputs that may be moments or durations: a native form gets their integer microseconds, and lift
    #: what Python has for them
    moments: tuple[int, ...] = ()
    #: these inputs may not be numbers
    only_moments: bool = False
    #: lift of the native form, where lift itself knows Python's moments; None: lift
    native_lift: Callable[..., Any] | None = None
    #: combine of the native form, where combine itself checks what a user's function returns; None: combine
    native_combine: Callable[[Any, Any], Any] | None = None
    #: kinds of input (numpy's letters) for which a native form may be tried; empty: never
    compiles_for: str = "biuf"
    #: partials add integers up, so that a native form must prove that 64 bits suffice
    adds_integers: bool = False
    #: partials multiply integers: their bits add up, and not their sizes
    multiplies_integers: bool = False
    #: results over integers are int64, whatever the values; one that does not fit is an error
    integer_results: bool = False
    #: digits that a result over decimals has more than its column: in all, and behind the point
    decimal_gain: tuple[int, int] = (0, 0)
    #: the input whose value in one of the rows is the result: columns of any type are picked from
    picks: int | None = None
    #: the result is the largest or smallest value: moments are compared as integers, and results have the
    #: type of the column
    is_extreme: bool = False
    #: the family that answers windows from the values themselves (:mod:`windrow.partials.value_aggregates`)
    keeps: str | None = None
    #: bound to no column it counts rows, nulls included
    counts_rows: bool = False
    #: how Spark's own expressions compute it; None: they do not
    spark: SparkForm | None = None
    wide: WideState | None = None
    #: the same aggregate with an exact inverse, where the plain form would drift or keep NaN
    group: Monoid | None = None
    #: makes a partial of ``group`` from one of this aggregate; None: there is no way
    to_group: Callable[[Any], Any] | None = None
    #: makes this monoid with other parameters
    make: Callable[..., Monoid] | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    #: what the columns are called in the signature; empty: what lift calls them
    inputs: tuple[str, ...] = ()
    #: how many of these, the last ones, a call names by keyword
    keyword_inputs: int = 0
    #: the aggregates that this one is made of, by name
    members: Mapping[str, Monoid] = field(default_factory=dict[str, Any])
    #: equality of two partials for the laws, given the largest number in their rows; None: structural, with a
    #: tolerance for floats
    equal: Callable[[Any, Any, float], bool] | None = None
    #: raises ValueError for a partial from stored state that is not one of this aggregate
    check_stored: Callable[[Any], None] | None = None
    builtin: bool = True
    #: what help() shows below the signature
    doc: str = ""

    def __init_subclass__(cls) -> None:
        cls.__doc__ = OwnDoc(cls.__doc__)  # type: ignore[assignment]

    @overload
    def __call__(self, column: str, /, *more: Any, **options: Any) -> Aggregate: ...

    @overload
    def __call__(self, *, where: str | None = None, min_count: int | None = None) -> Aggregate: ...

    @overload
    def __call__(self, *parameters: float | Sequence[float] | timedelta, **options: Any) -> Any: ...

    def __call__(self, *columns: Any, **options: Any) -> Any:
        """Bind to columns; with parameters and no column, the monoid with those parameters."""
        columns = (*columns, *self._keyword_columns(len(columns), options))
        _refuse_data(self, columns)
        names = [c for c in columns if isinstance(c, str)]
        values = [c for c in columns if not isinstance(c, str)]
        where = _column_of_flags(self, options.pop("where", None))
        least = options.pop("min_count", None)
        target = self._configured(values, options)
        is_bare = not names and where is None and least is None
        if is_bare and target is not self and target.arity[0] > 0:
            return target
        return Aggregate(monoid=target, columns=tuple(names), where=where, min_count=least)

    def _keyword_columns(self, positional: int, options: dict[str, Any]) -> list[Any]:
        """Take columns that are named by keyword out of the options; one without it was allowed before."""
        by_keyword = self.inputs[len(self.inputs) - self.keyword_inputs :]
        if by_keyword and positional == len(self.inputs):
            warn_of_old_name(
                f"{self.name}(column, value)", f"{example_call(self)}, and there are max_by and min_by"
            )
        return [options.pop(name) for name in by_keyword if name in options]

    def _configured(self, positional: list[Any], options: dict[str, Any]) -> Monoid:
        rules = {key: options.pop(key) for key in ("nulls", "nan") if key in options}
        known = list(inspect.signature(self.make).parameters) if self.make else []
        if len(positional) > len(known):
            raise TypeError(
                f"{self.name} takes column names and {known or 'no parameters'}; got {positional!r}"
            )
        given = dict(zip(known, positional, strict=False)) | options
        unknown = [key for key in given if key not in known]
        if unknown:
            takes = [*known, "where", "min_count", "nulls", "nan"]
            meant = nearest(unknown[0], takes)
            hint = f": did you mean {meant!r}?" if meant else "."
            raise TypeError(f"{self.name} has no parameter {unknown[0]!r}{hint} It takes {', '.join(takes)}")
        result = self.make(**(dict(self.parameters) | given)) if self.make and given else self
        return result.with_rules(**rules) if rules else result

    def with_rules(self, nulls: Nulls | None = None, nan: NaNs | None = None) -> Monoid:
        """The same aggregate with another rule for nulls (``"skip"``, ``"propagate"``) or NaN
        (``"propagate"``, ``"ignore"``). A row is skipped where one of its columns is. NaN of a pandas column
        of floats is null before a rule sees it."""
        for what, value, allowed in (
            ("nulls", nulls, ("skip", "propagate")),
            ("nan", nan, ("propagate", "ignore")),
        ):
            if value is not None and value not in allowed:
                raise ValueError(f"{what}={value!r}: use one of {', '.join(map(repr, allowed))}")
        result = replace(self, nulls=nulls or self.nulls, nan=nan or self.nan)
        if result.nulls == "propagate" and result.nan == "ignore":
            raise ValueError(
                f"{self.name}: nulls='propagate' with nan='ignore' is not supported: "
                f"turn NaN into null, or null into NaN, and give one rule"
            )
        return result

    @property
    def invertible(self) -> bool:
        return self.inverse is not None or self.group is not None

    @property
    def properties(self) -> tuple[str, ...]:
        names = ("commutative", "invertible", "idempotent", "selection")
        return tuple(name for name in names if getattr(self, name))

    def empty_result(self) -> Any:
        """The result of a window without a value: what the aggregate states as ``empty`` (count: 0), else
        null. The caller may change it."""
        return copy.deepcopy(self.empty)

    def skips(self, values: tuple[Any, ...]) -> bool:
        """Whether a row adds nothing to the partial: a null, or NaN under ``nan="ignore"``."""
        ignores_nan = self.nan == "ignore"
        for value in values:
            if value is None:
                return True
            if ignores_nan and value != value:
                return True
        return False

    def row(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """The inputs of lift from what a caller gave: separate arguments, or one tuple where lift takes
        several."""
        low, high = self.arity
        if len(values) == 1 and high > 1 and isinstance(values[0], tuple):
            values = values[0]
        if low > 1 and len(values) == 1 and values[0] is None:
            return (None,) * low  # one null stands for a row of them
        if not low <= len(values) <= high:
            wanted = f"{low}" if low == high else f"{low} to {high}"
            raise TypeError(f"{self.name} takes {wanted} input(s) a row; got {len(values)}: {values!r}")
        return values

    def __repr__(self) -> str:
        shown = ", ".join(f"{k}={v!r}" for k, v in self.parameters.items())
        return f"{self.name}{f'({shown})' if shown else ''} ({', '.join(self.properties) or 'associative'})"


Monoid.__doc__ = OwnDoc(Monoid.__doc__)  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A monoid bound to the columns it reads.

    >>> import windrow as wr
    >>> wr.sum("len", where="is_paid"), wr.count(where="is_paid")
    (sum('len', where='is_paid'), count(where='is_paid'))
    """

    monoid: Monoid
    columns: tuple[str, ...]
    #: a boolean column: rows in which it is not true are absent for this aggregate
    where: str | None = None
    #: a result over fewer values is null; None: what the query says
    min_count: int | None = None

    def __post_init__(self) -> None:
        if self.min_count is not None:
            check_min_count(self.min_count)
        low, high = self.monoid.arity
        if not self.columns and self.monoid.counts_rows:
            return
        if not low <= len(self.columns) <= high:
            wanted = f"{low}" if low == high else f"{low} to {high}"
            given = ", ".join(map(repr, self.columns)) or "none"
            raise TypeError(
                f"{self.monoid.name} reads {wanted} column{'' if wanted == '1' else 's'} and got {given}: "
                f"write for instance {example_call(self.monoid)}"
            )

    @property
    def least(self) -> int:
        """How many values a result needs that is not null; 0: the aggregate says what it is without one."""
        return self.min_count or 0

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns that are folded: ``count(where="ok")`` counts the flags that are true. Empty: rows are
        counted, and no column is read."""
        return self.columns or (() if self.where is None else (self.where,))

    @property
    def reads(self) -> tuple[str, ...]:
        """All columns that are needed."""
        return self.columns if self.where is None else (*self.columns, self.where)

    @property
    def distinguishes_absent(self) -> bool:
        """Whether rows that are absent must be distinguished from nulls, which make a result null."""
        return self.where is not None and self.monoid.nulls == "propagate"

    @property
    def identity_text(self) -> str:
        """What stored state calls this aggregate, without its rules for nulls and NaN. It never changes, so
        that state of earlier versions is known again; for people there is ``repr``.

        >>> import windrow as wr
        >>> wr.quantile("len", 0.99).identity_text, wr.quantile("len", 0.99)
        ('quantile(len, q=0.99)', quantile('len', q=0.99))
        """
        shown = [*self.columns, *(f"{k}={v!r}" for k, v in self.monoid.parameters.items())]
        shown += [] if self.where is None else [f"where={self.where!r}"]
        return f"{self.monoid.name}({', '.join(shown)})"

    @property
    def default_name(self) -> str:
        """The name of the result column where none is given: the columns, then the name of the aggregate,
        then the column of ``where``.

        >>> import windrow as wr
        >>> wr.mean("len").default_name, wr.max_by("caller", "len").default_name, wr.count().default_name
        ('len_mean', 'caller_len_max_by', 'count')
        >>> wr.count(where="is_paid").default_name
        'count_is_paid'
        """
        return "_".join([*self.columns, self.monoid.name, *([] if self.where is None else [self.where])])

    def text(self, min_count: int | None) -> str:
        """The source text that makes the aggregate, with this ``min_count``."""
        found = call_text(self.monoid, self.columns, self.where, min_count)
        return found if found.endswith(")") else f"{found}()"

    def __repr__(self) -> str:
        return self.text(self.min_count or None)


def as_monoid(what: Any) -> Monoid:
    """The monoid of a Monoid or an Aggregate; anything else is an error that says what to pass."""
    if isinstance(what, Aggregate) and what.where is not None:
        raise TypeError(f"{what!r} reads the column {what.where!r} of a table: leave where= out here")
    if isinstance(what, Aggregate) and what.min_count is not None:
        raise TypeError(f"{what!r}: min_count= is for queries: leave it out here, and count with wr.count")
    if isinstance(what, Aggregate):
        return what.monoid
    if isinstance(what, Monoid):
        return what
    raise TypeError(
        f"{what!r} is not an aggregate: pass one of windrow's (wr.max) or your own from wr.monoid(...)"
    )


#: libraries whose columns and expressions are not names of columns
_LIBRARIES = ("_duckdb", "duckdb", "numpy.ndarray", "pandas", "polars", "pyarrow", "pyspark")


def _refuse_data(target: Monoid, given: Sequence[Any]) -> None:
    """Columns are named: neither their data nor an expression of another library can stand for them."""
    for value in given:
        kind = type(value)
        library, full = kind.__module__.split(".")[0], f"{kind.__module__}.{kind.__name__}"
        is_data = not isinstance(value, timedelta) and (library in _LIBRARIES or full in _LIBRARIES)
        if is_data or isinstance(value, (list, tuple)):
            shown = kind.__name__ if library == "builtins" else f"{library} {kind.__name__}"
            raise TypeError(
                f"{target.name} takes the name of a column and not a {shown}: write for instance "
                f"{example_call(target)}"
            )


def _column_of_flags(target: Monoid, given: Any) -> str | None:
    """What ``where`` was given: the name of a column, and neither an expression nor a function."""
    if given is None or isinstance(given, str):
        return given
    raise TypeError(
        f"{target.name}: where={given!r} is not the name of a column: give a boolean column, as in "
        f"where='is_paid'"
    )


def check_min_count(given: Any) -> None:
    """Refuse what is not a number of values.

    >>> check_min_count(-1)
    Traceback (most recent call last):
    ValueError: min_count=-1: give a whole number, 0 or more
    """
    if isinstance(given, bool) or not isinstance(given, int) or given < 0:
        raise ValueError(f"min_count={given!r}: give a whole number, 0 or more")


def itself(value: Any) -> Any:
    """The lift or lower of an aggregate whose partials are its values."""
    return value
