"""The steps by which a query is built: which rows belong together, and what to compute of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Self

from windrow import monoids
from windrow.arguments import check_window, named_aggregates
from windrow.frame_arguments import asof_frames, rolling_of
from windrow.monoids.base import Aggregate, check_min_count
from windrow.names import nearest
from windrow.result_names import check_names
from windrow.spec import Spec
from windrow.windows import Policy, Window
from windrow.windows.timeline.durations import DurationLike
from windrow.words import said

if TYPE_CHECKING:
    from windrow.state import Store

__all__ = ["Building", "no_attribute"]


def no_attribute(owner: object, name: str) -> AttributeError:
    """What to say of an attribute that a query, or a query with its data, does not have."""
    kind = type(owner)
    plain = f"{kind.__name__!r} object has no attribute {name!r}"
    if name.startswith("_"):
        return AttributeError(plain)
    aggregate = f"wr.{name}" if name in monoids.__all__ else said(name)
    if aggregate is not None and aggregate.startswith("wr."):
        example = aggregate if "(" in aggregate else f"{aggregate}('column')"
        return AttributeError(f"{plain}: aggregates go into .agg(...), as in .agg(x={example})")
    meant = nearest(name, [each for each in dir(kind) if not each.startswith("_")])
    return AttributeError(f"{plain}: did you mean {meant!r}?" if meant else plain)


class Building(Spec):
    """A query that takes windows, then aggregates: each step gives a new one."""

    if not TYPE_CHECKING:  # for those who ask of a wrong name, and not for type checkers

        def __getattr__(self, name: str) -> Any:
            raise no_attribute(self, name)

    def window(self, *windows: Window, **named: Window) -> Self:
        """Aggregate over windows: one without a name, or any number of named ones.

        >>> import windrow as wr
        >>> q = wr.query(time="ts").window(hour=wr.Tumbling("1h"), visit=wr.Session("30m"))
        >>> [name for name, _ in q.windows]
        ['hour', 'visit']
        """
        self._check_open()
        found = [*(("", w) for w in windows), *named.items()]
        if not found:
            raise TypeError("window() needs at least one window, such as wr.Tumbling('1h')")
        for name, window in found:
            check_window(name, window)
            self._check_time_kind(window)
            if self.corrects and window.refuses_lateness:
                raise ValueError(
                    f"{window!r} never changes a session that has fired: leave out allowed_lateness, or "
                    f"late_by"
                )
        if len(windows) > 1 or (windows and named):
            raise TypeError(
                "several windows need names, as in .window(day=wr.Tumbling('24h'), visit=wr.Session('30m'))"
            )
        return self._with(windows=tuple(found))

    def rolling(
        self,
        *sizes: DurationLike | Policy,
        size: DurationLike | None = None,
        rows: int | Sequence[int] | None = None,
        policy: Policy | Callable[..., Any] | None = None,
        closed: Literal["left", "right", "both", "neither"] = "right",
        shift: DurationLike = 0,
        timezone: str | None = None,
        min_count: int | None = None,
        store: Store | None = None,
        **named: DurationLike,
    ) -> Self:
        """Return one result per input row: over (t - size, t], or over the last ``rows`` rows in time order.

        Rows with the same timestamp are peers: by time, each sees all of them. See docs/asof-serving.md.

        Args:
            *sizes (duration): One size, or several (``"1d", "7d"``), each with a column per aggregate:
                ``total_1d`` (also for ``"1 day"``). ``"all"`` is everything up to the row.
            **named (duration): Sizes with a name: ``day="1d"`` returns ``total_day``.
            rows (int | list[int]): In place of sizes, a number of rows: ``rows=[10, 100]`` returns
                ``total_10`` and ``total_100``.
            policy (Policy): In place of sizes, a function that evicts.
            closed (str): Which ends of (t - size, t] belong to it: with ``"left"`` a row sees neither itself
                nor its peers.
            shift (duration | int): Moves the window: ``"-1h"`` lets it end an hour before the row, ``"30m"``
                with a size of ``"1h"`` centres it; with ``rows`` a number of rows.
            timezone (str): Counts months and days on the local calendar.
            min_count (int): Replaces that of the query: an aggregate over fewer values is null.
            store (Store): Where an operator keeps its state, as for :meth:`open`; see docs/state.md.

        >>> import windrow as wr
        >>> wr.query(time="ts").rolling("24h").rolling_over.size.units
        86400000000
        >>> wr.query(time="ts").rolling("1d", "7d", closed="left").agg(n=wr.count()).result_names
        ['n_1d', 'n_7d']
        """
        self._check_open()
        given = [each for each in (*sizes, size) if each is not None]
        over = rolling_of(
            given, named, rows=rows, policy=policy, closed=closed, shift=shift, timezone=timezone, store=store
        )
        if min_count is None:
            return self._with(rolling_over=over)
        check_min_count(min_count)
        return self._with(rolling_over=over, min_count=min_count)

    def asof(
        self,
        *sizes: DurationLike,
        rows: int | Sequence[int] | None = None,
        closed: Literal["left", "right", "both", "neither"] | None = None,
        lag: DurationLike = 0,
        direction: Literal["backward", "forward"] = "backward",
        timezone: str | None = None,
        **named: DurationLike,
    ) -> Self:
        """Return point-in-time features: for each label, a row of a second table, aggregates over the events
        before it. :meth:`run` takes the labels as ``at=``.

        For a label at time t the window is [t - lag - size, t - lag): an event with the label's own timestamp
        counts as future and is excluded. See docs/asof.md.

        Args:
            *sizes (duration): One size, or several, each with a column per aggregate: ``total_1d``. ``"all"``
                is everything on that side.
            **named (duration): Sizes with a name: ``week="7d"`` returns ``total_week``.
            rows (int | list[int]): In place of sizes, the nearest events, by number.
            closed (str): Which ends belong to the window; ``"right"`` includes an event at the label's time.
            lag (duration): How long before the label the window ends.
            direction (str): ``"forward"`` looks at (t + lag, t + lag + size].
            timezone (str): Counts months and days on the local calendar.

        >>> import pyarrow as pa, windrow as wr
        >>> spent = wr.query(time="t", by="user").asof(10, "all").agg(spent=wr.sum("amount"))
        >>> events = pa.table({"t": [1, 12, 15], "user": ["ann"] * 3, "amount": [5, 7, 9]})
        >>> labels = pa.table({"user": ["ann", "bob"], "t": [15, 15]})
        >>> spent.run(events, at=labels).to_pylist()[0]
        {'user': 'ann', 't': 15, 'spent_10': 7, 'spent_all': 12}
        """
        self._check_open()
        if self.on_error == "reject":
            raise ValueError(
                "on_error='reject' is for windows and rolling: filter the events of an as-of query before, "
                "or let lift give the identity for what it cannot take"
            )
        over = asof_frames(
            sizes, named, rows=rows, closed=closed, lag=lag, direction=direction, timezone=timezone
        )
        return self._with(asof_over=over)

    def agg(self, *aggregates: Aggregate, **named: Aggregate) -> Self:
        """Set what to compute, each aggregate under the name of its result column. Without a keyword, the
        name is that of the columns and of the aggregate.

        >>> import windrow as wr
        >>> wr.query(time="ts").rolling(rows=3).agg(wr.mean("len"), total=wr.sum("len"))
        wr.query(time='ts').rolling(rows=3).agg(len_mean=mean('len'), total=sum('len'))
        """
        if not self.windows and not self.is_rolling and self.asof_over is None:
            raise TypeError(
                "say which rows belong together first: .window(...), .rolling(...) or .asof(...), then "
                ".agg(...)"
            )
        found = named_aggregates(aggregates, named)
        if not found:
            raise TypeError("agg() needs at least one aggregate, as in .agg(total=wr.sum('len'))")
        return self._with(aggregates=tuple(found.items()))

    def _with(self, **changed: Any) -> Self:
        found = replace(self, **changed)
        check_names(found)
        return found

    def _check_open(self) -> None:
        if self.windows or self.is_rolling or self.asof_over is not None:
            raise TypeError("this query has its windows already: give all of them in one .window(...) call")

    def _check_time_kind(self, window: Window) -> None:
        if window.uses_integer_time is None:
            return
        for name in ("watermark", "allowed_lateness"):
            wait = getattr(self, name)
            if wait is not None and wait.amount and (wait.kind == "integer") != window.uses_integer_time:
                given = "a plain number" if wait.kind == "integer" else "a duration"
                raise ValueError(
                    f"{name}={wait.argument} is {given} and {window!r} counts time differently: give "
                    f"durations such as '10m' in both for timestamps, or integers in both for integer times"
                )
