"""The oracle of endless input: a query fed push by push, by brute force, from the words of docs/streams.md.

Purpose: what every operator must give, late rows and all. It is never optimised and forgets nothing: every
window keeps its own rows and is folded anew; what data decide is evaluated anew over all rows.
Invariant: ``rows_in = rows_aggregated + rows_late + rows_rejected``. Without late rows, the final results of
all calls together are those of :func:`windrow.testing.evaluate`, however the rows were cut into pushes.
Cost: each call looks at everything that ever came.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from fractions import Fraction
from typing import Any, Literal

from windrow.monoids.equality import same
from windrow.spec import Spec
from windrow.testing.oracle.batch import check_columns
from windrow.testing.oracle.folding import fold, key_of, place, raised_by
from windrow.testing.oracle.membership import Row
from windrow.testing.oracle.stream_in_order import FrameModel, OrderedModel, RollingModel
from windrow.testing.oracle.stream_results import Model, Result, Watermark, allowance
from windrow.testing.oracle.stream_sessions import SessionModel
from windrow.testing.oracle.stream_windows import TimeModel
from windrow.testing.tables import Clock, rows_of
from windrow.windows import Session, TimeWindow, Window, to_us

__all__ = ["StreamCounts", "StreamOracle"]

_REASONS = (TimeModel.reason, SessionModel.reason, OrderedModel.reason)


@dataclass
class StreamCounts:
    """What an operator counts, under the same names as its ``metrics``."""

    rows_in: int = 0
    rows_aggregated: int = 0
    late: Counter[str] = field(default_factory=Counter)
    late_pairs: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    windows_fired: int = 0
    windows_corrected: int = 0
    windows_retracted: int = 0

    @property
    def rows_late(self) -> int:
        return self.late.total()

    @property
    def rows_rejected(self) -> int:
        return self.rejected.total()


class StreamOracle:
    """A query over endless input, by brute force: rows and results are lists of dicts.

    Args:
        query: a query with its aggregates.
        clock: the seconds of a clock, for ``idle_timeout``.
        judge: by which watermark rows are judged, as in ``query.open(lateness=)``.

    >>> import windrow as wr
    >>> query = wr.query(time="ts", watermark=2, late="return").window(wr.Tumbling(10)).agg(n=wr.count())
    >>> oracle = StreamOracle(query)
    >>> oracle.push([{"ts": 3}, {"ts": 11}])
    []
    >>> oracle.push([{"ts": 9}, {"ts": 12}])
    [{'window_start': 0, 'window_end': 10, 'n': 2}]
    >>> oracle.push([{"ts": 7}])
    []
    >>> oracle.late
    [{'ts': 7, 'late_by': 3, 'late_reason': 'window_fired'}]
    >>> oracle.finish()
    [{'window_start': 10, 'window_end': 20, 'n': 2}]
    """

    def __init__(
        self,
        query: Spec,
        clock: Callable[[], float] = time.monotonic,
        judge: Literal["push", "spark"] = "push",
    ) -> None:
        self.query = query
        self._is_spark = judge == "spark"
        self.counts = StreamCounts()
        #: every late row since the start, with ``late_by`` and ``late_reason``
        self.late: list[dict[str, Any]] = []
        #: every rejected row since the start, with its reason, the aggregate that raised, and what
        self.rejected: list[dict[str, Any]] = []
        self._now = clock
        self._last_came = clock()
        self._watermark: Watermark = -math.inf
        self._largest: Watermark = -math.inf
        self._is_closed = False
        self._clock: Clock | None = None
        self._keys: list[tuple[Any, ...]] = []
        #: whose days and months windows have that name no zone; None: no row has come yet
        self._zone: str | None = None
        self._models = _models(query)

    # -- what an operator does -------------------------------------------------------------------------------

    @property
    def watermark(self) -> Any:
        """The watermark as the rows tell time; None before it is known, and after ``finish``."""
        if self._clock is None or not math.isfinite(self._watermark):
            return None
        return self._clock.show(int(self._watermark))

    def push(self, rows: Any) -> list[dict[str, Any]]:
        """Take rows; gives the results that are due."""
        self._check_open()
        table = rows_of(rows)
        if not table and not self._is_spark:
            return self.poll()
        before = self._largest
        if table:
            check_columns(self.query, table)
            self._take(table)
            self._last_came = self._now()
        if self._is_spark:
            self._move(self._spark_watermark(before))
        elif self.query.watermark is not None:
            self._move(self._largest - self.query.watermark.units)
        return self._due()

    def advance(self, watermark: Any) -> list[dict[str, Any]]:
        """Say that rows before this time are complete; gives the results that are due."""
        self._check_open()
        self._clock = self._clock or Clock.of([watermark])
        self._move(to_us(watermark) if isinstance(watermark, str) else self._clock.read(watermark) or 0)
        return self._due()

    def poll(self) -> list[dict[str, Any]]:
        """What is due because nothing came for ``idle_timeout``."""
        self._check_open()
        idle_us = round((self._now() - self._last_came) * 1_000_000)
        timeout = self.query.idle_timeout
        if timeout is not None and self.query.watermark is not None and idle_us >= timeout.units:
            self._move(self._largest - self.query.watermark.units + idle_us)
        return self._due()

    def finish(self) -> list[dict[str, Any]]:
        """Say that nothing more comes: everything left comes out."""
        self._check_open()
        self._is_closed = True
        self._move(math.inf)
        return self._due()

    def add_window(self, **named: Window) -> None:
        """Windows that see the rows from now on; what may hold rows from before does not come out."""
        windows = replace(self.query, windows=tuple(named.items())).in_zone(self._zone or "UTC").windows
        added = [_model(self.query, name, window) for name, window in windows]
        for model in added:
            model.since = self._largest + 1 + model.apart
        self._models.extend(added)

    def remove_window(self, name: str) -> None:
        """Forget a window: what it has not given out never comes."""
        if name not in {model.name for model in self._models}:
            raise ValueError(f"there is no window {name!r}")
        self._models = [model for model in self._models if model.name != name]

    # -- rows in ---------------------------------------------------------------------------------------------

    def _take(self, table: list[dict[str, Any]]) -> None:
        by_key: dict[int, list[Row]] = {}
        if self._clock is None and any(values[self.query.time] is not None for values in table):
            self._clock = Clock.of([values[self.query.time] for values in table])
        if self._zone is None and self._clock is not None:
            self._zone = Clock.of([values[self.query.time] for values in table]).zone
            if self.query.follows_zone:
                self.query = self.query.in_zone(self._zone)
                self._models = _models(self.query)
        for values in table:
            row = self._row(values)
            if row is not None:
                by_key.setdefault(self._key(values), []).append(row)
        for key, rows in by_key.items():
            self._judge(key, rows)

    def _row(self, values: dict[str, Any]) -> Row | None:
        """A row that is in some window; others are rejected."""
        self.counts.rows_in += 1
        moment = None if self._clock is None else self._clock.read(values[self.query.time])
        if moment is None:
            self._reject(values, "no_time")
            return None
        self._largest = max(self._largest, moment)
        raised = raised_by(self.query, values)
        if raised is not None:
            self._reject(values, "raised", *raised)
            return None
        row = Row(moment, self.counts.rows_in, values)
        if not any(model.holds(row) for model in self._models):
            self._reject(values, "no_window")
            return None
        return row

    def _reject(self, values: dict[str, Any], reason: str, by: Any = None, error: Any = None) -> None:
        self.counts.rejected[reason] += 1
        why = {"rejected_reason": reason, "rejected_by": by, "rejected_error": error}
        self.rejected.append(values | why)

    def _key(self, values: dict[str, Any]) -> int:
        """The number of a row's key; null is a key, and NaN equals NaN."""
        key = key_of(self.query, values)
        found = next((number for number, other in enumerate(self._keys) if same(key, other)), None)
        if found is None:
            self._keys.append(key)
        return len(self._keys) - 1 if found is None else found

    def _judge(self, key: int, rows: list[Row]) -> None:
        taken: set[int] = set()
        reasons: dict[int, set[str]] = {row.arrival: set() for row in rows}
        for model in self._models:
            held = [row for row in rows if model.holds(row)]
            before = model.late_pairs
            in_time = {row.arrival for row in model.take(key, held, self._watermark)}
            self.counts.late_pairs += Counter({model.reason: model.late_pairs - before})
            taken |= in_time
            for row in held:
                reasons[row.arrival] |= set() if row.arrival in in_time else {model.reason}
        self.counts.rows_aggregated += len(taken)
        for row in rows:
            if row.arrival not in taken:
                self._keep_late(row, min(reasons[row.arrival], key=_REASONS.index))

    def _keep_late(self, row: Row, reason: str) -> None:
        assert self._clock is not None
        self.counts.late[reason] += 1
        behind = int(self._watermark) - row.time
        late_by = behind if self._clock.counts_integers else timedelta(microseconds=behind)
        self.late.append(row.values | {"late_by": late_by, "late_reason": reason})

    # -- results out -----------------------------------------------------------------------------------------

    def _spark_watermark(self, largest: Watermark) -> Watermark:
        """What Spark makes of the largest time of all micro-batches before: times lose what is below a
        millisecond, the delay is rounded up to one, and only what is after 1970 counts."""
        if self._clock is None or self.query.watermark is None or largest == -math.inf:
            return -math.inf
        a_millisecond = 1 if self._clock.counts_integers else 1000
        delay = math.ceil(Fraction(self.query.watermark.units, a_millisecond))
        watermark = (math.floor(Fraction(int(largest), a_millisecond)) - delay) * a_millisecond
        return watermark if watermark > 0 else -math.inf

    def _move(self, watermark: Watermark) -> None:
        self._watermark = max(self._watermark, watermark)

    def _due(self) -> list[dict[str, Any]]:
        shown: list[dict[str, Any]] = []
        for model in self._models:
            due = [each for each in model.results(self._watermark) if model.is_complete(each)]
            found = sorted(due, key=self._order)
            for result in found:
                self._count(result)
            shown.extend(self._shown(model, result) for result in found)
        return shown

    def _order(self, result: Result) -> tuple[Any, ...]:
        if result.row is not None:
            return place(self.query, result.row)
        moments = result.end is not None, result.end or 0, result.start or 0
        return result.kind != "retracted", *moments, result.key

    def _count(self, result: Result) -> None:
        self.counts.windows_fired += result.kind == "fired"
        self.counts.windows_corrected += result.kind == "corrected"
        self.counts.windows_retracted += result.kind == "retracted"

    def _shown(self, model: Model, result: Result) -> dict[str, Any]:
        if result.seen is not None:
            return {**self._head(model, result), **result.seen, **self._tail(result)}
        is_retracted = result.kind == "retracted"
        names = [name for name, _ in self.query.aggregates]
        rows = sorted(result.rows, key=lambda row: place(self.query, row))
        aggregates = dict.fromkeys(names) if is_retracted else fold(self.query, rows)
        return {**self._head(model, result), **aggregates, **self._tail(result)}

    def _head(self, model: Model, result: Result) -> dict[str, Any]:
        if result.row is not None:
            return result.row.values
        assert self._clock is not None
        name = {"window": model.name} if self.query.names_windows else {}
        times = {"window_start": self._clock.show(result.start), "window_end": self._clock.show(result.end)}
        return {**dict(zip(self.query.by, self._keys[result.key], strict=True)), **name, **times}

    def _tail(self, result: Result) -> dict[str, Any]:
        updates = self.query.output == "update"
        tail: dict[str, Any] = {}
        if updates or allowance(self.query):
            tail["revision"] = result.revision
            if any(isinstance(model, SessionModel) for model in self._models):
                tail["retracted"] = result.kind == "retracted"
        return tail | ({"is_final": result.is_final} if updates else {})

    def _check_open(self) -> None:
        if self._is_closed:
            raise ValueError("this operator is finished: open another")


def _models(query: Spec) -> list[Model]:
    if query.rolling_over is not None:
        model = RollingModel if query.frames is None else FrameModel
        return [model(query, "", query.rolling_over)]
    return [_model(query, name, window) for name, window in query.windows]


def _model(query: Spec, name: str, window: Window) -> Model:
    if isinstance(window, TimeWindow):
        return TimeModel(query, name, window)
    return (SessionModel if isinstance(window, Session) else OrderedModel)(query, name, window)
