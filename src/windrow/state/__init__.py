"""Where windows are kept: the store protocols and their implementations."""

from windrow.state.levels import LevelStore, MemoryLevels

__all__ = ["LevelStore", "MemoryLevels"]
