"""What can be wrong with stored state, by name: callers may catch one of these, or :class:`StateError`."""

from __future__ import annotations

__all__ = ["CorruptState", "StateError", "UnstorableValue", "UnsupportedVersion"]


class StateError(Exception):
    """State cannot be stored, or what is stored cannot be used; the message says which and what to do."""


class CorruptState(StateError, ValueError):
    """Bytes that are not what was written: cut short, changed, or of another kind."""


class UnsupportedVersion(StateError, ValueError):
    """State that another version of windrow has written."""


class UnstorableValue(StateError, TypeError):
    """A value of a type that has no stored form."""
