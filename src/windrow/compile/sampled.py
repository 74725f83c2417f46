"""The layout of windrow's own monoids without Numba: their functions are run on a few values, and what they
return has types.

That is enough for functions whose types depend on the types of their inputs alone, and which return None for
one of few values where they return None at all. Booleans are left to Numba, which has its own rules for them.
A test compares all of them with what Numba infers.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from windrow.compile.array_access import cast
from windrow.compile.interpreted import interpreted_helper
from windrow.monoids.base import Monoid

__all__ = ["sampled_types"]

_SAMPLES: dict[str, tuple[Any, ...]] = {
    "f": (np.float64(2.5), np.float64(1.0)),
    "i": (np.int64(3), np.int64(1)),
}
Members = tuple[tuple[str, ...], bool]


def sampled_types(
    monoid: Monoid, dtypes: tuple[np.dtype[Any], ...], identity: Any
) -> tuple[Members, Members, tuple[str, ...], bool] | None:
    """The members of partials and of results, the names of the latter, and whether a result may be null;
    None: that cannot be said."""
    try:
        with np.errstate(all="ignore"):
            return _sampled(monoid, dtypes, identity)
    except Exception:  # whatever it is, Numba says what it thinks of it
        return None


def _sampled(monoid: Monoid, dtypes: tuple[np.dtype[Any], ...], identity: Any) -> Any:
    lift = interpreted_helper(monoid.native_lift or monoid.lift)
    combine, lower = (
        interpreted_helper(monoid.native_combine or monoid.combine),
        interpreted_helper(monoid.lower),
    )
    columns = [_SAMPLES[d.kind][:: 1 if k % 2 == 0 else -1] for k, d in enumerate(dtypes)]
    rows = list(zip(*columns, strict=True))
    partials = [identity, *[lift(*row) for row in rows]]
    like = _widest(partials)
    for _ in range(2):
        partials = [cast(like, partial) for partial in partials]
        partials += [combine(a, b) for a, b in itertools.product(partials[:3], partials[:3])]
        like = _widest([like, *partials])
    results = _lowered(lower, [cast(like, partial) for partial in partials])
    found = [result for result in results if result is not None]
    names = tuple(getattr(found[0], "_fields", ()))
    return _members(like), _members(_widest(found)), names, len(found) < len(results)


def _lowered(lower: Any, partials: list[Any]) -> list[Any]:
    """Results; of the identity, which lower is never asked for, only if there is one."""
    results = []
    for k, partial in enumerate(partials):
        try:
            results.append(lower(partial))
        except Exception:
            if k > 0:
                raise
    return results


def _widest(partials: list[Any]) -> Any:
    """A partial with the widest types among these."""
    rows = [partial if isinstance(partial, tuple) else (partial,) for partial in partials]
    members = [np.result_type(*map(_letter, column)).type(0) for column in zip(*rows, strict=True)]
    return tuple(members) if isinstance(partials[0], tuple) else members[0]


def _letter(number: Any) -> str:
    if isinstance(number, (bool, np.bool_)):
        return "?"
    if isinstance(number, (int, np.signedinteger)):
        return "i8"
    if isinstance(number, np.unsignedinteger):
        return "u8"
    if isinstance(number, (float, np.floating)):
        return "f8"
    raise TypeError(f"{number!r} is not a number")


def _members(partial: Any) -> Members:
    is_tuple = isinstance(partial, tuple)
    return tuple(map(_letter, partial if is_tuple else (partial,))), is_tuple
