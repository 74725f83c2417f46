"""Where a tree aggregator keeps its levels: in memory, or in a key-value store ([MTA])."""

from windrow.state.levels.memory import Key, LevelStore, MemoryLevels, Pair

__all__ = ["Key", "LevelStore", "MemoryLevels", "Pair"]
