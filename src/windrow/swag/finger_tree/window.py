"""A window over a finger B-tree that can change its form, and that outlives a combine that raises.

In the plain form a step is finished even if combine raises, so that the nodes stay a tree; then what the
step added is taken out again and the tree is rebuilt, in O(n), and the window is as it was. In the native
form a batch is undone from a copy; if a single operation raises there, the window says so from then on
rather than give a wrong result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from windrow.errors import AggregateError
from windrow.swag.base import Swag
from windrow.swag.finger_tree.bulk import bulk_insertion
from windrow.swag.finger_tree.forms import Form, PlainForm, Unfit
from windrow.swag.finger_tree.invariants import check_tree

__all__ = ["TreeWindow"]

#: entries move one by one in plain Python, and by the cache line in native code
_PLAIN_MU, _NATIVE_MU = 4, 8


class TreeWindow(Swag):
    """What FiBA is built on: entries in a form, steps run on it."""

    def __init__(self, monoid: Any, mu: int | None = None) -> None:
        super().__init__(monoid)
        if mu is not None and mu < 2:
            raise ValueError(f"mu={mu}: a node needs at least 2 children; 4 to 8 is a good choice")
        self._plain_mu, self._native_mu = mu or _PLAIN_MU, mu or _NATIVE_MU
        self._form: Form = PlainForm(self.monoid, self._plain_mu)
        #: the window has held something that has no native form
        self._stays_plain = False
        self._broken: Exception | None = None

    @property
    def mu(self) -> int:
        """The least number of children of a node off the spines, in the form that the window has."""
        return self._form.mu

    def _fill(self, times: list[Any], partials: list[Any], nulls: list[int]) -> None:
        """Insert sorted entries, in the form that the window has if they fit it."""
        try:
            batch = self._form.batch(times, partials, nulls)
        except Unfit:
            self._to_plain()
            batch = self._form.batch(times, partials, nulls)
        self._form.reserve(len(times))
        self._run(bulk_insertion, batch, len(times))

    def _lifted(self, value: tuple[Any, ...]) -> tuple[Any, int]:
        """The partial of a row, and 1 if it is null."""
        if len(value) != 1 or self.monoid.arity[1] > 1:
            value = self.monoid.row(value)
        if self.monoid.skips(value):
            return self.monoid.identity, 1
        return self.monoid.lift(*value), 0

    # -- changing form ---------------------------------------------------------------------------------------

    def _limits(self, *times: Any) -> tuple[Any, ...]:
        try:
            return tuple(self._form.typed_time(time) for time in times)
        except Unfit:
            self._to_plain()
            return times

    def _to_plain(self) -> None:
        """Move the window into lists, to stay there until it is empty."""
        self._stays_plain = True
        if isinstance(self._form, PlainForm):
            return
        times, partials, nulls = self._form.entries()
        partials = [self.monoid.identity if null else p for p, null in zip(partials, nulls, strict=True)]
        self._form = PlainForm(self.monoid, self._plain_mu)
        if times:
            self._fill(times, partials, nulls)

    # -- when combine raises ---------------------------------------------------------------------------------

    def _run(self, step: Any, *arguments: Any) -> Any:
        self._check_usable()
        form = self._form
        if isinstance(form, PlainForm):
            return form.run(step, *arguments)
        try:
            return form.run(step, *arguments)
        except Exception as error:
            self._broken = error
            raise

    def _check_usable(self) -> None:
        if self._broken is not None:
            raise AggregateError(
                f"aggregate {self.monoid.name!r} raised {self._broken!r} in this window: make a new one"
            ) from self._broken

    def _asked(self, step: Any, *arguments: Any) -> Any:
        """Run a step that changes nothing."""
        found = self._run(step, *arguments)
        if isinstance(self._form, PlainForm) and self._form.failure is not None:
            failure, self._form.failure = self._form.failure, None
            raise failure
        return found

    def _settle_plain(self, added: Iterable[Any]) -> None:
        """If combine raised in the last step, take back what that added, the last of each time, and raise."""
        form = self._form
        if not isinstance(form, PlainForm) or form.failure is None:
            return
        failure, form.failure = form.failure, None
        surplus = Counter(added)
        entries = list(zip(*form.entries(), strict=True))
        kept = [entry for entry in reversed(entries) if not _take(surplus, entry[0])]
        self._form = form = PlainForm(self.monoid, form.mu)
        if kept:
            times, partials, nulls = map(list, zip(*reversed(kept), strict=True))
            self._fill(times, partials, nulls)
        self._size = len(form)
        if form.failure is not None:
            self._broken = form.failure
        if added or self._broken:
            raise failure

    def check_invariants(self) -> None:
        """Sizes, depths, order, links, fingers, counts, and every aggregate against a brute-force fold."""
        assert self._size == len(self._form)
        check_tree(self._form.plain_tree(), self.mu, self.monoid.combine, self.monoid.identity)


def _take(surplus: Counter[Any], time: Any) -> bool:
    """Whether one at this time is to go; counts it."""
    surplus[time] -= 1
    return surplus[time] >= 0
