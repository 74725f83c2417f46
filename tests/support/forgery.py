"""How stored state is made to lie: values that were unpacked are changed in some places, to be packed again
with a right checksum; and what is run with them is kept within bounds.

A run whose memory grows without bound fails by a MemoryError; one that hangs is ended after minutes, with
where it hung on stderr.
"""

from __future__ import annotations

import contextlib
import faulthandler
import random
import resource
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from windrow.errors import AggregateError, ChangedQuery, StateError, UnknownColumn

#: the keys on the way to a value
Path = tuple[Any, ...]

#: errors with a name that say what does not fit; all else that is raised is a fault
NAMED = (StateError, AggregateError, UnknownColumn, ChangedQuery)
#: texts of others: an aggregate whose results are of several types; rows that are not of the types that state
#: says they were
NAMING = ("make no Arrow column", "cast it before it is pushed")

#: what a process of such runs may hold, and how long a run may take at the very most
MOST_BYTES = 8 << 30
MOST_SECONDS = 300


class Forgery(Protocol):
    """A kind of state that can be forged, and what is done with it."""

    def attempt(self, rng: random.Random) -> tuple[str, Callable[[], None]]:
        """What is forged this time, and what runs with it and raises AssertionError where the results of an
        accepted lie are not what they must be."""


# -- lies ----------------------------------------------------------------------------------------------------


def lie_in(tree: Any, rng: random.Random) -> tuple[Any, list[Path]]:
    """Plain values with one to three of them changed, and where."""
    paths = []
    tree = [tree]
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        # arrays are what compiled code reads: they are changed more often than what is around them
        every = list(_places(tree))[1:]
        arrays = [place for place in every if type(place[0][place[1]]) is np.ndarray]
        holder, key, path = rng.choice(arrays if arrays and rng.random() < 0.6 else every)
        paths.append(path)
        _change(holder, key, rng)
    return _frozen(tree)[0], paths


class _Tuple(list[Any]):
    """A tuple that can be changed."""


def _places(tree: Any, path: Path = ()) -> Iterator[tuple[Any, Any, Path]]:
    """Where values are, in containers that can be changed; tuples become lists on the way."""
    items = tree.items() if type(tree) is dict else enumerate(tree)
    for key, value in list(items):
        if key == "query":
            continue
        if type(value) is tuple:
            value = tree[key] = _Tuple(value)
        here = (*path, key)
        yield tree, key, here[1:]
        if type(value) in (dict, list, _Tuple):
            yield from _places(value, here)


def _frozen(tree: Any) -> Any:
    if type(tree) is dict:
        return {key: _frozen(value) for key, value in tree.items()}
    if type(tree) is _Tuple:
        return tuple(map(_frozen, tree))
    return [_frozen(value) for value in tree] if type(tree) is list else tree


def _change(holder: Any, key: Any, rng: random.Random) -> None:
    value = holder[key]
    action = rng.random()
    if action < 0.08:
        holder[key] = rng.choice([None, -1, 2**62, 2**70, "x", b"x", 0.5, [], {}, True])
    elif action < 0.12 and type(holder) is dict:
        del holder[key]
    elif action < 0.2 and type(holder) in (list, _Tuple):
        other = rng.randrange(len(holder))
        holder[key], holder[other] = holder[other], holder[key]
    elif type(value) is np.ndarray:
        holder[key] = _other_array(value, rng)
    elif isinstance(value, (pa.Table, pa.Array)):
        holder[key] = _other_rows(value, rng)
    elif type(value) is bytes and value:
        at = rng.randrange(len(value))
        holder[key] = value[:at] + bytes([rng.randrange(256)]) + value[at + 1 :]
    elif type(value) in (list, _Tuple) and value and rng.random() < 0.5:
        value.pop(rng.randrange(len(value)))
    elif type(value) is int:
        holder[key] = rng.choice([value + 1, value - 1, -value, 0, 2**31, 2**40, -(2**62), 2**63 - 1])


def _other_array(value: Any, rng: random.Random) -> Any:
    found = value.reshape(-1).copy()
    action = rng.randrange(8)
    if action == 0:
        return found[: rng.randrange(len(found) + 1)]
    if action == 1:
        return np.concatenate([found, found[: rng.randrange(1, 4)]])
    if action == 2:
        return found[::-1].copy()
    if action == 3:
        return found.astype(rng.choice(["i4", "f8", "u8", "?", "i8"]))
    if action == 4:
        return found.reshape(1, -1)
    if len(found):
        at = rng.randrange(len(found))
        near = int(np.nan_to_num(found[at]))
        lies = [0, 1, -1, 2**31, 2**40, 2**62, -(2**62), 2**63 - 1, -(2**63), near + 1, near - 1]
        with contextlib.suppress(OverflowError):
            found[at] = float("nan") if found.dtype.kind == "f" and rng.random() < 0.5 else rng.choice(lies)
    return found


def _other_rows(value: Any, rng: random.Random) -> Any:
    count, action = len(value), rng.randrange(6)
    if action > 3 and isinstance(value, pa.Table) and value.num_columns:
        return _other_columns(value, rng)
    if action == 0 or not count:
        return value.slice(0, rng.randrange(count + 1))
    places = list(range(count))
    if action == 1:
        places.append(rng.randrange(count))
    elif action == 2:
        places.reverse()
    else:
        places[rng.randrange(count)] = rng.randrange(count)
    found = value.take(pa.array(places))
    return found.combine_chunks() if isinstance(found, pa.Table) else found


def _other_columns(value: pa.Table, rng: random.Random) -> pa.Table:
    place = rng.randrange(value.num_columns)
    name, column = value.column_names[place], value.column(place)
    action = rng.randrange(4)
    if action == 0:
        return value.remove_column(place)
    if action == 1:
        return value.rename_columns([f"{n}x" if n == name else n for n in value.column_names])
    if action == 2:
        return value.set_column(place, name, pa.nulls(len(value), pa.int8()))
    kind = rng.choice([pa.float64(), pa.int32(), pa.string(), pa.null(), pa.timestamp("us"), pa.bool_()])
    cast = pa.array([None] * len(value), kind)
    with contextlib.suppress(pa.ArrowException):
        cast = column.cast(kind)
    return value.set_column(place, name, cast)


# -- running -------------------------------------------------------------------------------------------------


def run(forgeries: Sequence[Forgery], first: int, count: int) -> bool:
    """Whether all of these attempts are accepted with results of the right form, or refused by name."""
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
    is_sound = True
    for number in range(first, first + count):
        what, attempt = forgeries[number % len(forgeries)].attempt(random.Random(number))
        print(f"case {number}: {what}", flush=True)
        faulthandler.dump_traceback_later(MOST_SECONDS, exit=True, file=sys.__stderr__)
        try:
            attempt()
            print("accepted", flush=True)
        except NAMED as error:
            print(f"refused: {type(error).__name__}: {str(error)[:150]}", flush=True)
        except Exception as error:
            if any(text in str(error) for text in NAMING):
                print(f"refused: {error}", flush=True)
                continue
            is_sound = False
            print(f"FAULT: case {number}: {traceback.format_exc(limit=-4)}", flush=True)
        finally:
            faulthandler.cancel_dump_traceback_later()
    return is_sound
