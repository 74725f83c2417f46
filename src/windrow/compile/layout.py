"""Which native type the partials and the results of a monoid have.

Nobody declares types: Numba's inference is asked what lift returns for the inputs at hand, what combine
returns for two partials, and what lower returns. The partial is the narrowest type that holds the identity,
every lifted row and every combination (ints meet floats: floats), found by iterating to a fixed point. Only
numbers and flat tuples of numbers have a native form; for anything else the answer is the reason why not.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from windrow.compile.cache import recall, remember
from windrow.compile.fingerprint import Unfingerprintable, fingerprint
from windrow.compile.sampled import sampled_types
from windrow.monoids.base import Monoid

__all__ = ["Layout", "NotCompilable", "layout_of", "native_identity"]

_ROUNDS = 4


class NotCompilable(Exception):
    """Why a monoid has no native form for these inputs."""


@dataclass(frozen=True)
class Layout:
    """numpy types of a partial and of a result; a tuple of types stands for a tuple of numbers."""

    partial: tuple[str, ...]
    is_tuple: bool
    result: tuple[str, ...]
    result_is_tuple: bool
    result_names: tuple[str, ...]
    may_be_null: bool

    @cached_property
    def partial_dtype(self) -> np.dtype[Any]:
        if not self.is_tuple:
            return np.dtype(self.partial[0])
        return np.dtype([(f"f{k}", kind) for k, kind in enumerate(self.partial)], align=True)

    @cached_property
    def result_dtype(self) -> np.dtype[Any]:
        if not self.result_is_tuple:
            return np.dtype(self.result[0])
        return np.dtype(list(zip(self.result_names, self.result, strict=True)), align=True)

    def partial_value(self, value: Any) -> Any:
        """A Python partial as one whose members have exactly the native types."""
        if not self.is_tuple:
            return np.dtype(self.partial[0]).type(value)
        return tuple(np.dtype(kind).type(v) for kind, v in zip(self.partial, value, strict=True))

    def python_value(self, value: Any) -> Any:
        """The reverse: plain Python numbers, from an element of a native buffer or a partial_value."""
        if isinstance(value, tuple):
            return tuple(member.item() for member in value)
        return value.item()


def native_identity(monoid: Monoid, dtypes: tuple[np.dtype[Any], ...]) -> Any:
    return monoid.typed_identity(*dtypes) if monoid.typed_identity else monoid.identity


def layout_of(monoid: Monoid, dtypes: tuple[np.dtype[Any], ...], jit: Any) -> Layout:
    """The layout for these inputs, from the disk where it is known there; raises NotCompilable."""
    identity = native_identity(monoid, dtypes)
    if monoid.builtin and (found := sampled_types(monoid, dtypes, identity)) is not None:
        (partial, is_tuple), (result, result_is_tuple), names, may_be_null = found
        names = names or tuple(f"f{k}" for k in range(len(result)))
        return Layout(partial, is_tuple, result, result_is_tuple, names, may_be_null)
    try:
        lift, combine = monoid.native_lift or monoid.lift, monoid.native_combine or monoid.combine
        key = fingerprint(lift, combine, monoid.lower, identity, [d.str for d in dtypes])
    except Unfingerprintable:
        return _infer(monoid, dtypes, identity, jit)
    noted = recall(key, "layout")
    if noted is not None:
        if "reason" in noted:
            raise NotCompilable(noted["reason"])
        known: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in noted.items()}
        return Layout(**known)
    try:
        layout = _infer(monoid, dtypes, identity, jit)
    except NotCompilable as failure:
        remember(key, "layout", {"reason": str(failure)})
        raise
    remember(key, "layout", asdict(layout))
    return layout


def _infer(monoid: Monoid, dtypes: tuple[np.dtype[Any], ...], identity: Any, jit: Any) -> Layout:
    from numba import from_dtype, typeof, types

    try:
        identity_type = typeof(identity)
    except (TypeError, ValueError) as error:
        raise NotCompilable(
            f"the identity {identity!r} is not a number or a flat tuple of numbers"
        ) from error
    inputs, lift = tuple(from_dtype(d) for d in dtypes), monoid.native_lift or monoid.lift
    partial = _numbers(identity_type, "the identity")
    partial = _wider(partial, _numbers(_returned(lift, inputs, jit, "lift"), "lift"))
    for _ in range(_ROUNDS):
        argument = _numba_type(partial)
        combined = _numbers(
            _returned(monoid.native_combine or monoid.combine, (argument, argument), jit, "combine"),
            "combine",
        )
        wider = _wider(partial, combined)
        if wider == partial:
            break
        partial = wider
    result = _returned(monoid.lower, (_numba_type(partial),), jit, "lower")
    may_be_null = isinstance(result, types.Optional)
    if may_be_null:
        result = result.type
    names = tuple(getattr(result, "fields", ())) if isinstance(result, types.BaseNamedTuple) else ()
    numbers, is_tuple = _numbers(result, "lower")
    return Layout(
        partial=partial[0],
        is_tuple=partial[1],
        result=numbers,
        result_is_tuple=is_tuple,
        result_names=names or tuple(f"f{k}" for k in range(len(numbers))),
        may_be_null=may_be_null,
    )


_Numbers = tuple[tuple[str, ...], bool]


def _returned(function: Any, arguments: tuple[Any, ...], jit: Any, what: str) -> Any:
    try:
        dispatcher = jit(function).compiled
        dispatcher.compile(arguments)
    except Exception as error:  # whatever Numba raises means the same here: plain Python it is
        raise NotCompilable(
            f"{what} does not compile for {_shown(arguments)}: {_first_line(error)}"
        ) from error
    return dispatcher.overloads[arguments].signature.return_type


def _numbers(kind: Any, what: str) -> _Numbers:
    """Members as numpy type letters, and whether it is a tuple at all."""
    from numba import types

    if isinstance(kind, types.Literal):
        kind = kind.literal_type
    if isinstance(kind, types.BaseTuple) and len(kind.types) > 0:
        return tuple(_number(member, what) for member in kind.types), True
    return (_number(kind, what),), False


def _number(kind: Any, what: str) -> str:
    from numba import types

    if isinstance(kind, types.Literal):
        kind = kind.literal_type
    if isinstance(kind, types.Boolean):
        return "?"
    if isinstance(kind, types.Integer):
        return "i8" if kind.signed else "u8"
    if isinstance(kind, types.Float):
        return "f8"
    raise NotCompilable(f"{what} gives {kind}, which is not a number or a flat tuple of numbers")


def _wider(a: _Numbers, b: _Numbers) -> _Numbers:
    if a[1] != b[1] or len(a[0]) != len(b[0]):
        raise NotCompilable(f"partials have different shapes: {_shape(a)} and {_shape(b)}")
    return tuple(np.result_type(x, y).str[1:].replace("b1", "?") for x, y in zip(a[0], b[0], strict=True)), a[
        1
    ]


def _shape(numbers: _Numbers) -> str:
    return f"a tuple of {len(numbers[0])}" if numbers[1] else "one number"


def _numba_type(numbers: _Numbers) -> Any:
    from numba import from_dtype, types

    members = tuple(from_dtype(np.dtype(kind)) for kind in numbers[0])
    return types.Tuple(members) if numbers[1] else members[0]


def _shown(arguments: tuple[Any, ...]) -> str:
    return ", ".join(map(str, arguments))


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [
        line for line in lines if not line.startswith(("Failed in", "During:", "File ", "- Resolution"))
    ]
    return (telling or lines or [type(error).__name__])[0]
