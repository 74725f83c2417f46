"""Runs experiments one after the other, and keeps what they gave as one document for JSON.

The JSON is described in docs/papers.md. Its ``schema`` changes when what is there changes its name, place or
meaning; what is only added does not change it.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from windrow_experiments.measure import machine
from windrow_experiments.model import Experiment, Result, Settings

__all__ = ["SCHEMA", "Document", "NotADocument", "Outcome", "run_experiments"]

SCHEMA = "windrow-papers/1"


class NotADocument(ValueError):
    """A file that no run of experiments has written."""


@dataclass(frozen=True)
class Outcome:
    """An experiment that has run: its result, or what it failed with."""

    name: str
    paper: str
    where: str
    title: str
    what: str
    seconds: float
    result: Result | None = None
    error: str | None = None

    def as_dict(self) -> dict[str, Any]:
        found = {key: getattr(self, key) for key in _TEXTS}
        return found | {"error": self.error, "result": self.result.as_dict() if self.result else None}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Outcome:
        result = data["result"]
        return cls(
            **{key: data[key] for key in _TEXTS},
            error=data["error"],
            result=None if result is None else Result.from_dict(result),
        )


_TEXTS = ("name", "paper", "where", "title", "what", "seconds")


@dataclass
class Document:
    """One run of experiments, as far as it has come."""

    quick: bool
    seed: int
    started: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    machine: dict[str, str] = field(default_factory=machine)
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        return sum(outcome.seconds for outcome in self.outcomes)

    @property
    def failed(self) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if outcome.error is not None]

    def as_dict(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "quick": self.quick,
            "seed": self.seed,
            "started": self.started,
            "seconds": self.seconds,
            "machine": self.machine,
            "experiments": [outcome.as_dict() for outcome in self.outcomes],
        }

    @classmethod
    def from_dict(cls, data: Any) -> Document:
        """What :meth:`as_dict` made."""
        found = data.get("schema") if isinstance(data, dict) else None
        if found != SCHEMA:
            raise NotADocument(f"its schema is {found!r}, not {SCHEMA!r}: run the experiments again")
        try:
            outcomes = [Outcome.from_dict(outcome) for outcome in data["experiments"]]
            return cls(data["quick"], data["seed"], data["started"], data["machine"], outcomes)
        except (KeyError, TypeError) as error:
            raise NotADocument(f"it is not as docs/papers.md says: {error!r}") from error


def run_experiments(
    experiments: Sequence[Experiment],
    settings: Settings,
    begun: Callable[[Experiment], None],
    done: Callable[[Outcome], None],
) -> Document:
    """Run all; one that raises does not keep the others from running."""
    document = Document(settings.quick, settings.seed)
    for experiment in experiments:
        begun(experiment)
        outcome = _outcome(experiment, settings)
        document.outcomes.append(outcome)
        done(outcome)
    return document


def _outcome(experiment: Experiment, settings: Settings) -> Outcome:
    started = time.perf_counter()
    result, error = None, None
    try:
        result = experiment.run(settings)
    except Exception as raised:
        place = traceback.extract_tb(raised.__traceback__)[-1]
        error = f"{type(raised).__name__}: {raised} ({place.name}, line {place.lineno} of {place.filename})"
    texts = {key: getattr(experiment, key) for key in _TEXTS if key != "seconds"}
    return Outcome(**texts, seconds=time.perf_counter() - started, result=result, error=error)
