"""Windows that data decides, and rolling, over rows in order: one module for each kind.

Engines ask :func:`strategy_of` for the strategy of a window; :mod:`windrow.engines.data_windows.strategy`
says what a strategy is, and :mod:`windrow.engines.data_windows.registry` which kind has which.
"""

from windrow.engines.data_windows.registry import strategy_of
from windrow.engines.data_windows.strategy import Strategy

__all__ = ["Strategy", "strategy_of"]
