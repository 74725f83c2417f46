"""The fence of an operator in a store: who may write, and after which step.

Two keys beside the header: ``o``, the token of the last to open the operator, and ``g``, the generation (a
number that rises with every header) and the checksum of the header that belongs to it. Every write is
conditional on both, with the values that this operator has written last: one that was opened again elsewhere
cannot write, and neither can one whose store was put back to an older state. Such an operator takes no more
steps, so that the store stays what it was put back to.

A write whose outcome is not known (the store failed, and may have done it) is in doubt until the next one.
Cost: 12 bytes per step, in the write of the step itself; the store is read only when something has failed.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Iterator, Sequence

from windrow.errors import CorruptState, StateError, WindowTaken
from windrow.state.codec import checksum_of
from windrow.state.store import Guard, Item, Store

__all__ = ["Fence"]

_GENERATION_BYTES = 8
_FENCE_BYTES = _GENERATION_BYTES + 4


class Fence:
    """What the writes of one operator are conditional on."""

    def __init__(self, store: Store, name: str, prefix: bytes) -> None:
        self.key, self.owner_key = prefix + b"g", prefix + b"o"
        self._store, self._name = store, name
        self._token: bytes | None = None
        #: the fence as it was stored last; None: there is none
        self.known: bytes | None = None
        #: fences of steps that failed and may have been stored all the same
        self._doubtful: list[bytes | None] = []
        self._generation = 0
        self._refusal: str | None = None

    # -- opening ---------------------------------------------------------------------------------------------

    def take_over(self) -> None:
        """Become the one that may write."""
        token = secrets.token_bytes(16)
        self._store.write([(self.owner_key, token)])
        self._token = token

    def see(self, header: bytes | None, fence: bytes | None) -> None:
        """Take up what was found in the store."""
        if header is None and fence is not None:
            raise CorruptState(
                f"the header of operator {self._name!r} is missing from the store: it was deleted from "
                f"outside, or lost"
            )
        self.known = fence
        self._generation = 0 if fence is None else _generation(fence)

    def check_header(self, header: bytes) -> None:
        """Raise unless this is the header of the last step."""
        fence = self.known
        if fence is None or len(fence) != _FENCE_BYTES or fence[_GENERATION_BYTES:] != _checksum(header):
            raise CorruptState(
                f"the header of operator {self._name!r} is not that of its last step: it was put back to an "
                f"older state by itself, or exchanged. Put back all keys of the operator together"
            )

    # -- writing ---------------------------------------------------------------------------------------------

    @property
    def guards(self) -> list[Guard]:
        owner = [] if self._token is None else [(self.owner_key, self._token)]
        return owner + ([] if self.known is None else [(self.key, self.known)])

    def raised(self, header: bytes) -> Item:
        """The item that goes with a new header."""
        self._generation += 1
        return self.key, self._generation.to_bytes(_GENERATION_BYTES, "big") + _checksum(header)

    def pass_with(self, write: Callable[[Sequence[Guard]], None], following: bytes | None) -> None:
        """Do a write after which the fence is the one given; None: it is gone, and the header with it. A
        store that fails and has done the write all the same has not failed."""
        self.resolve()
        try:
            write(self.guards)
        except WindowTaken as error:
            if not self._has_passed(following):  # a write that was repeated finds its own fence
                raise self.refusal() from error
        except Exception:
            if not self._has_passed(following):
                self._doubtful.append(following)
                raise
        self.known, self._doubtful = following, []

    def resolve(self) -> None:
        """Before a write: find out which of the steps in doubt was stored."""
        if self._doubtful:
            found = self._store.get(self.key)
            self.known = found if found in self._doubtful else self.known

    def _has_passed(self, following: bytes | None) -> bool:
        with contextlib.suppress(Exception):
            return following != self.known and self._found() == (self._token, following)
        return False

    # -- refusing --------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Raise if this operator may take no more steps."""
        if self._refusal is not None:
            raise WindowTaken(self._refusal)

    def check_stored(self) -> None:
        """Raise if the store is not as this operator has left it."""
        if self._token is not None:
            self.check_read(*self._found())

    def check_read(self, owner: bytes | None, fence: bytes | None) -> None:
        """The same for the values of both keys, for callers who have read them with what they are about."""
        if self._token is not None and not self._is_own(owner, fence):
            raise self.refusal()

    def check_step(self) -> None:
        """Raise if a step that failed was stored after all, for callers who cannot go back behind it."""
        steps = [fence for fence in self._doubtful if fence not in (None, self.known)]
        if steps and self._store.get(self.key) in steps:
            raise StateError(
                f"the last step of operator {self._name!r} was stored although the store reported that it "
                f"had failed. Open the operator again; its metrics tell how many rows it has taken"
            )

    @contextlib.contextmanager
    def naming_operator(self) -> Iterator[None]:
        """Errors of guards name the operator."""
        try:
            yield
        except WindowTaken as error:
            raise self.refusal() from error

    def refusal(self) -> WindowTaken:
        """What a write that was refused means. If it is not for a window alone, or for a step in doubt that
        has reached the store late, this operator takes no more steps."""
        owner, fence = self._found()
        text = self._explanation(owner, fence)
        if not self._is_own(owner, fence):
            self._refusal = text
        return WindowTaken(text)

    def _found(self) -> tuple[bytes | None, bytes | None]:
        owner, fence = self._store.get_many([self.owner_key, self.key])
        return owner, fence

    def _is_own(self, owner: bytes | None, fence: bytes | None) -> bool:
        return owner == self._token and (fence in (self.known, *self._doubtful))

    def _explanation(self, owner: bytes | None, fence: bytes | None) -> str:
        remedy = "open it anew, with the same name, to go on from what is stored"
        if owner != self._token or self._is_own(owner, fence):
            return (
                f"operator {self._name!r} was opened again or deleted since, here or by another process, or "
                f"the store was put back to an older state, and only the last to open it may write: {remedy}"
            )
        found = "nothing" if fence is None else f"step {_generation(fence)}"
        return (
            f"the store holds {found} of operator {self._name!r}, which has stored step "
            f"{0 if self.known is None else _generation(self.known)}: the store was put back to another "
            f"state, or something else writes to it: {remedy}"
        )


def _generation(fence: bytes) -> int:
    return int.from_bytes(fence[:_GENERATION_BYTES], "big")


def _checksum(header: bytes) -> bytes:
    return checksum_of(header).to_bytes(4, "big")
