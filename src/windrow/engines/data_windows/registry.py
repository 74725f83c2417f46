"""Which kind of window that data decides has which strategy: the only place where kinds are told apart."""

from __future__ import annotations

from typing import Any

from windrow.engines.data_windows.delta import DeltaStrategy
from windrow.engines.data_windows.policy import PolicyStrategy
from windrow.engines.data_windows.punctuation import PunctuationStrategy
from windrow.engines.data_windows.rows import RowsStrategy
from windrow.engines.data_windows.strategy import Strategy
from windrow.engines.data_windows.threshold import ThresholdStrategy
from windrow.windows import Delta, Policy, Punctuation, Rows, Threshold, Window

__all__ = ["STRATEGIES", "strategy_of"]

STRATEGIES: dict[type[Window], type[Strategy[Any]]] = {
    Rows: RowsStrategy,
    Delta: DeltaStrategy,
    Punctuation: PunctuationStrategy,
    Threshold: ThresholdStrategy,
    Policy: PolicyStrategy,
}


def strategy_of(window: Window) -> Strategy[Any]:
    """The strategy of a window that data decides.

    >>> from windrow.windows import Rows
    >>> strategy_of(Rows(3)).window
    Rows(3)
    """
    for kind in type(window).__mro__:
        if kind in STRATEGIES:
            return STRATEGIES[kind](window)
    raise TypeError(f"{window!r} is not a window that this engine knows")
