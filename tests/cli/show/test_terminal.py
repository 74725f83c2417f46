"""Names and values that hold control characters reach no terminal as they are."""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from support.cli_jobs import GOOD, write_calls, write_job
from windrow.cli.main import main
from windrow.cli.show.lines import JsonLines, PlainLines
from windrow.cli.show.live import LiveLine
from windrow.cli.show.steps import Steps
from windrow.cli.show.tables import text_table

RED = "\x1b[31m"
EVIL = f"a{RED}b\x07\x9b2J\u202ec"
TOML = EVIL.encode("unicode_escape").decode().replace("\\x", "\\u00")
ONCE = """\
[source]
format = "parquet"
path = "rows.parquet"

[events]
time = "t"
by = ["{name}"]

[[window]]
kind = "tumbling"
size = 10

[agg]
"{name}" = "count()"

[sink]
format = "console"
"""


def is_safe(text: str) -> bool:
    return all(character.isprintable() or character == "\n" for character in text)


def test_names_of_columns_are_safe_in_tables() -> None:
    assert is_safe(text_table(pa.table({EVIL: [1], "b": [EVIL]})))
    assert is_safe(text_table(pa.table({"a": [1], EVIL * 3: [EVIL]}), width=4))


def test_every_way_to_show_notes_is_safe() -> None:
    out = io.StringIO()
    PlainLines(out).note(EVIL)
    JsonLines(out).note(EVIL)
    LiveLine(Console(file=out, width=80)).note(EVIL)
    with Steps(1, out=out) as steps:
        steps.begin(EVIL)
        steps.note(EVIL)
    assert is_safe(out.getvalue())
    assert out.getvalue().count("\\x1b[31m") == 4 + 1  # JSON has one more backslash


@pytest.mark.parametrize("command", ["run", "check", "explain"])
@pytest.mark.parametrize("name", [TOML, f"{TOML}\\n"])
def test_names_of_columns_are_safe_in_commands(
    command: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    column = name.encode().decode("unicode_escape")
    pq.write_table(pa.table({"t": [1, None], column: ["x", EVIL]}), tmp_path / "rows.parquet")
    file = write_job(tmp_path, ONCE.format(name=name).replace(f'"{name}" = "c', 'n = "c'))
    engine = [] if command == "explain" else ["--engine", "local"]
    assert main([command, str(file), *engine]) == 0
    captured = capsys.readouterr()
    assert is_safe(captured.out + captured.err)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[agg]", f'"{TOML}" = 1\n[agg]'),
        ('time = "ts"', f'time = "{TOML}"'),
        ('"csv"', f'"{TOML}"'),
        ('"data"', f'"{TOML}"'),
        ("max(len)", f"max('{TOML}')"),
        ("max(len)", f"{TOML}(len)"),
        ('"1h"', f'"{TOML}"'),
        ("stream = true", f'stream = true\nwhere = "{TOML} > 1"'),
    ],
)
def test_what_errors_quote_is_safe(
    old: str, new: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(write_job(tmp_path, GOOD.replace(old, new))), "--engine", "local"]) == 2
    captured = capsys.readouterr()
    assert is_safe(captured.out + captured.err)
    assert len(captured.err.splitlines()) == 1


def test_values_that_cannot_be_read_and_names_of_files_are_safe(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_calls(tmp_path)
    strange = tmp_path / "data" / f"calls-{EVIL}.csv"
    strange.write_text(f"ts,region,caller,len\n2024-05-01T12:00:00Z,a,b,{EVIL}\n")
    assert main(["run", str(write_job(tmp_path)), "--engine", "local"]) == 1
    captured = capsys.readouterr()
    assert is_safe(captured.err)
    assert captured.err.splitlines()[-1].startswith("failed: ")
    assert main(["check", str(tmp_path / f"{EVIL}.toml")]) == 2
    assert is_safe(capsys.readouterr().err)


def test_a_file_whose_name_is_not_text_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_calls(tmp_path)
    (tmp_path / "data" / "b\udcff.csv").write_text("ts,region,caller,len\nwhen,a,b,1\n")
    assert main(["run", str(write_job(tmp_path)), "--engine", "local"]) == 1
    assert "\\udcff.csv" in capsys.readouterr().err
