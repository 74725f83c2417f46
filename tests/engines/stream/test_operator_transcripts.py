"""Every transcript on the operator that ``query.open()`` gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from windrow.testing import list_transcripts, run_transcript

TRANSCRIPTS = list_transcripts(Path(__file__).parents[2] / "transcripts")


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_transcript_on_the_operator(path: Path) -> None:
    run_transcript(path)
