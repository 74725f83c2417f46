"""Progress on a terminal of 80 columns, in a pipe, and what Spark says as steps."""

from __future__ import annotations

import datetime as dt
import io

import pytest
from rich.console import Console

from windrow.cli.execution.spark.progress import step_of
from windrow.cli.show.comparison import Comparison, bar_table
from windrow.cli.show.lines import PlainLines, progress_text
from windrow.cli.show.live import LiveLine
from windrow.cli.show.progress import Progress, Totals
from windrow.cli.show.tables import text_table

STEP = Progress(
    12, 30.0, 123_456, 17, 0, 2_345, 0, 2.5, 45_600_000, dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC), None
)
TOTALS = Totals(13, 1_234_567, 17, 0, 23_450, 0)


@pytest.mark.parametrize("width", [80, 120])
def test_the_live_line_fits(width: int) -> None:
    out = io.StringIO()
    line = LiveLine(Console(file=out, width=width, force_terminal=True, color_system=None))
    line.note("[red]a note[/red]")
    line.progress(STEP, TOTALS)
    line.ended({}, "done")
    text = out.getvalue()
    assert "[red]a note[/red]" in text
    for shown in ("1,234,567", "49,382", "05-01 12:00:00", "23,450", "45.6 MB", "2.5 s"):
        assert shown in text
    assert all(len(row) <= width + 10 for row in text.splitlines())
    assert "…" not in text


def test_plain_lines() -> None:
    out = io.StringIO()
    PlainLines(out).progress(STEP, TOTALS)
    assert out.getvalue().count("\n") == 1
    assert len(progress_text(STEP, TOTALS)) <= 110


def test_lag_is_against_the_clock() -> None:
    assert STEP.lag(dt.datetime(2024, 5, 1, 12, 0, 30, tzinfo=dt.UTC)) == 30.0
    assert Progress(0, 0.0, watermark=17).lag() is None


def test_what_spark_says() -> None:
    step = step_of(
        {
            "batchId": 4,
            "numInputRows": 10,
            "durationMs": {"triggerExecution": 1200},
            "eventTime": {"watermark": "2024-05-01T12:00:00.000Z", "max": "2024-05-01T12:10:00.000Z"},
            "observedMetrics": {
                "windrow": {"rows_in": 9, "rows_late": 2, "windows_fired": None, "late_pairs_window_fired": 5}
            },
        },
        1.0,
    )
    assert (step.rows, step.late, step.windows, step.seconds) == (9, 2, 0, 1.2)
    assert step.late_pairs == {"window_fired": 5}
    assert step.watermark == dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)
    integers = {"eventTime": {"watermark": "1970-01-01T00:00:00.017Z"}}
    assert step_of(integers, 0.0, is_integer_time=True).watermark == 17


def test_state_is_what_windrow_holds() -> None:
    files = [{"memoryUsedBytes": 100, "customMetrics": {"rocksdbSstFileSize": 40}}]

    def held(counts: dict[str, int] | None, before: int) -> int:
        seen = {"observedMetrics": {} if counts is None else {"windrow": counts}, "stateOperators": files}
        return step_of(seen, 1.0, held=before).state_bytes

    assert held({"rows_in": 9, "state_bytes_read": 0, "state_bytes": 512}, 0) == 512
    assert held({"rows_in": 0, "state_bytes_read": 80, "state_bytes": 0}, 512) == 0  # all windows have fired
    assert held({"rows_in": 0, "state_bytes_read": 0, "state_bytes": 0}, 512) == 512  # nothing was called
    assert held(None, 512) == 512  # Spark is idle


@pytest.mark.parametrize("is_ascii", [False, True])
@pytest.mark.parametrize("width", [60, 80, 120])
def test_bars_of_a_comparison_fit_and_are_on_one_scale(width: int, is_ascii: bool) -> None:
    seconds = [("1,000 calls", [5.0, 0.4]), ("4,000 calls", [20.0, 0.5])]
    out = io.StringIO()
    console = Console(file=out, width=width, color_system=None)
    console.print(bar_table(Comparison("", "", ["Spark's window()", "windrow"], seconds), width, is_ascii))
    lines = out.getvalue().splitlines()
    assert all(len(line) <= width for line in lines)
    assert [line.split()[-2:] for line in lines] == [
        ["5.0", "s"],
        ["400", "ms"],
        ["20.0", "s"],
        ["500", "ms"],
    ]
    bars = [sum(c == "#" or c > "\u2500" for c in line) for line in lines]
    assert bars[2] >= 3.5 * bars[0] > 3 * bars[1] >= 3


def test_tables_fit_and_hide_control_characters() -> None:
    import pyarrow as pa

    table = pa.table({"a": ["x" * 100, "\x1b[31mred"], "b": ["y" * 60] * 2, "c": [1, 2]})
    text = text_table(table, 1, 80)
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "... 1 more rows" in text
    assert "... more columns: b, c" in text or "more columns: c" in text
    assert "\x1b" not in text_table(table)
