"""A window over a finger B-tree that can change its form, and that outlives a combine that raises.

In the plain form a step is finished even if combine raises, so that the nodes stay a tree. In the native form
it ends where combine raises; wherever that is called the entries are a tree, and they move to the plain form.
A rolling batch, and any in the native form, is undone from a copy instead.

What the step added is then taken out again, and the window is as it was; what it evicted has gone. Either way
the tree is *stale*: its entries are right and its aggregates are not, so that the next query or insertion
makes them anew, in O(n).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

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
        form = self._form
        saved = None if isinstance(form, PlainForm) else form.saved()
        form.reserve(len(times))
        try:
            form.run(bulk_insertion, batch, len(times))
        except Exception:
            if saved is not None:
                form.restore(saved)
            raise

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

    def _to_plain(self, failure: Exception | None = None) -> None:
        """Move the window into lists, to stay there until it is empty; after a failure, as it is."""
        self._stays_plain = True
        if isinstance(self._form, PlainForm):
            return
        times, partials, nulls = self._form.entries()
        partials = [self.monoid.identity if null else p for p, null in zip(partials, nulls, strict=True)]
        self._form = form = self._plain_of(times, partials, nulls, is_stale=failure is not None)
        form.failure = failure  # what raises while it is made raises again in a query

    # -- when combine raises ---------------------------------------------------------------------------------

    def _run(self, step: Any, *arguments: Any) -> None:
        """Run a step that changes the tree."""
        try:
            self._form.run(step, *arguments)
        except Exception as error:
            if isinstance(self._form, PlainForm):
                raise
            self._to_plain(error)

    def _asked(self, step: Any, *arguments: Any) -> Any:
        """Run a step that changes nothing."""
        self._refresh()
        found = self._form.run(step, *arguments)
        if isinstance(self._form, PlainForm) and self._form.failure is not None:
            failure, self._form.failure, self._form.is_stale = self._form.failure, None, False
            raise failure
        return found

    def _refresh(self) -> None:
        """Make the aggregates of a stale tree anew."""
        if isinstance(self._form, PlainForm) and self._form.is_stale:
            fresh = self._plain_of(*self._form.entries())
            if fresh.failure is not None:
                raise fresh.failure
            self._form = fresh

    def _plain_of(
        self, times: list[Any], partials: list[Any], nulls: list[int], *, is_stale: bool = False
    ) -> PlainForm:
        """The plain form of sorted entries."""
        form = PlainForm(self.monoid, self._plain_mu)
        form.is_stale = is_stale
        if times:
            form.reserve(len(times))
            form.run(bulk_insertion, form.batch(times, partials, nulls), len(times))
        return form

    def _settle_plain(self, added: Sequence[Any]) -> None:
        """If combine raised in the last step, take back what that added at these times, which do not fall.
        Raise, but for what the step has evicted."""
        form = self._form
        if not isinstance(form, PlainForm) or form.failure is None:
            return
        failure, form.failure = form.failure, None
        if len(form) > self._size:
            surplus, kept = list(added), []
            for entry in reversed([*zip(*form.entries(), strict=True)]):
                if surplus and entry[0] == surplus[-1]:  # it came behind those of equal time
                    surplus.pop()
                else:
                    kept.append(entry)
            columns = zip(*reversed(kept), strict=True) if kept else ((), (), ())
            self._form = form = self._plain_of(*map(list, columns), is_stale=True)
        if len(form) == self._size:
            raise failure

    def _backup(self) -> dict[str, Any]:
        return {**super()._backup(), "_form": self._form, "_stays_plain": self._stays_plain}

    @contextlib.contextmanager
    def _atomically(self) -> Iterator[None]:
        form, saved = self._form, self._form.saved()
        with super()._atomically():
            try:
                yield
            except BaseException:
                form.restore(saved)
                raise

    def check_invariants(self) -> None:
        """Sizes, depths, order, links, fingers, counts, and every aggregate against a brute-force fold."""
        assert self._size == len(self._form)
        self._refresh()
        check_tree(self._form.plain_tree(), self.mu, self.monoid.combine, self.monoid.identity)
