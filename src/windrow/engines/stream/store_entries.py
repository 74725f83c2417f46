"""The operators in a store: listed and deleted by name."""

from windrow.engines.stream.persistence.saved_operator import delete_operator, operators

__all__ = ["delete_operator", "operators"]
