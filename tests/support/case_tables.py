"""Cases of tables as data: a query, rows and the results that every engine must give, in ``tests/cases``.

A case is written as a transcript is (:mod:`windrow.testing.transcripts.format`), with ``rows`` and ``gives``
in place of steps. ``gives`` comes last; ``pytest tests/test_case_tables.py --complete`` writes it where
results differ: look at what changed before you keep it. ``lacks`` names engines that do not have something,
and why::

    lacks: {stream: a shift to the future}
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml

import windrow as wr
from windrow import threads
from windrow.testing import evaluate
from windrow.testing.tables import rows_of
from windrow.testing.transcripts.format import Transcript, read_transcript
from windrow.testing.transcripts.run import arrow_types, table_from

FOLDER = Path(__file__).parents[1] / "cases"
PATHS = sorted(FOLDER.glob("*.yaml"))


@dataclass(frozen=True)
class Case:
    path: Path
    transcript: Transcript
    table: pa.Table
    expected: list[dict[str, Any]]
    shows: list[str]
    lacks: dict[str, str]

    @property
    def query(self) -> wr.Query:
        return self.transcript.query

    def shown(self, found: Any) -> list[dict[str, Any]]:
        """The columns of results that are compared."""
        return [{name: row[name] for name in self.shows} for row in rows_of(found)]

    def skip_if_lacking(self, engine: str) -> None:
        if engine in self.lacks:
            pytest.skip(f"{engine} lacks {self.lacks[engine]}")


def read_case(path: Path, **settings: Any) -> Case:
    """A case; ``settings`` of its query besides its own."""
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    rows, gives, lacks = (data.pop(name, None) or [] for name in ("rows", "gives", "lacks"))
    steps = [{"push": rows}, {"finish": True, "gives": gives}]
    transcript = read_transcript({**data, "query": {**data["query"], **settings}, "steps": steps})
    table = table_from(transcript.steps[0].argument, arrow_types(transcript))
    return Case(path, transcript, table, transcript.steps[1].gives, data["shows"], dict(lacks))


def complete(case: Case, found: list[dict[str, Any]]) -> None:
    """Write results into a case, in the order in which they came."""
    text = case.path.read_text(encoding="utf-8")
    lines = [yaml.safe_dump(list(row.values()), default_flow_style=True, width=1_000) for row in found]
    case.path.write_text(text[: text.index("\ngives:")] + "\ngives:\n" + "".join(f"  - {x}" for x in lines))


# -- engines -------------------------------------------------------------------------------------------------


@contextmanager
def _pieces_of_two_rows() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threads, "PIECE", 2)
        yield


def _two_threads(case: Case) -> Any:
    with _pieces_of_two_rows():
        return case.query.run(case.table, threads=2)


def _choosing(choice: str) -> Callable[[Case], Any]:
    def run(case: Case) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("WINDROW_COMPILE", choice)
            return case.query.run(case.table)

    return run


def _operator(case: Case) -> Any:
    operator = case.query.open()
    pieces = [operator.push(case.table.slice(k, 3)) for k in range(0, case.table.num_rows, 3)]
    return pa.concat_tables([*pieces, operator.finish()], promote_options="permissive")


ENGINES: dict[str, Callable[[Case], Any]] = {
    "one thread": lambda case: case.query.run(case.table, threads=1),
    "two threads": _two_threads,
    "interpreted": _choosing("never"),
    "compiled": _choosing("always"),
    "operator": _operator,
    "oracle": lambda case: evaluate(case.query, case.table),
}
