"""Windows that data decides, and rolling, over rows in order: one module for each kind.

Engines ask :func:`strategy_of` for the strategy of a window; :mod:`windrow.engines.kinds.strategy` says what
a strategy is, and :mod:`windrow.engines.kinds.registry` which kind has which.
"""

from windrow.engines.kinds.registry import strategy_of
from windrow.engines.kinds.strategy import Strategy

__all__ = ["Strategy", "strategy_of"]
