"""Policy windows: the aggregates themselves say how far back a window reaches.

Purpose: windows such as "as many rows as it takes to hold a hundred distinct callers".
Source: the window slide policy of [MTA]: while the policy is true of the whole window and a prefix of it,
that prefix is evicted.
"""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Any

from windrow.windows.base import JobKey, Window


@dataclass(frozen=True, init=False, repr=False)
class Policy(Window):
    """A window that evicts its oldest rows for as long as a function says so.

    Args:
        fn: ``fn(total, old) -> bool`` sees the partial aggregates of the whole window and of a prefix of it,
            by the names they have in ``agg``. While it is true, the prefix is evicted. For bulk eviction to
            find the longest such prefix it must be monotone: true of a prefix, true of every shorter one.

    Two policies are equal if their functions are.

    >>> from windrow.windows import Policy
    >>> def keep_a_thousand(total, old):
    ...     return total.weight - old.weight >= 1000
    >>> Policy(keep_a_thousand)
    Policy(keep_a_thousand)
    """

    example = "Policy(fn)"
    job_keys = (JobKey("evict_while", "text", '"total.n - old.n >= 3"'),)
    ties_matter = True
    is_per_row = True

    fn: Callable[[Any, Any], bool]

    def __init__(self, fn: Callable[[Any, Any], bool]) -> None:
        if not callable(fn):
            raise TypeError(f"policy {fn!r} is a {type(fn).__name__}: give a function fn(total, old)")
        if not _takes_two(fn):
            raise TypeError(f"policy {_name(fn)} does not take two arguments: write it as fn(total, old)")
        object.__setattr__(self, "fn", fn)

    @classmethod
    def of(cls, given: Any) -> Policy:
        """A policy, or that of a function."""
        return given if isinstance(given, cls) else cls(given)

    @property
    def aggregates_read(self) -> frozenset[str]:
        return frozenset(attributes_read(self.fn))

    @property
    def overlaps(self) -> bool:
        return True

    @property
    def shape(self) -> str:
        return "a window a row, as far back as the policy leaves it"

    def _arguments(self) -> Iterator[str]:
        yield _name(self.fn)


def attributes_read(fn: Callable[..., Any]) -> set[str]:
    """The names of attributes that a Python function reads, by its code; of others nothing is known.

    >>> sorted(attributes_read(lambda total, old: total.weight - old.weight >= max(total.least, 1)))
    ['least', 'weight']
    """
    code = getattr(fn, "__code__", None) or getattr(type(fn).__call__, "__code__", None)
    pending, found = [] if code is None else [code], set[str]()
    while pending:
        each = pending.pop()
        instructions = dis.get_instructions(each)
        found |= {step.argval for step in instructions if step.opname in ("LOAD_ATTR", "LOAD_METHOD")}
        pending += [constant for constant in each.co_consts if isinstance(constant, CodeType)]
    return found


def _takes_two(fn: Callable[..., Any]) -> bool:
    try:
        inspect.signature(fn).bind(None, None)
    except TypeError:
        return False
    except ValueError:
        # Some functions written in C do not say what they take
        return True
    return True


def _name(fn: object) -> str:
    return getattr(fn, "__name__", None) or repr(fn)
