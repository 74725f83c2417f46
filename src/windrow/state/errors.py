"""What can be wrong with stored state, by name: callers may catch one of these, or :class:`StateError`."""

from __future__ import annotations

__all__ = [
    "CorruptState",
    "StateError",
    "StoreFull",
    "StoreUnavailable",
    "UnstorableValue",
    "UnsupportedVersion",
    "WindowTaken",
]


class StateError(Exception):
    """State cannot be stored, or what is stored cannot be used; the message says which and what to do."""


class CorruptState(StateError, ValueError):
    """Bytes that are not what was written: cut short, changed, missing, or of another kind."""


class UnsupportedVersion(StateError, ValueError):
    """State that another version of windrow has written."""


class UnstorableValue(StateError, TypeError):
    """A value of a type that has no stored form."""


class StoreUnavailable(StateError, ConnectionError):
    """A store did not answer within the time allowed; what was confirmed before is safe."""


class StoreFull(StateError, OSError):
    """A store has no room for a write; nothing has changed, and it can be repeated once there is room."""


class WindowTaken(StateError):
    """A window was opened again or deleted since, so that this one may not write any more."""
