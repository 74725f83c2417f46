"""[Scotty] figure 5: peers agree with the operator, and combines grow as the paper says."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from windrow.slicing import time_manager
from windrow_experiments.growth import growth_of
from windrow_experiments.model import Result, Settings
from windrow_experiments.scotty import EXPERIMENTS, figure5a, figure5b
from windrow_experiments.scotty.rates import Combines, combines
from windrow_experiments.scotty.workload import (
    DELAY,
    batches,
    events,
    lazy_or_eager,
    peers,
    query,
    results_of_peer,
    results_of_windrow,
    tumbling,
)

SPARSE = 500


@pytest.mark.parametrize("disorder", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("eager", [False, True])
def test_all_techniques_give_the_same_results(disorder: float, eager: bool) -> None:
    data = events(6_000, disorder, SPARSE)
    parts = batches(data, 500)
    chosen = [*tumbling(6), (3_000, 700), (20_000, 500)]
    with lazy_or_eager(eager):
        wanted = results_of_windrow(chosen, parts)
    assert len(wanted) > 50
    for make in peers(chosen, data.num_rows, SPARSE).values():
        found = results_of_peer(make(), parts)
        assert found.shape == wanted.shape
        assert np.allclose(found, wanted)


def test_a_silence_parts_sessions_five_times_a_minute() -> None:
    data = events(40_000, 0.2, 500)
    wanted = results_of_windrow(tumbling(1), batches(data))
    sessions = wanted[wanted[:, 0] == 1]
    minutes = (sessions[-1, 2] - sessions[0, 1]) / 60_000
    assert 4 <= len(sessions) / minutes <= 5


def test_a_share_of_rows_is_out_of_order_by_at_most_two_seconds() -> None:
    def late(disorder: float) -> tuple[float, int]:
        times = events(20_000, disorder)["t"].to_numpy()
        behind = np.maximum.accumulate(times) - times
        return float((behind > 0).mean()), int(behind.max())

    assert late(0.0) == (0.0, 0)
    share, most = late(0.2)
    assert 0.15 < share < 0.25
    assert DELAY / 2 < most < DELAY


def test_lengths_of_windows_are_spread_from_1_to_20_seconds() -> None:
    sizes = [size for size, _ in tumbling(1_000)]
    assert (min(sizes), max(sizes), len(set(sizes))) == (1_000, 20_000, 1_000)
    assert np.ptp(np.diff(sizes)) <= 1


def test_the_store_is_forced_only_inside_the_block() -> None:
    before = time_manager.MOST_LAZY
    rows = pa.table({"t": [1, 2], "v": [1.0, 2.0]})
    found = []
    for eager in (True, False):
        with lazy_or_eager(eager):
            operator = query(tumbling(5)).open()
            operator.push(rows)
            found.append(operator._state.time.store.eager)
    assert found == [True, False]
    assert before == time_manager.MOST_LAZY


@pytest.fixture(scope="module")
def by_windows() -> dict[int, dict[str, Combines]]:
    parts = batches(events(5_000, 0.2, SPARSE), 1_000)
    return {count: combines(tumbling(count), parts, SPARSE) for count in (1, 4, 16, 64)}


def test_slicing_combines_a_row_as_often_for_any_number_of_windows(
    by_windows: dict[int, dict[str, Combines]],
) -> None:
    for name in ("lazy", "eager"):
        fitted = growth_of(figure5a.adding(by_windows, name))
        assert fitted.growth == "constant", fitted
        assert fitted.base <= 1.1


def test_buckets_combine_a_row_once_for_every_window(by_windows: dict[int, dict[str, Combines]]) -> None:
    fitted = growth_of(figure5a.adding(by_windows, "buckets"))
    assert fitted.growth == "linear"
    assert fitted.slope == pytest.approx(1, abs=0.02)


def test_all_techniques_give_as_many_results(by_windows: dict[int, dict[str, Combines]]) -> None:
    for of in by_windows.values():
        assert len({round(found.results_a_row, 9) for found in of.values()}) == 1


def test_rows_out_of_order_cost_a_tree_over_rows_and_nothing_else() -> None:
    parts = {share: batches(events(5_000, share, SPARSE), 1_000) for share in (0.0, 0.2, 1.0)}
    found = {share: combines(tumbling(20), some, SPARSE) for share, some in parts.items()}
    for name in ("lazy", "eager", "buckets"):
        adding = [of[name].adding for of in found.values()]
        assert max(adding) - min(adding) < 0.01 * max(adding)
    tree = [of["FlatFAT"].adding for of in found.values()]
    assert tree[0] <= 14  # a path of the tree
    assert tree[0] * 4 < tree[1] < tree[2]


def fixed(windows_or_shares: tuple[int, ...], lazy: list[float]) -> dict[int, dict[str, float]]:
    return {
        x: {"lazy": rate, "eager": rate, "buckets": rate / (x + 1), "FlatFAT": 1_000.0}
        for x, rate in zip(windows_or_shares, lazy, strict=True)
    }


def test_findings_follow_what_was_measured(by_windows: dict[int, dict[str, Combines]]) -> None:
    counts = dict(zip(figure5a.COUNTS, by_windows.values(), strict=True))
    flat = figure5a._findings(fixed(figure5a.COUNTS, [1e7] * 4), counts)
    falling = figure5a._findings(fixed(figure5a.COUNTS, [1e7, 8e6, 4e6, 1e6]), counts)
    assert [finding.agrees for finding in flat][1:3] == [True, True]
    assert [finding.agrees for finding in falling][1] is False


def test_experiments_are_well_formed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The quick runs, made smaller still."""
    monkeypatch.setattr(figure5a, "COUNTS", (1, 5, 25))
    monkeypatch.setattr(figure5b, "SHARES", (0, 100))

    def fewer(rows: int, *args: float, **kwargs: float) -> pa.Table:
        return events(rows // 20, *args, **kwargs)  # type: ignore[arg-type]

    for figure in (figure5a, figure5b):
        monkeypatch.setattr(figure, "events", fewer)
        monkeypatch.setattr(figure, "batches", lambda data, rows=0: batches(data, 500))
    said: list[str] = []
    for experiment in EXPERIMENTS:
        result = experiment.run(Settings(quick=True, progress=said.append))
        assert Result.from_dict(json.loads(json.dumps(result.as_dict()))).as_dict() == result.as_dict()
        assert {table.source for table in result.tables} == {"ours", "paper"}
        assert len(result.charts) == 2
        assert all(line.points for chart in result.charts for line in chart.series)
        assert result.findings
        assert result.how
    assert len(said) > 10
