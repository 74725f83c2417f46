"""Transcripts: behaviour as data, run on anything that offers what an operator does.

Purpose: one corpus of behaviours (YAML: rows, watermarks, expected results) for every engine, in the manner
of Beam's trigger transcripts. :mod:`windrow.testing.transcripts.format` says how one is written.
Invariant: after each step exactly the rows it names come out, in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from windrow.testing.comparison import assert_same_results
from windrow.testing.tables import rows_of
from windrow.testing.transcripts.format import Step, Transcript, TranscriptError, read_transcript
from windrow.testing.transcripts.oracle import OracleOperator
from windrow.windows import format_duration, parse_duration

__all__ = ["arrow_types", "list_transcripts", "run_on_oracle", "run_transcript", "table_from"]

Row = dict[str, Any]


def list_transcripts(folder: str | Path) -> list[Path]:
    """The transcripts of a folder, by name.

    >>> list_transcripts("/nowhere")
    Traceback (most recent call last):
    FileNotFoundError: there is no folder /nowhere: give one with transcripts (*.yaml)
    """
    path = Path(folder)
    if not path.is_dir():
        raise FileNotFoundError(f"there is no folder {path}: give one with transcripts (*.yaml)")
    return sorted(path.glob("*.yaml"))


def run_transcript(
    source: Any, open: Callable[..., Any] | None = None, restore: Callable[..., Any] | None = None
) -> None:
    """Run a transcript; raises AssertionError with step, found and expected rows unless all is as it says.

    Args:
        source: the path of a YAML file, or the same as a dict.
        open: gives an operator for a query, as ``query.open()`` does, which is the default. Where a
            transcript waits, it also gets ``clock``: a function that tells seconds; where it says by which
            watermark rows are judged, ``judge``.
        restore: gives an operator for a query and a snapshot; by default ``query.restore``.

    >>> transcript = {
    ...     "query": {"time": "t"},
    ...     "windows": "Tumbling(10)",
    ...     "aggregates": {"n": "count()"},
    ...     "columns": ["t"],
    ...     "shows": ["window_end", "n"],
    ...     "steps": [{"push": [[1], [2], [11]]}, {"advance": 10, "gives": [[10, 3]]}],
    ... }
    >>> run_on_oracle(transcript)
    Traceback (most recent call last):
    AssertionError: transcript, step 2 (advance: 10): results differ: 1 row found, 1 expected, 0 the same
    found            | expected
    window_end=10 n=2 | window_end=10 n=3  <- n
    """
    Run(read_transcript(source), open or _open, restore or _restore).all()


def run_on_oracle(source: Any) -> None:
    """The same on :class:`windrow.testing.StreamOracle`: does a transcript say what the definitions say?"""
    run_transcript(source, open=OracleOperator, restore=lambda _, snapshot, **__: snapshot)


def _open(query: Any, **options: Any) -> Any:
    return query.open(**options)


def _restore(query: Any, snapshot: Any, **options: Any) -> Any:
    return query.restore(snapshot, **options)


class Run:
    """A transcript on its way through an operator."""

    def __init__(self, transcript: Transcript, open: Callable[..., Any], restore: Callable[..., Any]) -> None:
        self.transcript = transcript
        self.query = transcript.query
        self.seconds = 0.0
        self.options: dict[str, Any] = {"clock": lambda: self.seconds} if transcript.waits else {}
        if transcript.judge is not None:
            self.options["lateness"] = transcript.judge
        self.restore = restore
        self.types = arrow_types(transcript)
        self.operator = open(self.query, **self.options)

    def all(self) -> None:
        for step in self.transcript.steps:
            self._named(str(step), partial(getattr(self, f"_{step.action}"), step))
        self._named("metrics", self._compare_metrics)

    def _named(self, what: str, run: Callable[[], None]) -> None:
        try:
            run()
        except AssertionError as error:
            raise AssertionError(f"{self.transcript.name}, {what}: {error}") from None

    # -- what a step does ------------------------------------------------------------------------------------

    def _push(self, step: Step) -> None:
        self._compare(step, self.operator.push(table_from(step.argument, self.types)))

    def _advance(self, step: Step) -> None:
        self._compare(step, self.operator.advance(step.argument))

    def _poll(self, step: Step) -> None:
        self._compare(step, self.operator.poll())

    def _finish(self, step: Step) -> None:
        self._compare(step, self.operator.finish())

    def _wait(self, step: Step) -> None:
        self.seconds += parse_duration(step.argument, "wait").units / 1_000_000

    def _snapshot(self, step: Step) -> None:
        self.operator = self.restore(self.query, self.operator.snapshot(), **self.options)

    def _add_window(self, step: Step) -> None:
        self.operator.add_window(**step.argument)
        self.query = replace(self.query, windows=(*self.query.windows, *step.argument.items()))

    def _remove_window(self, step: Step) -> None:
        self.operator.remove_window(step.argument)
        kept = tuple(each for each in self.query.windows if each[0] != step.argument)
        self.query = replace(self.query, windows=kept)

    def _late(self, step: Step) -> None:
        found = [_with_plain_lateness(row) for row in rows_of(self.operator.late_rows())]
        assert_same_results(found, [_with_plain_lateness(row) for row in step.argument])

    def _rejected(self, step: Step) -> None:
        assert_same_results(rows_of(self.operator.rejected_rows()), step.argument)

    # -- what came of it -------------------------------------------------------------------------------------

    def _compare(self, step: Step, results: Any) -> None:
        found = rows_of(results)
        for row in found if self.transcript.result_columns else []:
            wanted = self.transcript.result_columns
            assert list(row) == wanted, f"results have the columns {list(row)}, expected {wanted}"
        compared = self.transcript.shows or dict.fromkeys(name for row in step.gives for name in row)
        assert_same_results(_only(compared, found), step.gives)

    def _compare_metrics(self) -> None:
        uncounted = getattr(self.operator, "uncounted", ())
        for name, expected in self.transcript.metrics.items():
            if name not in uncounted:
                found = _counts(getattr(self.operator.metrics, name))
                assert found == _counts(expected), f"{name} is {found}, expected {expected}"


def _only(columns: Iterable[str], rows: list[Row]) -> list[Row]:
    """The rows with these columns alone; whole where no column is named, since then no row is expected."""
    names = list(columns)
    for row in rows:
        missing = [name for name in names if name not in row]
        assert not missing, f"results have no column {missing[0]!r}: {', '.join(row)}"
    return [{name: row[name] for name in names} for row in rows] if names else rows


def _counts(value: Any) -> Any:
    """Counts by reason without those that are zero; anything else as it is."""
    return {name: count for name, count in value.items() if count} if hasattr(value, "items") else value


def _with_plain_lateness(row: Row) -> Row:
    """How late a row was, as text where it is a duration."""
    late_by = row.get("late_by")
    if not isinstance(late_by, (str, timedelta)):
        return row
    return row | {"late_by": format_duration(parse_duration(late_by))}


def arrow_types(transcript: Transcript) -> dict[str, Any]:
    """The type of each column that is pushed: as the transcript says, or as the values of all pushes tell."""
    import pyarrow as pa

    pushed = [row for step in transcript.steps if step.action == "push" for row in step.argument]
    columns = dict.fromkeys(name for row in pushed for name in row) | transcript.types
    return {
        name: _named(said) if said else pa.array([_tellable(row.get(name)) for row in pushed]).type
        for name, said in columns.items()
    }


def table_from(rows: list[Row], types: dict[str, Any]) -> Any:
    """Rows as a table with all columns, also where there are no rows.

    >>> import pyarrow as pa
    >>> table_from([], {"t": pa.int64()}).schema
    t: int64
    """
    import pyarrow as pa

    return pa.table({name: pa.array([row.get(name) for row in rows], type_) for name, type_ in types.items()})


def _tellable(value: Any) -> Any:
    """A value by which Arrow tells the type; datetimes in any zone are timestamps in UTC."""
    from datetime import UTC

    return value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo else value


def _named(type_name: str) -> Any:
    import pyarrow as pa

    try:
        return pa.type_for_alias(type_name)
    except ValueError as error:
        raise TranscriptError(f"type {type_name!r} is none that Arrow knows by this name") from error
