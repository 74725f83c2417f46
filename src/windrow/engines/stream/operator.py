"""The operator: a query on unbounded input. docs/streams.md says what it does; this is the order of
things.

A push goes: rows are checked and set in order; slices are cut and folded once; every window that time or
silence decides takes what it may, rows for windows that data decide wait; late rows are counted; the
watermark moves; what is due comes out. All of it works on values: only when nothing has raised does the
operator take the new state, so that a push that fails has changed nothing. With a store, the new state is
stored before that, in one atomic write, and before results are handed over.

One lock for each operator: calls from several threads come one after the other, each of them whole.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from itertools import chain
from time import monotonic
from time import time as wall_clock
from typing import Any, Self, TypeVar

import pyarrow as pa

from windrow.arrays import END_OF_TIME, START_OF_TIME
from windrow.engines.stream.advance import Due, advanced, without_dead_keys
from windrow.engines.stream.event_input import EventInput, one_at_a_time
from windrow.engines.stream.events import Events
from windrow.engines.stream.history import check_cut, refilled, with_history
from windrow.engines.stream.late import LateRows
from windrow.engines.stream.metrics import Metrics
from windrow.engines.stream.persistence.saved_operator import SavedOperator
from windrow.engines.stream.plan import Plan
from windrow.engines.stream.readiness import make_ready
from windrow.engines.stream.rejected import RejectedTables
from windrow.engines.stream.results import ResultTypes, result_table
from windrow.engines.stream.snapshot import restored_value, snapshot_of, unpack_snapshot
from windrow.engines.stream.state import State
from windrow.engines.stream.step import pushed
from windrow.engines.stream.stored_query import added_names
from windrow.engines.stream.watermark import Judge, check_judge, idle_watermark
from windrow.engines.stream.watermark_values import (
    is_integer_time,
    moment_of,
    read_moment,
    shown_moment,
    shown_watermark,
)
from windrow.engines.stream.window_changes import with_window, without_window
from windrow.errors import WatermarkNeeded, warn_caller
from windrow.html_text import html_table
from windrow.rows.keys import Keys
from windrow.rows.tables import read_table
from windrow.rows.times import TimeAxis
from windrow.slicing.limits import one_step
from windrow.spec import Spec
from windrow.values import with_fields
from windrow.windows import Window

__all__ = ["Operator"]

T = TypeVar("T")

#: pushes after which an operator without a watermark warns that it emits nothing
_PUSHES_IN_VAIN = 10


class Operator(EventInput):
    """A query on unbounded input; ``query.open()`` returns one.

    Several threads may use one operator. Their calls come one after the other, in the order in which they get
    its lock, and each is whole: no row is lost, and a snapshot is of the state between two calls. The lock is
    held while ``push_parts`` asks for tables, so that what gives them must not wait for another thread that
    uses the operator.

    >>> import pyarrow as pa, windrow as wr
    >>> visits = wr.query(time="t", by="who").window(wr.Session(gap=5)).agg(n=wr.count()).open()
    >>> visits.push(pa.table({"t": [1, 4, 2], "who": ["ann", "ann", "bob"]})).num_rows
    0
    >>> visits.advance(8).to_pylist()
    [{'who': 'bob', 'window_start': 2, 'window_end': 7, 'n': 1}]
    >>> visits.metrics.rows_in, visits.metrics.watermark
    (3, 8)
    """

    def __init__(
        self,
        query: Spec,
        *,
        clock: Callable[[], float] = monotonic,
        now: Callable[[], float] = wall_clock,
        judge: Judge = "push",
        saved: SavedOperator | None = None,
    ) -> None:
        check_judge(query, judge)
        # re-entrant: a push without rows polls, and what gives tables to push_parts may ask for metrics
        self._lock = threading.RLock()
        self._is_finished = False
        #: whether kernels are loaded that later pushes need
        self._is_ready = False
        self._judge = judge
        self._plan = replace(self._plan_of(query, saved), lives=saved is None)
        self._state = State(Keys(query.by), None, (), {})
        #: where the state is stored after every step; None: nowhere
        self._saved = saved
        if saved is not None:
            self._plan, self._state = saved.open(self._plan) or (self._plan, self._state)
        #: whether there are windows or aggregates that were not there when the state was stored
        self._has_additions = saved is not None and saved.has_additions
        self._types = ResultTypes()
        self._events = Events(query)
        self._clock = clock
        self._last_row = clock()
        self._now = now
        #: those that had rows
        self._pushes = 0
        #: makes the kind of table that is pushed of a result
        self._as_pushed: Callable[[pa.Table], Any] = _as_arrow

    def _plan_of(self, query: Spec, saved: SavedOperator | None) -> Plan:
        return Plan.of(query)

    @classmethod
    def restored(
        cls,
        query: Spec,
        snapshot: bytes,
        *,
        clock: Callable[[], float] = monotonic,
        now: Callable[[], float] = wall_clock,
        judge: Judge = "push",
    ) -> Operator:
        """Return an operator that resumes from a snapshot; ``query.restore(snapshot)`` calls this."""
        operator = cls(query, clock=clock, now=now, judge=judge)
        value = unpack_snapshot(snapshot)
        operator._plan, state = restored_value(operator._plan, value, None)
        operator._has_additions = bool(added_names(query, value["query"]))
        operator._events.put_back(state.events)
        operator._state = with_fields(state, events=())
        return operator

    @one_at_a_time
    def begin_with(self, history: Any, until: Any = None) -> None:
        """Ingest a table of earlier rows without results; ``query.open(history=...)`` calls this. State
        that was found in a store has it already; with a later cut, windows and aggregates that were added to
        it are filled. None: only the cut is given."""
        self._check_open()
        table = None if history is None else read_table(history, self.query)[0]
        kind = self._plan.counts_integers
        if table is not None and self.query.time in table.column_names:
            kind = TimeAxis(table.schema.field(self.query.time).type).is_integer
        cut = START_OF_TIME if until is None else read_moment(until, kind, "history_until", self.query.time)
        has_state = self._state.columns is not None
        if has_state and (table is None or not self._has_additions or cut == self._state.history_until):
            check_cut(self._state, cut)
            return
        with one_step():
            if has_state:
                assert table is not None
                self._take(*refilled(self._plan, self._state, table, cut))
                return
            tables = [] if table is None else [table]
            self._take(*with_history(self._plan, self._state, tables, cut, self._now, self._judge))

    @property
    def query(self) -> Spec:
        """Return the query as it runs now, with added and without removed windows."""
        return self._plan.query

    @one_at_a_time
    def __repr__(self) -> str:
        """What runs, and how far it is.

        >>> import pyarrow as pa, windrow as wr
        >>> tens = wr.query(time="t", by="k", watermark=2).window(wr.Tumbling(10)).agg(n=wr.count()).open()
        >>> tens.push(pa.table({"t": [1, 4, 8], "k": ["a", "b", "a"]})).num_rows
        0
        >>> tens
        <Operator of wr.query(time='t', by='k', watermark=2).window(Tumbling(10)).agg(n=count()):
        2 keys, 2 slices, watermark 6>
        """
        return f"<{type(self).__name__} of {self.query!r}: {', '.join(self._progress())}>"

    @one_at_a_time
    def _repr_html_(self) -> str:
        """The same for notebooks, as a table."""
        about = [("holds", ", ".join(self._progress())), *self.query._parts()]
        return html_table(f"windrow {type(self).__name__}", about)

    def _held(self) -> list[str]:
        """What is held, counted."""
        state = self._state
        held = [_counted(len(state.keys), "key"), _counted(state.slices, "slice")]
        return held + ([f"{state.rows_held:,} rows held"] if state.rows_held else [])

    def _progress(self) -> list[str]:
        """What is held, and how far it is."""
        watermark = shown_watermark(self._state)
        seen = "no watermark yet" if watermark is None else f"watermark {watermark}"
        return [*self._held(), seen, *(["finished"] if self._is_finished else [])]

    # -- rows in, results out --------------------------------------------------------------------------------

    @one_at_a_time
    def push(self, batch: T) -> T:
        """Ingest a table of rows and return the results that are ready, as the same kind of table.

        If this raises, the operator is unchanged.

        >>> import pyarrow as pa, windrow as wr
        >>> hours = wr.query(time="t", watermark=5).window(wr.Tumbling(10)).agg(n=wr.count()).open()
        >>> hours.push(pa.table({"t": [2, 14]})).num_rows
        0
        >>> hours.push(pa.table({"t": [9, 16]})).to_pylist()
        [{'window_start': 0, 'window_end': 10, 'n': 2}]
        """
        self._check_open()
        table, as_pushed = read_table(batch, self.query)
        result = self._pushed([*self._events.tables(), table])
        self._as_pushed = as_pushed
        found: T = as_pushed(result)
        return found

    @one_at_a_time
    def push_parts(self, batches: Iterable[T]) -> T:
        """Ingest the rows of several tables as one push and return the results that are ready.

        The result is that of one push of all their rows, however they are cut into tables: lateness is
        decided against the same watermark, which moves once, at the end. A table is read before the next but
        one is requested, so that together they may be larger than memory. With ``lateness="spark"`` this is a
        micro-batch, and without any row one without data. If this or ``batches`` raises, the operator is
        unchanged.

        >>> import pyarrow as pa, windrow as wr
        >>> hours = wr.query(time="t", watermark=0).window(wr.Tumbling(10)).agg(n=wr.count()).open()
        >>> hours.push_parts(pa.table({"t": times}) for times in ([2, 14], [9], [3])).to_pylist()
        [{'window_start': 0, 'window_end': 10, 'n': 3}]
        """
        self._check_open()
        kinds = [self._as_pushed]

        def tables() -> Iterator[pa.Table]:
            for batch in batches:
                table, kinds[0] = read_table(batch, self.query)
                yield table

        result = self._pushed(chain(self._events.tables(), tables()))
        self._as_pushed = kinds[0]
        found: T = self._as_pushed(result)
        return found

    def _pushed(self, parts: Iterable[pa.Table]) -> pa.Table:
        with one_step():
            plan, state, due = pushed(self._plan, self._state, parts, self._now, self._judge)
            result = None if state is self._state else self._accepted(plan, state, due)
        if result is None:
            return self._polled()
        self._is_ready = self._is_ready or make_ready(self._state)
        self._last_row = self._clock()
        self._pushes += 1
        if self._pushes == _PUSHES_IN_VAIN:
            self._warn_of_waiting()
        return result

    def _warn_of_waiting(self) -> None:
        """Warn that an operator whose watermark nobody moves emits nothing."""
        query, state = self.query, self._state
        is_moved = query.watermark is not None or state.watermark > START_OF_TIME
        if not is_moved and query.output == "final" and (state.has_slices or state.rows_held):
            warn_caller(
                f"{state.counts.rows_aggregated:,} rows of {self._pushes} pushes wait, and no result can be "
                f"emitted: the watermark has never moved. Set how far it stays behind the latest row with "
                f"wr.query(watermark='10m'), or move it with advance(time)",
                WatermarkNeeded,
            )

    @one_at_a_time
    def advance(self, watermark: Any) -> Any:
        """Declare rows before this time complete and return the results that are ready. The watermark never
        moves backwards: a time that is not after the current watermark changes nothing. Results are tables
        of the kind that was pushed last, Arrow before.

        >>> import pyarrow as pa, windrow as wr
        >>> days = wr.query(time="ts").window(wr.Tumbling("1d")).agg(n=wr.count()).open()
        >>> rows = pa.table({"ts": pa.array([1714554000], pa.timestamp("s"))})
        >>> days.push(rows).num_rows, days.advance("2024-05-01T23:59").num_rows
        (0, 0)
        >>> days.advance("2024-05-02")["n"].to_pylist()
        [1]
        """
        self._check_open()

        def moved(plan: Plan, state: State) -> tuple[int, State]:
            moment = moment_of(watermark, plan, state)
            if state.axis is None:
                state = with_fields(state, advanced_by_integer=is_integer_time(watermark))
            return moment, state

        return self._as_pushed(self._advanced(moved))

    @one_at_a_time
    def poll(self) -> Any:
        """Return the results that are ready because no row came for ``idle_timeout``.

        >>> import pyarrow as pa, windrow as wr
        >>> seconds = 0.0
        >>> query = wr.query(time="ts", watermark="10s", idle_timeout="1m")
        >>> minutes = query.window(wr.Tumbling("1m")).agg(n=wr.count()).open(clock=lambda: seconds)
        >>> minutes.push(pa.table({"ts": pa.array([30], pa.timestamp("s"))})).num_rows
        0
        >>> seconds = 60.0
        >>> minutes.poll()["n"].to_pylist()
        [1]
        """
        return self._as_pushed(self._polled())

    def _polled(self) -> pa.Table:
        self._check_open()
        if len(self._events):
            return self._pushed(self._events.tables())
        waited = self._clock() - self._last_row
        return self._advanced(lambda plan, state: (idle_watermark(plan.query, state, waited), state))

    @one_at_a_time
    def finish(self) -> Any:
        """Emit everything that is left, and close the operator.

        >>> import pyarrow as pa, windrow as wr
        >>> visits = wr.query(time="t").window(wr.Session(gap=5)).agg(n=wr.count()).open()
        >>> visits.push(pa.table({"t": [1, 4]})).num_rows
        0
        >>> visits.finish().to_pylist()
        [{'window_start': 1, 'window_end': 9, 'n': 2}]
        """
        self._check_open()
        result = self._advanced(lambda _, state: (END_OF_TIME, state), is_last=True)
        self._is_finished = True
        return self._as_pushed(result)

    @one_at_a_time
    def close(self) -> None:
        """Refuse further calls. Nothing is emitted, and state in a store stays: the query can be opened
        again with the same store and name. ``with query.open() as operator:`` ends with this.

        >>> import pyarrow as pa, windrow as wr
        >>> with wr.query(time="t", watermark=0).window(wr.Tumbling(10)).agg(n=wr.count()).open() as tens:
        ...     tens.push(pa.table({"t": [3, 25]}))["n"].to_pylist()
        [1]
        >>> tens.push(pa.table({"t": [26]}))
        Traceback (most recent call last):
        RuntimeError: this operator is finished: open() another one
        """
        self._is_finished = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    @one_at_a_time
    def late_rows(self) -> Any:
        """Return the late rows since the last call, with ``late_by`` and ``late_reason``; they are kept by
        ``late="return"``.

        >>> import pyarrow as pa, windrow as wr
        >>> query = wr.query(time="t", watermark=0, late="return").window(wr.Tumbling(10)).agg(n=wr.count())
        >>> tens = query.open()
        >>> tens.push(pa.table({"t": [25]})).num_rows, tens.push(pa.table({"t": [3]})).num_rows
        (0, 0)
        >>> tens.late_rows().to_pylist()
        [{'t': 3, 'late_by': 22, 'late_reason': 'window_fired'}]
        """
        if self.query.late != "return":
            raise ValueError("late rows are only counted: keep them with wr.query(late='return')")
        columns = self._state.columns
        found = self._state.late.joined(None if columns is None else columns.schema, self._state.axis)
        if self._state.late.tables:
            self._take(self._plan, with_fields(self._state, late=LateRows()))
        return self._as_pushed(found)

    @one_at_a_time
    def rejected_rows(self) -> Any:
        """Return the rejected rows since the last call, with ``rejected_reason``; where an aggregate
        raised, ``rejected_by`` and ``rejected_error``. They are kept by ``on_error="reject"``.

        >>> import pyarrow as pa, windrow as wr
        >>> parts = wr.monoid(name="parts", lift=lambda v: 12 // v, combine=lambda a, b: a + b, identity=0)
        >>> query = wr.query(time="t", on_error="reject").window(wr.Tumbling(10)).agg(parts=parts("v"))
        >>> tens = query.open()
        >>> tens.push(pa.table({"t": [1, 2, 3], "v": [3, 0, 4]})).num_rows, tens.finish()["parts"].to_pylist()
        (0, [7])
        >>> tens.rejected_rows().select(["t", "v", "rejected_by"]).to_pylist()
        [{'t': 2, 'v': 0, 'rejected_by': 'parts'}]
        """
        if self.query.on_error != "reject":
            raise ValueError("rejected rows are only counted: keep them with wr.query(on_error='reject')")
        columns = self._state.columns
        found = self._state.rejected.joined(None if columns is None else columns.schema)
        if self._state.rejected.tables:
            self._take(self._plan, with_fields(self._state, rejected=RejectedTables()))
        return self._as_pushed(found)

    def _advanced(self, moved: Callable[[Plan, State], tuple[int, State]], is_last: bool = False) -> pa.Table:
        """Let the watermark move, in one step with a push of the events that wait."""
        plan, state, due = self._plan, self._state, Due()
        with one_step():
            if len(self._events):
                plan, state, due = pushed(plan, state, self._events.tables(), self._now, self._judge)
            watermark, state = moved(plan, state)
            if watermark > state.watermark:
                state, fired = advanced(plan, state, watermark)
                due = due.joined(fired)
            return self._accepted(plan, state, due, is_last)

    def _accepted(self, plan: Plan, state: State, due: Due, is_last: bool = False) -> pa.Table:
        """The results of a step; only when they are made, and the state is stored, is the step taken."""
        result = result_table(plan, state, due, self._types)
        # results refer to keys, so that these are forgotten last
        self._take(plan, without_dead_keys(state), is_last)
        self._events.clear()
        return result

    def _take(self, plan: Plan, state: State, is_last: bool = False) -> None:
        if self._saved is not None and not self._is_finished:
            if is_last:
                self._saved.finish()
            else:
                state = self._saved.save(plan, state)
        self._plan, self._state = plan, state
        for part in state.ordered.values():
            part.accept()

    def _check_open(self) -> None:
        if self._is_finished:
            raise RuntimeError("this operator is finished: open() another one")
        if self._saved is not None:
            self._saved.check()

    def _check_changeable(self) -> None:
        self._check_open()
        if len(self._events):
            raise RuntimeError(f"{_counted(len(self._events), 'inserted event')} wait: flush() first")

    # -- state -----------------------------------------------------------------------------------------------

    @property
    @one_at_a_time
    def metrics(self) -> Metrics:
        """Return the counts so far and the current state: :class:`Metrics`.

        >>> import pyarrow as pa, windrow as wr
        >>> tens = wr.query(time="t", watermark=0).window(wr.Tumbling(10)).agg(n=wr.count()).open()
        >>> tens.push(pa.table({"t": [3, None, 25]})).num_rows
        1
        >>> found = tens.metrics
        >>> found.rows_in, found.rejected, found.windows_fired, found.slices, found.watermark
        (3, {'no_time': 1}, 1, 1, 25)
        """
        state = self._state
        return Metrics(
            **asdict(state.counts),
            slices=state.slices,
            rows_held=state.rows_held,
            keys=len(state.keys),
            state_bytes=state.nbytes,
            watermark=shown_watermark(state),
            late_times=tuple(shown_moment(int(moment), state.axis) for moment in state.late_times),
        )

    @one_at_a_time
    def snapshot(self) -> bytes:
        """Return the whole state as bytes, including inserted events that wait, for ``query.restore``.

        >>> import pyarrow as pa, windrow as wr
        >>> query = wr.query(time="t").window(wr.Tumbling(10)).agg(n=wr.count())
        >>> before = query.open()
        >>> before.push(pa.table({"t": [3]})).num_rows
        0
        >>> after = query.restore(before.snapshot())
        >>> after.push(pa.table({"t": [4]})).num_rows, after.finish()["n"].to_pylist()
        (0, [2])
        """
        self._check_open()
        return snapshot_of(self._plan, with_fields(self._state, events=tuple(self._events.tables())))

    @one_at_a_time
    def add_window(self, **named: Window) -> None:
        """Add windows to the running operator. They see the rows of later pushes; windows that may have begun
        before are not emitted. All windows of the operator need names.

        >>> import pyarrow as pa, windrow as wr
        >>> running = wr.query(time="t").window(ten=wr.Tumbling(10)).agg(n=wr.count()).open()
        >>> running.push(pa.table({"t": [3]})).num_rows
        0
        >>> running.add_window(twenty=wr.Tumbling(20))
        >>> running.push(pa.table({"t": [4, 25]})).num_rows
        0
        >>> [(row["window"], row["window_start"], row["n"]) for row in running.finish().to_pylist()]
        [('ten', 0, 2), ('ten', 20, 1), ('twenty', 20, 1)]
        """
        self._check_changeable()
        plan, state = self._plan, self._state
        for name, window in named.items():
            plan, state = with_window(plan, state, name, window)
        self._take(plan, state)
        self._events = Events(self.query)

    @one_at_a_time
    def remove_window(self, name: str) -> None:
        """Remove a window and its state; it emits no more results.

        >>> import windrow as wr
        >>> query = wr.query(time="t").window(ten=wr.Tumbling(10), visit=wr.Session(5))
        >>> running = query.agg(n=wr.count()).open()
        >>> running.remove_window("visit")
        >>> [name for name, _ in running.query.windows]
        ['ten']
        """
        self._check_changeable()
        self._take(*without_window(self._plan, self._state, name))
        self._events = Events(self.query)


def _as_arrow(table: pa.Table) -> pa.Table:
    return table


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}" + ("" if count == 1 else "s")
