"""Job files: a good one, and many wrong ones, each of which gets one line that names the place."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from support.budget import examples
from support.cli_jobs import GOOD, as_toml, write_job
from windrow.cli.errors import JobError
from windrow.cli.job import read_job
from windrow.cli.job.column_types import arrow_type
from windrow.cli.main import main


def changed(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new, 1)


def test_a_good_job_is_the_query_that_it_says(tmp_path: Path) -> None:
    job = read_job(write_job(tmp_path))
    expected = (
        wr.query(time="ts", by="region", watermark="10m")
        .window(hour=wr.Sliding("1h", slide="5m"), spell=wr.Session("5m"))
        .agg(longest=wr.max("len"), who=wr.arg_max("len", value="caller"), n=wr.count())
    )
    assert job.query.explain() == expected.explain()
    limited = changed('watermark = "10m"', 'watermark = "10m"\nmax_windows = 7')
    assert read_job(write_job(tmp_path, limited)).query.max_windows == 7
    assert job.source.path == str(tmp_path / "data")
    assert job.source.ddl == "`ts` timestamp, `region` string, `caller` string, `len` long"
    assert (job.sink.trigger, job.sink.mode, job.name) == ("available_now", "append", "calls")


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (
            'kind = "tumbling"\nsize = "1d"\ntimezone = "Europe/Berlin"',
            wr.Tumbling("1d", timezone="Europe/Berlin"),
        ),
        ('kind = "cumulative"\nsize = "1h"\nstep = "10m"', wr.Cumulative("1h", step="10m")),
        ('kind = "fixed"\nstart = "2024-05-01"\nsize = "1h"', wr.Fixed("2024-05-01", "1h")),
        ('kind = "rows"\nsize = 10\nslide = 5', wr.Rows(10, slide=5)),
        ('kind = "delta"\ncolumn = "len"\nsize = 2.5', wr.Delta("len", size=2.5)),
        ('kind = "punctuation"\ncolumn = "len"', wr.Punctuation("len")),
        ('kind = "threshold"\ncolumn = "len"', wr.Threshold("len")),
        ('kind = "session"\ngap = "5m"\nmax_size = "1h"', wr.Session("5m", max_size="1h")),
    ],
)
def test_every_kind_of_window(tmp_path: Path, window: str, expected: object) -> None:
    text = GOOD[: GOOD.index("[[window]]")] + "[[window]]\n" + window + "\n\n" + GOOD[GOOD.index("[agg]") :]
    assert repr(read_job(write_job(tmp_path, text)).query.windows[0][1]) == repr(expected)


@pytest.mark.parametrize("size", ["1mo", "all"])
def test_streams_roll_over_sizes_of_no_fixed_length(tmp_path: Path, size: str) -> None:
    head, tail = GOOD[: GOOD.index("[[window]]")], GOOD[GOOD.index("[agg]") :]
    job = read_job(write_job(tmp_path, f'{head}[rolling]\nsize = "{size}"\n\n{tail}'))
    assert job.source.is_stream
    assert job.query.rolling_over == wr.query(time="ts").rolling(size).rolling_over


def test_rolling_and_policies(tmp_path: Path) -> None:
    head, tail = GOOD[: GOOD.index("[[window]]")], GOOD[GOOD.index("[agg]") :]
    for rolling in ('size = "1h"', "rows = 100", 'evict_while = "total.n - old.n >= 3"'):
        job = read_job(write_job(tmp_path, f"{head}[rolling]\n{rolling}\n\n{tail}"))
        assert job.query.rolling_over is not None
    policy = '[[window]]\nkind = "policy"\nevict_while = "total.n - old.n >= 3"\n\n'
    assert "Policy" in repr(read_job(write_job(tmp_path, head + policy + tail)).query.windows)


PUNCTUATION = 'kind = "punctuation"\ncolumn = "callr"'
POLICY = 'kind = "policy"\nevict_while = "total.m - old.n >= 3"'
WRONG = [
    ("an unknown key", 'format = "csv"', 'fromat = "csv"', ":2: [source] fromat", "did you mean 'format'?"),
    ("an unknown table", "[spark]", "[sprak]", ":42: [sprak]", "did you mean 'spark'?"),
    (
        "no table",
        GOOD[GOOD.index("[sink]") : GOOD.index("[spark]")],
        "",
        "calls.toml:",
        "[sink] is missing: say where results go",
    ),
    ("no TOML", 'time = "ts"', 'time = "ts', "calls.toml:16:", "this is not TOML"),
    ("a number for text", 'path = "data"', "path = 3", ":3: [source] path", "3 is a whole number: give text"),
    ("text for a flag", "stream = true", 'stream = "yes"', ":4: [source] stream", "give true or false"),
    ("an empty text", 'path = "data"', 'path = ""', ":3: [source] path", "this is empty"),
    ("no path", 'path = "data"\n', "", ":1: [source] path", "say where the csv files are"),
    ("an unknown type", 'len = "long"', 'len = "lnog"', ":13: [source.schema] len", "did you mean 'long'?"),
    ("an option of no kind", "header = true", "header = [1]", ":7: [source.options] header", "give text"),
    (
        "a missing secret",
        "header = true",
        'p = { env = "NO_SUCH" }',
        "[source.options] p",
        "NO_SUCH is not set",
    ),
    ("no time", 'time = "ts"\n', "", ":15: [events] time", "missing: write for instance time = "),
    (
        "an unknown time",
        'time = "ts"',
        'time = "tz"',
        ":16: [events] time",
        "no column 'tz'",
    ),
    ("an unknown by", '["region"]', '["regoin"]', ":17: [events] by", "did you mean 'region'?"),
    ("by of numbers", '["region"]', "[1]", ":17: [events] by", "give the name of a column"),
    ("by twice", '["region"]', '["region", "region"]', ":17: [events] by", "named twice"),
    ("no duration", '"10m"', '"10 parsecs"', ":18: [events] watermark", "10 parsecs"),
    ("ambiguous duration", '"10m"', '"10M"', ":18: [events] watermark", "10M"),
    ("no watermark", 'watermark = "10m"\n', "", ":15: [events] watermark", "a stream needs a watermark"),
    (
        "bad lateness",
        'watermark = "10m"',
        'watermark = "10m"\nallowed_lateness = "-1m"',
        "allowed_lateness",
        "negative",
    ),
    (
        "old word",
        'watermark = "10m"',
        'watermark = "10m"\nlateness = "1m"',
        "lateness",
        "did you mean 'allowed_lateness'",
    ),
    ("bad choice", 'watermark = "10m"', 'watermark = "10m"\nlate = "emitt"', ":19: [events] late", "'emit'?"),
    ("negative count", 'watermark = "10m"', 'watermark = "10m"\nmin_count = -1', "min_count", "too small"),
    ("no windows", 'watermark = "10m"', 'watermark = "10m"\nmax_windows = 0', "max_windows", "too small"),
    ("no kind", 'kind = "sliding"\n', "", "[[window]] kind", "give one of tumbling, sliding, session"),
    ("an unknown kind", '"sliding"', '"slding"', ":22: [[window]] kind", "did you mean 'sliding'?"),
    ("a missing slide", 'slide = "5m"\n', "", ":20: [[window]] slide", "this key is missing"),
    (
        "a key of others",
        'gap = "5m"',
        'gap = "5m"\nslide = "1m"',
        ":30: [[window]] slide",
        "a session window has no",
    ),
    ("a long slide", 'slide = "5m"', 'slide = "7h"', ":24: [[window]] slide", "longer than"),
    ("integer time", 'slide = "5m"', "slide = 5", "[[window]]", "5"),
    ("a name twice", 'name = "spell"', 'name = "hour"', ":27: [[window]] name", "'hour' is there twice"),
    ("no name", 'name = "spell"\n', "", ":26: [[window]] name", "this key is missing"),
    (
        "one bracket",
        GOOD[GOOD.index("[[w") : GOOD.index("[agg]")],
        "[window]\n\n",
        ":20: [[w",
        "two brackets",
    ),
    (
        "both",
        "[agg]",
        "[rolling]\nrows = 3\n\n[agg]",
        "calls.toml:",
        "give one or more windows, or rolling, and not both",
    ),
    ("an unknown aggregate", '"max(len)"', '"maxx(len)"', ":32: [agg] longest", "did you mean max(...)?"),
    ("code", '"max(len)"', "\"__import__('os').getcwd()\"", ":32: [agg] longest", "use one of"),
    ("no column", '"max(len)"', '"max()"', ":32: [agg] longest", "max"),
    ("an unknown column", '"max(len)"', '"max(length)"', ":32: [agg] longest", "did you mean 'len'?"),
    ("a number", '"max(len)"', "3", ":32: [agg] longest", "give text"),
    ("a reserved name", 'n = "count', 'window_end = "count', ":34: [agg] window_end", "choose another name"),
    (
        "no aggregates",
        GOOD[GOOD.index("longest") : GOOD.index("[sink]")],
        "",
        "[agg]",
        "there is no aggregate",
    ),
    ("no checkpoint", 'checkpoint = "checkpoint"\n', "", ":36: [sink] checkpoint", "this key is missing"),
    ("a bad trigger", '"available_now"', '"sometimes"', ":40: [sink] trigger", "sometimes"),
    (
        "a bad mode",
        'checkpoint = "checkpoint"',
        'checkpoint = "c"\nmode = "overwrite"',
        "mode",
        "a stream appends",
    ),
    ("a setting of no one", 'master = "local[2]"', "[spark.conf]\nx = 1", "[spark.conf] x", '"spark.x"'),
    ("no size", 'size = "1h"\n', "", ":20: [[window]] size", 'missing: write for instance size = "1h"'),
    ("no gap", 'gap = "5m"\n', "", ":26: [[window]] gap", 'missing: write for instance gap = "30m"'),
    ("a size that is not one", '"1h"', '"one hour"', ":23: [[window]] size", "'one hour' is not a duration"),
    ("a size of nothing", '"1h"', '"0m"', ":23: [[window]] size", "give a duration longer than zero"),
    ("no such zone", 'slide = "5m"', 'slide = "5m"\ntimezone = "Berlin"', ":25: [[window]] timezone", "IANA"),
    (
        "no window",
        GOOD[GOOD.index("[[w") : GOOD.index("[agg]")],
        "",
        "calls.toml: there",
        "kind = 'tumbling'",
    ),
    ("a key of no table", "[source]\n", 'name = "x"\n[source]\n', ":1: name", "write it below one"),
    ("a list of sources", "[source]\n", "[[source]]\n", "calls.toml:1: [source]", "write it as one table"),
    (
        "text without quotes",
        '"ts"',
        "ts",
        "calls.toml:16: time: this is not TOML",
        "text stands in quotes",
    ),
    ("a key twice", 'time = "ts"', 'time = "ts"\ntime = "ts"', "calls.toml:17:", "this key is there twice"),
    ("a date", '"1h"', "2024-05-01", ":23: [[window]] size: 2024-05-01 is a date", "in quotes"),
    ("a type of others", '"string"', '"str"', ":11: [source.schema] region", "did you mean 'string'?"),
    ("time that is text", 'time = "ts"', 'time = "caller"', ":16: [events] time", "is of type string"),
    ("a trigger of others", '"available_now"', '"once"', ":40: [sink] trigger", "'available_now' (take what"),
    ("a bad master", "local[2]", "locall[2]", ":43: [spark] master", "give local[*], local[2], yarn"),
    (
        "a bad remote",
        'master = "local[2]"',
        'remote = "host:15002"',
        ":43: [spark] remote",
        "sc://host:15002",
    ),
    (
        "master and remote",
        'master = "local[2]"',
        'master = "local[2]"\nremote = "sc://localhost"',
        ":44: [spark] remote",
        "exclude each other",
    ),
    ("an aggregate alone", '"max(len)"', '"max"', ":32: [agg] longest", "as in max(len)"),
    ("a star", '"count()"', '"count(*)"', ":34: [agg] n", "count() for rows"),
    ("an expression", '"max(len)"', '"max(len * 2)"', ":32: [agg] longest", "as in max(len)"),
    (
        "a column of a window",
        'kind = "session"\ngap = "5m"',
        PUNCTUATION,
        ":29: [[window]] column",
        "'caller'?",
    ),
    ("a policy", 'kind = "session"\ngap = "5m"', POLICY, ":29: [[window]] evict_while", "no aggregate 'm'"),
]


@pytest.mark.parametrize(
    ("old", "new", "place", "said"), [wrong[1:] for wrong in WRONG], ids=[wrong[0] for wrong in WRONG]
)
def test_a_wrong_job_gets_one_line_with_the_place(
    tmp_path: Path, old: str, new: str, place: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = write_job(tmp_path, changed(old, new))
    with pytest.raises(JobError) as caught:
        read_job(file.name)
    message = str(caught.value)
    assert message.startswith("calls.toml")
    assert place in message
    assert said in message
    assert "\n" not in message or "TOML" in message


#: values of all types that TOML has, and words that are right somewhere
ODD = st.recursive(
    st.sampled_from(
        ["x", "", "5m", "ts", "emit", "parquet", "kafka", "max(len)", 7, 0, -1, 1.5, True, "len > 3"]
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(st.sampled_from(["kind", "size", "format", "env", "ts", "n"]), inner, max_size=3),
    ),
    max_leaves=4,
)


def lines_of(tmp_path: Path, text: str) -> list[str]:
    with pytest.raises(JobError) as caught:
        read_job(write_job(tmp_path, text))
    return [line.removeprefix(f"{tmp_path}/") for line in str(caught.value).splitlines()]


def test_keys_of_streams_in_a_job_that_ends(tmp_path: Path) -> None:
    lines = lines_of(tmp_path, changed("stream = true", "stream = false"))
    said = "this is for streams: set stream = true in [source], or take it out"
    assert lines == [f"calls.toml:39: [sink] checkpoint: {said}", f"calls.toml:40: [sink] trigger: {said}"]


def test_all_mistakes_of_a_file_are_told_at_once(tmp_path: Path) -> None:
    text = GOOD
    for old, new in (
        ('format = "csv"', 'fromat = "csv"'),  # and no "missing" for the key that it stands for
        ('len = "long"', 'len = "lnog"'),
        ('watermark = "10m"', 'watermark = "10 parsecs"\nlate = "emitt"'),
        ('slide = "5m"', "slide = 1.5"),
        ('gap = "5m"', 'gap = "5m"\nsize = "1h"'),
        ('"max(len)"', '"maxx(len)"'),
        ('"count()"', "3"),
        ('trigger = "available_now"', 'trigger = "sometimes"'),
        ("[spark]", "[sprak]\n[rejected]\nfrmat = 'csv'\n[spark]\nremote = 3"),
    ):
        assert old in text
        text = text.replace(old, new)
    places = [line.partition(": ")[2].rpartition(": ")[0] for line in lines_of(tmp_path, text)]
    starts = sorted(": ".join(place.split(": ")[:1]) for place in places)
    assert starts == sorted(
        [
            *("[sprak]", "[source] fromat", "[source.schema] len", "[events] watermark", "[events] late"),
            *("[[window]] slide", "[[window]] size", "[agg] longest", "[agg] n", "[sink] trigger"),
            *("[spark] remote", "[rejected] frmat"),
        ]
    )


@given(st.data())
@settings(max_examples=examples(300), deadline=None)
def test_whatever_values_a_file_has_it_is_a_job_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    job = tomllib.loads(GOOD)
    for _ in range(data.draw(st.integers(1, 4))):
        table = data.draw(st.sampled_from([*job, "history", "at", "asof", "late", "agg"]))
        value = data.draw(ODD)
        if isinstance(job.get(table), dict) and data.draw(st.integers(0, 5)):
            keys = [*job[table], "where", "columns", "by", "late", "mode", "value", "conf", "no_such"]
            job[table][data.draw(st.sampled_from(keys))] = value
        elif data.draw(st.booleans()):
            job[table] = value
        else:
            job.pop(table, None)
    file = tmp_path_factory.mktemp("odd") / "job.toml"
    file.write_text(as_toml(job), encoding="utf-8")
    try:
        read_job(file)
    except JobError as error:
        assert error.args  # noqa: PT017
        assert all(str(line).startswith(str(file)) for line in error.args)  # noqa: PT017


def test_check_prints_a_line_for_each_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = changed('time = "ts"', '"a\\nerror: b" = 1').replace('"count()"', '"cuont()"')
    assert main(["check", str(write_job(tmp_path, text))]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert all(line.startswith(f"error: {tmp_path}/calls.toml") for line in lines)
    assert ["[events] time" in lines[1], "[agg] n" in lines[2]] == [True, True]


def test_what_tables_demand_of_each_other_is_told_at_once(tmp_path: Path) -> None:
    text = GOOD.replace('["region"]', '["regoin"]').replace("max(len)", "max(length)")
    lines = lines_of(tmp_path, text.replace('watermark = "10m"\n', ""))
    assert [line.split(": ")[1] for line in lines] == ["[events] watermark", "[events] by", "[agg] longest"]


def test_update_and_late_rows_need_sinks_that_can_hold_them(tmp_path: Path) -> None:
    text = changed('watermark = "10m"', 'watermark = "10m"\nlate = "emit"').replace('"parquet"', '"csv"')
    with pytest.raises(JobError, match=r"\[sink\] format: csv cannot hold late rows"):
        read_job(write_job(tmp_path, text))
    text = changed('watermark = "10m"', 'watermark = "10m"\nemit = "update"')
    with pytest.raises(JobError, match=r"\[events\] emit: .*files"):
        read_job(write_job(tmp_path, text))


def test_a_value_that_is_not_toml_is_not_shown(tmp_path: Path) -> None:
    """It may be a secret."""
    for line in ("password = hunter2", 'password = "hunter2', "password hunter2"):
        with pytest.raises(JobError) as caught:
            read_job(write_job(tmp_path, changed("header = true", line)))
        assert ":7: " in str(caught.value)
        assert "hunter2" not in str(caught.value)


def test_no_file_and_no_text(tmp_path: Path) -> None:
    with pytest.raises(JobError, match="there is no such job file; windrow new"):
        read_job(tmp_path / "none.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(JobError, match="not UTF-8"):
        read_job(tmp_path / "binary.toml")


@pytest.mark.parametrize(
    "text", ["array<>", "array<int", "map<string>", "decimal(99)", "struct<a:>", "in t", "", "int;"]
)
def test_types_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a type|digits"):
        arrow_type(text)


def test_types_become_those_of_arrow() -> None:
    assert str(arrow_type("struct<a:int, b:array<double>>")) == "struct<a: int32, b: list<item: double>>"
    assert str(arrow_type("timestamp_ntz")) == "timestamp[us]"
    assert str(arrow_type("decimal(10,2)")) == "decimal128(10, 2)"


LONG = "9223372036854775807d"
TOO_LONG = [
    ('watermark = "10m"', f'watermark = "{LONG}"', ":18: [events] watermark"),
    ('size = "1h"', f'size = "{LONG}"', ":23: [[window]] size"),
    ('gap = "5m"', f'gap = "{LONG}"', ":29: [[window]] gap"),
    ('trigger = "available_now"', f'trigger = "{LONG}"', ":40: [sink] trigger"),
]


@pytest.mark.parametrize(("old", "new", "place"), TOO_LONG)
def test_durations_beyond_64_bits_are_errors_of_their_key(
    tmp_path: Path, old: str, new: str, place: str
) -> None:
    with pytest.raises(JobError) as caught:
        read_job(write_job(tmp_path, GOOD.replace(old, new)))
    assert f"calls.toml{place}" in str(caught.value)
