"""Names that were others before: they keep working, and a warning at the caller's line names the new one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from support.cli_jobs import GOOD
from windrow.cli.job import read_job

CALLS = pa.table({"t": [1, 2, 25, 3], "len": [5, 9, 4, 1], "caller": ["ann", "bob", "cy", "dee"]})


def warned(call: Any) -> tuple[Any, str]:
    """What a call returns, and its one warning, which is for this file."""
    with pytest.warns(DeprecationWarning, match="the old name goes with") as found:
        result = call()
    (warning,) = found
    assert warning.filename == __file__
    return result, str(warning.message)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            {"late": "emit"},
            {"late": "return"},
            "late='emit' is now late='return'; the old name goes with 1.0",
        ),
        ({"empty": "emit"}, {"empty": "include"}, "empty='emit' is now empty='include'; the old name"),
        ({"emit": "update"}, {"output": "update"}, "query(emit=...) is now output=; the old name"),
        ({"emit": "final"}, {}, "query(emit=...) is now output=; the old name"),
    ],
)
def test_settings(old: Any, new: Any, said: str) -> None:
    query, message = warned(lambda: wr.query(time="t", **old))
    assert query == wr.query(time="t", **new)
    assert message.startswith(said)
    events, message = warned(lambda: wr.events(CALLS, time="t", **old))
    assert events.query == query
    assert message.startswith(said.replace("query(", "events("))


def test_both_names_of_one_setting_are_refused() -> None:
    settings: Any = {"emit": "final", "output": "update"}
    with pytest.raises(TypeError, match=r"query\(\) got emit= and output=, which are the same: give output="):
        wr.query(time="t", **settings)


def test_judge_is_lateness() -> None:
    query = wr.query(time="t", watermark=2).window(wr.Tumbling(10)).agg(n=wr.count())
    old: Any = {"judge": "spark"}
    operator, message = warned(lambda: query.open(**old))
    assert message.startswith("open(judge=...) is now lateness=;")
    other = query.open(lateness="spark")
    for rows in ([1, 8, 13], [9]):
        table = pa.table({"t": rows})
        assert operator.push(table).equals(other.push(table))
    restored, message = warned(lambda: query.restore(operator.snapshot(), **old))
    assert message.startswith("restore(judge=...) is now lateness=;")
    assert restored.metrics.rows_in == 4


@pytest.mark.parametrize("name", ["arg_max", "arg_min"])
def test_two_columns_of_arg_max_in_a_row(name: str) -> None:
    """``arg_max(a, b)`` was the reverse of what it is in DuckDB, without a word."""
    monoid = getattr(wr, name)
    old, message = warned(lambda: monoid("len", "caller"))
    assert message.startswith(f"{name}(column, value) is now wr.{name}('column', value='value')")
    assert old == monoid("len", value="caller")
    assert repr(old) == f"{name}('len', value='caller')"
    by = getattr(wr, name.replace("arg_", "") + "_by")
    found = wr.events(CALLS, time="t").window(wr.Tumbling(10)).agg(old=old, new=by("caller", "len"))
    assert found["old"].equals(found["new"])
    assert found["old"].to_pylist() == (["bob", "cy"] if name == "arg_max" else ["dee", "cy"])


def test_job_files(tmp_path: Path) -> None:
    old, new = tmp_path / "old.toml", tmp_path / "new.toml"
    events = '[events]\ntime = "ts"\n'
    assert events in GOOD
    text = GOOD.replace('format = "csv"', 'format = "json"')
    old.write_text(text.replace(events, events + 'late = "emit"\nempty = "emit"\nemit = "final"\n'))
    new.write_text(text.replace(events, events + 'late = "return"\nempty = "include"\noutput = "final"\n'))
    with pytest.warns(DeprecationWarning, match="late='emit' is now late='return'"):
        query = read_job(old).query
    assert query == read_job(new).query
