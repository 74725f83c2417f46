"""Names that a newcomer tries: those of other libraries lead to windrow's, and completion knows them all."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import windrow as wr
from windrow import words
from windrow.packages import EXTRAS
from windrow.spec_text import AGGREGATES

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("avg", "wr.mean"),
        ("average", "wr.mean"),
        ("std", "wr.stddev"),
        ("stdev", "wr.stddev"),
        ("stddev_samp", "wr.stddev"),
        ("stddev_pop", "wr.stddev('x', ddof=0)"),
        ("count_if", "wr.count(where='flag')"),
        ("variance", "wr.var"),
        ("nunique", "wr.count_distinct"),
        ("n_unique", "wr.count_distinct"),
        ("countDistinct", "wr.count_distinct"),
        ("approx_count_distinct", "wr.approx_distinct"),
        ("p95", "wr.quantile('x', 0.95)"),
        ("p999", "wr.quantile('x', 0.999)"),
        ("p5", "wr.quantile('x', 0.05)"),
        ("p50", "wr.median"),
        ("percentile", "wr.quantile('x', 0.95)"),
        ("percentile_approx", "wr.approx_quantile"),
        ("collect_list", "wr.collect"),
        ("array_agg", "wr.collect"),
        ("collect_set", "wr.collect_distinct"),
        ("argmax", "wr.arg_max"),
        ("idxmin", "wr.arg_min"),
        ("prod", "wr.product"),
        ("len", "wr.count"),
        ("size", "wr.count"),
        ("string_agg", "wr.concat"),
        ("bool_or", "wr.any"),
        ("ewm_mean", "wr.exp_decay"),
        ("rolling", "the method .rolling('24h')"),
        ("window", "the method .window(wr.Tumbling('1h'))"),
        ("group_by", "wr.query(time=..., by='key')"),
        ("Hopping", "wr.Sliding"),
        ("Hop", "wr.Sliding"),
        ("HOP", "wr.Sliding"),
        ("Tumble", "wr.Tumbling"),
        ("session_window", "wr.Session"),
        ("cumulate", "wr.Cumulative"),
        ("udaf", "wr.monoid"),
    ],
)
def test_a_name_of_another_library_leads_to_the_windrow_word(name: str, word: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(wr, name)
    assert str(caught.value).startswith(f"windrow has no {name!r}: it is {word}")


@pytest.mark.parametrize(
    ("name", "meant"),
    [("tumbling", "Tumbling"), ("Max", "max"), ("quantil", "quantile"), ("ArgMax", "arg_max")],
)
def test_a_misspelt_name_leads_to_the_nearest(name: str, meant: str) -> None:
    with pytest.raises(AttributeError, match=f"wr.{meant}"):
        getattr(wr, name)


def test_a_name_like_no_other_is_said_to_be_missing() -> None:
    with pytest.raises(AttributeError, match=r"windrow has no 'zzzzzz'; dir\(windrow\) lists all names"):
        _ = wr.zzzzzz
    assert not hasattr(wr, "__wrapped__")


def test_every_windrow_word_that_is_suggested_exists() -> None:
    assert [word for word in words.ELSEWHERE.values() if not hasattr(wr, word)] == []
    assert [word for word in words.KEYWORDS.values() if word not in wr.query.__wrapped__.__kwdefaults__] == [
        word for word in words.KEYWORDS.values() if word == "time"
    ]
    # and none of the names is one of windrow's own
    assert [name for name in (*words.ELSEWHERE, *words.WRITTEN) if name in wr.__all__] == []


def test_a_job_file_with_a_name_of_another_library_leads_to_the_windrow_word() -> None:
    from windrow.spec_text import SpecTextError, aggregate_of

    with pytest.raises(SpecTextError, match=r"did you mean mean\(...\)\?"):
        aggregate_of("avg(len)")


def test_completion_knows_every_public_name() -> None:
    assert set(wr.__all__) <= set(dir(wr))
    for name in ("quantile", "median", "bloom", "spark", "state", "testing", "Operator", "ChangedQuery"):
        assert name in dir(wr)
    assert set(AGGREGATES) <= set(dir(wr))
    assert "import_module" not in dir(wr)
    assert "quantile" in dir(wr.monoids)
    assert "RocksDBStore" in dir(wr.state)


def test_completion_loads_nothing() -> None:
    probe = "import sys, windrow; dir(windrow); assert not {'numpy', 'pyarrow'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", probe], check=True)


def test_completion_on_a_query_offers_its_methods() -> None:
    offered = [name for name in dir(wr.query(time="ts")) if not name.startswith("_")]
    assert {"window", "rolling", "agg", "run", "open", "restore", "explain"} <= set(offered)


def test_the_packages_named_in_errors_are_those_of_the_extras() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {name: tuple(extras[name]) for name in EXTRAS} == EXTRAS


def test_no_text_says_that_windrow_is_on_an_index() -> None:
    files = [
        *(page for page in ROOT.glob("*.md") if page.name != "RELEASING.md"),
        *ROOT.glob("docs/*.md"),
        *ROOT.glob("examples/**/*.md"),
    ]
    files += [*ROOT.glob("src/**/*.py"), *ROOT.glob("examples/**/*.py")]
    wrong = [
        str(f)
        for f in files
        for text in ("pip install windrow", "pip install 'windrow")
        if text in f.read_text()
    ]
    assert wrong == []
