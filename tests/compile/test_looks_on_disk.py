"""How often an interpreted kernel looks on the disk for its compiled form: less and less often."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from windrow.compile import compile_when_it_pays
from windrow.compile.compile_when_it_pays import Entry


class Forms:
    """A kernel that is not on disk, and counts who asks."""

    def __init__(self) -> None:
        self.asked = 0

    @property
    def interpreted(self) -> Any:
        return lambda values: int(values.sum())

    @property
    def compiled(self) -> Any:
        raise AssertionError("compiled, though that does not pay yet")

    def is_on_disk(self, arguments: tuple[Any, ...]) -> bool:
        self.asked += 1
        return False


@pytest.mark.parametrize("stays", [False, True])
def test_small_calls_seldom_look_on_the_disk(stays: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WINDROW_COMPILE", raising=False)
    monkeypatch.setattr(compile_when_it_pays, "_stays", [stays])
    monkeypatch.setattr(compile_when_it_pays, "COMPILE", 1e9)
    monkeypatch.setattr(compile_when_it_pays, "NUMBA", 0.0)
    forms = Forms()
    entry = Entry(forms)
    for _ in range(300):
        assert entry(np.ones(4, np.int64)) == 4
    assert forms.asked <= 12
    assert forms.asked >= stays
