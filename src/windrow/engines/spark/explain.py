"""What a query will do on a DataFrame, in words, with Spark's own plan below. Of as-of windows, which take
labels besides, the words alone."""

from __future__ import annotations

import contextlib
import io
from typing import TYPE_CHECKING

import pyarrow as pa

from windrow.engines.algorithms import algorithm_run, rolling_algorithm
from windrow.engines.frames.words import held_in_words
from windrow.engines.spark.compat import is_streaming
from windrow.engines.spark.frames import arrow_schema, ties_matter
from windrow.engines.spark.plan import kept_type, native_form, plan_of
from windrow.engines.spark.rolling.skew import why_not_split
from windrow.engines.spark.run import check, run
from windrow.engines.spark.streaming.chained import has_watermark
from windrow.engines.spark.types import result_type
from windrow.engines.spark.windows.catalyst import spark_finishes, spark_folds
from windrow.monoids.base import Aggregate
from windrow.partials.inputs import plain_reason_over
from windrow.partials.value_aggregates.families import FAMILIES
from windrow.rows.columns import needed_columns, plain_type
from windrow.spec import Frames, Spec
from windrow.swag import choose

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["explain"]

_REJECTED = "  rows without a time are in no window and left out; wr.spark.counted counts them"
_LOCAL = (
    "each partition to the local engine, results in no order; memory: spark.windrow.taskMemory, and the rest "
    "on disk"
)


def explain(query: Spec, frame: DataFrame) -> str:
    """The plan of a query on a DataFrame. Nothing runs."""
    check(query, frame)
    schema = arrow_schema(frame)
    of = _framed if query.frames is not None else _rolling if query.is_rolling else _windows
    if is_streaming(frame) and query.frames is not None:
        of = _framed_stream if query.asof_over is None else _served
    lines = of(query, frame, schema)
    if query.follows_zone:
        lines.append("  days, weeks and months are those of UTC: timestamps in Spark have no time zone")
    lines += [f"  {name} = {a!r}: {_how(query, a, schema)}" for name, a in query.aggregates]
    if is_streaming(frame) and query.windows and not _runs_on_sparks_plan(query, frame)[0]:
        lines += _held(query)
    if query.asof_over is not None:
        return "\n".join(lines)
    own = io.StringIO()
    with contextlib.redirect_stdout(own):
        run(query, frame).explain()
    return "\n".join([*lines, "", "Spark's plan:", own.getvalue().strip()])


def _held(query: Spec) -> list[str]:
    """What the state of a stream holds for aggregates that are answered from values."""
    kept = [(name, a.monoid) for name, a in query.aggregates if a.monoid.keeps is not None]
    return [f"  state of {name}: {FAMILIES[str(m.keeps)].held_for(m)}" for name, m in kept]


def _rolling(query: Spec, frame: DataFrame, schema: pa.Schema) -> list[str]:
    over = query.rolling_over
    assert over is not None
    what = "the rows that the policy leaves" if over.policy else f"the last {over.rows} rows"
    what = what if over.size is None else f"(t - {over.size.on_clock}, t]"
    return [
        f"rolling: a result per row, over {what}",
        _shuffle(query, schema),
        f"  {_LOCAL}",
        f"  hot keys: {_skew(query, frame)}",
        "  rows without a time come back with null results",
        f"  read: {', '.join(needed_columns(query))}; the other columns pass through",
    ]


def _framed(query: Spec, frame: DataFrame, schema: pa.Schema) -> list[str]:
    """What labels see, or rows of their neighbours."""
    assert query.frames is not None
    is_asof = query.asof_over is not None
    read = f"  read: {', '.join(needed_columns(query))}; the other columns"
    if is_asof:
        points = [
            "  before the shuffle: events that no label can see are left out, where labels are read from "
            "files or memory and events are many (spark.windrow.prune.minBytes)",
            _shuffle(query, schema).replace("rows go", "events and labels go"),
        ]
        rest = ["  labels without a time have null results", f"{read} of the events are left out"]
    else:
        points = [_shuffle(query, schema)]
        rest = ["  rows without a time come back with null results", f"{read} pass through"]
    return [
        "as-of windows: a result per label, over" if is_asof else "rolling: a result per row, over",
        *_seen(query.frames),
        *points,
        f"  {_LOCAL}",
        f"  hot keys: {_skew(query, frame)}",
        *rest,
    ]


def _seen(frames: Frames) -> list[str]:
    """A line for each frame."""
    return [f"  {ending}: {seen}" if ending else f"  {seen}" for ending, seen in frames.named]


def _framed_stream(query: Spec, frame: DataFrame, schema: pa.Schema) -> list[str]:
    """What rows see of their neighbours, on a stream."""
    assert query.frames is not None
    return [
        "rolling on a stream: a result per row, over",
        *_seen(query.frames),
        f"  shuffle: rows go to the bucket of their key ({_keys(query)}), which holds them in Spark's state",
        *(f"  held: {each}" for each in held_in_words(query.frames)),
    ]


def _served(query: Spec, frame: DataFrame, schema: pa.Schema) -> list[str]:
    """What labels of a stream see of a stream of events."""
    assert query.asof_over is not None
    return [
        "as-of windows on streams: a result per label, over",
        *_seen(query.asof_over),
        f"  events and labels of a key ({_keys(query)}) go to one bucket, and to one stateful operator",
        "  a label comes out once the watermark has passed what it may see; events before the watermark are "
        "late",
        "  state: the events that labels from the watermark on may see, and labels that wait",
        f"  read: {', '.join(needed_columns(query))}; the other columns of the events are left out",
    ]


def _skew(query: Spec, frame: DataFrame) -> str:
    reason = why_not_split(query, frame)
    if reason:
        return f"not split: {reason}"
    if query.frames is not None:
        return "split in time into segments that cores share; rows that points of a segment see come along"
    over = query.rolling_over
    assert over is not None
    reach = "rows within one window" if over.size is not None else f"the {(over.rows or 1) - 1} rows"
    return f"split in time into segments that cores share; {reach} before a segment come along"


def _runs_on_sparks_plan(query: Spec, frame: DataFrame) -> tuple[bool, str]:
    from windrow.engines.spark.streaming.run import sparks_plan

    return sparks_plan(query, frame, has_watermark(frame), False)


def _windows(query: Spec, frame: DataFrame, schema: pa.Schema) -> list[str]:
    if is_streaming(frame):
        is_sparks, why = _runs_on_sparks_plan(query, frame)
        if is_sparks:
            return [
                f"plan: Spark's own; {why}",
                "  windows are groups of Spark's, and no row goes to Python; late rows are dropped by Spark",
                "  the plan of a checkpoint is final",
            ]
        return [f"plan: windrow's own; {why}", *_planned_windows(query, frame, schema)]
    return _planned_windows(query, frame, schema)


def _planned_windows(query: Spec, frame: DataFrame, schema: pa.Schema) -> list[str]:
    plan = plan_of(query, schema)
    windows = ", ".join(f"{name} = {window!r}" if name else repr(window) for name, window in query.windows)
    if not plan.slices:
        return [
            f"windows by rows: {windows}",
            f"  why: {plan.reason}",
            _shuffle(query, schema),
            f"  {_LOCAL}",
            _REJECTED,
        ]
    return [
        f"windows by slices: {windows}",
        f"  why: {plan.reason}",
        f"  before the shuffle: {_folding(query, frame, schema)}",
        f"  shuffle: partials only, by {_keys(query)}",
        f"  after it: {_assembly(query, frame, schema)}",
        _REJECTED,
    ]


def _folding(query: Spec, frame: DataFrame, schema: pa.Schema) -> str:
    if spark_folds(query, schema):
        return "Spark groups rows by key and slice itself, since it knows all of the aggregates"
    return "each task folds its rows into one partial per aggregate, key and slice"


def _assembly(query: Spec, frame: DataFrame, schema: pa.Schema) -> str:
    if spark_folds(query, schema) and spark_finishes(query, schema):
        return "each slice is a window, and Spark makes its results; no row goes to Python"
    return "partials of a slice are fused, and windows assembled from slices, O(1) combines each"


def _shuffle(query: Spec, schema: pa.Schema) -> str:
    where = f"to one partition a key ({_keys(query)})" if query.by else "to one partition: there is no key"
    ties = ", with the order in which they came" if ties_matter(query, schema) else ""
    return f"  shuffle: rows go {where}{ties}; nothing is sorted by Spark"


def _keys(query: Spec) -> str:
    return ", ".join(query.by) or "nothing: there is no key"


def _how(query: Spec, aggregate: Aggregate, schema: pa.Schema) -> str:
    if not aggregate.inputs:
        return "counted from the ranges alone; bigint"
    kind = result_type(aggregate, schema)
    if kept_type(aggregate, schema) is not None:
        return f"{FAMILIES[str(aggregate.monoid.keeps)].how}; {kind}"
    form = native_form(aggregate, schema)
    code = "native code" if form is not None else _plain_code(aggregate, schema)
    return "; ".join([f"{code}; {kind}", *_algorithms(query, aggregate, schema, form is not None)])


def _plain_code(aggregate: Aggregate, schema: pa.Schema) -> str:
    kinds = [plain_type(schema.field(name).type) for name in aggregate.inputs]
    reason = plain_reason_over(aggregate.monoid, kinds)
    return f"plain Python: {reason}" if reason else "plain Python"


def _algorithms(query: Spec, aggregate: Aggregate, schema: pa.Schema, compiles: bool) -> list[str]:
    """The algorithm of an aggregate and why, for each window; none where Spark makes the results."""
    if query.frames is not None:
        return [str(choose(aggregate.monoid))]
    if query.rolling_over is not None:
        return [str(rolling_algorithm(aggregate.monoid, query.rolling_over))]
    if spark_folds(query, schema) and spark_finishes(query, schema):
        return []
    pairs = [(name, algorithm_run(aggregate.monoid, window, compiles)) for name, window in query.windows]
    return [f"{name} by {choice}" if name else str(choice) for name, choice in pairs]
