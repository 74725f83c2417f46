"""Spark queries in which windrow's operator is one of several: what is below and above it in Spark's plan.

Spark refuses little of what cannot work: it raises pages, or runs a stream that emits nothing, indefinitely.
So the plan is read where a query is run on a stream, and again when a stream starts: all of the plan and
the output mode are known then. It is read as text, which classic sessions and Spark Connect both return.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.engines.spark.compat import analyzed_plan
from windrow.engines.spark.streaming.plan_of_checkpoint import MARK, check_plan
from windrow.spec import Spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Input", "check_output", "has_watermark", "input_of"]

#: a line of a plan: branches, marks, the name of the node and what is said of it
_LINE = re.compile(r"([ :|+-]*)[~!']*(\w+)(.*)")
#: counts of an operator of windrow's are right above it, under a name that only windrow gives
_OWN = re.compile(r" windrow_([0-9a-f]{8})(?:_\d+)?,")
#: the operators of windrow's plan, and of a query on Spark's own
_STEPS, _GROUPS = "TransformWithState", "Aggregate"
#: by it, after what the state of such a query says of it
_DESCRIBED = re.compile(rf"({re.escape(MARK)}\{{.*?\}})#\d+")
#: how often a query was run on the same stream since a stream of it was started
_RUNS: Counter[str] = Counter()
_WATERMARK = re.compile(r" [0-9a-f]{8}-[0-9a-f-]{27}, (.+?)#\d+")
#: what changes from one start of a program to the next
_CHANGES = re.compile(
    r"#\d+|@[0-9a-f]+|0x[0-9a-f]+|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}\b|, \d+$", re.MULTILINE
)
#: operators that would count a result again each time that it comes out again
_ONCE_EACH = {"Aggregate", "Distinct", "Deduplicate", "DeduplicateWithinWatermark"}


@dataclass(frozen=True)
class _Node:
    name: str
    about: str
    #: what takes its rows, from the top of the plan on
    above: tuple[_Node, ...]


@dataclass(frozen=True)
class Input:
    """What is known of a stream that a query runs on."""

    #: tells a query on it from all others of a Spark query; the same when the program is started again
    identity: str
    #: whether it has a watermark, which Spark lets nobody declare again
    has_watermark: bool


def input_of(query: Spec, frame: DataFrame) -> Input:
    """Return what a query needs to know of its stream; raise if it cannot run on it."""
    plan = analyzed_plan(frame)
    nodes = list(_nodes(plan))
    _check_watermarks(nodes)
    results = [node for node in nodes if _is_own(node)]
    if any(_gives_updates(node) for node in results):
        raise ValueError(
            "the stream holds results of a query with output='update', and a result that comes out again "
            "would count again: leave out output='update' there"
        )
    if results and "revision" in frame.columns:
        raise ValueError(
            "the stream holds results of a query with allowed_lateness, and a result that is corrected would "
            "count again: leave out allowed_lateness there and give a longer watermark, or keep the first "
            "ones, as in results.where('revision = 0').drop('revision')"
        )
    has_watermark = any(_declared(node) for node in nodes)
    if has_watermark and query.max_ahead is not None:
        raise ValueError(
            "max_ahead cannot hold back a watermark that the stream has already: leave it out, or leave out "
            "withWatermark, and give max_ahead to the first query"
        )
    text = f"{query!r}\n{plan}"
    digest = hashlib.blake2b(_CHANGES.sub("", text).encode(), digest_size=4).hexdigest()
    _RUNS[digest] += 1
    number = _RUNS[digest]
    return Input(digest if number == 1 else f"{digest}_{number}", has_watermark)


def has_watermark(frame: DataFrame) -> bool:
    """Return whether a stream has a watermark."""
    return any(map(_declared, _nodes(analyzed_plan(frame))))


def check_output(frame: DataFrame, mode: str, checkpoint: str | None) -> None:
    """Raise if a stream cannot work in an output mode, or go on from a checkpoint."""
    nodes = list(_nodes(analyzed_plan(frame)))
    _check_watermarks(nodes)
    own = [node for node in nodes if _is_own(node)]
    for node in own:
        if not _gives_updates(node):
            continue
        if mode != "update":
            raise ValueError(
                f"a query with output='update' gives results again as they change, which output mode "
                f"{mode!r} takes for new ones: write .outputMode('update'), or leave out output='update'"
            )
        after = next((each.name for each in node.above if each.name in _ONCE_EACH), None)
        if after is not None:
            raise ValueError(
                f"Spark's {after} comes after a query with output='update', and a result that comes out "
                f"again would count again: leave out output='update'"
            )
    if own:
        described = [_description(node) for node in own if node.name == _GROUPS]
        if described and mode != "append":
            raise ValueError(
                f"output mode {mode!r} takes results before they are final, and on Spark's own plan Spark "
                f"would give them: write .outputMode('append'), or plan='windrow'"
            )
        check_plan(described, len(own) > len(described), checkpoint, frame.sparkSession)
    for node in own:
        _RUNS.pop(_digest_of(node), None)


def _check_watermarks(nodes: list[_Node]) -> None:
    """Raise if a watermark is declared after windrow: it would wait for results, and results for it."""
    for node in nodes:
        again = next(filter(None, map(_declared, node.above)), None) if _is_own(node) else None
        if again is not None:
            raise ValueError(
                f"withWatermark({again!r}) comes after a windrow query, and Spark takes one watermark per "
                f"stream: leave it out. The event time of results is window_end as it is, and "
                f"wr.spark.with_window_time(results) adds window_time"
            )


def _is_own(node: _Node) -> bool:
    if node.name == _GROUPS:
        return bool(_description(node))
    return node.name.startswith(_STEPS) and bool(_digest_of(node))


def _description(node: _Node) -> str:
    """Return the name of the column that says whose groups these are; empty: not windrow's."""
    found = _DESCRIBED.search(node.about)
    return "" if found is None else found[1]


def _digest_of(node: _Node) -> str:
    counts = next((_OWN.match(each.about) for each in node.above[-1:] if each.name == "CollectMetrics"), None)
    return "" if counts is None else counts[1]


def _gives_updates(node: _Node) -> bool:
    return ", Update, EventTime," in node.about


def _declared(node: _Node) -> str | None:
    """Return the column of a watermark."""
    found = _WATERMARK.match(node.about) if node.name == "EventTimeWatermark" else None
    return None if found is None else found[1]


def _nodes(plan: str) -> Iterator[_Node]:
    """Yield the nodes of a plan, from the top on.

    >>> def above(node):
    ...     return [each.name for each in node.above]
    >>> [(node.name, above(node)) for node in _nodes("Join Inner\\n:- ~Project [a#1]\\n:  +- X\\n+- Y [b]")]
    [('Join', []), ('Project', ['Join']), ('X', ['Join', 'Project']), ('Y', ['Join'])]
    """
    path: list[_Node] = []
    for line in plan.splitlines():
        found = _LINE.match(line)
        if found is None:
            continue
        depth = len(found[1]) // 3
        node = _Node(found[2], found[3], tuple(path[:depth]))
        path = [*path[:depth], node]
        yield node
