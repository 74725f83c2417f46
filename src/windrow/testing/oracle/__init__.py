"""The oracle: queries evaluated by brute force, from the definitions, and never optimised."""

from windrow.testing.oracle.batch import evaluate

__all__ = ["evaluate"]
