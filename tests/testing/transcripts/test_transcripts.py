"""Transcripts: how they are read, what the runner finds, and all of them on the oracle of endless input."""

from __future__ import annotations

import builtins
import copy
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from windrow.testing.transcripts import list_transcripts, run_on_oracle, run_transcript
from windrow.testing.transcripts.format import TranscriptError, read_transcript
from windrow.testing.transcripts.oracle import OracleOperator
from windrow.testing.transcripts.run import arrow_types, table_from

TRANSCRIPTS = list_transcripts(Path(__file__).parents[2] / "transcripts")

GOOD: dict[str, Any] = {
    "query": {"time": "t", "late": "emit"},
    "windows": {"ten": "Tumbling(10)"},
    "aggregates": {"n": "count()", "top": "max(v)"},
    "columns": ["t", "v"],
    "shows": ["window_start", "window_end", "n", "top"],
    "steps": [
        {"push": [[1, 5], [2, 7], [11, 3]]},
        {"advance": 10, "gives": [[0, 10, 2, 7]]},
        {"push": [[3, 1]]},
        {"late": [[3, 1, 7, "window_fired"]]},
        {"finish": True, "gives": [[10, 20, 1, 3]]},
    ],
    "metrics": {"rows_in": 4, "rows_late": 1, "late": {"window_fired": 1}},
}


def changed(*path: Any, to: Any) -> dict[str, Any]:
    """The good transcript with one thing that is not."""
    transcript = copy.deepcopy(GOOD)
    place: Any = transcript
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = to
    return transcript


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_transcript_on_the_oracle(path: Path) -> None:
    run_on_oracle(path)


def test_there_are_transcripts_and_each_says_what_it_is_about() -> None:
    assert len(TRANSCRIPTS) >= 60
    assert all(read_transcript(path).about for path in TRANSCRIPTS)


# -- differences ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("transcript", "said"),
    [
        (
            changed("steps", 1, "gives", to=[]),
            r"step 2 \(advance: 10\): results differ: 1 row found, 0 expected",
        ),
        (
            changed("steps", 1, "gives", to=[[0, 10, 2, 8]]),
            r"step 2 .*: results differ(?s:.*)top=7 .* <- top",
        ),
        (
            changed("steps", 0, "gives", to=[[0, 10, 2, 7]]),
            r"step 1 \(push: .*\): results differ: 0 rows found",
        ),
        (changed("steps", 3, "late", to=[]), r"step 4 \(late: \[\]\): results differ: 1 row found"),
        (changed("steps", 3, "late", 0, 2, to=6), r"late_by=7 .* <- late_by"),
        (changed("shows", 0, to="start"), r"step 2 .*: results have no column 'start': window, window_start"),
        (changed("result_columns", to=["n"]), r"results have the columns \['window', .*\], expected \['n'\]"),
        (changed("metrics", "rows_in", to=9), r"transcript, metrics: rows_in is 4, expected 9"),
        (changed("metrics", "late", to={}), r"metrics: late is {'window_fired': 1}, expected {}"),
    ],
)
def test_the_runner_names_step_and_difference(transcript: dict[str, Any], said: str) -> None:
    run_on_oracle(GOOD)
    with pytest.raises(AssertionError, match=said):
        run_on_oracle(transcript)


def test_results_may_be_dicts_with_some_columns() -> None:
    transcript = changed("steps", 1, "gives", to=[{"window": "ten", "n": 2}])
    del transcript["shows"]
    transcript["steps"][4]["gives"] = [{"top": 3}]
    run_on_oracle(transcript)
    transcript["steps"][1]["gives"] = [{"window": "ten", "n": 1}]
    with pytest.raises(AssertionError, match="step 2"):
        run_on_oracle(transcript)


def test_metrics_that_are_not_counted_are_left_out() -> None:
    run_on_oracle(changed("metrics", to={"slices": 3, "state_bytes": 0}))


def test_an_operator_gets_tables_of_the_same_types() -> None:
    schemas = []

    class Watching(OracleOperator):
        def push(self, rows: Any) -> list[dict[str, Any]]:
            schemas.append(rows.schema)
            return super().push(rows)

    transcript = changed("steps", 2, to={"push": []})
    transcript["steps"][0]["push"] = [[1, None], [2, 7], [11, 3]]
    transcript |= {"steps": transcript["steps"][:3], "types": {"v": "int8"}, "metrics": {}}
    run_transcript(transcript, open=Watching)
    assert schemas == [pa.schema([("t", pa.int64()), ("v", pa.int8())])] * 2


def test_types_are_told_by_all_pushes() -> None:
    transcript = changed("steps", to=[{"push": [[None, None]]}, {"push": [["2024-05-01", 0.5]]}])
    types = arrow_types(read_transcript(transcript))
    assert types == {"t": pa.string(), "v": pa.float64()}
    assert table_from([], types).schema == pa.schema(types)


def test_a_snapshot_is_restored_with_the_windows_of_the_moment() -> None:
    restored = []

    def restore(query: Any, snapshot: Any) -> Any:
        restored.append([name for name, _ in query.windows])
        return snapshot

    steps = [
        {"add_window": {"five": "Tumbling(5)"}},
        {"snapshot": True},
        {"remove_window": "ten"},
        {"snapshot": True},
    ]
    transcript = GOOD | {"steps": steps, "metrics": {}}
    run_transcript(transcript, open=OracleOperator, restore=restore)
    assert restored == [["ten", "five"], ["five"]]


# -- errors of format ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("transcript", "said"),
    [
        (["no mapping"], "."),
        (changed("step", to=[]), "'step' is not known: use about, aggregates"),
        (changed("steps", to=[]), "there are no steps"),
        (changed("query", to="t"), "'query' and 'aggregates' are needed"),
        (changed("rolling", to=3), "say either 'windows' or 'rolling'"),
        (changed("query", "tyme", to=3), "the query is refused: .*tyme"),
        (changed("query", "late", to="never"), "the query is refused: late='never'"),
        (changed("windows", "ten", to="Tumbling(0)"), r"window 'Tumbling\(0\)': size 0 is not positive"),
        (changed("windows", "ten", to="Hopping(3)"), "use one of Cumulative"),
        (changed("aggregates", "n", to="eval(x)"), "use one of all, any"),
        (changed("aggregates", "n", to=3), "aggregate 3: write it as text"),
        (changed("steps", 0, to={"pull": []}), "step 1: a step is one of push, advance"),
        (changed("steps", 0, to={"push": [], "advance": 1}), "step 1: a step is one of"),
        (changed("steps", 0, "push", to=3), "step 1: rows are a list, not 3"),
        (changed("steps", 0, "push", 1, to=[1]), r"row \[1\] has 1 values, and 'columns' names 2 columns"),
        (changed("steps", 1, "gives", 0, to="x"), "row 'x' is neither a list nor a mapping"),
        (changed("steps", 3, "gives", to=[]), "step 4: 'late' gives no results"),
        (changed("steps", 0, to={"add_window": "ten"}), "step 1: 'ten' is not a mapping"),
        (changed("types", to={"v": "number"}), "type 'number' is none that Arrow knows"),
    ],
)
def test_a_transcript_that_cannot_be_read_says_why(transcript: Any, said: str) -> None:
    with pytest.raises((TranscriptError, TypeError), match=said):
        run_on_oracle(transcript)


def test_files_are_named_in_errors(tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text("steps: [}")
    with pytest.raises(TranscriptError, match="broken: this is not YAML"):
        run_on_oracle(tmp_path / "broken.yaml")
    assert list_transcripts(tmp_path) == [tmp_path / "broken.yaml"]


def test_without_yaml_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    importing = builtins.__import__

    def without_yaml(name: str, *arguments: Any, **named: Any) -> Any:
        if name == "yaml":
            raise ImportError(name)
        return importing(name, *arguments, **named)

    monkeypatch.setattr(builtins, "__import__", without_yaml)
    with pytest.raises(ImportError, match=r"pip install .*'pyyaml>=6\.0'"):
        run_on_oracle(TRANSCRIPTS[0])
