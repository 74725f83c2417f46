"""Experiments of this paper."""

from __future__ import annotations

from windrow.papers.model import Experiment

__all__ = ["EXPERIMENTS"]

EXPERIMENTS: tuple[Experiment, ...] = ()
