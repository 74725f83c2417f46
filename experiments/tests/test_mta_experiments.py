"""The experiments of [MTA] run and give what they promise, made smaller still than quick ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from windrow.swag.daba_lite import DABALite
from windrow_experiments.model import Result, Settings
from windrow_experiments.mta import (
    EXPERIMENTS,
    experiment1,
    experiment2,
    experiment3,
    experiment4,
    experiment5,
)
from windrow_experiments.mta.limited import Reached, reached
from windrow_experiments.mta.windows import Measured


class Small(Settings):
    """Quick settings that take other values in their place, one for each question."""

    def __init__(self, *values: Any) -> None:
        super().__init__(quick=True, progress=self._tell)
        object.__setattr__(self, "said", [])
        object.__setattr__(self, "values", list(values))

    def _tell(self, what: str) -> None:
        self.said.append(what)  # type: ignore[attr-defined]

    def pick(self, full: Any, quick: Any) -> Any:
        return self.values.pop(0)  # type: ignore[attr-defined]


SIZES: list[tuple[ModuleType, tuple[Any, ...]]] = [
    (experiment1, (experiment1._Limits(256, 256, 50, 2_000),)),
    (experiment2, (1 << 8, 11)),
    (experiment3, (experiment3._Sizes(128, 3, 50, 100), 1, (DABALite,))),
    (experiment4, (1 << 13, [4])),
    (experiment5, ((64, 20), [1, 2, 5])),
]


def test_there_are_five() -> None:
    assert [e.name for e in EXPERIMENTS] == [f"mta-experiment{number}" for number in range(1, 6)]


@pytest.mark.parametrize(("module", "values"), SIZES, ids=lambda each: getattr(each, "__name__", ""))
def test_an_experiment_is_well_formed(
    module: ModuleType, values: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(experiment1, "_sizes", lambda name, quick: [16, 64, 256, 1024])
    monkeypatch.setattr(experiment4, "kinds", lambda where: ["Naive", "AMTA", "AMTA on RocksDB"])
    settings = Small(*values)
    result = module.run(settings)
    assert Result.from_dict(json.loads(json.dumps(result.as_dict()))).as_dict() == result.as_dict()
    assert {table.source for table in result.tables} == {"ours", "paper"}
    assert all(line.points for chart in result.charts for line in chart.series)
    assert len(result.findings) >= 3
    assert result.how
    assert len(settings.said) >= 3  # type: ignore[attr-defined]
    assert not settings.values  # type: ignore[attr-defined]


def test_memory_is_not_limited_where_there_is_no_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    result = experiment4.run(Settings())
    assert [finding.agrees for finding in result.findings] == [None]
    assert [table.source for table in result.tables] == ["paper"]


def constant(ns: float, combines: float) -> dict[int, Measured]:
    return {1 << k: Measured(ns, combines) for k in range(0, 15, 2)}


def growing(cost: Callable[[int], float]) -> dict[int, Measured]:
    return {1 << k: Measured(100 * cost(1 << k), cost(1 << k)) for k in range(0, 15, 2)}


def test_findings_of_experiment_1_follow_what_was_measured() -> None:
    found = {
        "Naive": growing(lambda n: n),
        "DABA": constant(4_000, 7),
        "LMTA": growing(lambda n: 30 + n.bit_length()),
        "AMTA": constant(3_000, 7),
        "AMTA on RocksDB": constant(5_000, 7),
    }
    assert all(finding.agrees for finding in experiment1.findings(found, 1 << 12))
    found["AMTA"] = growing(lambda n: n / 100)
    agreed = {finding.claim: finding.agrees for finding in experiment1.findings(found, 1 << 12)}
    assert not agreed["AMTA: the cost of an update is constant in the size of the window."]
    assert not agreed["On a store the algorithms are the same: only where pairs are kept differs."]


def test_findings_of_experiment_4_follow_what_was_measured() -> None:
    def of(**enough: int) -> dict[str, dict[int, Reached]]:
        return {
            name.replace("_", " "): {mb: Reached(5, False), 2 * mb: Reached(9, True, "", 1.0)}
            for name, mb in enough.items()
        }

    memory = {"Naive": 16, "DABA": 32, "LMTA": 64, "AMTA": 64}
    light = of(**memory, LMTA_on_RocksDB=2, AMTA_on_RocksDB=2)
    heavy = of(**memory, LMTA_on_RocksDB=64, AMTA_on_RocksDB=64)
    assert [f.agrees for f in experiment4.findings(light, 1 << 20, None, 0)][:2] == [True, True]
    assert [f.agrees for f in experiment4.findings(heavy, 1 << 20, None, 0)][:2] == [True, False]
    assert [f.agrees for f in experiment4.findings(heavy, 1 << 12, None, 0)][:2] == [True, None]
    failed = experiment4.findings(light, 1 << 20, Reached(10, False, "no memory left"), 64)
    assert failed[-1].agrees is False


def test_a_process_reaches_more_values_with_more_memory() -> None:
    little, enough = (reached("AMTA", megabytes, 1 << 15, "") for megabytes in (1, 64))
    assert not little.is_full
    assert 1_000 < little.values < 1 << 15
    assert little.why
    assert enough.is_full
    assert enough.values == 1 << 15
    assert enough.resident_mb is not None
    assert enough.resident_mb > 1
    assert enough.update_combines == pytest.approx(7, abs=0.1)


def test_a_process_that_says_nothing_is_stopped() -> None:
    stopped = reached("AMTA", 64, 1 << 15, "", patience=0.01)
    assert not stopped.is_full
    assert stopped.why == "silent for 0.01 s"


def test_a_process_that_fails_for_another_reason_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="nonsense in 4 MB failed"):
        reached("nonsense", 4, 10, "")
